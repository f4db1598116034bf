/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Push: every finished interval goes to a profile store.
 *
 * The collector offers the file of an interval, which only notes its name.  One thread turns it
 * into pprof's form and puts that into the spool (spool.h); another sends what is in the spool,
 * oldest first, and waits and repeats when the store does not take it (send.h, backoff.h).  So
 * the collector waits for neither, a slow store does not delay the spooling, and what was spooled
 * is sent after a restart too.
 *
 * This is what the push worker does (worker.h), which offers the intervals that it is told of.
 *
 * Every profile that was offered ends in exactly one of these counts: sent, refused, one of the
 * dropped, or it is still pending or spooled.
 */
#ifndef DAEMON_PESAD_PUSH_PUSH_H
#define DAEMON_PESAD_PUSH_PUSH_H

#include <stdint.h>
#include <stdio.h>

#include "daemon/pesad/base/channel.h"
#include "daemon/pesad/push/send.h"
#include "daemon/pesad/push/spool.h"
#include "pesa/error.h"

/* Intervals that may wait for their conversion; more are dropped, oldest first. */
#define PESA_PUSH_PENDING_MAX 64u

struct pesa_push_options {
	struct pesa_sender_options sender;
	uint64_t retry_least, retry_most; /* ns */
	const char *spool;		  /* directory */
	struct pesa_spool_limits limits;
	/* Write the profile of the interval in `path` to `out`, as gzip of pprof's protobuf. `from`
	 * and `until` are ns since 1970. */
	struct pesa_error *(*convert)(void *context, const char *path, uint64_t from,
				      uint64_t until, FILE *out);
	/* The interval in `path` needs no further care: its profile is in the spool, or was dropped
	 * and counted.  NULL: nobody wants to know. */
	void (*settled)(void *context, const char *path);
	/* A line for the log, without its newline; `priority` as syslog(3) has it.  From any
	 * thread. */
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

/* The options' texts must outlive it.  Call curl_global_init() before there are threads. */
struct pesa_error *pesa_push_start(const struct pesa_push_options *options,
				   struct pesa_push **push);
/* The file `path` holds what was sampled between these times (ns since 1970).  Never blocks. */
void pesa_push_offer(struct pesa_push *push, const char *path, uint64_t from, uint64_t until);
struct pesa_push_counts pesa_push_counts(struct pesa_push *push);
/* End: a transfer is cut off (its profile stays in the spool), a conversion is waited for, what is
 * pending is converted by nobody and counted as dropped. */
void pesa_push_stop(struct pesa_push *push);

/* What the worker does that sends profiles (worker.c). */
struct pesa_error *pesad_push_run(const struct pesad_worker_context *context);

#endif
