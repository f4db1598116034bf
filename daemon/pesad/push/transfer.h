/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What requests with libcurl have in common: TLS, and that another thread can abort them (set *stop and
 * call curl_multi_wakeup()).
 *
 * It is in a header because the daemon, pesa top and pesa store are linked with libcurl and libpesa is
 * not.
 */
#ifndef DAEMON_PESAD_PUSH_TRANSFER_H
#define DAEMON_PESAD_PUSH_TRANSFER_H

#include <curl/curl.h>
#include <stdatomic.h>
#include <stdbool.h>

struct transfer_tls {
	const char *authority;	       /* certificates of authorities, PEM; NULL: the system's */
	const char *certificate, *key; /* of this client, PEM; NULL: none */
	bool verify;		       /* the server's certificate and name */
};

/* At least TLS 1.2. */
static inline CURLcode transfer_set_tls(CURL *easy, const struct transfer_tls *tls)
{
	const struct {
		CURLoption option;
		const char *path;
	} paths[] = {
		{CURLOPT_CAINFO, tls->authority},
		{CURLOPT_SSLCERT, tls->certificate},
		{CURLOPT_SSLKEY, tls->key},
	};
	CURLcode code = curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);

	if (!code)
		code = curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, tls->verify ? 1L : 0L);
	if (!code)
		code = curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, tls->verify ? 2L : 0L);
	for (size_t i = 0; !code && i < sizeof(paths) / sizeof(*paths); i++)
		if (paths[i].path)
			code = curl_easy_setopt(easy, paths[i].option, paths[i].path);
	return code;
}

/* Run the transfer to its end and return its result in *code.  false: aborted. */
static inline bool transfer_run(CURLM *multi, CURL *easy, atomic_bool *stop, CURLcode *code)
{
	int running = 1, left;
	const CURLMsg *message;

	*code = CURLE_FAILED_INIT;
	/*
	 * Otherwise an aborted transfer waits for the thread that resolves the host name, as long
	 * as name servers do not answer.
	 */
	if (curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L) || curl_multi_add_handle(multi, easy))
		return true;
	while (running && !atomic_load(stop))
		if (curl_multi_perform(multi, &running) ||
		    (running && curl_multi_poll(multi, NULL, 0, 1000, NULL)))
			break;
	while ((message = curl_multi_info_read(multi, &left)))
		if (message->msg == CURLMSG_DONE)
			*code = message->data.result;
	curl_multi_remove_handle(multi, easy);
	return !running || !atomic_load(stop);
}

#endif
