/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Workers: child processes for everything that may be slow, large or exposed to hostile input.
 *
 * The daemon's first process is the collector: it opens the events, empties the rings and writes
 * the files.  It never waits for a network and never parses data from others.  Workers convert
 * finished intervals to pprof (symbols, debug information, memory), send profiles and answer
 * requests.  Each worker
 *
 *   - has no capabilities, a stricter system call filter than the collector (no perf_event_open,
 *     bpf, ptrace), a nice value of 10 and an address space limit (`memory`);
 *   - is notified of finished intervals by messages on a socket, which never block the collector:
 *     if a worker is too slow, the message is dropped and counted (messages_dropped), and the
 *     worker can still find the file in the store's directory;
 *   - is restarted when it ends, after 1 s, then 2 s, and so on up to 1 minute; the collection is
 *     not affected;
 *   - is restarted when it is stuck (watchdog.h);
 *   - is restarted when the configuration is reloaded; it is ended by SIGTERM, after half a second
 *     by SIGKILL (0.2 s later it is no longer waited for), and by the kernel when the collector
 *     dies.
 *
 * The push worker gets the path of a finished file, converts it with include/pesa/export.h
 * (libpesa) and writes pprof to its spool, from which it sends.  The http worker requests a flush
 * (pesad_channel_flush()) when a request begins and when its seconds are over, and exports what the
 * files have in between.  No request ends an interval.  Flush requests within a second of the last
 * one are answered together.
 */
#ifndef DAEMON_PESAD_WORKER_H
#define DAEMON_PESAD_WORKER_H

#include <stdbool.h>

#include "daemon/pesad/base/channel.h"

struct pesad_workers; /* all workers; owned by the collector */

/* Start the workers that the configuration enables. */
struct pesa_error *pesad_workers_start(const struct pesad_config *config,
				       struct pesad_metrics *metrics, struct pesad_log *log,
				       struct pesad_workers **workers);
/* Send a message to all workers. */
void pesad_workers_notify(struct pesad_workers *workers, const struct pesad_message *message);
/* After SIGCHLD or a timeout: restart the workers that are due. */
void pesad_workers_poll_once(struct pesad_workers *workers);
/* Return whether a worker requested a flush since the last call. */
bool pesad_workers_want_flush(struct pesad_workers *workers);
/*
 * Descriptors to poll, one for each kind; -1: not running, or so many messages that the collector
 * reads them in its own time.
 */
void pesad_workers_descriptors(const struct pesad_workers *workers,
			       int descriptors[PESAD_WORKER_COUNT]);
/* End all workers and wait for them, but not long for one that was killed. */
void pesad_workers_stop(struct pesad_workers *workers);

#endif
