/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Process and thread numbers that are unique in a merged file.
 *
 * Numbers of different recordings may be equal.  Taken in order, each recording keeps those that no
 * earlier one has; the others become new ones, in ascending order, from above what a kernel gives
 * to any process.  So what is replaced makes runs: consecutive numbers that became consecutive
 * ones.
 */
#ifndef DECODER_MERGE_NUMBERS_H
#define DECODER_MERGE_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pesa/error.h"

/* The first that is given: Linux's limit (PID_MAX_LIMIT) is 4194304. */
#define MERGE_FIRST_NUMBER 4194305u

/* Numbers, each once. */
struct merge_numbers {
	uint32_t *slot; /* 0: free, which no process is that has a number of its own */
	size_t count, slots;
};

/* Idle tasks (0) and the kernel (-1) are the same everywhere. */
static inline bool merge_number_is_special(uint32_t number)
{
	return !number || number == UINT32_MAX;
}

bool merge_numbers_has(const struct merge_numbers *numbers, uint32_t number);
/* False when memory is short; *added tells whether it was new. */
bool merge_numbers_add(struct merge_numbers *numbers, uint32_t number, bool *added);
/* All of them, ascending; the caller's.  NULL when memory is short. */
uint32_t *merge_numbers_sorted(const struct merge_numbers *numbers);
void merge_numbers_free(struct merge_numbers *numbers);

struct merge_run {
	uint32_t from, to, count;
};
/* Runs, ascending by both ends. */
struct merge_runs {
	struct merge_run *run;
	size_t count, capacity;
	size_t numbers; /* in all runs */
};

bool merge_runs_add(struct merge_runs *runs, uint32_t from, uint32_t to);
/* What a number became, and what it was before. */
uint32_t merge_runs_forth(const struct merge_runs *runs, uint32_t number);
uint32_t merge_runs_back(const struct merge_runs *runs, uint32_t number);
void merge_runs_free(struct merge_runs *runs);
/* "TO:FROM+COUNT TO:FROM+COUNT", the caller's; NULL when memory is short. */
char *merge_runs_text(const struct merge_runs *runs);
/* The reverse; false when it is no such text (or memory is short). */
bool merge_runs_parse(const char *text, struct merge_runs *runs);

#endif
