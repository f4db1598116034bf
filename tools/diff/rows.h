/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rows of `pesa diff`: functions, lines or instructions of two profiles, matched as match.h
 * describes.  Each row has the cycles, executions and exposed cycles per execution of both
 * profiles, and a test of their differences.
 *
 * The figures are estimates, so a difference has a confidence interval.  A row is significant when
 * the null hypothesis that nothing changed is rejected, for all rows together at a false discovery
 * rate of 5 % (Benjamini and Hochberg 1995): at most 5 % of the significant rows are expected to be
 * false positives, whatever the number of rows.
 */
#ifndef TOOLS_DIFF_ROWS_H
#define TOOLS_DIFF_ROWS_H

#include "pesa/estimate.h"
#include "tools/ui/listing.h"
#include "tools/ui/profile_input.h"

enum diff_by { DIFF_BY_SYMBOL, DIFF_BY_LINE, DIFF_BY_INSN };
enum diff_side { DIFF_OLD, DIFF_NEW, DIFF_SIDES };

struct diff_figures {
	bool present;		 /* the function, line or instruction exists on this side */
	double cycles, variance; /* variance of the estimate; both scaled if shares are compared */
	uint64_t samples;
	bool has_executions;
	double executions;
	struct pesa_estimate cost; /* cycles per execution; not enough: unknown */
	uint32_t dso;
	uint64_t address;
	const char *file;
	unsigned int line;
};

/* A difference, new minus old, with its confidence interval. */
struct diff_change {
	bool known;
	double value, low, high;
	double p; /* p-value of the difference if nothing changed */
	bool significant;
};

struct diff_row {
	const char *function; /* name; NULL: none */
	char *text;	      /* of the instruction; NULL: the row is no instruction */
	char *old_text;	      /* of the old instruction; NULL: the same text */
	struct diff_figures side[DIFF_SIDES];
	struct diff_change cycles, cost;
};

struct diff_rows {
	struct diff_row *row; /* significant ones first, then by the size of the change */
	size_t count, room;
	double scale;	     /* the cycles of the new profile were multiplied by it */
	const char *nearest; /* no rows: the function nearest to the wanted name; NULL: none is */
};

struct diff_wanted {
	enum diff_by by;
	bool shares; /* compare shares of all cycles */
	/* Only the functions that this name means (tools/names/match.h), with their rows in the order
	 * of the new code; NULL: all functions. */
	const char *symbol;
};

/* Free the rows in any case. */
struct pesa_error *diff_rows_make(const struct profile_input input[DIFF_SIDES],
				  const struct diff_wanted *wanted, struct diff_rows *rows);
void diff_rows_free(struct diff_rows *rows);
/* Whether neither side has cycles. */
bool diff_row_is_unsampled(const struct diff_row *row);

#endif
