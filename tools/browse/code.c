// SPDX-License-Identifier: GPL-2.0-or-later
/* A function's instructions, with its lines of source between them. */
#define NCURSES_WIDECHAR 1
#include <curses.h>
#include <stdlib.h>
#include <string.h>

#include "tools/browse/browse.h"
#include "tools/table/code.h"

#define NO_ROW	     SIZE_MAX
#define NAME_COLUMNS 48

struct code_line {
	char *source; /* a line of source; NULL: an instruction */
	size_t row;   /* of the listing */
};

struct code {
	struct code_table table;
	struct listing listing;
	const struct pesa_symbol *symbol;
	struct code_line *line;
	size_t count;
	size_t *hot; /* lines of sampled instructions, the one with most cycles first */
	size_t hot_count;
};

static struct pesa_error *fit(struct browse *browse __attribute__((unused)),
			      struct browse_view *view)
{
	struct code *code = view->state;

	code_table_fit(&code->table, &code->listing, code->table.dso);
	return NULL;
}

static const struct pesa_instruction *instruction_of(const struct code *code, size_t line)
{
	return code->line[line].source ? NULL : code->listing.row[code->line[line].row].instruction;
}

static int hotter_first(const void *left, const void *right, void *context)
{
	const struct pesa_instruction *a = instruction_of(context, *(const size_t *)left);
	const struct pesa_instruction *b = instruction_of(context, *(const size_t *)right);

	if (a->weight != b->weight)
		return a->weight > b->weight ? -1 : 1;
	return a->address < b->address ? -1 : 1;
}

/* Interleave the instructions with their source. */
static struct pesa_error *make_lines(struct code *code)
{
	struct pesa_error *error = NULL;
	struct code_place last = {0};

	code->line = calloc(2 * code->listing.count + 1, sizeof(*code->line));
	code->hot = calloc(code->listing.count + 1, sizeof(*code->hot));
	if (!code->line || !code->hot)
		return pesa_error_no_memory();
	for (size_t i = 0; i < code->listing.count && !error; i++) {
		const struct listing_row *row = &code->listing.row[i];
		struct ui_text source = {0};

		error = code_table_source(&code->table, row->address, &last, &source);
		if (source.length)
			code->line[code->count++] = (struct code_line){source.text, i};
		else
			ui_text_free(&source);
		if (row->instruction && row->instruction->weight)
			code->hot[code->hot_count++] = code->count;
		code->line[code->count++].row = i;
	}
	if (code->hot_count)
		qsort_r(code->hot, code->hot_count, sizeof(*code->hot), hotter_first, code);
	return error;
}

/* The line of the instruction at an address; NO_ROW: there is none. */
static size_t line_at(const struct code *code, uint64_t address)
{
	for (size_t i = 0; i < code->count; i++)
		if (!code->line[i].source &&
		    code->listing.row[code->line[i].row].address == address)
			return i;
	return NO_ROW;
}

static struct pesa_error *open_code(struct browse *browse, struct browse_view *view,
				    const struct browse_target *target)
{
	const struct report_view *report = browse->report;
	struct code *code = calloc(1, sizeof(*code));
	struct pesa_error *error;
	size_t line = NO_ROW;

	view->state = code;
	if (!code)
		return pesa_error_no_memory();
	code->symbol = target->symbol;
	code->table = (struct code_table){
		.input = report->input, .terminal = browse->terminal, .sources = browse->sources};
	error = listing_function(&code->listing, report->input, report->isas, target->dso,
				 target->symbol);
	if (error)
		return error;
	code_table_fit(&code->table, &code->listing, target->dso);
	error = make_lines(code);
	if (error)
		return error;
	if (target->has_address)
		line = line_at(code, target->address);
	if (line == NO_ROW)
		line = code->hot_count ? code->hot[0] : 0;
	view->list.selected = line;
	/* With what precedes it. */
	view->list.first = line > 8 ? line - 8 : 0;
	return NULL;
}

static void close_code(struct browse_view *view)
{
	struct code *code = view->state;

	if (!code)
		return;
	for (size_t i = 0; i < code->count; i++)
		free(code->line[i].source);
	free(code->line);
	free(code->hot);
	listing_free(&code->listing);
	free(code);
}

static size_t count_lines(const struct browse *browse __attribute__((unused)),
			  const struct browse_view *view)
{
	return ((const struct code *)view->state)->count;
}

static void add_title(const struct browse *browse, const struct browse_view *view,
		      struct ui_text *line)
{
	const struct code *code = view->state;
	const struct profile_input *input = browse->report->input;
	const struct pesa_instruction *entry =
		code->symbol
			? pesa_profile_find(input->profile, code->table.dso, code->symbol->start)
			: NULL;
	char share[UI_NUMBER_SIZE], executions[UI_NUMBER_SIZE];

	ui_text_add(line, "%s", ui_style(browse->terminal, UI_BOLD));
	ui_text_add_name(line, profile_symbol_name(code->symbol), NAME_COLUMNS,
			 browse->terminal->utf8);
	ui_text_add(line, "%s: %s of all %s", ui_style(browse->terminal, UI_PLAIN),
		    ui_share(share, profile_share(input, code->listing.weight)),
		    profile_whole(input));
	if (entry && pesa_estimate_executions(input->profile, entry, PROFILE_CONFIDENCE).enough)
		ui_text_add(line, ", %s executions",
			    ui_count(executions, (double)profile_executions(input, entry)));
	ui_text_add_safe(line, "  in %s", pesa_profile_dso(input->profile, code->table.dso)->path);
}

static void add_summary(const struct browse *browse, const struct browse_view *view,
			struct ui_text *line)
{
	const struct code *code = view->state;

	if (!code->listing.disassembled)
		ui_text_add(line, "addresses only: the text of this code is not at hand");
	else if (!browse->report->input->plain)
		cycle_stack_legend(line, browse->terminal);
}

static void add_heading(const struct browse *browse __attribute__((unused)),
			const struct browse_view *view, struct ui_text *line)
{
	code_table_heading(&((const struct code *)view->state)->table, line);
}

static struct pesa_error *add_row(const struct browse *browse __attribute__((unused)),
				  const struct browse_view *view, size_t index,
				  struct ui_text *line)
{
	const struct code *code = view->state;

	if (!code->line[index].source)
		return code_table_row(&code->table, &code->listing.row[code->line[index].row],
				      line);
	ui_text_add(line, "%s", code->line[index].source);
	return NULL;
}

/* Go to the next (step 1) or previous (-1) instruction in the order of cycles. */
static void go_to_hot(const struct code *code, struct browse_view *view, int step)
{
	size_t position = 0;

	if (!code->hot_count)
		return;
	while (position < code->hot_count && code->hot[position] != view->list.selected)
		position++;
	if (position == code->hot_count)
		position = step > 0 ? code->hot_count - 1 : 1;
	position = (position + code->hot_count + (size_t)step) % code->hot_count;
	view->list.selected = code->hot[position];
}

/* Go to where a branch or a call leads. */
static void follow(const struct browse *browse, struct browse_view *view,
		   const struct listing_row *row, struct browse_target *target)
{
	const struct code *code = view->state;
	size_t line = row->has_target ? line_at(code, row->target) : NO_ROW;

	if (line != NO_ROW) {
		view->list.selected = line;
	} else if (row->has_target) {
		target->what = BROWSE_CODE;
		target->dso = code->table.dso;
		target->symbol =
			profile_symbol(browse->report->input, code->table.dso, row->target);
		target->has_address = true;
		target->address = row->target;
	}
}

static struct pesa_error *take_key(struct browse *browse, struct browse_view *view, int key,
				   struct browse_target *target)
{
	const struct code *code = view->state;
	const struct listing_row *row;

	if (view->list.selected >= code->count)
		return NULL;
	row = &code->listing.row[code->line[view->list.selected].row];
	switch (key) {
	case 'H':
		view->list.selected = code->hot_count ? code->hot[0] : 0;
		break;
	case '\t':
		go_to_hot(code, view, 1);
		break;
	case KEY_BTAB:
		go_to_hot(code, view, -1);
		break;
	case 'c':
	case 'w':
		target->what = key == 'c' ? BROWSE_CALLERS : BROWSE_WHY;
		target->dso = code->table.dso;
		target->symbol = code->symbol;
		target->has_address = true;
		target->address = row->address;
		break;
	default:
		if (browse_is_enter(key))
			follow(browse, view, row, target);
	}
	return NULL;
}

const struct browse_kind browse_code = {
	.keys = "?: help, Esc: back, Tab: next hottest, w: why, c: callers, Enter: follow, /: search",
	.open = open_code,
	.close = close_code,
	.fit = fit,
	.count = count_lines,
	.title = add_title,
	.summary = add_summary,
	.heading = add_heading,
	.row = add_row,
	.key = take_key,
};
