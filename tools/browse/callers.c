// SPDX-License-Identifier: GPL-2.0-or-later
/* The callers of a function, as a tree: below each its own callers, with the cycles of the function and
 * what it called that were spent by way of them. */
#include <stdlib.h>
#include <string.h>

#include "tools/browse/browse.h"
#include "tools/groups/call_tree.h"

#define NONE CALL_TREE_NONE

struct callers {
	struct call_tree tree; /* of all cycles of the function, inclusive */
	uint32_t *shown;
	size_t shown_count;
};

/* ---- What is shown ------------------------------------------------------------------------- */

/* List the callers whose callees are open, in the order of the tree. */
static struct pesa_error *list(struct browse *browse __attribute__((unused)),
			       struct browse_view *view)
{
	struct callers *callers = view->state;
	uint32_t number = 0;

	callers->shown_count = 0;
	while (number != NONE) {
		callers->shown[callers->shown_count++] = number;
		number =
			call_tree_next(&callers->tree, number, callers->tree.function[number].open);
	}
	return NULL;
}

/* Open the function, and then each only caller. */
static void open_first(struct call_tree *callers)
{
	uint32_t number = 0;

	do {
		callers->function[number].open = true;
		number = callers->function[number].child;
	} while (number != NONE && callers->function[number].next == NONE);
}

static struct pesa_error *open_callers(struct browse *browse, struct browse_view *view,
				       const struct browse_target *target)
{
	struct callers *callers = calloc(1, sizeof(*callers));
	struct pesa_error *error;

	view->state = callers;
	if (!callers)
		return pesa_error_no_memory();
	error = call_tree_make(browse->report->input, browse->report->rows,
			       &(struct call_tree_wanted){.kind = CALL_TREE_CALLERS,
							  .dso = target->dso,
							  .symbol = target->symbol},
			       &callers->tree);
	if (error)
		return error;
	open_first(&callers->tree);
	callers->shown = calloc(callers->tree.count + 1, sizeof(*callers->shown));
	return callers->shown ? NULL : pesa_error_no_memory();
}

static void close_callers(struct browse_view *view)
{
	struct callers *callers = view->state;

	if (callers) {
		call_tree_free(&callers->tree);
		free(callers->shown);
	}
	free(callers);
}

static size_t count_callers(const struct browse *browse __attribute__((unused)),
			    const struct browse_view *view)
{
	return ((const struct callers *)view->state)->shown_count;
}

static void add_title(const struct browse *browse, const struct browse_view *view,
		      struct ui_text *line)
{
	const struct callers *callers = view->state;
	const struct profile_input *input = browse->report->input;
	char share[UI_NUMBER_SIZE], own[UI_NUMBER_SIZE];

	ui_text_add(line, "Callers of %s", ui_style(browse->terminal, UI_BOLD));
	ui_text_add_name(line, profile_symbol_name(callers->tree.function[0].symbol), 48,
			 browse->terminal->utf8);
	ui_text_add(line, "%s: %s of all %s, %s in the function itself",
		    ui_style(browse->terminal, UI_PLAIN),
		    ui_share(share, profile_share(input, callers->tree.function[0].weight)),
		    profile_whole(input),
		    ui_share(own, profile_share(input, callers->tree.function[0].own)));
}

static void add_summary(const struct browse *browse, const struct browse_view *view,
			struct ui_text *line)
{
	const struct callers *callers = view->state;
	char share[UI_NUMBER_SIZE];

	if (callers->tree.function[0].child == NONE)
		ui_text_add(line, "no callers were recorded: pesa record -g records them");
	else if (callers->tree.without_chain)
		ui_text_add(line, "%s without a caller",
			    ui_share(share, profile_share(browse->report->input,
							  callers->tree.without_chain)));
}

static void add_heading(const struct browse *browse,
			const struct browse_view *view __attribute__((unused)),
			struct ui_text *line)
{
	ui_text_add(line, "%s%8s %8s  Caller%s", ui_style(browse->terminal, UI_BOLD), "Share",
		    profile_amount_title(browse->report->input),
		    ui_style(browse->terminal, UI_PLAIN));
}

static struct pesa_error *add_row(const struct browse *browse, const struct browse_view *view,
				  size_t index, struct ui_text *line)
{
	const struct callers *callers = view->state;
	const struct call_tree_function *caller = &callers->tree.function[callers->shown[index]];
	const struct profile_input *input = browse->report->input;
	char share[UI_NUMBER_SIZE], amount[UI_NUMBER_SIZE];

	ui_text_add(line, "%8s %8s  ", ui_share(share, profile_share(input, caller->weight)),
		    profile_amount(input, amount, cycles_of(caller->weight)));
	/* Deep chains stay visible. */
	ui_text_add(line, "%*s%s ", (int)(caller->depth % 20) * 2, "",
		    caller->child == NONE ? " "
		    : caller->open	  ? "-"
					  : "+");
	ui_text_add_name(line, profile_symbol_name(caller->symbol), 60, browse->terminal->utf8);
	ui_text_add_safe(line, "  %s", profile_binary_name(input, caller->dso));
	return NULL;
}

static struct pesa_error *take_key(struct browse *browse, struct browse_view *view, int key,
				   struct browse_target *target)
{
	struct callers *callers = view->state;
	struct call_tree_function *caller =
		&callers->tree.function[callers->shown[view->list.selected]];

	if (browse_is_enter(key) || key == '+' || key == '-') {
		caller->open = !caller->open;
		return list(browse, view);
	}
	if ((key == 'a' || key == 'c' || key == 'w') && caller->dso != UINT32_MAX) {
		target->what = key == 'a' ? BROWSE_CODE : key == 'c' ? BROWSE_CALLERS : BROWSE_WHY;
		target->dso = caller->dso;
		target->symbol = caller->symbol;
	}
	return NULL;
}

const struct browse_kind browse_callers = {
	.keys = "?: help, Esc: back, Enter: open or close, a: code, /: search",
	.open = open_callers,
	.close = close_callers,
	.fit = list,
	.count = count_callers,
	.title = add_title,
	.summary = add_summary,
	.heading = add_heading,
	.row = add_row,
	.key = take_key,
};
