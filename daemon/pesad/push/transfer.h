/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A libcurl request that another thread can abort: set *stop and call curl_multi_wakeup().
 *
 * It is in a header because the daemon and pesa top are linked with libcurl and libpesa is not.
 */
#ifndef DAEMON_PESAD_PUSH_TRANSFER_H
#define DAEMON_PESAD_PUSH_TRANSFER_H

#include <curl/curl.h>
#include <stdatomic.h>
#include <stdbool.h>

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
