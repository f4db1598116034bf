/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The two profiles of `pesa diff` as a whole: their totals, and what makes them hard to compare.
 */
#ifndef TOOLS_DIFF_SIDES_H
#define TOOLS_DIFF_SIDES_H

#include "tools/diff/rows.h"

/* Retirements of all instructions, and the cycles. */
double instructions_of(const struct profile_input *input);
double all_cycles(const struct profile_input *input);

/* Call emit() with each note on what makes the two hard to compare. */
void diff_each_note(const struct profile_input input[DIFF_SIDES], const struct diff_rows *rows,
		    void (*emit)(void *context, const char *note), void *context);

#endif
