/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pesa report --block: the timed blocks of a recording (tools/table/blocks.h), hottest first. */
#ifndef TOOLS_REPORT_BLOCKS_H
#define TOOLS_REPORT_BLOCKS_H

#include "tools/table/blocks.h"

/* Print those with at least a share (0..1) of the cycles, and sum up the others. */
struct pesa_error *report_blocks(const struct block_table *table, double limit);
/* The members "timed_branches" and "blocks". */
struct pesa_error *report_blocks_json(const struct block_table *table, double limit,
				      struct ui_json *json);

#endif
