/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What changed from one profile to another, row by row: functions, lines or instructions, those
 * that are in both matched (match.h), each with its cycles, executions and exposed cycles per
 * execution before and after, and a test of the difference.
 *
 * Both sides are estimates, so a difference has an interval.  A row changed significantly when the
 * hypothesis that it did not is rejected, of all rows at a false discovery rate of 5 % (Benjamini
 * and Hochberg 1995): of a hundred rows that are marked five are expected to be wrong, however many
 * rows were looked at.
 */
#ifndef TOOLS_DIFF_ROWS_H
#define TOOLS_DIFF_ROWS_H

#include "pesa/estimate.h"
#include "tools/ui/listing.h"
#include "tools/ui/profile_input.h"

enum diff_by { DIFF_BY_SYMBOL, DIFF_BY_LINE, DIFF_BY_INSN };
enum diff_side { DIFF_OLD, DIFF_NEW, DIFF_SIDES };

struct diff_figures {
	bool present;		 /* there is such a function, line or instruction */
	double cycles, variance; /* of the run; scaled, if shares are compared */
	uint64_t samples;
	bool has_executions;
	double executions;
	struct pesa_estimate cost; /* cycles per execution; not enough: unknown */
	uint32_t dso;
	uint64_t address;
	const char *file;
	unsigned int line;
};

/* A difference with its interval. */
struct diff_change {
	bool known;
	double value, low, high;
	double p; /* that chance makes as much where nothing changed */
	bool significant;
};

struct diff_row {
	const char *function; /* name; NULL: none */
	char *text, *was; /* of the instruction; of the old one, where that is another; or NULL */
	struct diff_figures side[DIFF_SIDES];
	struct diff_change cycles, cost;
};

struct diff_rows {
	struct diff_row *row; /* significant ones first, then by the size of the change */
	size_t count, room;
	double scale; /* that the cycles of the new profile were multiplied by */
};

struct diff_wanted {
	enum diff_by by;
	bool shares; /* compare shares of all cycles */
	const char
		*symbol; /* only this function, its rows in the order of the new code; NULL: all */
};

/* False: out of memory. */
bool diff_rows_make(const struct profile_input input[DIFF_SIDES], const struct diff_wanted *wanted,
		    struct diff_rows *rows);
void diff_rows_free(struct diff_rows *rows);

#endif
