/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The daemon's log: lines "pesad: ..." on standard error, with a level prefix for systemd's journal
 * ("<4>") if standard error is connected to the journal.
 *
 * Messages that can repeat quickly are limited to one per minute and kind; the next line of the
 * kind says how many were suppressed.  Workers use the same functions; each process has its own
 * limits.
 */
#ifndef DAEMON_PESAD_BASE_LOG_H
#define DAEMON_PESAD_BASE_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/pesad/base/config.h"
#include "daemon/pesad/base/metrics.h"
#include "pesa/error.h"

enum pesad_log_kind {
	PESAD_LOG_EVENTS, /* opening events, and CPU hotplug */
	PESAD_LOG_LOSS,	  /* samples were lost */
	PESAD_LOG_COST,	  /* taking samples takes most of the time */
	PESAD_LOG_LATE,	  /* a build id was not read in time */
	PESAD_LOG_WRITE,  /* a file could not be written */
	PESAD_LOG_ROTATE, /* a file could not be removed */
	PESAD_LOG_CLOCK,  /* the wall clock was set */
	PESAD_LOG_BPF,	  /* counting in the kernel */
	PESAD_LOG_WORKER, /* a worker ended */
	PESAD_LOG_STUCK,  /* a worker was killed by the watchdog */
	PESAD_LOG_PUSH,	  /* a profile could not be sent */
	PESAD_LOG_SPOOL,  /* a profile could not be spooled */
	PESAD_LOG_HTTP,	  /* a request was refused */
	PESAD_LOG_KINDS,
};

struct pesad_log {
	struct pesad_metrics *metrics; /* counts suppressed lines; NULL: not counted */
	enum pesad_log_level level;    /* lowest severity that is printed */
	bool journal;		       /* standard error is the journal */
	struct {
		uint64_t last, suppressed; /* ns monotonic, 0: never */
	} kinds[PESAD_LOG_KINDS];
};

/* Detect where standard error goes. */
void pesad_log_open(struct pesad_log *log, struct pesad_metrics *metrics);

void pesad_log(struct pesad_log *log, enum pesad_log_level level, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Log at most once a minute per kind. */
void pesad_log_limited(struct pesad_log *log, enum pesad_log_kind kind, enum pesad_log_level level,
		       const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Log an error and free it; NULL: nothing. */
void pesad_log_error(struct pesad_log *log, enum pesad_log_kind kind, enum pesad_log_level level,
		     struct pesa_error *error);

#endif
