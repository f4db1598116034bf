/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Table of code: what pesa annotate prints of a function, line by line: for each instruction its
 * share, cycles, executions, cost, cycle stack, address, text and largest buckets; and the lines of
 * source between them.
 *
 * Lines are text with the escape sequences of tools/ui/terminal.h; who prints them cuts them at the
 * width of the terminal.  On a narrow one the buckets, the stack and the other figures are shortened
 * or left out; address and instruction are whole as long as they fit beside the share.
 */
#ifndef TOOLS_TABLE_CODE_H
#define TOOLS_TABLE_CODE_H

#include "pesa/deskid.h"
#include "tools/ui/listing.h"
#include "tools/ui/source_text.h"
#include "tools/ui/terminal.h"

struct code_table {
	const struct profile_input *input;
	const struct ui_terminal *terminal;
	struct source_texts *sources;
	/* Cycles are estimates from plain samples: the columns of cost and buckets have their
	 * intervals and what the model predicts; NULL: they are not. */
	const struct pesa_deskid *deskid;
	/* The function, and the columns that code_table_fit() chose for it. */
	const struct listing *listing;
	uint32_t dso;
	size_t cycles, executions, cost, bar, address, text, buckets; /* 0: left out */
};

/* A place in the source. */
struct code_place {
	const char *function; /* inlined there; NULL: none */
	struct pesa_source source;
};

/* Choose the columns for the rows of a function, which must outlive the table. */
void code_table_fit(struct code_table *table, const struct listing *listing, uint32_t dso);
/* Append the heads of the columns, or the row of an instruction. */
void code_table_heading(const struct code_table *table, struct ui_text *line);
struct pesa_error *code_table_row(const struct code_table *table, const struct listing_row *row,
				  struct ui_text *line);
/*
 * Append the source line of an instruction, if it is another one than `last`, which then becomes it.
 */
struct pesa_error *code_table_source(const struct code_table *table, uint64_t address,
				     struct code_place *last, struct ui_text *line);

#endif
