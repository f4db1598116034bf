/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pesa compare --json. */
#include "tools/compare/comparison.h"

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
	static const char *const waits[] = {
		[PESA_COMPARE_WAITS_AS_CODED] = NULL,
		[PESA_COMPARE_WAITS] = "yes",
		[PESA_COMPARE_MAY_WAIT] = "perhaps",
	};
	json_object *object = json_object_new_object();
	char text[192];

	compare_text_of(comparison, instruction, text, sizeof(text));
	json_object_object_add(object, "address", ui_json_count(instruction->address));
	json_object_object_add(object, "text", ui_json_string(text));
	json_object_object_add(object, "opcode",
			       ui_json_string(pesa_opcode_get(instruction->insn.opcode)->name));
	json_object_object_add(object, "class", ui_json_string(instruction->scheduling_class));
	json_object_object_add(object, "cycles", time_json(&instruction->time));
	json_object_object_add(object, "executions", ui_json_number(instruction->executions.value));
	json_object_object_add(object, "measured", ui_json_number(instruction->core.value));
	json_object_object_add(object, "predicted", ui_json_number(instruction->predicted));
	json_object_object_add(object, "interval", interval(instruction->difference));
	json_object_object_add(object, "waits", ui_json_string(waits[instruction->waiting]));
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
	json_object_object_add(object, "unstable", ui_json_number(region->unstable));
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

static json_object *totals_json(const struct pesa_compare_totals *totals)
{
	json_object *object = json_object_new_object();

	json_object_object_add(object, "cycles", time_json(&totals->time));
	json_object_object_add(object, "no_text", ui_json_number(totals->no_text));
	json_object_object_add(object, "unsupported", ui_json_number(totals->unsupported));
	json_object_object_add(object, "measured", ui_json_number(totals->measured));
	json_object_object_add(object, "predicted", ui_json_number(totals->predicted));
	json_object_object_add(object, "corrected", ui_json_number(totals->corrected));
	json_object_object_add(object, "misfit", ui_json_number(totals->misfit_region));
	json_object_object_add(object, "walks", ui_json_count(totals->paths));
	json_object_object_add(object, "executed", ui_json_count(totals->instructions));
	json_object_object_add(object, "ended_early", json_object_new_boolean(totals->ended_early));
	return object;
}

static json_object *address_json(const struct comparison *comparison, uint32_t dso,
				 uint64_t address)
{
	json_object *object = json_object_new_object();
	const struct pesa_symbol *symbol = profile_symbol(&comparison->input, dso, address);

	json_object_object_add(object, "address", ui_json_count(address));
	json_object_object_add(object, "symbol", ui_json_string(symbol ? symbol->name : NULL));
	json_object_object_add(
		object, "dso",
		ui_json_string(pesa_profile_dso(comparison->input.profile, dso)->path));
	return object;
}

static json_object *opcodes_json(const struct comparison *comparison, unsigned int finding)
{
	json_object *list = json_object_new_array();

	for (unsigned int i = 0; i < pesa_compare_opcode_count(comparison->compare, finding); i++) {
		const struct pesa_compare_opcode *opcode =
			pesa_compare_opcode(comparison->compare, finding, i);
		json_object *object = json_object_new_object();

		json_object_object_add(object, "name", ui_json_string(opcode->name));
		json_object_object_add(object, "mnemonic", ui_json_string(opcode->mnemonic));
		json_object_object_add(
			object, "evidence",
			ui_json_string(pesa_compare_evidence_name(opcode->evidence)));
		json_object_object_add(object, "executions", ui_json_number(opcode->executions));
		json_object_object_add(object, "interval", interval(opcode->estimate));
		json_object_array_add(list, object);
	}
	return list;
}

static json_object *finding_json(const struct comparison *comparison, unsigned int index)
{
	const struct pesa_compare_finding *finding =
		pesa_compare_finding(comparison->compare, index);
	json_object *object = json_object_new_object(), *examples = json_object_new_array();
	json_object *ties = json_object_new_array(), *equivalents = json_object_new_array();
	json_object *distribution = json_object_new_array();
	double all = pesa_compare_totals(comparison->compare)->cycles;

	json_object_object_add(object, "class", ui_json_string(finding->scheduling_class));
	json_object_object_add(object, "resource", ui_json_string(finding->resource));
	json_object_object_add(object, "defined_at", ui_json_string(finding->from));
	json_object_object_add(object, "kind",
			       ui_json_string(pesa_compare_change_name(finding->kind)));
	json_object_object_add(object, "instructions", ui_json_string(finding->mnemonics));
	json_object_object_add(object, "predicted", json_object_new_int(finding->model));
	json_object_object_add(object, "measured",
			       finding->varies ? NULL : json_object_new_int(finding->measured));
	for (unsigned int i = 0; i < 3 && finding->varies; i++)
		json_object_array_add(distribution, ui_json_number(finding->spread[i]));
	json_object_object_add(object, "distribution", distribution);
	json_object_object_add(object, "interval", interval(finding->estimate));
	json_object_object_add(object, "executions", ui_json_number(finding->executions));
	json_object_object_add(object, "cycles", ui_json_number(finding->cycles));
	json_object_object_add(object, "share", ui_json_number(finding->cycles / all));
	json_object_object_add(object, "explained", ui_json_number(finding->explained));
	json_object_object_add(object, "explained_blocks",
			       ui_json_number(finding->explained_blocks));
	json_object_object_add(object, "explained_traces",
			       ui_json_number(finding->explained_traces));
	json_object_object_add(object, "deviations", ui_json_number(finding->deviations));
	json_object_object_add(object, "change",
			       finding->varies ? NULL : ui_json_string(finding->change));
	for (unsigned int i = 0; i < finding->examples; i++)
		json_object_array_add(examples, address_json(comparison, finding->example[i].dso,
							     finding->example[i].address));
	json_object_object_add(object, "examples", examples);
	for (unsigned int i = 0; i < finding->equivalents; i++)
		json_object_array_add(equivalents, ui_json_string(finding->equivalent[i]));
	json_object_object_add(object, "equivalents", equivalents);
	for (unsigned int i = 0; i < finding->ties; i++)
		json_object_array_add(ties, ui_json_string(finding->tie[i]));
	json_object_object_add(object, "ties", ties);
	json_object_object_add(object, "some_opcodes",
			       json_object_new_boolean(finding->some_opcodes));
	json_object_object_add(object, "opcodes", opcodes_json(comparison, index));
	return object;
}

static json_object *ordering_json(const struct comparison *comparison,
				  const struct pesa_compare_ordering *ordering)
{
	json_object *object = json_object_new_object();
	char text[192];

	compare_text_at(comparison, &ordering->example, text, sizeof(text));
	json_object_object_add(object, "text", ui_json_string(text));
	json_object_object_add(
		object, "example",
		address_json(comparison, ordering->example.dso, ordering->example.address));
	json_object_object_add(object, "cycles", ui_json_number(ordering->cycles));
	json_object_object_add(object, "executions", ui_json_number(ordering->executions));
	json_object_object_add(object, "modelled", json_object_new_boolean(ordering->modelled));
	json_object_object_add(object, "drains", json_object_new_boolean(ordering->drains));
	json_object_object_add(object, "memory", json_object_new_boolean(ordering->memory));
	return object;
}

static json_object *chosen_json(const struct pesa_compare_chosen *chosen)
{
	json_object *object = json_object_new_object();

	json_object_object_add(object, "directions", ui_json_string(chosen->directions));
	json_object_object_add(object, "store_sets", json_object_new_boolean(chosen->store_sets));
	json_object_object_add(object, "units_in_order",
			       json_object_new_boolean(chosen->units_in_order));
	json_object_object_add(object, "waiting", ui_json_count(chosen->waiting));
	json_object_object_add(object, "perhaps", ui_json_count(chosen->perhaps));
	return object;
}

static json_object *unexplained_json(const struct comparison *comparison)
{
	const struct pesa_compare_unexplained *left = pesa_compare_unexplained(comparison->compare);
	json_object *object = json_object_new_object();
	char text[512];

	if (!compare_unexplained_text(comparison, text, sizeof(text))) {
		json_object_put(object);
		return NULL;
	}
	json_object_object_add(object, "text", ui_json_string(text));
	json_object_object_add(object, "cycles", ui_json_number(left->cycles));
	json_object_object_add(object, "share", ui_json_number(left->share));
	json_object_object_add(object, "regions", json_object_new_int((int)left->regions));
	json_object_object_add(object, "nearest",
			       ui_json_string(*left->change ? left->change : NULL));
	return object;
}

static json_object *redirect_json(const struct pesa_compare_redirect *row)
{
	json_object *object = json_object_new_object();

	json_object_object_add(object, "kind",
			       ui_json_string(pesa_compare_redirect_name(row->kind)));
	json_object_object_add(object, "unaligned", json_object_new_boolean(row->unaligned));
	json_object_object_add(object, "mispredicted", json_object_new_boolean(row->mispredicted));
	json_object_object_add(object, "executed", ui_json_number(row->count));
	json_object_object_add(object, "flushed", ui_json_number(row->cycles));
	json_object_object_add(object, "penalty", ui_json_number(row->model));
	return object;
}

void compare_json(const struct comparison *comparison)
{
	struct ui_json json;

	ui_json_begin(&json, stdout, "compare");
	profile_json_header_for(&comparison->input, &json, comparison->cpu);
	ui_json_member(&json, "totals", totals_json(pesa_compare_totals(comparison->compare)));
	ui_json_array_begin(&json, "regions");
	for (size_t i = 0; i < pesa_compare_region_count(comparison->compare); i++) {
		const struct pesa_compare_region *region =
			pesa_compare_region(comparison->compare, i);

		if (compare_wants(comparison, region->symbol))
			ui_json_element(&json, region_json(comparison, region));
	}
	ui_json_array_end(&json);
	ui_json_array_begin(&json, "classes");
	for (unsigned int i = 0; i < pesa_compare_finding_count(comparison->compare); i++)
		ui_json_element(&json, finding_json(comparison, i));
	ui_json_array_end(&json);
	ui_json_member(&json, "chosen",
		       chosen_json(&pesa_compare_totals(comparison->compare)->chosen));
	ui_json_member(&json, "unexplained", unexplained_json(comparison));
	ui_json_array_begin(&json, "redirects");
	for (unsigned int i = 0; i < pesa_compare_redirect_count(comparison->compare); i++)
		ui_json_element(&json,
				redirect_json(pesa_compare_redirect(comparison->compare, i)));
	ui_json_array_end(&json);
	ui_json_array_begin(&json, "ordering");
	for (unsigned int i = 0; i < pesa_compare_ordering_count(comparison->compare); i++) {
		const struct pesa_compare_ordering ordering =
			pesa_compare_ordering(comparison->compare, i);

		ui_json_element(&json, ordering_json(comparison, &ordering));
	}
	ui_json_array_end(&json);
	profile_json_problems(&comparison->input, &json);
	ui_json_end(&json);
}
