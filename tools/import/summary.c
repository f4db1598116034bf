// SPDX-License-Identifier: GPL-2.0-or-later
/* What an import found: see summary.h. */
#include "tools/import/summary.h"

#include <inttypes.h>

#include "decoder/base/terminal_text.h"
#include "pesa/walk.h"
#include "tools/ui/safe_output.h"
#include "tools/ui/json.h"

/* Return whether a problem means damage; others are mere properties of the log. */
static bool is_damage(enum pesa_pipeline_problem problem)
{
	return problem == PESA_PIPELINE_DAMAGED || problem == PESA_PIPELINE_DUPLICATE_ID ||
	       problem == PESA_PIPELINE_BACKWARDS;
}

static double share(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void print_states(const struct pesa_pipeline_summary *summary, FILE *out)
{
	for (unsigned int i = 0; i < PESA_STATE_COUNT; i++)
		fprintf(out, "  %-9s %14" PRIu64 " cycles %6.2f %%\n", pesa_state_name(i),
			summary->state[i], share(summary->state[i], summary->accounted));
}

static void print_stages(const struct pesa_pipeline_summary *summary, FILE *out)
{
	bool any = false;

	for (uint32_t i = 0; i < summary->stages; i++) {
		if (!summary->stage[i].stalled)
			continue;
		if (!any)
			fprintf(out, "stalled, by the stage of the oldest instruction:\n");
		any = true;
		fprintf(out, "  %-9s %14" PRIu64 " cycles\n", summary->stage[i].name,
			summary->stage[i].stalled);
	}
}

static void print_rules(const struct pesa_pipeline_summary *summary, bool certain, FILE *out)
{
	bool any = false;

	for (unsigned int i = 0; i < PESA_PIPELINE_RULE_COUNT; i++) {
		if (!summary->rule_times[i] || pesa_pipeline_rule_certain(i) != certain)
			continue;
		if (!any)
			fprintf(out, certain ? "decided by what the log says:\n"
					     : "assumed, because the log does not tell:\n");
		any = true;
		fprintf(out, "  %-12s %11" PRIu64 " cycles %6.2f %%  %s\n",
			pesa_pipeline_rule_name(i), summary->rule_cycles[i],
			share(summary->rule_cycles[i], summary->accounted),
			pesa_pipeline_rule_summary(i));
	}
}

static void print_problems(const struct pesa_pipeline_summary *summary, FILE *out)
{
	bool any = false;

	for (unsigned int i = 0; i < PESA_PIPELINE_PROBLEMS; i++) {
		if (!summary->found[i].count)
			continue;
		if (!any)
			fprintf(out, "found in the log:\n");
		any = true;
		fprintf(out, "  %" PRIu64 " %s, the first at %s\n", summary->found[i].count,
			pesa_pipeline_problem_name(i), summary->found[i].first);
	}
}

/* If more than this percentage of the instructions was thrown away, cycles of flushes are expected. */
#define THROWN_AWAY_SHARE 5.0

/* Return whether much was thrown away, and yet no cycle is flushed. */
static bool misses_flushes(const struct pesa_pipeline_summary *summary)
{
	return !summary->state[PESA_STATE_FLUSHED] &&
	       share(summary->flushed, summary->instructions) > THROWN_AWAY_SHARE;
}

void import_summary_print(const struct import_result *result, FILE *out)
{
	const struct pesa_pipeline_summary *summary = result->summary;

	if (result->period)
		fprintf(out, "[ pesa import: %" PRIu64 " samples of %" PRIu64 " cycles in ",
			summary->samples, summary->accounted);
	else
		fprintf(out, "[ pesa import: all %" PRIu64 " cycles in ",
			result->golden_weight / PESA_CYCLE);
	terminal_text_print(out, result->output);
	if (result->golden) {
		fprintf(out, ", all %" PRIu64 " cycles in ", result->golden_weight / PESA_CYCLE);
		terminal_text_print(out, result->golden);
	}
	fprintf(out, "; %" PRIu64 " instructions ]\n", summary->instructions);
	fprintf(out,
		"state map %s: %" PRIu64 " lines, %" PRIu32 " hart%s, cycles %" PRId64
		" to %" PRId64 ", %" PRIu64 " instructions thrown away, %" PRIu64
		" in flight at the end, up to %" PRIu32 " retired in a cycle\n",
		result->map, summary->lines, summary->harts, summary->harts == 1 ? "" : "s",
		summary->first_cycle,
		summary->first_cycle + (int64_t)(summary->cycles ? summary->cycles - 1 : 0),
		summary->flushed, summary->in_flight, summary->widest);
	print_states(summary, out);
	print_stages(summary, out);
	print_rules(summary, true, out);
	print_rules(summary, false, out);
	print_problems(summary, out);
	if (misses_flushes(summary))
		fprintf(out,
			"warning: %" PRIu64
			" instructions were thrown away, and no cycle is flushed: is 'dispatch' of the state map "
			"the stage in which the core decides on them, and is its 'flush' in the log?\n",
			summary->flushed);
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static void add(json_object *object, const char *name, uint64_t value)
{
	json_object_object_add(object, name, ui_json_count(value));
}

static void write_states(struct ui_json *json, const struct pesa_pipeline_summary *summary)
{
	json_object *object = json_object_new_object();

	for (unsigned int i = 0; i < PESA_STATE_COUNT; i++)
		add(object, pesa_state_name(i), summary->state[i]);
	ui_json_member(json, "states", object);
	ui_json_array_begin(json, "stages");
	for (uint32_t i = 0; i < summary->stages; i++) {
		object = json_object_new_object();
		json_object_object_add(object, "name", ui_json_string(summary->stage[i].name));
		add(object, "stalled_cycles", summary->stage[i].stalled);
		ui_json_element(json, object);
	}
	ui_json_array_end(json);
}

static void write_files(struct ui_json *json, const struct import_text *text)
{
	ui_json_array_begin(json, "files");
	for (unsigned int i = 0; i < text->count; i++) {
		const struct import_file *file = &text->file[i];
		json_object *object = json_object_new_object();

		json_object_object_add(object, "path", ui_json_string(file->path));
		add(object, "address", file->moved);
		json_object_object_add(object, "place",
				       ui_json_string(file->place == IMPORT_PLACE_GIVEN ? "given"
						      : file->place == IMPORT_PLACE_FOUND
							      ? "found"
							      : "unknown"));
		ui_json_element(json, object);
	}
	ui_json_array_end(json);
}

static void write_rules(struct ui_json *json, const struct pesa_pipeline_summary *summary)
{
	ui_json_array_begin(json, "rules");
	for (unsigned int i = 0; i < PESA_PIPELINE_RULE_COUNT; i++) {
		json_object *object;

		if (!summary->rule_times[i])
			continue;
		object = json_object_new_object();
		json_object_object_add(object, "rule", ui_json_string(pesa_pipeline_rule_name(i)));
		json_object_object_add(object, "certain",
				       json_object_new_boolean(pesa_pipeline_rule_certain(i)));
		add(object, "cycles", summary->rule_cycles[i]);
		add(object, "times", summary->rule_times[i]);
		json_object_object_add(object, "what",
				       ui_json_string(pesa_pipeline_rule_summary(i)));
		ui_json_element(json, object);
	}
	ui_json_array_end(json);
}

static void write_problems(struct ui_json *json, const struct pesa_pipeline_summary *summary)
{
	ui_json_array_begin(json, "problems");
	for (unsigned int i = 0; i < PESA_PIPELINE_PROBLEMS; i++) {
		json_object *object;

		if (!summary->found[i].count)
			continue;
		object = json_object_new_object();
		json_object_object_add(object, "problem",
				       ui_json_string(pesa_pipeline_problem_name(i)));
		add(object, "count", summary->found[i].count);
		json_object_object_add(object, "first", ui_json_string(summary->found[i].first));
		ui_json_element(json, object);
	}
	ui_json_array_end(json);
}

struct pesa_error *import_summary_json(const struct import_result *result, const char *path)
{
	const struct pesa_pipeline_summary *summary = result->summary;
	struct pesa_error *error;
	struct ui_json json;
	FILE *stream;

	error = ui_json_open(path, &stream);
	if (error)
		return error;
	ui_json_begin(&json, stream, "import");
	ui_json_member(&json, "trace", ui_json_string(result->trace));
	ui_json_member(&json, "state_map", ui_json_string(result->map));
	ui_json_member(&json, "output", ui_json_string(result->output));
	ui_json_member(&json, "golden", ui_json_string(result->golden));
	ui_json_member(&json, "period", ui_json_count(result->period));
	ui_json_member(&json, "jitter", ui_json_count(result->jitter));
	ui_json_member(&json, "seed", ui_json_count(result->seed));
	ui_json_member(&json, "lines", ui_json_count(summary->lines));
	ui_json_member(&json, "bytes", ui_json_count(summary->bytes));
	ui_json_member(&json, "harts", ui_json_count(summary->harts));
	ui_json_member(&json, "first_cycle", json_object_new_int64(summary->first_cycle));
	ui_json_member(&json, "cycles", ui_json_count(summary->cycles));
	ui_json_member(&json, "accounted_cycles", ui_json_count(summary->accounted));
	ui_json_member(&json, "golden_cycles", ui_json_count(result->golden_weight / PESA_CYCLE));
	ui_json_member(&json, "golden_remainder",
		       ui_json_count(result->golden_weight % PESA_CYCLE));
	ui_json_member(&json, "golden_instructions", ui_json_count(result->golden_instructions));
	ui_json_member(&json, "instructions", ui_json_count(summary->instructions));
	ui_json_member(&json, "thrown_away", ui_json_count(summary->flushed));
	ui_json_member(&json, "in_flight_at_end", ui_json_count(summary->in_flight));
	ui_json_member(&json, "most_in_flight", ui_json_count(summary->most_in_flight));
	ui_json_member(&json, "most_retired", ui_json_count(summary->widest));
	ui_json_member(&json, "samples", ui_json_count(summary->samples));
	ui_json_member(&json, "cycles_without_address", ui_json_count(summary->without_pc));
	ui_json_member(&json, "fetch_depth", ui_json_count(summary->front_depth));
	ui_json_member(&json, "ticks_per_cycle", ui_json_count(summary->ticks_per_cycle));
	ui_json_member(&json, "damage", ui_json_string(result->damage));
	write_files(&json, result->text);
	write_states(&json, summary);
	write_rules(&json, summary);
	write_problems(&json, summary);
	ui_json_end(&json);
	return ui_json_close(stream);
}

/* ---- Checks -------------------------------------------------------------------------------- */

/* If more than this percentage of steps does not match the text, it is the wrong text. */
#define FOREIGN_SHARE 5.0

bool import_summary_sound(const struct import_result *result)
{
	const struct pesa_pipeline_summary *summary = result->summary;
	uint64_t expected = summary->cycles * summary->harts, foreign;
	bool sound = true;

	if (result->damage) {
		safe_output_message("pesa import: %s: %s; what came before is used", result->trace,
				    result->damage);
		sound = false;
	}
	for (unsigned int i = 0; i < PESA_PIPELINE_PROBLEMS; i++) {
		if (!summary->found[i].count || !is_damage(i))
			continue;
		safe_output_message("pesa import: %s: %" PRIu64 " %s, passed over; the first at %s",
				    result->trace, summary->found[i].count,
				    pesa_pipeline_problem_name(i), summary->found[i].first);
		sound = false;
	}
	if (summary->accounted != expected || result->golden_weight != expected * PESA_CYCLE) {
		safe_output_message(
			"pesa import: %s: the log has %" PRIu64 " cycles, %" PRIu64
			" were accounted: instructions retire in an order or number that no core can",
			result->trace, expected, summary->accounted);
		sound = false;
	}
	foreign = summary->found[PESA_PIPELINE_OUTSIDE].count +
		  summary->found[PESA_PIPELINE_UNDECODABLE].count +
		  summary->found[PESA_PIPELINE_FLOW].count;
	if (result->text->count && share(foreign, summary->instructions) > FOREIGN_SHARE) {
		safe_output_message(
			"pesa import: %s: of %" PRIu64 " retired instructions %" PRIu64
			" do not fit the ELF files: are these the ones that ran, and at their "
			"addresses (--elf FILE@ADDRESS)?",
			result->trace, summary->instructions, foreign);
		sound = false;
	}
	if (!summary->instructions) {
		safe_output_message(
			"pesa import: %s: no instruction retired: does the state map %s fit the producer?",
			result->trace, result->map);
		sound = false;
	}
	return sound;
}
