/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Push: sends every finished interval to a profile store.
 *
 * The main thread offers the file of an interval, which only stores its name.  One thread converts
 * it to pprof and puts the result into the spool (spool.h); another sends the spool's contents,
 * oldest first, and retries when the store fails (send.h, backoff.h).  So neither blocks the main
 * thread, a slow store does not delay spooling, and spooled profiles survive a restart.
 *
 * The push worker (worker.h) uses this for the intervals of the collector's messages.
 *
 * Every offered profile ends up in exactly one count: sent, refused, one of the dropped ones, or it
 * is still pending or spooled.
 */
#ifndef DAEMON_PESAD_PUSH_PUSH_H
#define DAEMON_PESAD_PUSH_PUSH_H

#include <stdint.h>
#include <stdio.h>

#include "daemon/pesad/base/channel.h"
#include "daemon/pesad/push/send.h"
#include "daemon/pesad/push/spool.h"
#include "pesa/error.h"

/* Maximum number of intervals that wait for conversion; beyond it the oldest are dropped. */
#define PESA_PUSH_PENDING_MAX 64u

struct pesa_push_options {
	struct pesa_sender_options sender;
	uint64_t retry_least, retry_most; /* ns */
	const char *spool;		  /* directory */
	struct pesa_spool_limits limits;
	/*
	 * Convert the interval in `path` to gzipped pprof and write it to `out`.  `from` and
	 * `until` are ns since 1970.
	 */
	struct pesa_error *(*convert)(void *context, const char *path, uint64_t from,
				      uint64_t until, FILE *out);
	/*
	 * The interval in `path` is done: its profile is in the spool, or was dropped and counted.
	 * May be NULL.
	 */
	void (*settled)(void *context, const char *path);
	/* Log a line without newline; `priority` as in syslog(3).  Called from any thread. */
	void (*log)(void *context, int priority, const char *line);
	void *context; /* of these functions */
};

struct pesa_push_counts {
	uint64_t offered;
	uint64_t pending;	      /* now: not converted yet */
	uint64_t dropped_pending;     /* too many were */
	uint64_t dropped_unconverted; /* could not be read or converted */
	uint64_t sent, sent_bytes;
	uint64_t refused;
	uint64_t failures;  /* attempts that will be or were repeated */
	uint64_t last_sent; /* ns since 1970; 0: never */
	struct pesa_spool_counts spool;
};

struct pesa_push;

/* The strings in the options must outlive it.  Call curl_global_init() before creating threads. */
struct pesa_error *pesa_push_start(const struct pesa_push_options *options,
				   struct pesa_push **push);
/* Offer the file `path` with the samples between these times (ns since 1970).  Never blocks. */
void pesa_push_offer(struct pesa_push *push, const char *path, uint64_t from, uint64_t until);
struct pesa_push_counts pesa_push_counts(struct pesa_push *push);
/*
 * Stop: a transfer is aborted (its profile stays in the spool), a conversion is completed, pending
 * intervals are counted as dropped.
 */
void pesa_push_stop(struct pesa_push *push);

/* What the worker does that sends profiles (worker.c). */
struct pesa_error *pesad_push_run(const struct pesad_worker_context *context);

#endif
