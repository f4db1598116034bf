// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>

#include "tools/diff/json.h"
#include "tools/diff/sides.h"
#include "tools/ui/cycle_stack.h"

static void json_note(void *context, const char *note)
{
	json_object_array_add(context, ui_json_string(note));
}

static json_object *side_json(const struct profile_input *input)
{
	const struct pesa_profile_totals *totals = pesa_profile_totals(input->profile);
	const struct pesa_capabilities *capabilities = pesa_profile_capabilities(input->profile);
	json_object *object = json_object_new_object();

	json_object_object_add(object, "input", ui_json_string(input->options->path));
	json_object_object_add(object, "cmdline",
			       ui_json_string(pesa_profile_cmdline(input->profile)));
	json_object_object_add(object, "event", ui_json_string(pesa_profile_event(input->profile)));
	json_object_object_add(object, "core",
			       capabilities->core[0] ? ui_json_string(capabilities->core) : NULL);
	json_object_object_add(object, "exact", json_object_new_boolean(totals->exact));
	json_object_object_add(object, "period", ui_json_number(totals->period));
	json_object_object_add(object, "samples", ui_json_count(totals->samples));
	json_object_object_add(object, "plain_samples", ui_json_count(totals->plain_samples));
	json_object_object_add(object, "skidding_samples", ui_json_count(totals->skidding_samples));
	json_object_object_add(object, "lost", ui_json_count(totals->lost));
	json_object_object_add(object, "cycles", ui_json_number(all_cycles(input)));
	json_object_object_add(object, "instructions", ui_json_number(instructions_of(input)));
	return object;
}

static json_object *interval_json(double low, double high)
{
	json_object *interval = json_object_new_array_ext(2);

	json_object_array_add(interval, ui_json_number(low));
	json_object_array_add(interval, ui_json_number(high));
	return interval;
}

static json_object *figures_json(const struct profile_input *input,
				 const struct diff_figures *figures)
{
	json_object *object;

	if (!figures->present)
		return NULL;
	object = json_object_new_object();
	json_object_object_add(
		object, "dso",
		ui_json_string(pesa_profile_dso(input->profile, figures->dso)->path));
	json_object_object_add(object, "address", ui_json_count(figures->address));
	json_object_object_add(object, "file", ui_json_string(figures->file));
	json_object_object_add(object, "line", figures->file ? ui_json_count(figures->line) : NULL);
	json_object_object_add(object, "cycles", ui_json_number(figures->cycles));
	json_object_object_add(object, "executions",
			       figures->has_executions ? ui_json_number(figures->executions)
						       : NULL);
	json_object_object_add(object, "cycles_per_execution",
			       figures->cost.enough ? ui_json_number(figures->cost.value) : NULL);
	json_object_object_add(object, "cycles_per_execution_interval",
			       profile_json_interval(figures->cost));
	return object;
}

static void add_change(json_object *object, const char *prefix, const struct diff_change *change)
{
	char name[64];

	snprintf(name, sizeof(name), "%s", prefix);
	json_object_object_add(object, name, change->known ? ui_json_number(change->value) : NULL);
	snprintf(name, sizeof(name), "%s_interval", prefix);
	json_object_object_add(object, name,
			       change->known ? interval_json(change->low, change->high) : NULL);
	snprintf(name, sizeof(name), "%s_p", prefix);
	json_object_object_add(object, name, change->known ? ui_json_number(change->p) : NULL);
	snprintf(name, sizeof(name), "%s_significant", prefix);
	json_object_object_add(object, name, json_object_new_boolean(change->significant));
}

static json_object *row_json(const struct profile_input input[DIFF_SIDES],
			     const struct diff_row *row)
{
	const bool both = row->side[DIFF_OLD].present && row->side[DIFF_NEW].present;
	json_object *object = json_object_new_object();

	json_object_object_add(object, "symbol", ui_json_string(row->function));
	if (row->text)
		json_object_object_add(object, "text", ui_json_string(row->text));
	if (row->old_text)
		json_object_object_add(object, "old_text", ui_json_string(row->old_text));
	json_object_object_add(object, "kind",
			       ui_json_string(both			    ? "both"
					      : row->side[DIFF_NEW].present ? "new"
									    : "gone"));
	add_change(object, "change", &row->cycles);
	add_change(object, "cost_change", &row->cost);
	json_object_object_add(object, "old", figures_json(&input[DIFF_OLD], &row->side[DIFF_OLD]));
	json_object_object_add(object, "new", figures_json(&input[DIFF_NEW], &row->side[DIFF_NEW]));
	return object;
}

bool diff_is_small(const struct diff_row *row, double limit)
{
	return !row->cycles.significant && !row->cost.significant &&
	       row->side[DIFF_OLD].cycles < limit && row->side[DIFF_NEW].cycles < limit;
}

void diff_json(struct ui_json *json, const struct profile_input input[DIFF_SIDES], enum diff_by by,
	       const struct diff_rows *rows, double limit)
{
	static const char *const names[] = {"symbol", "line", "insn"};
	json_object *notes = json_object_new_array();

	diff_each_note(input, rows, json_note, notes);
	ui_json_member(json, "old", side_json(&input[DIFF_OLD]));
	ui_json_member(json, "new", side_json(&input[DIFF_NEW]));
	ui_json_member(json, "scale", ui_json_number(rows->scale));
	ui_json_member(json, "notes", notes);
	ui_json_member(json, "by", ui_json_string(names[by]));
	ui_json_array_begin(json, "rows");
	for (size_t i = 0; i < rows->count; i++)
		if (!diff_is_small(&rows->row[i], limit))
			ui_json_element(json, row_json(input, &rows->row[i]));
	ui_json_array_end(json);
	profile_json_problems(&input[DIFF_NEW], json);
}
