// SPDX-License-Identifier: GPL-2.0-or-later
/* Intervals from a daemon, with libcurl.  See source.h. */
#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "daemon/pesad/push/transfer.h"
#include "decoder/base/read_file.h"
#include "tools/top/source.h"

#define NS_PER_SECOND UINT64_C(1000000000)
#define RETRY_MS      1000
#define ANSWER_MAX    60 /* seconds allowed in addition to the interval */
#define TEXT_KEPT     200

struct daemon_source {
	struct top_daemon_options options;
	const char *folder;
	int pipe[2]; /* of struct top_interval, from the thread to take() */
	pthread_t thread;
	bool started;
	atomic_bool stop;
	CURLM *multi;
	CURL *easy;
	struct curl_slist *headers;
	char error[CURL_ERROR_SIZE];
	/* the current request */
	FILE *out;
	char text[TEXT_KEPT + 1]; /* the start of the response */
	size_t text_size;
	uint64_t serial; /* serial number of the last interval; 0: none */
	unsigned int files;
};

static size_t take_body(char *data, size_t one, size_t count, void *context)
{
	struct daemon_source *source = context;
	size_t size = one * count, room = TEXT_KEPT - source->text_size;

	memcpy(source->text + source->text_size, data, size < room ? size : room);
	source->text_size += size < room ? size : room;
	return fwrite(data, 1, size, source->out);
}

static size_t take_header(char *data, size_t one, size_t count, void *context)
{
	static const char name[] = "X-Pesa-Serial:";
	struct daemon_source *source = context;
	size_t size = one * count;

	if (size > strlen(name) && !strncasecmp(data, name, strlen(name)))
		source->serial = strtoull(data + strlen(name), NULL, 10);
	return size;
}

/* Write to the pipe.  Blocks while it is full. */
static void send_interval(struct daemon_source *source, const struct top_interval *interval)
{
	while (write(source->pipe[1], interval, sizeof(*interval)) < 0 && errno == EINTR)
		;
}

static void send_error(struct daemon_source *source, struct pesa_error *error)
{
	struct top_interval interval = {.error = error};

	send_interval(source, &interval);
}

static struct pesa_error *request_error(struct daemon_source *source, CURLcode code, long status)
{
	const char *where = source->options.socket ? source->options.socket : source->options.url;

	if (code)
		return pesa_error_create(PESA_ERROR_OTHER,
					 "%s: %s; is pesad running, and may you ask it?", where,
					 *source->error ? source->error : curl_easy_strerror(code));
	for (size_t i = 0; i < source->text_size; i++)
		if ((unsigned char)source->text[i] < ' ' || source->text[i] == 0x7f)
			source->text[i] = '\0';
	source->text[source->text_size] = '\0';
	return pesa_error_create(PESA_ERROR_OTHER, "%s: answered status %ld%s%s", where, status,
				 *source->text ? ": " : "", source->text);
}

static void request_interval(struct daemon_source *source)
{
	uint64_t seconds = (source->options.delay + NS_PER_SECOND - 1) / NS_PER_SECOND;
	struct top_interval interval = {0};
	char url[4096];
	CURLcode code;
	long status = 0;

	snprintf(url, sizeof(url), "%s/debug/pesa/interval?after=%llu&seconds=%llu",
		 source->options.socket ? "http://localhost" : source->options.url,
		 (unsigned long long)source->serial, (unsigned long long)seconds);
	snprintf(interval.path, sizeof(interval.path), "%s/%u.data", source->folder,
		 source->files++);
	source->out = fopen(interval.path, "we");
	if (!source->out) {
		send_error(source, pesa_error_system(errno, "%s: cannot be made", interval.path));
		curl_multi_poll(source->multi, NULL, 0, RETRY_MS, NULL);
		return;
	}
	source->text_size = 0;
	*source->error = '\0';
	curl_easy_setopt(source->easy, CURLOPT_URL, url);
	curl_easy_setopt(source->easy, CURLOPT_TIMEOUT, (long)seconds + ANSWER_MAX);
	if (!transfer_run(source->multi, source->easy, &source->stop, &code)) {
		fclose(source->out);
		unlink(interval.path);
		return;
	}
	curl_easy_getinfo(source->easy, CURLINFO_RESPONSE_CODE, &status);
	if (fclose(source->out) && !code)
		code = CURLE_WRITE_ERROR;
	if (!code && status == 200) {
		send_interval(source, &interval);
		return;
	}
	unlink(interval.path);
	if (!code && status == 204)
		return; /* no samples in the interval */
	send_error(source, request_error(source, code, status));
	source->serial = 0; /* a restarted daemon counts from 1 again */
	curl_multi_poll(source->multi, NULL, 0, RETRY_MS, NULL);
}

static void *run(void *context)
{
	struct daemon_source *source = context;

	while (!atomic_load(&source->stop))
		request_interval(source);
	return NULL;
}

static bool take(void *state, struct top_interval *interval)
{
	struct daemon_source *source = state;

	return read(source->pipe[0], interval, sizeof(*interval)) == sizeof(*interval);
}

static void close_source(void *state)
{
	struct daemon_source *source = state;
	struct top_interval interval;

	atomic_store(&source->stop, true);
	if (source->multi)
		curl_multi_wakeup(source->multi);
	/* The thread may be blocked on the full pipe. */
	while (source->started && pthread_tryjoin_np(source->thread, NULL)) {
		while (take(source, &interval)) {
			unlink(interval.path);
			pesa_error_free(interval.error);
		}
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
	while (source->pipe[0] >= 0 && take(source, &interval)) {
		unlink(interval.path);
		pesa_error_free(interval.error);
	}
	for (int i = 0; i < 2; i++)
		if (source->pipe[i] >= 0)
			close(source->pipe[i]);
	curl_slist_free_all(source->headers);
	curl_easy_cleanup(source->easy);
	curl_multi_cleanup(source->multi);
	free(source);
}

static struct pesa_error *set_token(struct daemon_source *source)
{
	struct pesa_error *error;
	char *text, *line;
	size_t size;

	error = pesa_read_file(source->options.token_file, &text, &size);
	if (error)
		return error;
	text[strcspn(text, "\r\n")] = '\0';
	if (asprintf(&line, "Authorization: Bearer %s", text) < 0)
		line = NULL;
	source->headers = line ? curl_slist_append(NULL, line) : NULL;
	free(line);
	free(text);
	return source->headers ? NULL : pesa_error_no_memory();
}

static struct pesa_error *prepare(struct daemon_source *source)
{
	const struct top_daemon_options *options = &source->options;
	struct pesa_error *error = options->token_file ? set_token(source) : NULL;
	const struct transfer_tls tls = {.authority = options->authority, .verify = true};
	const struct {
		CURLoption option;
		const void *value;
	} settings[] = {
		{CURLOPT_UNIX_SOCKET_PATH, options->socket},
		{CURLOPT_HTTPHEADER, source->headers},
		{CURLOPT_ERRORBUFFER, source->error},
		{CURLOPT_WRITEDATA, source},
		{CURLOPT_HEADERDATA, source},
		{CURLOPT_PROTOCOLS_STR, "http,https"},
		{CURLOPT_PROXY, options->socket ? "" : NULL},
	};
	CURLcode code = CURLE_OK;

	source->multi = curl_multi_init();
	source->easy = curl_easy_init();
	if (!error && (!source->multi || !source->easy))
		error = pesa_error_no_memory();
	for (size_t i = 0; !error && !code && i < sizeof(settings) / sizeof(*settings); i++)
		if (settings[i].value)
			code = curl_easy_setopt(source->easy, settings[i].option,
						settings[i].value);
	if (!error && !code)
		code = curl_easy_setopt(source->easy, CURLOPT_WRITEFUNCTION, take_body);
	if (!error && !code)
		code = curl_easy_setopt(source->easy, CURLOPT_HEADERFUNCTION, take_header);
	if (!error && !code)
		code = curl_easy_setopt(source->easy, CURLOPT_NOSIGNAL, 1L);
	if (!error && !code)
		code = transfer_set_tls(source->easy, &tls);
	if (!error && code)
		error = pesa_error_create(PESA_ERROR_OTHER, "libcurl: %s",
					  curl_easy_strerror(code));
	return error;
}

struct pesa_error *top_daemon_open(const struct top_daemon_options *options, const char *folder,
				   struct top_source *result)
{
	struct daemon_source *source = calloc(1, sizeof(*source));
	struct pesa_error *error;

	if (!source)
		return pesa_error_no_memory();
	source->options = *options;
	source->folder = folder;
	source->pipe[0] = source->pipe[1] = -1;
	if (curl_global_init(CURL_GLOBAL_DEFAULT))
		error = pesa_error_create(PESA_ERROR_OTHER, "libcurl cannot be used");
	else if (pipe2(source->pipe, O_CLOEXEC) || fcntl(source->pipe[0], F_SETFL, O_NONBLOCK))
		error = pesa_error_system(errno, "cannot make a pipe");
	else
		error = prepare(source);
	if (!error) {
		source->started = !pthread_create(&source->thread, NULL, run, source);
		if (!source->started)
			error = pesa_error_create(PESA_ERROR_SYSTEM, "cannot start a thread");
	}
	if (error) {
		close_source(source);
		return error;
	}
	*result = (struct top_source){.state = source,
				      .name = "daemon",
				      .descriptor = source->pipe[0],
				      .take = take,
				      .close = close_source};
	return NULL;
}
