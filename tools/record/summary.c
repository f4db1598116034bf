/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What pesa record says of a run on the virtual core: see summary.h. */
#include <inttypes.h>
#include <stdio.h>

#include "decoder/base/terminal_text.h"
#include "pesa/record.h"
#include "tools/record/sampled.h"
#include "tools/record/summary.h"
#include "tools/ui/json.h"
#include "tools/ui/text.h"

#define SAMPLES_FEW    1000  /* fewer of the default period are worth a hint */
#define SAMPLES_WANTED 10000 /* that the hint is for */

/* The period that takes about SAMPLES_WANTED of so many cycles, or the least: 1, 2 or 5 times a power of
 * ten. */
static uint64_t period_for(uint64_t cycles, uint64_t least)
{
	static const unsigned int steps[] = {5, 2, 1};
	uint64_t longest = cycles / SAMPLES_WANTED, decade = 1;

	while (decade * 10 <= longest)
		decade *= 10;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		if (steps[i] * decade <= longest && steps[i] * decade > least)
			return steps[i] * decade;
	return least;
}

void record_hint_period(const struct record_run *run, const struct pesa_vcore_summary *summary,
			const struct pesa_core *core)
{
	uint64_t least = run->sampled ? SAMPLED_PERIOD_LEAST : core->minimum_period;
	uint64_t period = period_for(summary->cycles, least);
	char count[UI_NUMBER_SIZE];

	if (summary->samples >= (run->has_period ? 1 : SAMPLES_FEW) || period > run->period / 2)
		return;
	fprintf(stderr,
		"pesa record: %" PRIu64
		" samples tell little about single instructions: '-c %" PRIu64 "' takes about %s\n",
		summary->samples, period,
		ui_count(count, (double)summary->cycles / (double)period));
}

void record_print_summary(const struct record_run *run, const struct pesa_vcore_summary *summary,
			  bool whole)
{
	if (!whole) {
		fprintf(stderr,
			"[ pesa record: %" PRIu64 " samples of %" PRIu64 " cycles; %" PRIu64
			" instructions; not all of it could be written ]\n",
			summary->samples, summary->cycles, summary->instructions);
		return;
	}
	fprintf(stderr, "[ pesa record: %" PRIu64 " samples of %" PRIu64 " cycles in ",
		summary->samples, summary->cycles);
	terminal_text_print(stderr, run->output);
	if (run->golden) {
		fprintf(stderr, ", all %" PRIu64 " cycles in ",
			summary->golden_weight / PESA_CYCLE);
		terminal_text_print(stderr, run->golden);
	}
	fprintf(stderr, "; %" PRIu64 " instructions", summary->instructions);
	if (run->sampled) {
		fprintf(stderr, ", ");
		sampled_print(stderr, &summary->windows);
	}
	fprintf(stderr, " ]\n");
}

static void add_number(json_object *object, const char *name, uint64_t value)
{
	json_object_object_add(object, name, json_object_new_uint64(value));
}

struct pesa_error *record_write_json(const struct record_run *run, const struct pesa_core *core,
				     const struct pesa_vcore_summary *summary, int status)
{
	json_object *root, *harts;
	struct pesa_error *error;
	FILE *stream;

	error = ui_json_open(run->json, &stream);
	if (error)
		return error;
	root = json_object_new_object();
	harts = json_object_new_array();
	json_object_object_add(root, "version", json_object_new_int(UI_JSON_VERSION));
	json_object_object_add(root, "command", json_object_new_string("record"));
	json_object_object_add(root, "core", json_object_new_string(core->name));
	json_object_object_add(root, "output", json_object_new_string(run->output));
	if (run->golden)
		json_object_object_add(root, "golden", json_object_new_string(run->golden));
	add_number(root, "period", run->period);
	add_number(root, "jitter", run->jitter);
	add_number(root, "seed", run->seed);
	add_number(root, "exit_status", (uint64_t)status);
	add_number(root, "cycles", summary->cycles);
	add_number(root, "instructions", summary->instructions);
	if (run->sampled) {
		json_object *estimate = json_object_new_object();

		sampled_add_json(estimate, &summary->windows);
		json_object_object_add(root, "sampled", estimate);
	}
	add_number(root, "samples", summary->samples);
	add_number(root, "lost", summary->lost);
	add_number(root, "unfinished", summary->unfinished);
	if (run->golden) {
		add_number(root, "golden_cycles", summary->golden_weight / PESA_CYCLE);
		add_number(root, "golden_remainder", summary->golden_weight % PESA_CYCLE);
		add_number(root, "golden_executions", summary->golden_executions);
		add_number(root, "golden_lost", summary->golden_lost);
	}
	add_number(root, "undecoded", summary->undecoded);
	add_number(root, "forced_turns", summary->forced_turns);
	add_number(root, "unrecorded_threads", summary->unwatched);
	add_number(root, "unrecorded_processes", summary->refused);
	add_number(root, "processes", summary->processes);
	for (uint32_t i = 0; i < summary->harts; i++) {
		const struct pesa_vcore_hart *hart = &summary->hart[i];
		json_object *one = json_object_new_object();

		add_number(one, "pid", hart->pid);
		add_number(one, "tid", hart->tid);
		add_number(one, "cycles", hart->cycles);
		add_number(one, "instructions", hart->instructions);
		add_number(one, "samples", hart->samples);
		add_number(one, "lost", hart->lost);
		add_number(one, "unfinished", hart->unfinished);
		json_object_array_add(harts, one);
	}
	json_object_object_add(root, "harts", harts);
	ui_json_print(stream, root, JSON_C_TO_STRING_PRETTY);
	fputc('\n', stream);
	json_object_put(root);
	return ui_json_close(stream);
}
