/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The view: which rows are shown, in what order, and how they look.
 *
 * It makes lines of text with the escape sequences of tools/ui/terminal.h; the screen paints them, batch
 * mode prints them.  Nothing here knows of either.
 */
#ifndef TOOLS_TOP_VIEW_H
#define TOOLS_TOP_VIEW_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>

#include "tools/top/model.h"
#include "tools/ui/json.h"
#include "tools/ui/terminal.h"
#include "tools/ui/text.h"

enum top_sort {
	TOP_SORT_CYCLES,
	TOP_SORT_RETIRING, /* one for each state, in their order */
	TOP_SORT_STALLED,
	TOP_SORT_FLUSHED,
	TOP_SORT_DRAINED,
	TOP_SORT_NAME,
	TOP_SORTS,
};

struct top_view {
	enum top_kind kind;
	enum top_sort sort;
	bool total;    /* the sum since the start, not the last interval */
	char find[64]; /* only rows with this in name or binary; "": all */
	size_t first;  /* row at the top */
	size_t chosen; /* the marked row, SIZE_MAX: none is marked */
};

const char *top_kind_name(enum top_kind kind);
bool top_kind_parse(const char *text, enum top_kind *kind);
const char *top_sort_name(enum top_sort sort);
bool top_sort_parse(const char *text, enum top_sort *sort);

/* Rows of a view, in its order, with their buckets sorted.  false: out of memory.  *rows: free().
 */
bool top_view_rows(const struct top_model *model, const struct top_view *view,
		   struct top_row ***rows, size_t *count);

/* Lines: what was sampled; the stack of all; the heading; a row. */
void top_view_summary(const struct top_model *model, const struct top_view *view,
		      const struct ui_terminal *terminal, struct ui_text *line);
void top_view_whole(const struct top_model *model, const struct top_view *view,
		    const struct ui_terminal *terminal, struct ui_text *line);
void top_view_heading(const struct top_model *model, const struct top_view *view,
		      const struct ui_terminal *terminal, struct ui_text *line);
void top_view_row(const struct top_model *model, const struct top_view *view,
		  const struct top_row *row, const struct ui_terminal *terminal,
		  struct ui_text *line);

/* All of it as members of a JSON object (Documentation/json.md). */
bool top_view_json(const struct top_model *model, const struct top_view *view,
		   struct ui_json *json);

#endif
