/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Server: answers requests for profiles and metrics (the http worker).
 *
 * | path | answer |
 * | --- | --- |
 * | / | what there is |
 * | /healthz | "ok" |
 * | /metrics | metrics.h, as Prometheus' text |
 * | /debug/pprof/profile?seconds=N | pprof of the next N seconds |
 * | /debug/pesa/interval?after=SERIAL&seconds=N | perf.data of the samples after interval SERIAL,
 *   for `pesa top`; to the end of an interval, or N seconds from now.  Headers report which:
 *   X-Pesa-Serial, X-Pesa-From, X-Pesa-Until (ns since 1970), X-Pesa-Samples |
 *
 * One thread of libmicrohttpd serves all connections of a socket; what takes time (answer.h) is
 * done by threads of its own, at most PESAD_ANSWERS_MAX, while the connection is suspended.
 * Connections are bounded in number, all of a listener and those of one peer, requests in size and
 * in the time until they are complete (clients.h).
 */
#ifndef DAEMON_PESAD_HTTP_SERVER_H
#define DAEMON_PESAD_HTTP_SERVER_H

#include "daemon/pesad/base/channel.h"

#define PESAD_ANSWERS_MAX    16u    /* that are being made at once */
#define PESAD_REQUEST_BYTES  16384u /* of a request with its headers */
#define PESAD_HEADER_SECONDS 5u	    /* for a request to be complete */
#define PESAD_IDLE_SECONDS   15u    /* without progress, after which a connection is closed */
#define PESAD_PEER_SHARE     4u	    /* a peer has one in so many of the connections */
#define PESAD_PEER_LEAST     4u	    /* and so many in any case */

/* What the worker does that answers requests. */
struct pesa_error *pesad_server_run(const struct pesad_worker_context *context);

#endif
