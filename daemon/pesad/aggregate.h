/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Aggregation in the kernel: a BPF program counts identical samples.
 *
 * Most samples of a program repeat earlier ones.  A BPF program, attached to the perf event of each
 * CPU, counts samples of the same process with the same raw record, in memory shared with the
 * daemon. Nothing is written to the event's ring and no task is woken.  From time to time all pairs
 * (process, record) are drained.
 *
 * The ring is still needed: it has the side-band records, the samples that found the table full,
 * and those without a record of the PMU pesa.  So the caller must keep reading the rings; each
 * sample is either drained or read from a ring.
 *
 * struct pesa_aggregate_pair defines which samples are identical.  A pair has the times of its
 * first and last sample; all its samples get the time of the last one, at which the process and its
 * program existed.  Branch stacks and call chains are not part of a pair, so events with them
 * cannot be counted.
 *
 * If the kernel does not support this (no BPF or type information, the verifier refuses the
 * program, or CAP_BPF and CAP_PERFMON are missing), pesa_aggregate_open() returns the reason, and
 * samples are read from the rings.  Linux 6.3 or newer is needed: older kernels do not prepare the
 * sample before the program runs.
 */
#ifndef DAEMON_PESAD_AGGREGATE_H
#define DAEMON_PESAD_AGGREGATE_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pesa/error.h"
#include "pesa/perfdata.h"
#include "pesa/record.h"

#define PESA_AGGREGATE_ENTRIES_MIN     16u
#define PESA_AGGREGATE_ENTRIES_DEFAULT 8192u
#define PESA_AGGREGATE_ENTRIES_MAX     (1u << 20)

/*
 * A filter: samples that match one entry of each list that is not empty.  Numbers are those of the
 * initial namespaces; names are the thread's current ones (at most 15 bytes); control groups
 * (version 2) are directories including everything below them.
 */
struct pesa_aggregate_filter {
	const uint32_t *pids, *uids;
	size_t pid_count, uid_count;
	char *const *comms, *const *cgroups;
	size_t comm_count, cgroup_count;
};

struct pesa_aggregate_options {
	/*
	 * Pairs per CPU between two drains, rounded up to a power of two; 0: default.  Each takes 2
	 * x 120 bytes.
	 */
	size_t entries;
	bool threads; /* distinguish the threads of a process */
	struct pesa_aggregate_filter filter;
};

struct pesa_aggregate;

/* Load the program.  An error has the reason why the kernel or the filter does not support it. */
struct pesa_error *pesa_aggregate_open(const struct pesa_aggregate_options *options,
				       struct pesa_aggregate **aggregate);
/* NULL is allowed.  Close the events first: the program stays attached to them. */
void pesa_aggregate_close(struct pesa_aggregate *aggregate);

/* Return why samples of the event cannot be counted; NULL: they can. */
const char *pesa_aggregate_obstacle(const struct perf_event_attr *attr);

/*
 * Count the samples of an event that is open on a CPU until the event is closed; attach it before
 * it is enabled.  One event per CPU; a CPU that came online again replaces its old event.
 */
struct pesa_error *pesa_aggregate_attach(struct pesa_aggregate *aggregate, int event,
					 unsigned int cpu, const struct perf_event_attr *attr);

/* Identical samples. */
struct pesa_aggregated {
	struct pesa_record record; /* `data` of the last one; its number of lost samples is 0 */
	uint32_t pid, tid, cpu;	   /* tid = pid if threads are not distinguished */
	uint64_t samples;
	uint64_t periods;     /* sum of the periods, in cycles */
	uint64_t first, last; /* times in ns of the event's clock */
	uint64_t lost;	      /* samples that the hart discarded before these */
};

/* Takes a pair; on error the drain ends, and the pairs after it are counted as dropped. */
typedef struct pesa_error *(*pesa_aggregated_function)(void *context,
						       const struct pesa_aggregated *pair);

/*
 * Pass every pair counted since the last drain to `take` and remove it.  All samples are older than
 * the return of this function and, unless the drain before ended early, newer than the return of
 * that.
 */
struct pesa_error *pesa_aggregate_drain(struct pesa_aggregate *aggregate,
					pesa_aggregated_function take, void *context);

/*
 * Convert a pair to samples, as runs of equal ones (Documentation/perf-data.md, Counted samples).
 * `sample` has attribute 0; `misc` is the header's.  Stops at the first error.
 */
typedef struct pesa_error *(*pesa_sample_run_function)(void *context,
						       const struct pesa_sample *sample,
						       uint16_t misc, uint64_t count);
struct pesa_error *pesa_aggregated_runs(const struct pesa_aggregated *pair,
					pesa_sample_run_function run, void *context);

/* Write the samples. */
struct pesa_error *pesa_aggregated_write(const struct pesa_aggregated *pair,
					 struct pesa_perfdata_writer *writer);

/* Totals of all CPUs since the program was loaded. */
struct pesa_aggregate_counts {
	uint64_t counted;     /* samples in pairs */
	uint64_t filtered;    /* samples that the filter excluded */
	uint64_t overflowed;  /* samples that found no slot; they are in the ring */
	uint64_t passed;      /* samples without a record of the PMU pesa; they are in the ring */
	uint64_t missed;      /* samples that the kernel dropped because another program was
			      * running; exact in cycles, rounded in samples; known if no mode is
			      * excluded */
	uint64_t lost;	      /* discarded by the hart before filtered samples */
	uint64_t dropped;     /* samples in pairs that were not taken */
	uint64_t pairs, room; /* used slots of the fullest bank at the last drain; its size */
};

void pesa_aggregate_counts(const struct pesa_aggregate *aggregate,
			   struct pesa_aggregate_counts *counts);

#endif
