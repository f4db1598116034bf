/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cycle stacks before and after a change of the model, side by side; see stimuli.h. */
#include <stdlib.h>

#include "pesa/csr.h"
#include "pesa/record.h"
#include "tools/mca/stimuli.h"
#include "tools/ui/json.h"

/* The result of one of the two runs. */
struct side {
	struct pesa_mca_cycle_stack *stack;
	struct mca_stack_row *rows;
	unsigned int count;
	uint64_t cycles;
};

static struct pesa_error *run_side(struct side *side, const struct mca_view_context *context,
				   const struct pesa_mca_block *block,
				   const struct pesa_mca_run_options *run)
{
	struct pesa_mca_listener listener;
	struct pesa_error *error = pesa_mca_cycle_stack_create(block, &side->stack);

	if (error)
		return error;
	listener = pesa_mca_cycle_stack_listener(side->stack);
	error = pesa_mca_run(block, run, &listener, 1, &side->cycles);
	if (error)
		return error;
	side->rows = mca_stack_rows(context, side->stack, &side->count);
	return side->rows ? NULL : pesa_error_no_memory();
}

static void free_side(struct side *side)
{
	free(side->rows);
	pesa_mca_cycle_stack_free(side->stack);
}

static void print_stack(struct mca_text *text, const uint64_t weights[PESA_STATE_COUNT],
			double unit)
{
	uint64_t sum = 0;

	for (unsigned int state = 0; state < PESA_STATE_COUNT; state++)
		sum += weights[state];
	mca_print(text, " %8.2f", sum / unit);
	for (unsigned int state = 0; state < PESA_STATE_COUNT; state++)
		if (weights[state])
			mca_print(text, " %8.2f", weights[state] / unit);
		else
			mca_print(text, " %8s", "-");
}

static void print(const struct mca_stimuli_options *options, const struct mca_view_context *context,
		  const struct side sides[2], FILE *output)
{
	const double unit = (double)context->iterations * PESA_CYCLE;
	uint64_t total[2][PESA_STATE_COUNT] = {{0}};
	struct mca_text text = {.stream = output};

	mca_print(&text, "\n\nWhat if");
	for (unsigned int i = 0; i < options->what_ifs; i++)
		mca_print(&text, "%s %s", i ? "," : "", options->what_if[i]);
	mca_print(&text, ":\nTotal Cycles:      %llu before, %llu after (%+.1f%%)\n",
		  (unsigned long long)sides[0].cycles, (unsigned long long)sides[1].cycles,
		  100.0 * ((double)sides[1].cycles / sides[0].cycles - 1));
	mca_print(&text,
		  "Cycles per iteration: all, retiring, stalled, flushed, drained\n\n"
		  " %-44s | %-44s\n",
		  "before", "after");
	for (unsigned int i = 0; i < sides[0].count; i++) {
		const struct mca_stack_row *row = &sides[0].rows[i];

		for (unsigned int j = 0; j < 2; j++) {
			uint64_t weights[PESA_STATE_COUNT];

			mca_stack_row_states(&sides[j].rows[i], weights);
			for (unsigned int state = 0; state < PESA_STATE_COUNT; state++)
				total[j][state] += weights[state];
			print_stack(&text, weights, unit);
			mca_print(&text, j ? "  " : " |");
		}
		if (context->address)
			mca_print(&text, "%8llx: ", (unsigned long long)row->address);
		mca_print(&text, "%s\n", context->text[row->index]);
	}
	print_stack(&text, total[0], unit);
	mca_print(&text, " |");
	print_stack(&text, total[1], unit);
	mca_print(&text, "  <total>\n");
}

static void add_json(const struct mca_stimuli_options *options,
		     const struct mca_view_context *context, const struct side sides[2],
		     struct json_object *object)
{
	static const char *const names[2] = {"Before", "After"};
	struct json_object *view = json_object_new_object(), *changes = json_object_new_array();
	struct json_object *list = json_object_new_array();

	for (unsigned int i = 0; i < options->what_ifs; i++)
		json_object_array_add(changes, json_object_new_string(options->what_if[i]));
	json_object_object_add(view, "Changes", changes);
	mca_json_integer(view, "CyclesBefore", sides[0].cycles);
	mca_json_integer(view, "CyclesAfter", sides[1].cycles);
	mca_json_integer(view, "WeightPerCycle", PESA_CYCLE);
	for (unsigned int i = 0; i < sides[0].count; i++) {
		struct json_object *entry = json_object_new_object();

		mca_json_integer(entry, "Instruction", sides[0].rows[i].index);
		if (context->address)
			mca_json_integer(entry, "Address", (int64_t)sides[0].rows[i].address);
		for (unsigned int j = 0; j < 2; j++) {
			struct json_object *inner = json_object_new_object();
			uint64_t weight;
			struct json_object *stack = mca_stack_row_json(&sides[j].rows[i], &weight);

			mca_json_integer(inner, "Weight", weight);
			json_object_object_add(inner, "CycleStack", stack);
			json_object_object_add(entry, names[j], inner);
		}
		json_object_array_add(list, entry);
	}
	json_object_object_add(view, "Instructions", list);
	json_object_object_add(object, "WhatIfView", view);
}

struct pesa_error *mca_what_if(const struct mca_stimuli_options *options,
			       const struct mca_view_context *context,
			       const struct pesa_mca_block *changed,
			       const struct pesa_mca_run_options *run, FILE *output,
			       struct json_object *object)
{
	struct side sides[2] = {{0}};
	struct pesa_error *error = run_side(&sides[0], context, context->block, run);

	if (!error)
		error = run_side(&sides[1], context, changed, run);
	if (!error && object)
		add_json(options, context, sides, object);
	else if (!error)
		print(options, context, sides, output);
	free_side(&sides[0]);
	free_side(&sides[1]);
	return error;
}
