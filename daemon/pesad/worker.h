/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Workers: processes beside the collecting one, for what may be slow, large or hostile.
 *
 * The daemon's first process collects: it opens the events, empties the rings and writes the files,
 * and does nothing that waits for a network or reads what others wrote.  Making pprof of a finished
 * interval (symbols, debug information, memory), sending it, and answering requests are done by
 * workers, each a child of the first process:
 *
 *   - without any capability, with a system call filter narrower than the collector's (no
 *     perf_event_open, bpf, ptrace), nicer by 10, and with an address space limit (`memory`);
 *   - told of finished intervals by messages on a socket, which never block the collector: when a
 *     worker is too slow, the message is dropped and counted (messages_dropped), and the worker can
 *     still find the file in the directory of the store;
 *   - started again when they end, after 1 s, then 2 s, and so on to 1 minute; a worker that ends
 *     takes nothing of the collection with it;
 *   - ended and started again when they get stuck (watchdog.h);
 *   - ended and started anew when the configuration is read again; ended by SIGTERM, after half a
 *     second by SIGKILL (and 0.2 s later no longer waited for), and by the kernel when the
 * collector dies.
 *
 * How push gets pprof: the push worker is told the path of a finished file, reads it with
 * include/pesa/export.h (libpesa) and writes pprof into its spool, from which it sends.  How pull
 * does: the http worker asks for what is under way to be written out (pesad_channel_flush()) when a
 * request begins and when its seconds are over, and exports what the files have between the two.
 * No request ends an interval.  Wishes that come within a second of the last are answered together.
 */
#ifndef DAEMON_PESAD_WORKER_H
#define DAEMON_PESAD_WORKER_H

#include <stdbool.h>

#include "daemon/pesad/base/channel.h"

struct pesad_workers; /* all of them, as the collector has them */

/* Start those that the configuration asks for. */
struct pesa_error *pesad_workers_start(const struct pesad_config *config,
				       struct pesad_metrics *metrics, struct pesad_log *log,
				       struct pesad_workers **workers);
/* Tell all of an interval. */
void pesad_workers_tell(struct pesad_workers *workers, const struct pesad_message *message);
/* A child has ended (SIGCHLD), or time has passed: start those again whose time has come. */
void pesad_workers_look(struct pesad_workers *workers);
/* Whether some worker has asked for what is under way since the last call. */
bool pesad_workers_want_flush(struct pesad_workers *workers);
/* Descriptors to wait for, one for each kind; -1: it does not run, or says so much that the
 * collector listens when it looks anyway. */
void pesad_workers_descriptors(const struct pesad_workers *workers,
			       int descriptors[PESAD_WORKER_COUNT]);
/* End all and wait for them; but not for one that was killed, should that take long. */
void pesad_workers_stop(struct pesad_workers *workers);

#endif
