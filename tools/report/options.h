/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options of pesa report. */
#ifndef TOOLS_REPORT_OPTIONS_H
#define TOOLS_REPORT_OPTIONS_H

#include "tools/groups/call_tree.h"
#include "tools/groups/groups.h"
#include "tools/plain/plain.h"
#include "tools/report/filter.h"
#include "tools/store/store.h"
#include "tools/ui/profile_options.h"

struct report_options {
	struct profile_input_options input;
	unsigned int keys, slices;
	struct group_choice choice;
	double limit; /* percent; negative: not given */
	const char *html;
	bool block; /* rows are timed blocks */
	bool text;  /* also on a terminal */
	bool raw;   /* samples whose PC skids are shown as they are */
	struct plain_options plain;
	bool children;
	bool graph; /* below each row: its callers or callees */
	enum call_tree_kind graph_kind;
	double graph_limit; /* percent of all cycles */
	const char *root;   /* the function whose callers or callees are shown alone; NULL: rows */
	enum call_tree_kind root_kind;
	struct filter_wanted filter;
	struct store_wanted store;
};

/* Parse the command line.  Returns 0, or 2 after a usage error. */
int report_options_parse(int argc, char **argv, struct report_options *options);

/* Whether the weights by task and call chain have to be kept while the recording is read. */
bool report_needs_rows(const struct report_options *options);
/* Whether cycles of samples whose PC skids are to be estimated: of instructions. */
bool report_has_estimates(const struct report_options *options);

#endif
