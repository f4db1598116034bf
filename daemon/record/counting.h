/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counting: how often events happened, as the kernel counts them.
 *
 * An event is opened for every task wherever it runs, or for every CPU.  Where there are more
 * events than counters the kernel lets them take turns: it tells for how long an event was wanted
 * (enabled) and for how long it was counted (running), and what it would have been is estimated as
 * value x enabled / running.  Events of a group take their turn together; where its first event
 * cannot be had, none of it is counted.
 *
 * A run starts a program, or observes what is there, until it ends, time is up, or a signal says
 * so: in each case what was counted by then is the result.
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
	unsigned int group; /* events of one group follow each other and have the same number */
	int refusal;	    /* errno: why it is not supported here; 0: it is */
};

struct pesa_event_count {
	uint64_t value, enabled, running; /* raw; ns; ns */
};

struct pesa_counting_options {
	struct pesa_counting_event *events; /* complete; what is refused is noted in them */
	size_t event_count;
	bool system_wide; /* CPUs, and whatever runs on them */
	bool has_cpus;	  /* `cpus` only; false: all that are online */
	struct pesa_cpu_set cpus;
	const pid_t *processes; /* with all their threads */
	size_t process_count;
	const pid_t *threads;
	size_t thread_count;
	bool inherit;	      /* tasks that a task makes are counted with it */
	char *const *program; /* argv to run, NULL: none */
	uint64_t interval;    /* ns between calls of `look`; 0: none */
	uint64_t duration;    /* ns; 0: until the program or the tasks end */
	/* The counts so far: event_count of them for each part.  May be NULL. */
	void (*look)(void *context, uint64_t elapsed, const struct pesa_event_count *counts);
	void *context;
};

struct pesa_counting_result {
	int status;		 /* of the program, as from waitpid(); 0 without one */
	bool interrupted;	 /* a signal ended it */
	uint64_t elapsed;	 /* ns, from the program's start or from enabling */
	uint64_t user, system;	 /* ns of processor time that the program took */
	struct pesa_tasks tasks; /* that were counted; none: CPUs */
	/* event_count for all together, then for each task as many.  Owned by the caller. */
	struct pesa_event_count *counts;
};

/* Count.  Nothing could be counted: an error.  Otherwise the result is freed by the caller. */
struct pesa_error *pesa_counting_run(const struct pesa_counting_options *options,
				     struct pesa_counting_result *result);
void pesa_counting_result_free(struct pesa_counting_result *result);

/* value x enabled / running, rounded; 0 where it never ran. */
uint64_t pesa_event_count_scaled(const struct pesa_event_count *count);

/* ---- The parts of a run, for itself ---------------------------------------------------------- */

struct pesa_counter {
	int descriptor; /* -1: it could not be opened */
	size_t event, task;
};

struct pesa_counting {
	const struct pesa_counting_options *options;
	struct pesa_tasks tasks;
	pid_t program; /* 0: none */
	struct pesa_counter *counters;
	size_t count, room;
};

/* Open every event, not enabled; those of a program begin with it (unless CPUs are counted). */
struct pesa_error *pesa_counting_open(struct pesa_counting *counting);
void pesa_counting_enable(const struct pesa_counting *counting, bool enable);
/* Add up: `counts` is as in the result. */
struct pesa_error *pesa_counting_read(const struct pesa_counting *counting,
				      struct pesa_event_count *counts);
void pesa_counting_close(struct pesa_counting *counting);

#endif
