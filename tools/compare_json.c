/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pesa compare --json. */
#include "tools/compare.h"

static json_object *interval(struct pesa_estimate estimate)
{
	return profile_json_interval(estimate);
}

static json_object *time_json(const struct pesa_compare_time *time)
{
	json_object *object = json_object_new_object();

	json_object_object_add(object, "core", ui_json_number(time->core));
	json_object_object_add(object, "event", ui_json_number(time->event));
	json_object_object_add(object, "flushed", ui_json_number(time->flushed));
	json_object_object_add(object, "drained", ui_json_number(time->drained));
	json_object_object_add(object, "unknown", ui_json_number(time->unknown));
	return object;
}

static json_object *instruction_json(const struct comparison *comparison,
				     const struct pesa_compare_instruction *instruction)
{
	json_object *object = json_object_new_object();
	char text[192];

	compare_text_of(comparison, instruction, text, sizeof(text));
	json_object_object_add(object, "address", ui_json_count(instruction->address));
	json_object_object_add(object, "text", ui_json_string(text));
	json_object_object_add(object, "class", ui_json_string(instruction->class));
	json_object_object_add(object, "cycles", time_json(&instruction->time));
	json_object_object_add(object, "executions", ui_json_number(instruction->executions.value));
	json_object_object_add(object, "measured", ui_json_number(instruction->core.value));
	json_object_object_add(object, "predicted", ui_json_number(instruction->predicted));
	json_object_object_add(object, "interval", interval(instruction->difference));
	return object;
}

static json_object *region_json(const struct comparison *comparison,
				const struct pesa_compare_region *region)
{
	json_object *object = json_object_new_object(), *list = json_object_new_array();

	json_object_object_add(object, "symbol", ui_json_string(region->symbol));
	json_object_object_add(object, "start", ui_json_count(region->start));
	json_object_object_add(object, "end", ui_json_count(region->end));
	json_object_object_add(object, "loop", json_object_new_boolean(region->loop));
	json_object_object_add(object, "cycles", time_json(&region->time));
	json_object_object_add(object, "measured", ui_json_number(region->measured.value));
	json_object_object_add(object, "predicted", ui_json_number(region->predicted));
	json_object_object_add(object, "interval", interval(region->difference));
	for (size_t i = 0; i < region->count; i++)
		json_object_array_add(
			list,
			instruction_json(comparison,
					 pesa_compare_instruction(comparison->compare, region, i)));
	json_object_object_add(object, "instructions", list);
	return object;
}

void compare_json(const struct comparison *comparison)
{
	struct ui_json json;

	ui_json_begin(&json, stdout, "compare");
	profile_json_header(&comparison->input, &json);
	ui_json_member(&json, "model", ui_json_string(comparison->cpu));
	ui_json_array_begin(&json, "regions");
	for (size_t i = 0; i < pesa_compare_region_count(comparison->compare); i++) {
		const struct pesa_compare_region *region =
			pesa_compare_region(comparison->compare, i);

		if (compare_wants(comparison, region))
			ui_json_element(&json, region_json(comparison, region));
	}
	ui_json_array_end(&json);
	profile_json_problems(&comparison->input, &json);
	ui_json_end(&json);
}
