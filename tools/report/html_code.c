/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The code in a page: source lines and instructions of each important function. */
#include "tools/report/html.h"

#define INLINES_MAX 64

/* A source line in the page; the whole struct is the key. */
struct code_line {
	uint32_t file, line,
		inlined; /* file, function: numbers of texts; inlined: or DISTINCT_NONE */
};

static json_object *text_number(struct report_page *page, const char *text)
{
	uint32_t number = text ? distinct_text_get(&page->texts, text) : DISTINCT_NONE;

	return number == DISTINCT_NONE ? NULL : ui_json_count(number);
}

/* The index of an instruction's source line; null: unknown. */
static json_object *line_of(struct report_page *page, struct distinct_records *lines, uint32_t dso,
			    uint64_t address)
{
	struct pesa_inline_frame frame[INLINES_MAX];
	size_t count = pesa_symbols_inlines(page->input->symbols, dso, address, frame, INLINES_MAX);
	struct code_line line;
	uint32_t number;

	if (!count || !frame[0].source.file || !frame[0].source.line)
		return NULL;
	line = (struct code_line){
		.file = distinct_text_get(&page->texts, frame[0].source.file),
		.line = frame[0].source.line,
		.inlined = count > 1 && frame[0].function
				   ? distinct_text_get(&page->texts, frame[0].function)
				   : DISTINCT_NONE};
	number = line.file == DISTINCT_NONE ? DISTINCT_NONE : distinct_records_get(lines, &line);
	return number == DISTINCT_NONE ? NULL : ui_json_count(number);
}

static json_object *lines_json(struct report_page *page, const struct distinct_records *lines)
{
	json_object *array = json_object_new_array();

	for (uint32_t i = 0; i < lines->index.count; i++) {
		const struct code_line *line = distinct_records_at(lines, i);
		const char *file = distinct_text_at(&page->texts, line->file);
		json_object *row = json_object_new_array();

		json_object_array_add(row, ui_json_count(line->file));
		json_object_array_add(row, ui_json_count(line->line));
		json_object_array_add(
			row, text_number(page, source_text_line(page->sources, file, line->line)));
		if (line->inlined != DISTINCT_NONE)
			json_object_array_add(row, ui_json_count(line->inlined));
		json_object_array_add(array, row);
	}
	return array;
}

/* [state, cause, cycles, state, cause, cycles, ...], largest first. */
static json_object *stack_json(struct report_page *page, const struct pesa_instruction *instruction)
{
	const struct pesa_capabilities *capabilities =
		pesa_profile_capabilities(page->input->profile);
	json_object *array = json_object_new_array();

	for (unsigned int i = 0; i < instruction->buckets; i++) {
		const struct pesa_bucket *bucket = &instruction->bucket[i];
		char cause[256];

		if (!bucket->weight)
			continue;
		cycle_cause_name(capabilities, bucket->cause, cause, sizeof(cause));
		json_object_array_add(array, ui_json_count(bucket->state));
		json_object_array_add(array, text_number(page, cause));
		json_object_array_add(array, ui_json_number(cycles_of(bucket->weight)));
	}
	return array;
}

/* The name of the function to which control is transferred, or null. */
static json_object *target_of(struct report_page *page, uint32_t dso, const struct listing_row *row)
{
	const struct pesa_symbol *own, *target;

	if (!row->has_target)
		return NULL;
	own = pesa_symbols_find(page->input->symbols, dso, row->address);
	target = pesa_symbols_find(page->input->symbols, dso, row->target);
	return target && target != own ? text_number(page, target->name) : NULL;
}

/* [address, text, line, target] and, of what is in a sample, [..., cycles, executions, cost, half
 * of its interval, taken, stack]: null where there are too few samples. */
static json_object *row_json(struct report_page *page, struct distinct_records *lines, uint32_t dso,
			     const struct listing_row *row)
{
	const struct pesa_profile *profile = page->input->profile;
	const struct pesa_instruction *instruction = row->instruction;
	struct pesa_estimate executions, cost, taken;
	json_object *array = json_object_new_array();

	json_object_array_add(array, ui_json_count(row->address));
	json_object_array_add(array, text_number(page, row->text));
	json_object_array_add(array, line_of(page, lines, dso, row->address));
	json_object_array_add(array, target_of(page, dso, row));
	if (!instruction)
		return array;
	executions = pesa_estimate_executions(profile, instruction, PROFILE_CONFIDENCE);
	cost = pesa_estimate_cycles_per_execution(profile, instruction, PROFILE_CONFIDENCE);
	taken = pesa_estimate_taken(profile, instruction, PROFILE_CONFIDENCE);
	json_object_array_add(array, ui_json_number(cycles_of(instruction->weight)));
	json_object_array_add(array, executions.enough ? ui_json_number(executions.value) : NULL);
	json_object_array_add(array, cost.enough ? ui_json_number(cost.value) : NULL);
	json_object_array_add(array,
			      cost.enough ? ui_json_number((cost.high - cost.low) / 2) : NULL);
	json_object_array_add(array, instruction->edges && row->conditional && taken.enough
					     ? ui_json_number(taken.value)
					     : NULL);
	json_object_array_add(array, stack_json(page, instruction));
	return array;
}

static bool write_code(struct report_page *page, struct ui_json *json, size_t number)
{
	const struct profile_group *function = &page->functions.group[number];
	json_object *object = json_object_new_object(), *rows = json_object_new_array();
	struct distinct_records lines;
	struct listing listing = {0};
	bool done = listing_function(&listing, page->input, page->isas, function->dso,
				     function->symbol);

	distinct_records_begin(&lines, sizeof(struct code_line), sizeof(struct code_line));
	for (size_t i = 0; done && i < listing.count; i++)
		json_object_array_add(rows, row_json(page, &lines, function->dso, &listing.row[i]));
	json_object_object_add(object, "function", ui_json_count(number));
	json_object_object_add(object, "lines", lines_json(page, &lines));
	json_object_object_add(object, "rows", rows);
	ui_json_element(json, object);
	listing_free(&listing);
	distinct_records_free(&lines);
	return done;
}

bool report_html_code(struct report_page *page, struct ui_json *json)
{
	bool done = true;

	ui_json_array_begin(json, "code");
	for (size_t i = 0; done && i < page->shown; i++)
		if (profile_share(page->input, page->functions.group[i].weight) >= page->limit)
			done = write_code(page, json, i);
	ui_json_array_end(json);
	return done;
}
