/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counting: how often events occurred, as counted by the kernel.
 *
 * An event is opened for every task on all CPUs, or for every CPU.  If there are more events than
 * counters, the kernel multiplexes: it reports the time for which an event was enabled and the time
 * for which it was running, and the estimate is value x enabled / running.  The events of a group
 * are multiplexed together; if the leader is not supported, none of the group is counted.
 *
 * A run starts a program, or observes existing tasks, until the program ends, the time is up, or a
 * signal arrives; the result always has the counts up to then.
 */
#ifndef DAEMON_RECORD_COUNTING_H
#define DAEMON_RECORD_COUNTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/events/event.h"
#include "daemon/record/target.h"
#include "pesa/error.h"

struct pesa_counting_event {
	struct pesa_event_name name;
	unsigned int group; /* events of a group are adjacent and have the same number */
	int refusal;	    /* errno if the event is not supported here, else 0 */
};

struct pesa_event_count {
	uint64_t value, enabled, running; /* raw count; ns; ns */
};

struct pesa_counting_options {
	struct pesa_counting_event *events; /* complete; refusals are stored in them */
	size_t event_count;
	bool system_wide; /* count all tasks on the CPUs */
	bool has_cpus;	  /* only `cpus`; false: all online CPUs */
	struct pesa_cpu_set cpus;
	const pid_t *processes; /* including all their threads */
	size_t process_count;
	const pid_t *threads;
	size_t thread_count;
	bool inherit;	      /* count children of tasks as well */
	char *const *program; /* argv to run; NULL: none */
	uint64_t interval;    /* ns between calls of `look`; 0: no calls */
	uint64_t duration;    /* ns; 0: until the program or the tasks end */
	/* Called with the counts so far: event_count for each part.  May be NULL. */
	void (*look)(void *context, uint64_t elapsed, const struct pesa_event_count *counts);
	void *context;
};

struct pesa_counting_result {
	int status;		 /* wait status of the program; 0 without one */
	bool interrupted;	 /* ended by a signal */
	uint64_t elapsed;	 /* ns since the program's start or since enabling */
	uint64_t user, system;	 /* CPU time of the program in ns */
	struct pesa_tasks tasks; /* tasks that were counted; empty: CPUs */
	/* event_count totals, then event_count for each task.  The caller frees it. */
	struct pesa_event_count *counts;
};

/* Count.  Returns an error if nothing could be counted; otherwise the caller frees the result. */
struct pesa_error *pesa_counting_run(const struct pesa_counting_options *options,
				     struct pesa_counting_result *result);
void pesa_counting_result_free(struct pesa_counting_result *result);

/* value x enabled / running, rounded; 0 if it never ran. */
uint64_t pesa_event_count_scaled(const struct pesa_event_count *count);

/* ---- The parts of a run, for itself ---------------------------------------------------------- */

struct pesa_counter {
	int descriptor; /* -1: not open */
	size_t event, task;
};

struct pesa_counting {
	const struct pesa_counting_options *options;
	struct pesa_tasks tasks;
	pid_t program; /* 0: none */
	struct pesa_counter *counters;
	size_t count, room;
};

/* Open all events, disabled; those of a program are enabled by its exec (except CPU events). */
struct pesa_error *pesa_counting_open(struct pesa_counting *counting);
void pesa_counting_enable(const struct pesa_counting *counting, bool enable);
/* Read all events and add up the counts; `counts` is laid out as in the result. */
struct pesa_error *pesa_counting_read(const struct pesa_counting *counting,
				      struct pesa_event_count *counts);
void pesa_counting_close(struct pesa_counting *counting);

#endif
