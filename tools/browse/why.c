// SPDX-License-Identifier: GPL-2.0-or-later
/* Why an instruction holds up the program: its cycles by state and cause, what each means, what can be
 * done about it, and what it waited for. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/browse/browse.h"
#include "tools/explain/reasons.h"

#define LINES_OF_BUCKET 2 /* what it means; what to try */

struct why {
	uint32_t dso;
	struct listing_row instruction;
	struct cycle_stack stack;
	char cost[64];
	const struct reasons *reasons;	  /* NULL: what it waited for is not known */
	const struct pesa_why_wait *wait; /* NULL: it never stalled */
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

static void close_why(struct browse_view *view)
{
	struct why *why = view->state;

	if (why)
		cycle_stack_free(&why->stack);
	free(why);
}

static struct pesa_error *fit(struct browse *browse __attribute__((unused)),
			      struct browse_view *view __attribute__((unused)))
{
	return NULL;
}

static size_t bucket_rows(const struct why *why)
{
	return why->stack.count ? why->stack.count * LINES_OF_BUCKET : 1;
}

static size_t count_rows(const struct browse *browse __attribute__((unused)),
			 const struct browse_view *view)
{
	const struct why *why = view->state;

	return bucket_rows(why) + (why->wait ? why->wait->causes : 0);
}

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
	ui_text_add(line, "%s of all cycles, %s cycles an execution, %s executions",
		    ui_share(share, profile_share(browse->report->input, instruction->weight)),
		    *why->cost ? why->cost : "unknown",
		    ui_count(number, (double)instruction->executions));
}

static void add_heading(const struct browse *browse,
			const struct browse_view *view __attribute__((unused)),
			struct ui_text *line)
{
	ui_text_add(line, "%s%8s %8s  %-28s  Meaning%s", ui_style(browse->terminal, UI_BOLD),
		    "Share", "Cycles", "State and cause", ui_style(browse->terminal, UI_PLAIN));
}

static void add_advice(const struct browse *browse, size_t reason, struct ui_text *line)
{
	if (reason < EXPLAIN_REASONS)
		ui_text_add(line, "%18s  %stry %s%s", "", ui_style(browse->terminal, UI_DIM),
			    explain_reason(reason)->advice, ui_style(browse->terminal, UI_PLAIN));
}

/* What it waited for: a producer in each line, with its part of the wait. */
static void add_producer(const struct browse *browse, const struct why *why, size_t index,
			 struct ui_text *line)
{
	ui_text_add(line, "%10s%s%-10s%s", "", ui_style(browse->terminal, UI_BOLD),
		    index ? "" : "waits for", ui_style(browse->terminal, UI_PLAIN));
	reasons_text(why->reasons, why->wait, &why->wait->cause[index], browse->terminal->utf8,
		     line);
}

static struct pesa_error *add_row(const struct browse *browse, const struct browse_view *view,
				  size_t index, struct ui_text *line)
{
	const struct why *why = view->state;
	const struct profile_input *input = browse->report->input;
	const struct cycle_bucket *bucket;
	size_t reason;
	char share[UI_NUMBER_SIZE], cycles[UI_NUMBER_SIZE], cause[256];
	size_t column;

	if (index >= bucket_rows(why)) {
		add_producer(browse, why, index - bucket_rows(why), line);
		return NULL;
	}
	if (!why->stack.count) {
		ui_text_add(line, "  %s",
			    input->plain ? "samples of this event have no details: no states, no "
					   "causes"
					 : "the instruction is in no sample");
		return NULL;
	}
	bucket = &why->stack.bucket[index / LINES_OF_BUCKET];
	reason = explain_reason_of(bucket->state, bucket->cause);
	if (index % LINES_OF_BUCKET) {
		add_advice(browse, reason, line);
		return NULL;
	}
	if (bucket->state >= PESA_STATE_COUNT) {
		ui_text_add(line, "%8s %8s  of samples without details",
			    ui_share(share, (double)bucket->weight / (double)why->stack.weight),
			    ui_count(cycles, cycles_of(bucket->weight)));
		return NULL;
	}
	cycle_cause_name(pesa_profile_capabilities(input->profile), bucket->cause, cause,
			 sizeof(cause));
	ui_text_add(line, "%8s %8s  ",
		    ui_share(share, (double)bucket->weight / (double)why->stack.weight),
		    ui_count(cycles, cycles_of(bucket->weight)));
	column = ui_columns(ui_text_get(line));
	ui_text_add(line, "%s%s%s %s", ui_style(browse->terminal, UI_RETIRING + bucket->state),
		    pesa_state_name(bucket->state), ui_style(browse->terminal, UI_PLAIN),
		    bucket->cause ? cause : "");
	ui_text_pad(line, column + 30);
	if (reason < EXPLAIN_REASONS)
		ui_text_add(line, "%s", explain_reason(reason)->words);
	return NULL;
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
