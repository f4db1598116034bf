// SPDX-License-Identifier: GPL-2.0-or-later
/* Why an instruction holds up the program: its cycles by state and cause, what each means, what can be
 * done about it, and what it waited for. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/browse/browse.h"
#include "tools/explain/reasons.h"

#define INDENT	      19 /* columns of share and cycles, and what is between them */
#define COLUMN_LEAST  30 /* of state and cause */
#define MEANING_LEAST 24 /* columns; with less room, what a row means is below it */

struct why {
	uint32_t dso;
	struct listing_row instruction;
	struct cycle_stack stack;
	char cost[64];
	const struct reasons *reasons;	  /* NULL: what it waited for is not known */
	const struct pesa_why_wait *wait; /* NULL: it never stalled */
	size_t column;			  /* of state and cause; 0: the meaning is below them */
	struct ui_text *line;		  /* array: the rows, broken at the terminal's width */
	size_t lines, room;
};

/* The heaviest instruction of a function. */
static const struct pesa_instruction *hottest_of(const struct listing *listing)
{
	for (size_t i = 0; i < listing->count; i++)
		if (listing->row[i].instruction &&
		    listing->row[i].instruction->weight == listing->hottest)
			return listing->row[i].instruction;
	return NULL;
}

/* Find what the instructions of the profile waited for, once, and then the wait of this one. */
static struct pesa_error *find_wait(struct browse *browse, struct why *why)
{
	struct pesa_error *error = NULL, *lacking = NULL;
	bool found;

	if (!browse->reasons) {
		browse->reasons = calloc(1, sizeof(*browse->reasons));
		if (!browse->reasons)
			return pesa_error_no_memory();
		error = reasons_find(browse->reasons, browse->report->input, browse->report->isas,
				     &found, &lacking);
		if (lacking)
			snprintf(browse->message, sizeof(browse->message),
				 "what it waited for is not known: %s", lacking->message);
		pesa_error_free(lacking);
	}
	if (error || !browse->reasons->why)
		return error;
	why->reasons = browse->reasons;
	why->wait = pesa_why_find(browse->reasons->why, why->dso, why->instruction.address);
	return NULL;
}

static struct pesa_error *open_why(struct browse *browse, struct browse_view *view,
				   const struct browse_target *target)
{
	const struct report_view *report = browse->report;
	struct why *why = calloc(1, sizeof(*why));
	struct pesa_error *error = NULL;
	struct listing listing = {0};

	view->state = why;
	if (!why)
		return pesa_error_no_memory();
	why->dso = target->dso;
	if (target->has_address) {
		why->instruction.address = target->address;
		why->instruction.instruction =
			pesa_profile_find(report->input->profile, target->dso, target->address);
	} else {
		error = listing_function(&listing, report->input, report->isas, target->dso,
					 target->symbol);
		why->instruction.instruction = hottest_of(&listing);
		if (why->instruction.instruction)
			why->instruction.address = why->instruction.instruction->address;
		listing_free(&listing);
	}
	if (error)
		return error;
	listing_decode(report->input, report->isas, target->dso, &why->instruction);
	listing_cost(report->input, browse->terminal, why->instruction.instruction, why->cost,
		     sizeof(why->cost));
	if (!why->instruction.instruction || report->input->plain)
		return NULL;
	error = cycle_stack_add(&why->stack, why->instruction.instruction);
	if (!error)
		cycle_stack_sort(&why->stack);
	return error ? error : find_wait(browse, why);
}

static void forget_lines(struct why *why)
{
	for (size_t i = 0; i < why->lines; i++)
		ui_text_free(&why->line[i]);
	why->lines = 0;
}

static void close_why(struct browse_view *view)
{
	struct why *why = view->state;

	if (why) {
		forget_lines(why);
		free(why->line);
		cycle_stack_free(&why->stack);
	}
	free(why);
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static const char no_head[] = "                   "; /* INDENT columns */

/* A line more, which is empty; NULL: no memory. */
static struct ui_text *next_line(struct why *why)
{
	if (why->lines == why->room) {
		size_t room = why->room ? 2 * why->room : 32;
		struct ui_text *line = realloc(why->line, room * sizeof(*line));

		if (!line)
			return NULL;
		why->line = line;
		why->room = room;
	}
	why->line[why->lines] = (struct ui_text){0};
	return &why->line[why->lines++];
}

/* Add a text in lines as wide as the terminal; the first one goes on behind `head`, which has INDENT
 * columns.  `styled` bytes at its beginning have the style. */
static struct pesa_error *add_lines(struct browse *browse, struct why *why, const char *head,
				    const char *text, enum ui_style style, size_t styled)
{
	const size_t width = browse->terminal->width;
	struct ui_text *line;

	do {
		size_t length = ui_fitting(text, width > INDENT ? width - INDENT : 1);
		size_t coloured = styled < length ? styled : length;

		line = next_line(why);
		if (!line)
			return pesa_error_no_memory();
		ui_text_add(line, "%s%s%.*s%s%.*s", head, ui_style(browse->terminal, style),
			    (int)coloured, text, ui_style(browse->terminal, UI_PLAIN),
			    (int)(length - coloured), text + coloured);
		styled -= coloured;
		text += length + (text[length] == ' ');
		head = no_head;
	} while (*text);
	return NULL;
}

/* The name of a bucket's state and cause.  Returns the length of the state. */
static size_t name_bucket(const struct browse *browse, const struct cycle_bucket *bucket,
			  struct ui_text *name)
{
	char cause[256];

	ui_text_clear(name);
	if (bucket->state >= PESA_STATE_COUNT) {
		ui_text_add(name, "of samples without details");
		return 0;
	}
	cycle_cause_name(pesa_profile_capabilities(browse->report->input->profile), bucket->cause,
			 cause, sizeof(cause));
	ui_text_add(name, "%s", pesa_state_name(bucket->state));
	if (bucket->cause)
		ui_text_add(name, " %s", cause);
	return strlen(pesa_state_name(bucket->state));
}

/* Choose the width of state and cause such that the meaning is beside them, if there is room. */
static void choose_column(const struct browse *browse, struct why *why)
{
	struct ui_text name = {0};

	why->column = COLUMN_LEAST;
	for (size_t i = 0; i < why->stack.count; i++) {
		size_t columns;

		name_bucket(browse, &why->stack.bucket[i], &name);
		columns = ui_columns(ui_text_get(&name)) + 2;
		if (columns > why->column)
			why->column = columns;
	}
	if (INDENT + why->column + MEANING_LEAST > browse->terminal->width)
		why->column = 0;
	ui_text_free(&name);
}

static struct pesa_error *add_bucket(struct browse *browse, struct why *why,
				     const struct cycle_bucket *bucket)
{
	const struct pesa_topdown_bits bits =
		pesa_topdown_bits(pesa_profile_capabilities(browse->report->input->profile));
	const size_t reason = explain_reason_of(&bits, bucket->state, bucket->cause);
	const bool known = bucket->state < PESA_STATE_COUNT && reason < EXPLAIN_REASONS;
	const char *words = known ? explain_reason(reason)->words : "";
	char share[UI_NUMBER_SIZE], cycles[UI_NUMBER_SIZE], head[2 * UI_NUMBER_SIZE + 8];
	struct ui_text text = {0};
	size_t state = name_bucket(browse, bucket, &text);
	enum ui_style style = state ? UI_RETIRING + bucket->state : UI_PLAIN;
	struct pesa_error *error;
	bool beside =
		why->column && INDENT + why->column + ui_columns(words) <= browse->terminal->width;

	snprintf(head, sizeof(head), "%8s %8s  ",
		 ui_share(share, (double)bucket->weight / (double)why->stack.weight),
		 profile_amount(browse->report->input, cycles, cycles_of(bucket->weight)));
	if (beside && *words) {
		ui_text_pad(&text, why->column);
		ui_text_add(&text, "%s", words);
	}
	error = add_lines(browse, why, head, ui_text_get(&text), style, state);
	if (!error && !beside && *words)
		error = add_lines(browse, why, no_head, words, UI_PLAIN, 0);
	if (!error && known) {
		ui_text_clear(&text);
		ui_text_add(&text, "try %s", explain_reason(reason)->advice);
		error = add_lines(browse, why, no_head, ui_text_get(&text), UI_DIM, text.length);
	}
	ui_text_free(&text);
	return error;
}

/* What it waited for: the producers, each with its part of the wait. */
static struct pesa_error *add_wait(struct browse *browse, struct why *why)
{
	struct pesa_error *error = NULL;
	struct ui_text text = {0};

	for (unsigned int i = 0; why->wait && i < why->wait->causes && !error; i++) {
		ui_text_clear(&text);
		reasons_text(why->reasons, why->wait, &why->wait->cause[i], browse->terminal->utf8,
			     &text);
		error = add_lines(browse, why, i ? no_head : "         waits for ",
				  ui_text_get(&text), UI_PLAIN, 0);
	}
	ui_text_free(&text);
	return error;
}

static struct pesa_error *fit(struct browse *browse, struct browse_view *view)
{
	struct why *why = view->state;
	struct pesa_error *error = NULL;

	forget_lines(why);
	choose_column(browse, why);
	if (!why->stack.count)
		error = add_lines(
			browse, why, "  ",
			browse->report->input->plain
				? "samples of this event have no details: no states, no causes"
				: "the instruction is in no sample",
			UI_PLAIN, 0);
	for (size_t i = 0; i < why->stack.count && !error; i++)
		error = add_bucket(browse, why, &why->stack.bucket[i]);
	return error ? error : add_wait(browse, why);
}

static size_t count_rows(const struct browse *browse __attribute__((unused)),
			 const struct browse_view *view)
{
	return ((const struct why *)view->state)->lines;
}

static struct pesa_error *add_row(const struct browse *browse __attribute__((unused)),
				  const struct browse_view *view, size_t index,
				  struct ui_text *line)
{
	const struct why *why = view->state;

	ui_text_add(line, "%s", ui_text_get(&why->line[index]));
	return NULL;
}

/* ---- What is above them ---------------------------------------------------------------------- */

static void add_title(const struct browse *browse, const struct browse_view *view,
		      struct ui_text *line)
{
	const struct why *why = view->state;
	const struct pesa_symbol *symbol =
		profile_symbol(browse->report->input, why->dso, why->instruction.address);

	ui_text_add(line, "%s%" PRIx64 "  %s%s", ui_style(browse->terminal, UI_BOLD),
		    why->instruction.address, why->instruction.text,
		    ui_style(browse->terminal, UI_PLAIN));
	ui_text_add(line, "  in ");
	ui_text_add_name(line, profile_symbol_name(symbol), 48, browse->terminal->utf8);
}

static void add_summary(const struct browse *browse, const struct browse_view *view,
			struct ui_text *line)
{
	const struct why *why = view->state;
	const struct pesa_instruction *instruction = why->instruction.instruction;
	char share[UI_NUMBER_SIZE], number[UI_NUMBER_SIZE];

	if (!instruction)
		return;
	ui_text_add(line, "%s of all %s",
		    ui_share(share, profile_share(browse->report->input, instruction->weight)),
		    profile_whole(browse->report->input));
	if (!strcmp(why->cost, "too few"))
		ui_text_add(line, ", too few samples for more");
	else if (*why->cost)
		ui_text_add(line, ": %s in each of %s executions", why->cost,
			    ui_count(number, (double)instruction->executions));
}

static void add_heading(const struct browse *browse, const struct browse_view *view,
			struct ui_text *line)
{
	const struct why *why = view->state;

	ui_text_add(line, "%s%8s %8s  %s", ui_style(browse->terminal, UI_BOLD), "Share",
		    profile_amount_title(browse->report->input), "State and cause");
	if (why->column) {
		ui_text_pad(line, INDENT + why->column);
		ui_text_add(line, "Meaning");
	}
	ui_text_add(line, "%s", ui_style(browse->terminal, UI_PLAIN));
}

static struct pesa_error *take_key(struct browse *browse __attribute__((unused)),
				   struct browse_view *view, int key, struct browse_target *target)
{
	const struct why *why = view->state;

	if (!browse_is_enter(key) && key != 'a')
		return NULL;
	target->what = BROWSE_CODE;
	target->dso = why->dso;
	target->symbol = profile_symbol(browse->report->input, why->dso, why->instruction.address);
	target->has_address = true;
	target->address = why->instruction.address;
	return NULL;
}

const struct browse_kind browse_why = {
	.keys = "?: help, Enter: code, Esc: back, q: quit",
	.open = open_why,
	.close = close_why,
	.fit = fit,
	.count = count_rows,
	.title = add_title,
	.summary = add_summary,
	.heading = add_heading,
	.row = add_row,
	.key = take_key,
};
