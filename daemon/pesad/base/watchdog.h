/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Watchdog: whether a worker gets on with what it does.
 *
 * Workers read what others wrote, and may wait for ever in one file of it.  Each leaves two traces
 * in the memory that all processes share: when it last listened to its channel, and since when it
 * has been at a task (one at a time: a conversion).  The collector asks for the first by a message
 * now and then.  A worker that has not listened, or has not ended its task, for `daemon.watchdog`
 * is stuck: it is killed, told in a line, counted (workers_stuck), and started again.
 *
 * Times are those of a clock that the collector moves on while it looks, by a second at most each
 * time: when the daemon was stopped or the machine slept, no worker is to blame for it.
 */
#ifndef DAEMON_PESAD_BASE_WATCHDOG_H
#define DAEMON_PESAD_BASE_WATCHDOG_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/pesad/base/metrics.h"

/* ---- In a worker (elsewhere they do nothing) ------------------------------------------------ */

/* What this process leaves its traces in from now on. */
void pesad_watch_own(struct pesad_metrics *metrics, enum pesad_worker_kind kind);
/* It has listened to its channel. */
void pesad_watch_heard(void);
/* It begins a task, and has ended it. */
void pesad_watch_begin(void);
void pesad_watch_end(void);

/* ---- In the collector ---------------------------------------------------------------------- */

/* What the collector remembers of one worker; zeros for a new one. */
struct pesad_watched {
	uint64_t asked; /* of the watchdog's clock: since when an answer is due; 0: none is */
	uint64_t again; /* when it is asked again */
};

/* Move the clock on.  `now`: ns monotonic. */
void pesad_watch_tick(struct pesad_metrics *metrics, uint64_t now);
/* A new process of a kind begins. */
void pesad_watch_reset(struct pesad_metrics *metrics, enum pesad_worker_kind kind,
		       struct pesad_watched *watched);
/* Whether it has done nothing for `limit` ns.  *ask: send it a message that it need not answer. */
bool pesad_watch_stuck(struct pesad_metrics *metrics, enum pesad_worker_kind kind,
		       struct pesad_watched *watched, uint64_t limit, bool *ask);

#endif
