/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Table of groups: what pesa report prints, line by line: share, cycles, executions, cycle stack,
 * binary and place of each group (tools/groups/groups.h), and its largest buckets.
 *
 * Lines are text with the escape sequences of tools/ui/terminal.h; who prints them cuts them at the
 * width of the terminal.  On a narrow one names and stacks are shortened first, then the executions
 * are left out.
 */
#ifndef TOOLS_TABLE_GROUPS_H
#define TOOLS_TABLE_GROUPS_H

#include "tools/ui/listing.h"
#include "tools/groups/groups.h"
#include "tools/ui/source_text.h"
#include "tools/ui/terminal.h"

#define GROUP_TASK_COLUMNS 6 /* one for each key of tasks */

struct group_table {
	const struct profile_input *input;
	const struct ui_terminal *terminal;
	struct listing_isas *isas;
	struct source_texts *sources;
	unsigned int keys; /* of the groups */
	bool children;	   /* with inclusive cycles: perf's columns Children and Self */
	/* Columns, set by group_table_measure(). */
	bool executions;
	size_t dso_width, label_width, bar_width; /* dso_width, label_width 0: no such column */
	size_t task_width[GROUP_TASK_COLUMNS];	  /* 0: the column is not shown */
	const struct profile_groups *groups;	  /* the first `rows` of them are in the table */
	size_t rows;
};

/* Choose the columns for the first `rows` groups and the width of the terminal. */
struct pesa_error *group_table_measure(struct group_table *table,
				       const struct profile_groups *groups, size_t rows);
/* Append the heads of the columns, or the row of a group. */
void group_table_heading(const struct group_table *table, struct ui_text *line);
struct pesa_error *group_table_row(struct group_table *table, const struct profile_group *group,
				   struct ui_text *line);

#endif
