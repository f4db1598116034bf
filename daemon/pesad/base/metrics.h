/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Metrics: what the daemon has done and lost since it started.
 *
 * One struct of atomic numbers, in memory that the workers share, so that each part counts in place
 * and /metrics is one pass over a table (metrics.c) that has a name, a help text, a unit and labels
 * for every member.  Counters only grow; gauges are set.  A part writes only its own members.
 *
 * Conservation.  Every sample that the hardware or the kernel took, as far as anyone can know, is
 * in `taken`, and sooner or later in exactly one of `written`, `filtered` and `lost[...]`:
 *
 *     taken = written + filtered + sum of lost + pending
 *
 * `pending` are those of the interval that is under way; after a clean stop it is 0.  A sample is
 * written when its file stands under its own name: until then it is pending, and when the file
 * cannot be finished its samples are lost for PESAD_LOST_WRITE.
 */
#ifndef DAEMON_PESAD_BASE_METRICS_H
#define DAEMON_PESAD_BASE_METRICS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "pesa/error.h"

typedef _Atomic uint64_t pesad_metric;

/* Why a sample was lost. */
enum pesad_lost {
	PESAD_LOST_RING,     /* a ring was full: the reader was too slow.  The kernel includes lost
			  * side-band records in this count */
	PESAD_LOST_HARDWARE, /* discarded overflow: the last sample had not been read yet */
	PESAD_LOST_KERNEL,   /* dropped by the kernel because another BPF program was running */
	PESAD_LOST_WRITE,    /* the file could not be written */
	PESAD_LOST_COUNT,
};

enum pesad_push_lost {
	PESAD_PUSH_LOST_SPOOL,	 /* the spool was full, or the profile too old */
	PESAD_PUSH_LOST_REFUSED, /* the server refused it for good (4xx) */
	PESAD_PUSH_LOST_FAILED,	 /* conversion failed: the file is gone, or out of memory */
	PESAD_PUSH_LOST_COUNT,
};

enum pesad_worker_kind { PESAD_WORKER_PUSH, PESAD_WORKER_HTTP, PESAD_WORKER_COUNT };

/* A worker's data for the watchdog (watchdog.h), in ns of the watchdog's clock. */
struct pesad_watch {
	pesad_metric channel_read; /* last time it read its channel */
	pesad_metric busy;	   /* start of its current task; 0: none */
};

struct pesad_metrics {
	/* samples (collect, aggregate) */
	pesad_metric taken, written, filtered, pending;
	pesad_metric lost[PESAD_LOST_COUNT];
	pesad_metric throttled;	     /* number of times that the kernel throttled an event */
	pesad_metric damaged_bytes;  /* bytes in rings that were not records */
	pesad_metric cpus;	     /* gauge: CPUs that are sampled */
	pesad_metric cpus_followed;  /* CPUs that came online and were added */
	pesad_metric cpus_refused;   /* CPUs that came online and could not be added */
	pesad_metric build_ids_late; /* maps whose build id was not read in time */
	/* counting in the kernel (aggregate) */
	pesad_metric aggregating;	    /* gauge: 1 in the kernel, 0 by rings */
	pesad_metric map_entries, map_room; /* gauges: used pairs; size of the map */
	pesad_metric map_flushes;
	pesad_metric map_overflows; /* samples that found the map full and used the ring */
	/* files (store) */
	pesad_metric files_written, files_failed, files_removed, files_recovered;
	pesad_metric store_files, store_bytes; /* gauges */
	pesad_metric intervals;		       /* intervals that ended, with or without a file */
	/* push */
	pesad_metric pushed, push_failures; /* profiles delivered; failed attempts */
	pesad_metric push_lost[PESAD_PUSH_LOST_COUNT];
	pesad_metric push_bytes;	       /* bytes of delivered bodies */
	pesad_metric spool_files, spool_bytes; /* gauges */
	/* http */
	pesad_metric requests, requests_refused; /* answered; refused (no token, malformed) */
	pesad_metric clients;			 /* gauge */
	pesad_metric samples_hidden;		 /* delivered without kernel addresses */
	/* connections beyond a peer's share; requests that were too slow */
	pesad_metric clients_refused, clients_late;
	/* maps of code made at run time that a worker did not read, because of who owns them */
	pesad_metric maps_refused[PESAD_WORKER_COUNT];
	/* the daemon itself */
	pesad_metric collector_cpu; /* ns of CPU time of the collector */
	pesad_metric worker_cpu[PESAD_WORKER_COUNT];
	pesad_metric memory; /* gauge: resident bytes of the collector */
	pesad_metric worker_memory[PESAD_WORKER_COUNT];
	pesad_metric worker_restarts[PESAD_WORKER_COUNT];
	/* messages lost because a worker was too slow */
	pesad_metric messages_dropped[PESAD_WORKER_COUNT];
	pesad_metric
		workers_stuck[PESAD_WORKER_COUNT]; /* times that the watchdog killed a worker */
	pesad_metric reloads, reloads_failed;
	pesad_metric log_suppressed; /* log lines suppressed by the rate limit */
	pesad_metric started;	     /* gauge: wall time, ns */
	/* not printed: the watchdog's clock, and the monotonic time of its last tick */
	struct pesad_watch watch[PESAD_WORKER_COUNT];
	pesad_metric watch_clock, watch_last;
};

/* Allocated in memory shared with child processes; freed by pesad_metrics_close(). */
struct pesa_error *pesad_metrics_open(struct pesad_metrics **metrics);
void pesad_metrics_close(struct pesad_metrics *metrics);

static inline void pesad_count(pesad_metric *metric, uint64_t more)
{
	atomic_fetch_add_explicit(metric, more, memory_order_relaxed);
}

static inline void pesad_set(pesad_metric *metric, uint64_t value)
{
	atomic_store_explicit(metric, value, memory_order_relaxed);
}

static inline uint64_t pesad_value(const pesad_metric *metric)
{
	return atomic_load_explicit(metric, memory_order_relaxed);
}

/* Set two members to the CPU time and the memory of the calling process. */
void pesad_metrics_of_process(pesad_metric *cpu, pesad_metric *memory);

/* Prometheus text format 0.0.4: "# HELP", "# TYPE" and a line for each number. */
void pesad_metrics_print(const struct pesad_metrics *metrics, FILE *stream);

#endif
