/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The code in a page: source lines and instructions of each important function. */
#include "tools/report/html.h"

#define INLINES_MAX	   64
#define REPORT_WAIT_LEAST  0.1	 /* of an instruction's cycles: shorter waits are left out */
#define REPORT_WAIT_SHARE  0.005 /* of the function's: likewise, as in pesa annotate --why */
#define REPORT_CAUSE_LEAST 0.05	 /* of a wait: likewise */

/* A source line in the page; the whole struct is the key. */
struct code_line {
	uint32_t file; /* number of a text */
	uint32_t line;
	uint32_t inlined; /* function that was inlined here: number of a text, or DISTINCT_NONE */
};

/* A text by its number in the document; DISTINCT_NONE for NULL. */
static struct pesa_error *text_number(struct report_page *page, const char *text, uint32_t *number)
{
	uint32_t found = text ? distinct_text_get(&page->texts, text) : DISTINCT_NONE;

	if (text && found == DISTINCT_NONE)
		return pesa_error_no_memory();
	*number = found;
	return NULL;
}

/* Append a number to an array; null for DISTINCT_NONE. */
static void append_number(json_object *array, uint32_t number)
{
	json_object_array_add(array, number == DISTINCT_NONE ? NULL : ui_json_count(number));
}

/* Append the number of a text; null for NULL. */
static struct pesa_error *append_text(struct report_page *page, json_object *array,
				      const char *text)
{
	struct pesa_error *error;
	uint32_t number;

	error = text_number(page, text, &number);
	if (!error)
		append_number(array, number);
	return error;
}

/* Append the index of an instruction's source line; null: unknown. */
static struct pesa_error *append_line(struct report_page *page, struct distinct_records *lines,
				      uint32_t dso, uint64_t address, json_object *array)
{
	struct pesa_inline_frame frame[INLINES_MAX];
	struct pesa_error *error;
	struct code_line line;
	uint32_t number;
	size_t count;

	error = pesa_symbols_inlines(page->input->symbols, dso, address, frame, INLINES_MAX,
				     &count);
	if (error)
		return error;
	if (!count || !frame[0].source.file || !frame[0].source.line) {
		json_object_array_add(array, NULL);
		return NULL;
	}
	line.line = frame[0].source.line;
	error = text_number(page, frame[0].source.file, &line.file);
	if (!error)
		error = text_number(page, count > 1 ? frame[0].function : NULL, &line.inlined);
	if (error)
		return error;
	number = distinct_records_get(lines, &line);
	if (number == DISTINCT_NONE)
		return pesa_error_no_memory();
	append_number(array, number);
	return NULL;
}

/* Append [file, line, text, inlined function] of each source line; the last only if there is one. */
static struct pesa_error *append_lines(struct report_page *page,
				       const struct distinct_records *lines, json_object *array)
{
	struct pesa_error *error = NULL;

	for (uint32_t i = 0; i < lines->index.count && !error; i++) {
		const struct code_line *line = distinct_records_at(lines, i);
		const char *file = distinct_text_at(&page->texts, line->file);
		json_object *row = json_object_new_array();
		const char *text;

		append_number(row, line->file);
		append_number(row, line->line);
		error = source_text_line(page->sources, file, line->line, &text);
		if (!error)
			error = append_text(page, row, text);
		if (line->inlined != DISTINCT_NONE)
			append_number(row, line->inlined);
		json_object_array_add(array, row);
	}
	return error;
}

/* Append [state, cause, cycles, state, cause, cycles, ...], largest first. */
static struct pesa_error *append_stack(struct report_page *page,
				       const struct pesa_instruction *instruction,
				       json_object *array)
{
	const struct pesa_capabilities *capabilities =
		pesa_profile_capabilities(page->input->profile);
	json_object *stack = json_object_new_array();
	struct pesa_error *error = NULL;

	for (unsigned int i = 0; i < instruction->buckets && !error; i++) {
		const struct pesa_bucket *bucket = &instruction->bucket[i];
		char cause[256];

		if (!bucket->weight)
			continue;
		cycle_cause_name(capabilities, bucket->cause, cause, sizeof(cause));
		json_object_array_add(stack, ui_json_count(bucket->state));
		error = append_text(page, stack, cause);
		json_object_array_add(stack, ui_json_number(cycles_of(bucket->weight)));
	}
	json_object_array_add(array, stack);
	return error;
}

/* Append what an instruction of a function with so much weight waited for, one text for each cause; nothing
 * if it is not worth a word. */
static struct pesa_error *append_why(struct report_page *page,
				     const struct pesa_instruction *instruction, uint64_t function,
				     json_object *array)
{
	const struct pesa_why_wait *wait =
		pesa_why_find(page->reasons.why, instruction->dso, instruction->address);
	struct pesa_error *error = NULL;
	struct ui_text line = {0};
	json_object *causes;

	if (!wait || wait->cycles < REPORT_WAIT_LEAST * cycles_of(instruction->weight) ||
	    wait->cycles < REPORT_WAIT_SHARE * cycles_of(function))
		return NULL;
	causes = json_object_new_array();
	for (unsigned int i = 0; i < wait->causes && !error; i++) {
		if (wait->cause[i].share < REPORT_CAUSE_LEAST)
			continue;
		ui_text_clear(&line);
		reasons_text(&page->reasons, wait, &wait->cause[i], true, &line);
		error = append_text(page, causes, ui_text_get(&line));
	}
	json_object_array_add(array, causes);
	ui_text_free(&line);
	return error;
}

/* The name of the function to which control is transferred; NULL: none, or the same function. */
static const char *target_of(const struct report_page *page, uint32_t dso,
			     const struct listing_row *row)
{
	const struct pesa_symbol *own, *target;

	if (!row->has_target)
		return NULL;
	own = profile_symbol(page->input, dso, row->address);
	target = profile_symbol(page->input, dso, row->target);
	return target && target != own ? target->name : NULL;
}

/* Append cycles, executions, cost, half of its interval, taken; null where there are too few
 * samples. */
static void append_estimates(const struct report_page *page,
			     const struct pesa_instruction *instruction, bool conditional,
			     json_object *array)
{
	const struct pesa_profile *profile = page->input->profile;
	struct pesa_estimate executions, cost, taken;

	executions = pesa_estimate_executions(profile, instruction, PROFILE_CONFIDENCE);
	cost = pesa_estimate_cycles_per_execution(profile, instruction, PROFILE_CONFIDENCE);
	taken = pesa_estimate_taken(profile, instruction, PROFILE_CONFIDENCE);
	json_object_array_add(array, ui_json_number(cycles_of(instruction->weight)));
	json_object_array_add(array, executions.enough ? ui_json_number(executions.value) : NULL);
	json_object_array_add(array, cost.enough ? ui_json_number(cost.value) : NULL);
	json_object_array_add(array,
			      cost.enough ? ui_json_number((cost.high - cost.low) / 2) : NULL);
	json_object_array_add(array, instruction->edges && conditional && taken.enough
					     ? ui_json_number(taken.value)
					     : NULL);
}

/*
 * Append a row: [address, text, line, target], and for a sampled instruction also cycles,
 * executions, cost, half of its interval, taken, stack, and if it stalled what it waited for.
 */
static struct pesa_error *append_row(struct report_page *page, struct distinct_records *lines,
				     uint32_t dso, const struct listing *listing,
				     const struct listing_row *row, json_object *rows)
{
	json_object *array = json_object_new_array();
	struct pesa_error *error;

	json_object_array_add(rows, array);
	json_object_array_add(array, ui_json_count(row->address));
	error = append_text(page, array, row->text);
	if (!error)
		error = append_line(page, lines, dso, row->address, array);
	if (!error)
		error = append_text(page, array, target_of(page, dso, row));
	if (error || !row->instruction)
		return error;
	append_estimates(page, row->instruction, row->conditional, array);
	error = append_stack(page, row->instruction, array);
	return error || !page->has_reasons
		       ? error
		       : append_why(page, row->instruction, listing->weight, array);
}

static struct pesa_error *write_code(struct report_page *page, struct ui_json *json, size_t number)
{
	const struct profile_group *function = &page->functions.group[number];
	json_object *object = json_object_new_object();
	json_object *source = json_object_new_array(), *rows = json_object_new_array();
	struct distinct_records lines;
	struct listing listing = {0};
	struct pesa_error *error = listing_function(&listing, page->input, page->isas,
						    function->dso, function->symbol);

	distinct_records_begin(&lines, sizeof(struct code_line), sizeof(struct code_line));
	for (size_t i = 0; i < listing.count && !error; i++)
		error = append_row(page, &lines, function->dso, &listing, &listing.row[i], rows);
	if (!error)
		error = append_lines(page, &lines, source);
	json_object_object_add(object, "function", ui_json_count(number));
	json_object_object_add(object, "lines", source);
	json_object_object_add(object, "rows", rows);
	ui_json_element(json, object);
	listing_free(&listing);
	distinct_records_free(&lines);
	return error;
}

struct pesa_error *report_html_code(struct report_page *page, struct ui_json *json)
{
	struct pesa_error *error = NULL;

	ui_json_array_begin(json, "code");
	for (size_t i = 0; i < page->shown && !error; i++)
		if (profile_share(page->input, page->functions.group[i].weight) >= page->limit)
			error = write_code(page, json, i);
	ui_json_array_end(json);
	return error;
}
