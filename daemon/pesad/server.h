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
 * | /debug/pesa/interval?after=SERIAL&seconds=N | perf.data of the interval behind SERIAL, for
 *   `pesa top`; ended after N seconds if it has not ended by then.  Headers tell which it is:
 *   X-Pesa-Serial, X-Pesa-From, X-Pesa-Until (ns since 1970), X-Pesa-Samples |
 *
 * One thread of libmicrohttpd serves all connections of a socket; what takes time (answer.h) is
 * done by threads of its own, at most PESAD_ANSWERS_MAX, while the connection is suspended.
 * Connections are bounded in number, requests in size, and idle ones are closed.
 */
#ifndef DAEMON_PESAD_SERVER_H
#define DAEMON_PESAD_SERVER_H

#include "daemon/pesad/worker.h"

#define PESAD_ANSWERS_MAX   16u	   /* that are being made at once */
#define PESAD_REQUEST_BYTES 16384u /* of a request with its headers */
#define PESAD_IDLE_SECONDS  15u	   /* after which a connection is closed */

/* worker.h declares what it does: pesad_server_run(). */

#endif
