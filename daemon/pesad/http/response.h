/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Responses: pages, metrics, short texts, and what answer.h made.  Each has headers that keep it out of
 * caches and from being taken for anything else than it is.
 *
 * The results are libmicrohttpd's: MHD_NO closes the connection.
 */
#ifndef DAEMON_PESAD_HTTP_RESPONSE_H
#define DAEMON_PESAD_HTTP_RESPONSE_H

#include <microhttpd.h>

#include "daemon/pesad/base/metrics.h"
#include "daemon/pesad/http/answer.h"
#include "daemon/pesad/http/request.h"

/* A text, which is copied. */
enum MHD_Result pesad_send_plain(struct MHD_Connection *connection, unsigned int status,
				 const char *text);
/* What there is; which profiles there are. */
enum MHD_Result pesad_send_index(struct MHD_Connection *connection);
enum MHD_Result pesad_send_pprof_index(struct MHD_Connection *connection);
enum MHD_Result pesad_send_metrics(struct MHD_Connection *connection,
				   struct pesad_metrics *metrics);
/* An answer without an error: the file or the data of it belong to the response then.  Of an interval,
 * headers tell which it is. */
enum MHD_Result pesad_send_answer(struct MHD_Connection *connection, struct pesad_answer *answer,
				  enum pesad_resource resource);

#endif
