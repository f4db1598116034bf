// SPDX-License-Identifier: GPL-2.0-or-later
/* One profile, one attempt, with libcurl.  See send.h. */
#include "daemon/pesad/push/send.h"

#include <curl/curl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "daemon/pesad/push/backoff.h"
#include "daemon/pesad/push/database.h"
#include "decoder/base/secret.h"
#include "daemon/pesad/push/transfer.h"
#include "pesa/version.h"

#define ANSWER_KEPT	   160	     /* bytes of an answer, for messages */
#define ANSWER_MOST	   (1 << 20) /* bytes that are read before the transfer is given up */
#define REDIRECTIONS_MOST  3
#define CONNECT_MOST	   10000 /* ms */
#define NS_PER_MILLISECOND 1000000
#define NS_PER_SECOND	   1000000000

struct pesa_sender {
	struct pesa_sender_options options;
	struct pesa_secret token, basic;
	CURLM *multi;
	CURL *easy; /* kept, with its connection */
	atomic_bool stop;
	char error[CURL_ERROR_SIZE];
	char answer[ANSWER_KEPT + 1];
	size_t answer_size; /* bytes received, kept or not */
};

/* ---- Making -------------------------------------------------------------------------------- */

struct pesa_error *pesa_sender_create(const struct pesa_sender_options *options,
				      struct pesa_sender **result)
{
	struct pesa_error *error = pesa_store_check(&options->target);
	struct pesa_sender *sender;

	if (!error && options->target.kind == PESA_STORE_CLICKHOUSE)
		error = push_database_check(&options->target);
	if (error)
		return error;
	sender = calloc(1, sizeof(*sender));
	if (!sender)
		return pesa_error_no_memory();
	sender->options = *options;
	if (options->token_file)
		error = pesa_secret_open(&sender->token, options->token_file);
	if (!error && options->basic_file)
		error = pesa_secret_open(&sender->basic, options->basic_file);
	if (!error) {
		sender->multi = curl_multi_init();
		sender->easy = curl_easy_init();
		if (!sender->multi || !sender->easy)
			error = pesa_error_no_memory();
	}
	if (error) {
		pesa_sender_free(sender);
		return error;
	}
	*result = sender;
	return NULL;
}

void pesa_sender_free(struct pesa_sender *sender)
{
	if (!sender)
		return;
	curl_easy_cleanup(sender->easy);
	curl_multi_cleanup(sender->multi);
	pesa_secret_close(&sender->token);
	pesa_secret_close(&sender->basic);
	free(sender);
}

/* ---- One attempt --------------------------------------------------------------------------- */

static size_t take_answer(char *data, size_t one, size_t count, void *context)
{
	struct pesa_sender *sender = context;
	size_t size = one * count;

	if (sender->answer_size < ANSWER_KEPT) {
		size_t room = ANSWER_KEPT - sender->answer_size;

		memcpy(sender->answer + sender->answer_size, data, size < room ? size : room);
	}
	sender->answer_size += size;
	return sender->answer_size > ANSWER_MOST ? 0 : size;
}

/* Format the server's response as one log line. */
static void quote_answer(struct pesa_sender *sender)
{
	size_t size = sender->answer_size < ANSWER_KEPT ? sender->answer_size : ANSWER_KEPT;

	for (size_t i = 0; i < size; i++)
		if (sender->answer[i] < ' ' || sender->answer[i] > '~')
			sender->answer[i] = ' ';
	while (size && sender->answer[size - 1] == ' ')
		size--;
	sender->answer[size] = '\0';
}

static bool add_header(struct curl_slist **headers, const char *line)
{
	struct curl_slist *grown = line ? curl_slist_append(*headers, line) : *headers;

	if (!grown)
		return !line;
	*headers = grown;
	return true;
}

static struct pesa_error *set_secrets(struct pesa_sender *sender)
{
	char text[PESA_SECRET_SIZE];
	struct pesa_error *error = NULL;
	CURLcode code = CURLE_OK;

	if (sender->options.token_file) {
		error = pesa_secret_get(&sender->token, text);
		if (!error) {
			code = curl_easy_setopt(sender->easy, CURLOPT_XOAUTH2_BEARER, text);
			if (!code)
				code = curl_easy_setopt(sender->easy, CURLOPT_HTTPAUTH,
							CURLAUTH_BEARER);
		}
	} else if (sender->options.basic_file) {
		error = pesa_secret_get(&sender->basic, text);
		if (!error) {
			code = curl_easy_setopt(sender->easy, CURLOPT_USERPWD, text);
			if (!code)
				code = curl_easy_setopt(sender->easy, CURLOPT_HTTPAUTH,
							CURLAUTH_BASIC);
		}
	}
	explicit_bzero(text, sizeof(text));
	return error ? error : code ? pesa_error_no_memory() : NULL;
}

static CURLcode set_numbers(struct pesa_sender *sender)
{
	long timeout = (long)(sender->options.timeout / NS_PER_MILLISECOND);
	bool https = !strncasecmp(sender->options.target.url, "https:", 6);
	const struct {
		CURLoption option;
		long value;
	} settings[] = {
		{CURLOPT_NOSIGNAL, 1},
		{CURLOPT_TIMEOUT_MS, timeout},
		{CURLOPT_CONNECTTIMEOUT_MS, timeout < CONNECT_MOST ? timeout : CONNECT_MOST},
		{CURLOPT_FOLLOWLOCATION, 1},
		{CURLOPT_MAXREDIRS, REDIRECTIONS_MOST},
		{CURLOPT_POSTREDIR, CURL_REDIR_POST_ALL},
		{CURLOPT_TCP_KEEPALIVE, 1},
		/* On a kept connection that ends without an answer libcurl sends again by itself:
		 * rows of a database would be there twice. */
		{CURLOPT_FRESH_CONNECT, sender->options.target.kind == PESA_STORE_CLICKHOUSE},
	};
	CURLcode code = CURLE_OK;

	for (size_t i = 0; !code && i < sizeof(settings) / sizeof(*settings); i++)
		code = curl_easy_setopt(sender->easy, settings[i].option, settings[i].value);
	if (!code)
		code = curl_easy_setopt(sender->easy, CURLOPT_PROTOCOLS_STR, "http,https");
	if (!code)
		code = curl_easy_setopt(sender->easy, CURLOPT_REDIR_PROTOCOLS_STR,
					https ? "https" : "http,https");
	return code;
}

static CURLcode set_pointers(struct pesa_sender *sender, const struct pesa_store_request *request,
			     struct curl_slist *headers)
{
	const struct {
		CURLoption option;
		const void *value;
	} settings[] = {
		{CURLOPT_URL, request->url},	      {CURLOPT_HTTPHEADER, headers},
		{CURLOPT_POSTFIELDS, request->body},  {CURLOPT_USERAGENT, "pesa/" PESA_VERSION},
		{CURLOPT_ERRORBUFFER, sender->error}, {CURLOPT_WRITEDATA, sender},
	};
	CURLcode code = curl_easy_setopt(sender->easy, CURLOPT_POSTFIELDSIZE_LARGE,
					 (curl_off_t)request->body_size);

	for (size_t i = 0; !code && i < sizeof(settings) / sizeof(*settings); i++)
		if (settings[i].value)
			code = curl_easy_setopt(sender->easy, settings[i].option,
						settings[i].value);
	if (!code)
		code = curl_easy_setopt(sender->easy, CURLOPT_WRITEFUNCTION, take_answer);
	return code;
}

/* The response is an HTML page, not a store's: a portal, a proxy, a wrong path. */
static bool is_page(struct pesa_sender *sender)
{
	const char *type = NULL;

	curl_easy_getinfo(sender->easy, CURLINFO_CONTENT_TYPE, &type);
	return type && !strncasecmp(type, "text/html", strlen("text/html"));
}

/* Statuses for which a retry can succeed. */
static bool may_change(long status)
{
	return status == 408 || status == 429 || status >= 500 || status < 400;
}

/*
 * The same for a database, whose statuses differ from version to version: rights and tables can be
 * mended by whoever runs it, and what is wrong with the rows themselves has one of these numbers
 * ("Code: 33, ...").
 */
static bool may_database_change(const char *answer)
{
	static const unsigned int of_rows[] = {
		9,   /* SIZES_OF_COLUMNS_DOESNT_MATCH */
		10,  /* NOT_FOUND_COLUMN_IN_BLOCK */
		26,  /* CANNOT_PARSE_QUOTED_STRING */
		27,  /* CANNOT_PARSE_INPUT_ASSERTION_FAILED */
		33,  /* CANNOT_READ_ALL_DATA */
		50,  /* UNKNOWN_TYPE */
		53,  /* TYPE_MISMATCH */
		117, /* INCORRECT_DATA */
		130, /* CANNOT_READ_ARRAY_FROM_TEXT */
		131, /* TOO_LARGE_STRING_SIZE */
	};
	unsigned int code;

	if (sscanf(answer, "Code: %u", &code) != 1)
		return true;
	for (size_t i = 0; i < sizeof(of_rows) / sizeof(*of_rows); i++)
		if (code == of_rows[i])
			return false;
	return true;
}

static void judge(struct pesa_sender *sender, CURLcode code, struct pesa_sent_result *result)
{
	curl_off_t retry_after = 0;
	long status = 0;

	curl_easy_getinfo(sender->easy, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_getinfo(sender->easy, CURLINFO_RETRY_AFTER, &retry_after);
	quote_answer(sender);
	if (retry_after > 0)
		result->retry_after = (uint64_t)retry_after > PESA_RETRY_SECONDS_MOST
					      ? PESA_RETRY_SECONDS_MOST * NS_PER_SECOND
					      : (uint64_t)retry_after * NS_PER_SECOND;
	result->sent = PESA_SENT_FAILED;
	if (code) {
		snprintf(result->why, sizeof(result->why), "%s",
			 *sender->error ? sender->error : curl_easy_strerror(code));
	} else if (status >= 200 && status < 300 && !is_page(sender)) {
		result->sent = PESA_SENT_DELIVERED;
	} else if (status >= 200 && status < 300) {
		snprintf(result->why, sizeof(result->why),
			 "answered status %ld with a page, not as a profile store does", status);
	} else {
		snprintf(result->why, sizeof(result->why), "answered status %ld%s%s", status,
			 *sender->answer ? ": " : "", sender->answer);
		if (sender->options.target.kind == PESA_STORE_CLICKHOUSE
			    ? !may_database_change(sender->answer)
			    : !may_change(status))
			result->sent = PESA_SENT_REFUSED;
	}
}

static void fail(struct pesa_sent_result *result, struct pesa_error *error)
{
	result->sent = PESA_SENT_FAILED;
	snprintf(result->why, sizeof(result->why), "%s", error->message);
	pesa_error_free(error);
}

static struct pesa_sent_result send_request(struct pesa_sender *sender,
					    const struct pesa_store_request *made)
{
	struct pesa_sent_result result = {.sent = PESA_SENT_STOPPED};
	const struct pesa_store_request request = *made;
	const struct transfer_tls tls = {.authority = sender->options.authority,
					 .certificate = sender->options.certificate,
					 .key = sender->options.key,
					 .verify = sender->options.verify};
	struct curl_slist *headers = NULL;
	struct pesa_error *error;
	char content_type[sizeof("Content-Type: ") + CONTENT_TYPE_MAX];
	CURLcode code;

	curl_easy_reset(sender->easy);
	memset(sender->answer, 0, sizeof(sender->answer));
	sender->answer_size = 0;
	*sender->error = '\0';
	snprintf(content_type, sizeof(content_type), "Content-Type: %s", request.content_type);
	error = set_secrets(sender);
	if (!error && (!add_header(&headers, content_type) || !add_header(&headers, "Expect:") ||
		       !add_header(&headers, request.extra_header) ||
		       !add_header(&headers, request.tenant_header)))
		error = pesa_error_no_memory();
	if (!error) {
		code = set_numbers(sender);
		if (!code)
			code = set_pointers(sender, &request, headers);
		if (!code)
			code = transfer_set_tls(sender->easy, &tls);
		if (code)
			error = pesa_error_create(PESA_ERROR_OTHER, "libcurl: %s",
						  curl_easy_strerror(code));
	}
	if (error)
		fail(&result, error);
	else if (transfer_run(sender->multi, sender->easy, &sender->stop, &code))
		judge(sender, code, &result);
	curl_easy_reset(sender->easy); /* forgets secrets and headers, keeps the connection */
	curl_slist_free_all(headers);
	return result;
}

/* The requests that store a parcel in a database, as far as they are delivered. */
static struct pesa_sent_result send_parcel(struct pesa_sender *sender, const void *bytes,
					   size_t size)
{
	struct pesa_sent_result result = {.sent = PESA_SENT_DELIVERED};
	struct pesa_store_request request;
	struct push_parcel parcel;
	bool any = true;
	struct pesa_error *error = push_parcel_open(bytes, size, &parcel);

	if (error) {
		/* No attempt can mend what is in the spool. */
		fail(&result, error);
		result.sent = PESA_SENT_REFUSED;
		any = false;
	}
	while (any && result.sent == PESA_SENT_DELIVERED) {
		error = push_parcel_request(&parcel, &sender->options.target, &request, &any);
		if (!error && any) {
			result = send_request(sender, &request);
			if (result.sent == PESA_SENT_DELIVERED)
				error = push_parcel_answered(&parcel, sender->answer);
		}
		pesa_store_request_free(&request);
		if (error)
			fail(&result, error);
	}
	push_parcel_close(&parcel);
	return result;
}

struct pesa_sent_result pesa_sender_send(struct pesa_sender *sender,
					 const struct pesa_spool_entry *entry, const void *profile,
					 size_t size)
{
	struct pesa_sent_result result;
	struct pesa_store_request request;
	struct pesa_error *error;

	if (sender->options.target.kind == PESA_STORE_CLICKHOUSE)
		return send_parcel(sender, profile, size);
	error = pesa_store_request(&sender->options.target, entry, profile, size, &request);
	if (error) {
		result = (struct pesa_sent_result){0};
		fail(&result, error);
		return result;
	}
	result = send_request(sender, &request);
	pesa_store_request_free(&request);
	return result;
}

void pesa_sender_wait(struct pesa_sender *sender, uint64_t duration)
{
	uint64_t milliseconds = duration / NS_PER_MILLISECOND + 1;

	if (!atomic_load(&sender->stop))
		curl_multi_poll(sender->multi, NULL, 0,
				milliseconds > 60000 ? 60000 : (int)milliseconds, NULL);
}

void pesa_sender_wake(struct pesa_sender *sender, bool stop)
{
	if (stop)
		atomic_store(&sender->stop, true);
	curl_multi_wakeup(sender->multi);
}
