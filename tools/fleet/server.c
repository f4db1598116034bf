// SPDX-License-Identifier: GPL-2.0-or-later
/* Requests to a ClickHouse server.  See server.h. */
#include "tools/fleet/server.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/pesad/push/transfer.h"
#include "decoder/base/secret.h"
#include "pesa/version.h"

#define ANSWER_MOST  (UINT64_C(4) << 30) /* bytes */
#define REQUEST_MOST 600L		 /* s */
#define CONNECT_MOST 10L		 /* s */
#define STALLED_MOST 300L		 /* s without a byte */
#define WHY_MOST     300		 /* bytes of the server's message that are shown */

/* Inserts return when every server has what is its own. */
#define INSERT_SETTINGS "&insert_distributed_sync=1"

struct server {
	const struct fleet_url *url;
	struct pesa_secret password;
	CURL *easy;
	struct perfdata_buffer *answer;
	struct perfdata_buffer why; /* the answer of a request that failed, or that has no other */
	size_t size;
	char error[CURL_ERROR_SIZE];
};

struct pesa_error *server_open(const struct fleet_url *url, struct server **result)
{
	struct server *server = calloc(1, sizeof(*server));
	struct pesa_error *error = NULL;

	if (!server)
		return pesa_error_no_memory();
	server->url = url;
	if (url->password_file)
		error = pesa_secret_open(&server->password, url->password_file);
	if (!error && !(server->easy = curl_easy_init()))
		error = pesa_error_no_memory();
	if (error) {
		server_close(server);
		return error;
	}
	*result = server;
	return NULL;
}

void server_close(struct server *server)
{
	if (!server)
		return;
	curl_easy_cleanup(server->easy);
	pesa_secret_close(&server->password);
	perfdata_buffer_free(&server->why);
	free(server);
}

const char *server_name(const struct server *server)
{
	return server->url->server;
}

static size_t take(char *data, size_t one, size_t count, void *context)
{
	struct server *server = context;
	size_t size = one * count;
	long status = 0;

	curl_easy_getinfo(server->easy, CURLINFO_RESPONSE_CODE, &status);
	server->size += size;
	if (server->size > ANSWER_MOST)
		return 0;
	if (status == 200 && server->answer) {
		perfdata_buffer_append(server->answer, data, size);
		return server->answer->failed ? 0 : size;
	}
	if (server->why.size < WHY_MOST)
		perfdata_buffer_append(
			&server->why, data,
			size < WHY_MOST - server->why.size ? size : WHY_MOST - server->why.size);
	return size;
}

static struct pesa_error *prepare(struct server *server, const char *url, const void *body,
				  size_t size)
{
	char secret[PESA_SECRET_SIZE];
	struct pesa_error *error = NULL;
	const struct {
		CURLoption option;
		long value;
	} numbers[] = {
		{CURLOPT_NOSIGNAL, 1},
		{CURLOPT_TIMEOUT, REQUEST_MOST},
		{CURLOPT_CONNECTTIMEOUT, CONNECT_MOST},
		{CURLOPT_LOW_SPEED_LIMIT, 1},
		{CURLOPT_LOW_SPEED_TIME, STALLED_MOST},
		{CURLOPT_FOLLOWLOCATION, 0},
		{CURLOPT_TCP_KEEPALIVE, 1},
		/* On a kept connection that ends without an answer libcurl sends again by itself:
		 * rows would be there twice. */
		{CURLOPT_FRESH_CONNECT, 1},
	};
	const struct {
		CURLoption option;
		const void *value;
	} pointers[] = {
		{CURLOPT_URL, url},
		{CURLOPT_POSTFIELDS, body},
		{CURLOPT_USERAGENT, "pesa/" PESA_VERSION},
		{CURLOPT_ERRORBUFFER, server->error},
		{CURLOPT_WRITEDATA, server},
		{CURLOPT_PROTOCOLS_STR, server->url->tls ? "https" : "http"},
	};
	const struct transfer_tls tls = {.authority = server->url->authority,
					 .certificate = server->url->certificate,
					 .key = server->url->key,
					 .verify = true};
	CURLcode code =
		curl_easy_setopt(server->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)size);

	for (size_t i = 0; !code && i < sizeof(numbers) / sizeof(*numbers); i++)
		code = curl_easy_setopt(server->easy, numbers[i].option, numbers[i].value);
	for (size_t i = 0; !code && i < sizeof(pointers) / sizeof(*pointers); i++)
		if (pointers[i].value)
			code = curl_easy_setopt(server->easy, pointers[i].option,
						pointers[i].value);
	if (!code)
		code = curl_easy_setopt(server->easy, CURLOPT_WRITEFUNCTION, take);
	if (!code)
		code = transfer_set_tls(server->easy, &tls);
	if (!code && server->url->password_file) {
		error = pesa_secret_get(&server->password, secret);
		if (!error)
			code = curl_easy_setopt(server->easy, CURLOPT_USERPWD, secret);
		if (!error && !code)
			code = curl_easy_setopt(server->easy, CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
		explicit_bzero(secret, sizeof(secret));
	}
	if (!error && code)
		error = pesa_error_create(PESA_ERROR_OTHER, "libcurl: %s",
					  curl_easy_strerror(code));
	return error;
}

/* What the server says, as one line. */
static struct pesa_error *refused(struct server *server, long status)
{
	size_t length = server->why.size;

	for (size_t i = 0; i < length; i++)
		if (server->why.bytes[i] == '\n')
			server->why.bytes[i] = ' ';
	while (length && server->why.bytes[length - 1] == ' ')
		length--;
	return pesa_error_create(PESA_ERROR_OTHER, "%s answered status %ld%s%.*s",
				 server->url->server, status, length ? ": " : "", (int)length,
				 length ? (const char *)server->why.bytes : "");
}

static struct pesa_error *post(struct server *server, const char *url, const void *body,
			       size_t size, struct perfdata_buffer *answer)
{
	struct pesa_error *error;
	long status = 0;
	CURLcode code;

	curl_easy_reset(server->easy);
	server->answer = answer;
	server->size = 0;
	server->why.size = 0;
	*server->error = '\0';
	error = prepare(server, url, body, size);
	if (error)
		return error;
	code = curl_easy_perform(server->easy);
	curl_easy_getinfo(server->easy, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_reset(server->easy); /* forgets secrets, keeps the connection */
	if (answer && answer->failed)
		return pesa_error_no_memory();
	if (code && server->size > ANSWER_MOST)
		return pesa_error_create(PESA_ERROR_UNSUPPORTED,
					 "%s sent more than 4 GiB: choose less with service=, "
					 "host= or a shorter time",
					 server->url->server);
	if (code)
		return pesa_error_create(PESA_ERROR_OTHER, "%s: %s", server->url->server,
					 *server->error ? server->error : curl_easy_strerror(code));
	return status == 200 ? NULL : refused(server, status);
}

struct pesa_error *server_ask(struct server *server, const struct perfdata_buffer *sql,
			      struct perfdata_buffer *answer)
{
	struct pesa_error *error;
	char *url;

	if (sql->failed)
		return pesa_error_no_memory();
	/* The server answers when it is done: what fails on the way has another status. */
	if (asprintf(&url, "http%s://%s/?wait_end_of_query=1&buffer_size=1048576",
		     server->url->tls ? "s" : "", server->url->server) < 0)
		return pesa_error_no_memory();
	error = post(server, url, sql->bytes, sql->size, answer);
	free(url);
	return error;
}

struct pesa_error *server_insert(struct server *server, const struct perfdata_buffer *sql,
				 const void *rows, size_t size)
{
	struct pesa_error *error;
	char *escaped, *url = NULL;

	if (sql->failed)
		return pesa_error_no_memory();
	escaped = curl_easy_escape(server->easy, (const char *)sql->bytes, (int)sql->size);
	if (!escaped || asprintf(&url, "http%s://%s/?query=%s%s", server->url->tls ? "s" : "",
				 server->url->server, escaped, INSERT_SETTINGS) < 0) {
		curl_free(escaped);
		return pesa_error_no_memory();
	}
	error = post(server, url, rows, size, NULL);
	curl_free(escaped);
	free(url);
	return error;
}
