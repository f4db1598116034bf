/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The best source of samples that a machine has.
 *
 * What a sample tells depends on the hardware.  From best to worst:
 *
 *   details   the PMU pesa: shpmsdetails; cycle stacks of instructions, exact PCs
 *   pc        overflows of `cycles` whose PC the kernel marks as exact (Sspesa without details,
 *             precise_ip elsewhere)
 *   cycles    overflows of `cycles` by interrupt (Sscofpmf): the PC skids
 *   leader    overflows of events of the processor that count cycles in single modes, where the
 *             counter of `cycles` itself does not interrupt; event files name them (SampleCycles)
 *   clock     a timer: time in place of cycles
 *
 * Names and version numbers do not tell which of them works: firmware, device tree, kernel and
 * processor each can lack their part.  So every source is tried: it is opened for the calling
 * thread, which computes until a sample arrives.  What came out decides; an event that opens and
 * never interrupts is none.
 *
 * Refusals for other reasons than lack of hardware (privileges, a counter in use) end the choice:
 * the recording then reports them, rather than silently being a worse one.
 */
#ifndef DAEMON_RECORD_SOURCE_H
#define DAEMON_RECORD_SOURCE_H

#include <stdbool.h>
#include <stddef.h>

#include "daemon/events/name.h"
#include "pesa/error.h"

enum pesa_source_level {
	PESA_SOURCE_DETAILS,
	PESA_SOURCE_PC,
	PESA_SOURCE_CYCLES,
	PESA_SOURCE_LEADER,
	PESA_SOURCE_CLOCK,
	PESA_SOURCE_LEVELS
};

/* For help: what pesa_source_level_parse() takes. */
#define PESA_SOURCE_LEVEL_NAMES "details, pc, cycles, leader, clock"

/* "details", "pc", ... */
const char *pesa_source_level_name(enum pesa_source_level level);
bool pesa_source_level_parse(const char *text, enum pesa_source_level *level);
/* What samples of a level tell and what not, for a message. */
const char *pesa_source_level_meaning(enum pesa_source_level level);

/* What came of trying an event. */
struct pesa_source_answer {
	int refusal;	/* errno of perf_event_open(); 0: it was opened */
	bool sampled;	/* a sample arrived */
	bool exact;	/* and its PC is marked as exact */
	bool user_only; /* the event had to do without the kernel */
	bool has_modes; /* its name chooses modes */
};

/*
 * How events are tried.  The event is complete; it may be relaxed (pesa_event_relax()).
 * PESA_SOURCE_KERNEL is this machine; tests have others.
 */
struct pesa_source_trial {
	struct pesa_source_answer (*attempt)(void *context, struct pesa_event_name *event);
	void *context;
};

extern const struct pesa_source_trial PESA_SOURCE_KERNEL;
/* This machine, asked for counting only: nothing is sampled. */
extern const struct pesa_source_trial PESA_SOURCE_COUNTER;

#define PESA_SOURCE_EVENTS_MAX 2u /* cycles of user mode, of the kernel */

struct pesa_sampling_source {
	enum pesa_source_level level;
	const char *events[PESA_SOURCE_EVENTS_MAX]; /* the strings are the catalogue's, or static */
	unsigned int event_count;
	char why[512]; /* why no better one: "REASON; REASON"; "": there is none better */
};

/*
 * Choose.  `names` is where events are looked up.  system_wide: whole CPUs are to be sampled.
 * Always finds one: the clock is not tried.
 */
void pesa_source_choose(const struct pesa_event_source *names, bool system_wide,
			const struct pesa_source_trial *trial, struct pesa_sampling_source *source);

/* The name of a source in files and messages: "cycles(u_mode_cycle+s_mode_cycle)" of level leader. */
void pesa_source_joined_name(const struct pesa_sampling_source *source, char *name, size_t room);

/*
 * Try one event, for a report of what a machine answers.  An error if there is no event of this
 * name, or its PMU cannot have a period of the trial.
 */
struct pesa_error *pesa_source_try(const struct pesa_event_source *names, const char *text,
				   const struct pesa_source_trial *trial,
				   struct pesa_source_answer *answer);

/* An error if `source` is below `least`; the message has the reasons. */
struct pesa_error *pesa_source_require(const struct pesa_sampling_source *source,
				       enum pesa_source_level least);

#endif
