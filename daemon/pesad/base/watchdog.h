/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The watchdog: detects workers that make no progress.
 *
 * Workers parse data from others and may hang in one file.  Each stores two times in shared memory:
 * when it last read its channel, and when its current task began (one at a time, a conversion).
 * The collector sends a ping now and then.  A worker that has not read its channel, or has not
 * finished its task, for `daemon.watchdog` is stuck: it is killed, logged, counted (workers_stuck)
 * and restarted.
 *
 * The times are of a clock that the collector advances, by at most a second at a time: if the
 * daemon was stopped or the machine suspended, no worker counts as stuck.
 */
#ifndef DAEMON_PESAD_BASE_WATCHDOG_H
#define DAEMON_PESAD_BASE_WATCHDOG_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/pesad/base/metrics.h"

/* ---- In a worker (elsewhere they do nothing) ------------------------------------------------ */

/* Set where this process stores its times. */
void pesad_watch_own(struct pesad_metrics *metrics, enum pesad_worker_kind kind);
/* The process has read its channel. */
void pesad_watch_channel_read(void);
/* A task begins; a task has ended. */
void pesad_watch_begin(void);
void pesad_watch_end(void);

/* ---- In the collector ---------------------------------------------------------------------- */

/* The collector's state of one worker; zeros for a new one. */
struct pesad_watched {
	uint64_t asked; /* time of the first unanswered ping; 0: none */
	uint64_t again; /* time of the next ping */
};

/* Advance the clock.  `now`: ns monotonic. */
void pesad_watch_tick(struct pesad_metrics *metrics, uint64_t now);
/* A new process of a kind starts. */
void pesad_watch_reset(struct pesad_metrics *metrics, enum pesad_worker_kind kind,
		       struct pesad_watched *watched);
/* Return whether the worker has made no progress for `limit` ns.  *ask: send it a ping. */
bool pesad_watch_stuck(struct pesad_metrics *metrics, enum pesad_worker_kind kind,
		       struct pesad_watched *watched, uint64_t limit, bool *ask);

#endif
