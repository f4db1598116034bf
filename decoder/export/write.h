/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writing an export: functions shared by the formats.  Each format is a function that prints rows
 * in their order; write errors are checked once, at the end.
 */
#ifndef DECODER_EXPORT_WRITE_H
#define DECODER_EXPORT_WRITE_H

#include <stdio.h>

#include "decoder/export/frames.h"

/* Value type: cycles, or the plain event of a profile without details. */
struct export_writing {
	const struct pesa_profile *profile;
	const struct pesa_export *rows;
	const struct pesa_export_options *options;
	struct export_frames frames;
	/* Sorted by state, causes and place, which keeps related rows together: see struct
	 * export_rounding. */
	const struct export_row **row;
	uint32_t count;
	/* All samples have only a PC: `event` is what was counted. */
	bool plain;
	const char *event;
	FILE *out;
};

typedef struct pesa_error *export_function_of_format(struct export_writing *writing);

export_function_of_format export_pprof, export_folded, export_speedscope, export_firefox;

/* Limit for the number of places in a call chain: more than a perf.data record can hold. */
#define EXPORT_CHAIN_MAX 8192

/* Rounding of consecutive weights to integer cycles: the running sum is rounded, not each weight.
 * Starts at 0. */
struct export_rounding {
	uint64_t rest; /* in units of 1/PESA_CYCLE */
};

static inline uint64_t export_round(struct export_rounding *rounding, uint64_t weight)
{
	uint64_t rest = rounding->rest + weight % PESA_CYCLE;

	rounding->rest = rest % PESA_CYCLE;
	return weight / PESA_CYCLE + rest / PESA_CYCLE;
}

static inline const struct export_task *export_task_of(const struct export_writing *writing,
						       const struct export_row *row)
{
	return distinct_records_at(&writing->rows->tasks, row->task);
}

static inline const struct export_node *export_node_at(const struct export_writing *writing,
						       uint32_t number)
{
	return distinct_records_at(&writing->rows->nodes, number);
}

/* A thread, with its latest names. */
struct export_thread {
	uint32_t pid, tid; /* the key ends here */
	uint32_t task;	   /* its latest one */
};

/* All threads, in the order of their first samples. */
struct pesa_error *export_threads_make(const struct export_writing *writing,
				       struct distinct_records *threads);
/* The number of the thread of a row. */
uint32_t export_thread_of(const struct export_writing *writing, struct distinct_records *threads,
			  const struct export_row *row);
/* Names of a thread and of its process; NULL: unknown. */
const char *export_thread_name(const struct export_writing *writing,
			       const struct export_thread *thread);
const char *export_process_name(const struct export_writing *writing,
				const struct export_thread *thread);

/* Names of states: "retiring", ..., "unknown", "unattributed". */
const char *export_state_name(unsigned int state);
/* Names of causes, "D$miss+DTLBmiss"; "" for none. */
void export_cause_name(const struct export_writing *writing, uint32_t cause, char *buffer,
		       unsigned int size);

#endif
