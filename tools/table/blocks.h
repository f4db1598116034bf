/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Timed blocks (pesa/timed_blocks.h), as pesa report and pesa annotate print them: how many cycles
 * straight-line code took from one transfer of control to the next, and how these are distributed.
 */
#ifndef TOOLS_TABLE_BLOCKS_H
#define TOOLS_TABLE_BLOCKS_H

#include "pesa/timed_blocks.h"
#include "tools/ui/listing.h"
#include "tools/ui/terminal.h"

struct block_table {
	const struct profile_input *input;
	const struct ui_terminal *terminal;
	struct listing_isas *isas;
	const struct pesa_timed_blocks *timed;
};

/* Append the heads of the columns, or the row of a block. */
void block_table_heading(const struct block_table *table, struct ui_text *line);
void block_table_row(const struct block_table *table, size_t index, struct ui_text *line);
/* Append where code is, from its first to its last instruction: "mainSort+0x12-0x2e  sort.c:12-15". */
void block_table_place(const struct block_table *table, uint32_t dso, uint64_t start, uint64_t last,
		       struct ui_text *line);
/* Append one line of pesa annotate: the cycles of a block that begins at the instruction below. */
void block_table_note(const struct block_table *table, size_t index, struct ui_text *line);
/* Whether any sample has cycle counts, and a line that says how many have. */
bool block_table_has_samples(const struct block_table *table);
void block_table_samples(const struct block_table *table, struct ui_text *line);
/* A block, and the sums, as objects: Documentation/json.md. */
json_object *block_json(const struct block_table *table, size_t index);
json_object *block_totals_json(const struct block_table *table);

#endif
