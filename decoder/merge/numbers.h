/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Process and thread numbers that are unique in a merged file.
 *
 * Different recordings may have equal numbers.  In order, each recording keeps the numbers that no
 * earlier one has.  The others are replaced by new ones, in ascending order, above the largest
 * number of a kernel.  So the replacements form runs: consecutive numbers replaced by consecutive
 * ones.
 */
#ifndef DECODER_MERGE_NUMBERS_H
#define DECODER_MERGE_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "decoder/base/hash_index.h"
#include "pesa/error.h"

/* First new number: Linux's limit (PID_MAX_LIMIT) is 4194304. */
#define MERGE_FIRST_NUMBER 4194305u

/* A set of numbers. */
struct merge_numbers {
	uint32_t *number;
	uint32_t room;
	struct hash_index index; /* its count is that of the numbers */
};

/* Idle tasks (0) and the kernel (-1) keep their number in all recordings. */
static inline bool merge_number_is_special(uint32_t number)
{
	return !number || number == UINT32_MAX;
}

bool merge_numbers_has(const struct merge_numbers *numbers, uint32_t number);
/* *added: the number is new. */
struct pesa_error *merge_numbers_add(struct merge_numbers *numbers, uint32_t number, bool *added);
/* All numbers, ascending; the caller frees them.  NULL: out of memory. */
uint32_t *merge_numbers_sorted(const struct merge_numbers *numbers);
void merge_numbers_free(struct merge_numbers *numbers);

struct merge_run {
	uint32_t from, to, count;
};
/* Runs, sorted by either end. */
struct merge_runs {
	struct merge_run *run;
	size_t count, capacity;
	size_t numbers; /* total of all runs */
};

struct pesa_error *merge_runs_add(struct merge_runs *runs, uint32_t from, uint32_t to);
/* The replacement of a number; the original of a replacement. */
uint32_t merge_runs_forth(const struct merge_runs *runs, uint32_t number);
uint32_t merge_runs_back(const struct merge_runs *runs, uint32_t number);
void merge_runs_free(struct merge_runs *runs);
/* "TO:FROM+COUNT TO:FROM+COUNT", which the caller frees; NULL: out of memory. */
char *merge_runs_text(const struct merge_runs *runs);
/* Parse such a text; PESA_ERROR_FORMAT: it is malformed. */
struct pesa_error *merge_runs_parse(const char *text, struct merge_runs *runs);

#endif
