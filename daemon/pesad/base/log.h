/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Log: one line on standard error for what happened, "pesad: ...", with the level that systemd's
 * journal understands ("<4>") where the journal reads it.
 *
 * What can happen again and again is told once a minute: such a line has a kind, and when the next
 * of its kind is printed it says how many were not.  Workers log through the same functions; each
 * process keeps its own times.
 */
#ifndef DAEMON_PESAD_BASE_LOG_H
#define DAEMON_PESAD_BASE_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/pesad/base/config.h"
#include "daemon/pesad/base/metrics.h"
#include "pesa/error.h"

enum pesad_log_kind {
	PESAD_LOG_EVENTS, /* of opening them, and of CPUs that come and go */
	PESAD_LOG_LOSS,	  /* samples were lost */
	PESAD_LOG_COST,	  /* taking samples took most of the time */
	PESAD_LOG_LATE,	  /* a build id could not be read in time */
	PESAD_LOG_WRITE,  /* a file could not be written */
	PESAD_LOG_ROTATE, /* a file could not be removed */
	PESAD_LOG_CLOCK,  /* the wall clock was set */
	PESAD_LOG_BPF,	  /* counting in the kernel */
	PESAD_LOG_WORKER, /* a worker ended */
	PESAD_LOG_STUCK,  /* one was ended by the watchdog */
	PESAD_LOG_PUSH,	  /* a profile could not be sent */
	PESAD_LOG_SPOOL,  /* one could not be kept */
	PESAD_LOG_HTTP,	  /* a request was refused */
	PESAD_LOG_KINDS,
};

struct pesad_log {
	struct pesad_metrics *metrics; /* counts what was not printed; NULL: nobody does */
	enum pesad_log_level level;    /* lines of it and more severe ones are printed */
	bool journal;		       /* standard error is the journal */
	struct {
		uint64_t last, suppressed; /* ns monotonic, 0: never */
	} kinds[PESAD_LOG_KINDS];
};

/* Look where standard error goes. */
void pesad_log_open(struct pesad_log *log, struct pesad_metrics *metrics);

void pesad_log(struct pesad_log *log, enum pesad_log_level level, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* At most once a minute for each kind. */
void pesad_log_limited(struct pesad_log *log, enum pesad_log_kind kind, enum pesad_log_level level,
		       const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Log an error, which is freed; NULL: nothing. */
void pesad_log_error(struct pesad_log *log, enum pesad_log_kind kind, enum pesad_log_level level,
		     struct pesa_error *error);

#endif
