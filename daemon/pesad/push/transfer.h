/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A request by libcurl that another thread can end: who has set *stop wakes the transfer with
 * curl_multi_wakeup(), and it waits for nothing then.  A header, because the daemon and pesa top
 * are linked with libcurl and libpesa is not.
 */
#ifndef DAEMON_PESAD_PUSH_TRANSFER_H
#define DAEMON_PESAD_PUSH_TRANSFER_H

#include <curl/curl.h>
#include <stdatomic.h>
#include <stdbool.h>

/* Run the transfer to its end, and say how it ended.  false: it was stopped before. */
static inline bool transfer_run(CURLM *multi, CURL *easy, atomic_bool *stop, CURLcode *code)
{
	int running = 1, left;
	const CURLMsg *message;

	*code = CURLE_FAILED_INIT;
	/* Without this a transfer that ends before its host has an address waits for the thread
	 * that looks it up: for as long as name servers do not answer. */
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
