/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cycle stack: the cycles that each instruction of the block is charged with, by state and cause.
 */
#include <stdlib.h>

#include "decoder/mca/views.h"
#include "pesa/csr.h"
#include "pesa/record.h"

static const char *const states[PESA_STATE_COUNT] = {"retiring", "stalled", "flushed", "drained"};

static const char *cause_name(uint16_t cause)
{
	switch (cause) {
	case PESA_CAUSE_DCACHE_MISS:
		return "D$miss";
	case PESA_CAUSE_BRANCH_MISPREDICT:
		return "mispredict";
	default:
		return "none";
	}
}

static void print_row(struct mca_text *text, const uint64_t weights[PESA_STATE_COUNT],
		      uint64_t cycles, unsigned int iterations, const char *name)
{
	const double whole = (double)cycles * PESA_CYCLE, unit = (double)iterations * PESA_CYCLE;
	uint64_t sum = 0;

	for (unsigned int state = 0; state < PESA_STATE_COUNT; state++)
		sum += weights[state];
	mca_print(text, " %5.1f%% %9.2f", sum * 100.0 / whole, sum / unit);
	for (unsigned int state = 0; state < PESA_STATE_COUNT; state++)
		if (weights[state])
			mca_print(text, " %9.2f", weights[state] / unit);
		else
			mca_print(text, " %9s", "-");
	mca_print(text, "  %s\n", name);
}

static void print(struct mca_view *view, struct mca_text *text)
{
	const struct mca_view_context *context = view->context;
	const struct pesa_mca_cycle_stack *stack = view->state;
	uint64_t cycles = pesa_mca_cycle_stack_cycles(stack), total[PESA_STATE_COUNT] = {0};

	mca_print(text, "\n\nCycle stack (predicted):\n"
			"[1]: share of all cycles\n[2]: cycles per iteration, of which\n"
			"[3]: retiring\n[4]: stalled, the oldest one is not done\n"
			"[5]: flushed, after a mispredicted branch\n"
			"[6]: drained, nothing has arrived\n\n");
	mca_print(text, " %6s %9s %9s %9s %9s %9s  Instructions:\n", "[1]", "[2]", "[3]", "[4]",
		  "[5]", "[6]");
	for (unsigned int i = 0; i < context->count; i++) {
		struct pesa_mca_bucket buckets[PESA_MCA_BUCKETS_MAX];
		unsigned int count = pesa_mca_cycle_stack_buckets(stack, i, buckets);
		uint64_t weights[PESA_STATE_COUNT] = {0};

		for (unsigned int j = 0; j < count; j++)
			weights[buckets[j].state] += buckets[j].weight;
		for (unsigned int state = 0; state < PESA_STATE_COUNT; state++)
			total[state] += weights[state];
		print_row(text, weights, cycles, context->iterations, context->text[i]);
	}
	print_row(text, total, cycles, context->iterations, "<total>");
	if (!pesa_mca_cycle_stack_complete(stack))
		mca_print(text, "incomplete: out of memory\n");
}

static struct json_object *stack_json(const struct pesa_mca_cycle_stack *stack, unsigned int index,
				      uint64_t *weight)
{
	struct json_object *object = json_object_new_object();
	struct pesa_mca_bucket buckets[PESA_MCA_BUCKETS_MAX];
	unsigned int count = pesa_mca_cycle_stack_buckets(stack, index, buckets);

	*weight = 0;
	for (unsigned int i = 0; i < count; i++) {
		const char *state = states[buckets[i].state];
		struct json_object *inner;

		if (!json_object_object_get_ex(object, state, &inner)) {
			inner = json_object_new_object();
			json_object_object_add(object, state, inner);
		}
		json_object_object_add(
			inner, cause_name(buckets[i].cause),
			json_object_new_double((double)buckets[i].weight / PESA_CYCLE));
		*weight += buckets[i].weight;
	}
	return object;
}

static struct json_object *json(struct mca_view *view)
{
	const struct mca_view_context *context = view->context;
	const struct pesa_mca_cycle_stack *stack = view->state;
	struct json_object *object = json_object_new_object();
	struct json_object *list = json_object_new_array();

	mca_json_integer(object, "Cycles", pesa_mca_cycle_stack_cycles(stack));
	mca_json_integer(object, "WeightPerCycle", PESA_CYCLE);
	mca_json_boolean(object, "Complete", pesa_mca_cycle_stack_complete(stack));
	for (unsigned int i = 0; i < context->count; i++) {
		struct json_object *entry = json_object_new_object();
		uint64_t weight;
		struct json_object *inner = stack_json(stack, i, &weight);

		mca_json_integer(entry, "Instruction", i);
		mca_json_integer(entry, "Executions", pesa_mca_cycle_stack_executions(stack, i));
		mca_json_integer(entry, "Weight", weight);
		json_object_object_add(entry, "CycleStack", inner);
		json_object_array_add(list, entry);
	}
	json_object_object_add(object, "Instructions", list);
	return object;
}

static void free_stack(struct mca_view *view)
{
	pesa_mca_cycle_stack_free(view->state);
}

bool mca_view_cycle_stack(struct mca_view *view, const struct mca_view_context *context)
{
	struct pesa_mca_cycle_stack *stack;
	struct pesa_error *error = pesa_mca_cycle_stack_create(context->block, &stack);

	if (error) {
		pesa_error_free(error);
		stack = NULL;
	}
	*view = (struct mca_view){
		.context = context,
		.name = "CycleStackView",
		.print = print,
		.json = json,
		.free = free_stack,
		.state = stack,
	};
	if (stack)
		view->listener = pesa_mca_cycle_stack_listener(stack);
	return stack;
}
