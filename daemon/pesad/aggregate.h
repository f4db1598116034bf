/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counting in the kernel: identical samples become one pair with a number.
 *
 * Most samples of a program are ones that it has had before.  A BPF program, attached to the perf
 * event of each CPU, counts those of the same process and the same raw record in memory that it
 * shares with us; nothing is written to the event's ring and nobody is woken.  Now and then all
 * pairs are drained.
 *
 * The ring remains: side-band records come through it, and so do the samples that found no room
 * in the table or carry no record of ours.  Whoever counts must therefore go on reading rings, and
 * a sample is either drained or read, never both.
 *
 * What is the same: see struct pesa_aggregate_pair.  A pair keeps the times of its first and of its
 * last sample, of which the last is given to all: its process, and the program that it ran, lived
 * then.  Branch stacks and call chains are not part of a pair: events that ask for them cannot be
 * counted.
 *
 * Where the kernel cannot (it was built without BPF or type information, refuses the program, or we
 * lack CAP_BPF and CAP_PERFMON), pesa_aggregate_open() says why, and the samples have to be
 * read from the rings.  Linux 6.3 and newer can: older ones do not prepare the sample before the
 * program sees it.
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
 * Whose samples are wanted: those that match one of each list that is not empty.  Numbers are those
 * of the initial namespaces, names those that a thread has at the time (15 bytes at most), control
 * groups (of version 2) directories, with everything below them.
 */
struct pesa_aggregate_filter {
	const uint32_t *pids, *uids;
	size_t pid_count, uid_count;
	char *const *comms, *const *cgroups;
	size_t comm_count, cgroup_count;
};

struct pesa_aggregate_options {
	/* Pairs that a CPU can hold between two drains, rounded up to a power of two; 0: the
	 * default. 120 bytes each, twice. */
	size_t entries;
	bool threads; /* of a process are told apart */
	struct pesa_aggregate_filter filter;
};

struct pesa_aggregate;

/* Load the program.  The error says why the kernel or the filter cannot be had. */
struct pesa_error *pesa_aggregate_open(const struct pesa_aggregate_options *options,
				       struct pesa_aggregate **aggregate);
/* NULL is allowed.  Events that are still open keep counting into nothing: close them before. */
void pesa_aggregate_close(struct pesa_aggregate *aggregate);

/* Whether samples of such an event can be counted; NULL: yes, otherwise why not. */
const char *pesa_aggregate_obstacle(const struct perf_event_attr *attr);

/*
 * Count the samples of an event that is open on a CPU, best before it is enabled, from now until it
 * is closed.  One event of each CPU, or of a CPU that came back in the place of the one that died.
 */
struct pesa_error *pesa_aggregate_attach(struct pesa_aggregate *aggregate, int event,
					 unsigned int cpu, const struct perf_event_attr *attr);

/* Samples that are the same. */
struct pesa_aggregated {
	struct pesa_record record; /* `data` of the last, the number of lost ones 0 */
	uint32_t pid, tid, cpu;	   /* tid: pid where threads are not told apart */
	uint64_t samples;
	uint64_t periods;     /* the sum of theirs, cycles */
	uint64_t first, last; /* times, ns of the event's clock */
	uint64_t lost;	      /* by the hart before them */
};

/* Takes pairs; an error ends it, and the pairs behind that one are counted as dropped. */
typedef struct pesa_error *(*pesa_aggregated_function)(void *context,
						       const struct pesa_aggregated *pair);

/*
 * Hand every pair that was counted since the last drain to `take` and forget it.  All of them are
 * older than the return of this function and, but for a drain that ended early, newer than the
 * return of the one before it.
 */
struct pesa_error *pesa_aggregate_drain(struct pesa_aggregate *aggregate,
					pesa_aggregated_function take, void *context);

/*
 * The samples that a pair stands for, as runs of equal ones (Documentation/perf-data.md, Counted
 * samples).  `sample` is of the attribute 0, `misc` the header's.  Ends with the first error.
 */
typedef struct pesa_error *(*pesa_sample_run_function)(void *context,
						       const struct pesa_sample *sample,
						       uint16_t misc, uint64_t count);
struct pesa_error *pesa_aggregated_runs(const struct pesa_aggregated *pair,
					pesa_sample_run_function run, void *context);

/* Write them. */
struct pesa_error *pesa_aggregated_write(const struct pesa_aggregated *pair,
					 struct pesa_perfdata_writer *writer);

/* Since the program was loaded, all CPUs. */
struct pesa_aggregate_counts {
	uint64_t counted;    /* samples in pairs */
	uint64_t filtered;   /* samples that are not wanted */
	uint64_t overflowed; /* samples for which there was no room: in the ring */
	uint64_t passed;     /* samples without a record of ours: in the ring */
	uint64_t missed;     /* samples that the kernel dropped since another program ran; in cycles
			      * exactly, in samples rounded.  Known where no mode is excluded */
	uint64_t lost;	     /* by the hart before filtered samples */
	uint64_t dropped;    /* samples in pairs that nobody took */
	uint64_t pairs, room; /* in the fullest bank at the last drain, and what it can hold */
};

void pesa_aggregate_counts(const struct pesa_aggregate *aggregate,
			   struct pesa_aggregate_counts *counts);

#endif
