/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The view: selects, sorts and formats the rows of a model (model.h).
 *
 * It formats lines of text with the escape sequences of tools/ui/terminal.h, and does no output of its
 * own: screen.c paints the lines, and batch mode (main.c) prints them.
 */
#ifndef TOOLS_TOP_VIEW_H
#define TOOLS_TOP_VIEW_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>

#include "pesa/error.h"
#include "tools/screen/list.h"
#include "tools/top/model.h"
#include "tools/ui/json.h"
#include "tools/ui/terminal.h"
#include "tools/ui/text.h"

enum top_sort {
	TOP_SORT_CYCLES,
	TOP_SORT_RETIRING, /* the keys of states have the order of PESA_STATE_* */
	TOP_SORT_STALLED,
	TOP_SORT_FLUSHED,
	TOP_SORT_DRAINED,
	TOP_SORT_NAME,
	TOP_SORTS,
};

struct top_view {
	enum top_kind kind;
	enum top_sort sort;
	bool total; /* show the sum since the start, not the last interval */
	/* show only rows that contain this text; "": all rows */
	char find[SCREEN_TEXT_MAX];
	struct screen_list list;
};

/* Names of kinds and sort keys, and back.  Parsing returns false if no kind or key has that name. */
const char *top_kind_name(enum top_kind kind);
bool top_kind_parse(const char *text, enum top_kind *kind);
const char *top_sort_name(enum top_sort sort);
bool top_sort_parse(const char *text, enum top_sort *sort);

/* The rows of a view, in its order, with their buckets sorted.  The caller frees *rows with free(). */
struct pesa_error *top_view_rows(const struct top_model *model, const struct top_view *view,
				 struct top_row ***rows, size_t *count);

/*
 * Append one line to `line`: the summary of the samples, the cycle stack of all samples, the column
 * headings, or a row.
 */
void top_view_summary(const struct top_model *model, const struct top_view *view,
		      const struct ui_terminal *terminal, struct ui_text *line);
void top_view_whole(const struct top_model *model, const struct top_view *view,
		    const struct ui_terminal *terminal, struct ui_text *line);
void top_view_heading(const struct top_model *model, const struct top_view *view,
		      const struct ui_terminal *terminal, struct ui_text *line);
void top_view_row(const struct top_model *model, const struct top_view *view,
		  const struct top_row *row, const struct ui_terminal *terminal,
		  struct ui_text *line);

/* Write the whole view as members of a JSON object (Documentation/json.md). */
struct pesa_error *top_view_json(const struct top_model *model, const struct top_view *view,
				 struct ui_json *json);

#endif
