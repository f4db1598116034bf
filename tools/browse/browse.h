/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pesa report on a terminal: views of a profile, one above the other.
 *
 * A view has a title, the heads of its columns, and rows, one of which is selected.  Enter and other
 * keys open a view above it, Escape goes back.  Views are functions (functions.c), their callers
 * (callers.c), a function's code (code.c), and the cycles of one instruction (why.c); screen.c paints
 * the one on top and takes the keys.  A view that opens another gives its description to the screen,
 * so that views know nothing of each other.
 */
#ifndef TOOLS_BROWSE_BROWSE_H
#define TOOLS_BROWSE_BROWSE_H

#include "tools/report/report.h"
#include "tools/screen/list.h"
#include "tools/groups/groups.h"
#include "tools/ui/source_text.h"
#include "tools/ui/text.h"
#include "tools/why/waits.h"

/* What the views have in common. */
struct browse {
	const struct report_view *report;
	const struct ui_terminal *terminal;
	struct source_texts *sources;
	struct profile_groups groups; /* by the keys of the report */
	char message[200];	      /* for the status line; "": none */
	struct reasons *reasons;      /* found when the first instruction is asked for */
};

enum browse_what { BROWSE_NOTHING, BROWSE_FUNCTIONS, BROWSE_CALLERS, BROWSE_CODE, BROWSE_WHY };

/* The view that a key opens. */
struct browse_target {
	enum browse_what what;
	uint32_t dso;
	const struct pesa_symbol *symbol;
	bool has_address; /* where the selection begins; otherwise at the hottest instruction */
	uint64_t address;
};

struct browse_view {
	const struct browse_kind *kind;
	struct browse_view *below;
	struct screen_list list;
	char find[SCREEN_TEXT_MAX]; /* text that is looked for, or that rows must contain */
	void *state;		    /* of the kind */
};

struct browse_kind {
	const char *keys; /* the most important ones, for the status line */
	bool filters;	  /* rows without the text that is looked for are not shown */
	struct pesa_error *(*open)(struct browse *browse, struct browse_view *view,
				   const struct browse_target *target);
	void (*close)(struct browse_view *view);
	/* The width of the terminal or the text that is looked for has changed. */
	struct pesa_error *(*fit)(struct browse *browse, struct browse_view *view);
	size_t (*count)(const struct browse *browse, const struct browse_view *view);
	/* Append a line: the title, what is below it, the heads of columns, a row. */
	void (*title)(const struct browse *browse, const struct browse_view *view,
		      struct ui_text *line);
	void (*summary)(const struct browse *browse, const struct browse_view *view,
			struct ui_text *line);
	void (*heading)(const struct browse *browse, const struct browse_view *view,
			struct ui_text *line);
	struct pesa_error *(*row)(const struct browse *browse, const struct browse_view *view,
				  size_t index, struct ui_text *line);
	/* Take a key; `target` is what it opens. */
	struct pesa_error *(*key)(struct browse *browse, struct browse_view *view, int key,
				  struct browse_target *target);
};

extern const struct browse_kind browse_functions, browse_callers, browse_code, browse_why;

/* Whether a text contains another one, in any case of its letters. */
bool browse_contains(const char *text, const char *part);
/* Whether a key is Enter. */
bool browse_is_enter(int key);

/* Show the report until the user quits.  An error of the kind PESA_ERROR_UNSUPPORTED: this terminal
 * cannot be drawn on. */
struct pesa_error *browse_run(const struct report_view *report, struct ui_terminal *terminal);

#endif
