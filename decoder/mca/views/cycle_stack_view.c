/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cycle stack view: cycles attributed to each instruction of the block, by state and cause. */
#include <stdlib.h>
#include <string.h>

#include "decoder/mca/views/views.h"
#include "pesa/csr.h"
#include "pesa/record.h"
#include "pesa/walk.h"

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

static int compare_rows(const void *a, const void *b)
{
	const struct mca_stack_row *left = a, *right = b;

	if (left->address != right->address)
		return left->address < right->address ? -1 : 1;
	return left->index < right->index ? -1 : left->index > right->index;
}

static void merge_row(struct mca_stack_row *row, const struct mca_stack_row *other)
{
	row->executions += other->executions;
	for (unsigned int i = 0; i < other->bucket_count; i++) {
		const struct pesa_mca_bucket *bucket = &other->buckets[i];
		unsigned int j = 0;

		while (j < row->bucket_count && (row->buckets[j].state != bucket->state ||
						 row->buckets[j].cause != bucket->cause))
			j++;
		if (j < row->bucket_count)
			row->buckets[j].weight += bucket->weight;
		else
			row->buckets[row->bucket_count++] = *bucket;
	}
}

struct mca_stack_row *mca_stack_rows(const struct mca_view_context *context,
				     const struct pesa_mca_cycle_stack *stack, unsigned int *count)
{
	struct mca_stack_row *rows = calloc(context->count + 1, sizeof(*rows));
	unsigned int last = 0;

	for (unsigned int i = 0; rows && i < context->count; i++) {
		rows[i].index = i;
		rows[i].address = context->address ? context->address[i] : i;
		rows[i].executions = pesa_mca_cycle_stack_executions(stack, i);
		rows[i].bucket_count = pesa_mca_cycle_stack_buckets(stack, i, rows[i].buckets);
	}
	*count = context->count;
	if (!rows || !context->address || !context->count)
		return rows;
	qsort(rows, context->count, sizeof(*rows), compare_rows);
	for (unsigned int i = 1; i < context->count; i++)
		if (rows[i].address == rows[last].address)
			merge_row(&rows[last], &rows[i]);
		else
			rows[++last] = rows[i];
	*count = last + 1;
	return rows;
}

void mca_stack_row_states(const struct mca_stack_row *row, uint64_t weights[PESA_STATE_COUNT])
{
	memset(weights, 0, PESA_STATE_COUNT * sizeof(*weights));
	for (unsigned int i = 0; i < row->bucket_count; i++)
		weights[row->buckets[i].state] += row->buckets[i].weight;
}

static void print_row(struct mca_text *text, const uint64_t weights[PESA_STATE_COUNT],
		      uint64_t cycles, unsigned int iterations)
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
	mca_put_text(text, "  ");
}

static void print(struct mca_view *view, struct mca_text *text)
{
	const struct mca_view_context *context = view->context;
	const struct pesa_mca_cycle_stack *stack = view->state;
	uint64_t cycles = pesa_mca_cycle_stack_cycles(stack), total[PESA_STATE_COUNT] = {0};
	unsigned int count;
	struct mca_stack_row *rows = mca_stack_rows(context, stack, &count);

	mca_print(text, "\n\nCycle stack (predicted):\n"
			"[1]: share of all cycles\n[2]: cycles per iteration, of which\n"
			"[3]: retiring\n[4]: stalled, the oldest one is not done\n"
			"[5]: flushed, after a mispredicted branch\n"
			"[6]: drained, nothing has arrived\n\n");
	if (!rows) {
		mca_put_text(text, "not available: out of memory\n");
		return;
	}
	mca_print(text, " %6s %9s %9s %9s %9s %9s  Instructions:\n", "[1]", "[2]", "[3]", "[4]",
		  "[5]", "[6]");
	for (unsigned int i = 0; i < count; i++) {
		uint64_t weights[PESA_STATE_COUNT];

		mca_stack_row_states(&rows[i], weights);
		for (unsigned int state = 0; state < PESA_STATE_COUNT; state++)
			total[state] += weights[state];
		print_row(text, weights, cycles, context->iterations);
		if (context->address)
			mca_print(text, "%8llx: ", (unsigned long long)rows[i].address);
		mca_print(text, "%s\n", context->text[rows[i].index]);
	}
	print_row(text, total, cycles, context->iterations);
	mca_put_text(text, "<total>\n");
	free(rows);
}

struct json_object *mca_stack_row_json(const struct mca_stack_row *row, uint64_t *weight)
{
	struct json_object *object = json_object_new_object();

	*weight = 0;
	for (unsigned int i = 0; i < row->bucket_count; i++) {
		const struct pesa_mca_bucket *bucket = &row->buckets[i];
		struct json_object *inner;

		if (!json_object_object_get_ex(object, pesa_state_name(bucket->state), &inner)) {
			inner = json_object_new_object();
			json_object_object_add(object, pesa_state_name(bucket->state), inner);
		}
		json_object_object_add(inner, cause_name(bucket->cause),
				       json_object_new_double((double)bucket->weight / PESA_CYCLE));
		*weight += bucket->weight;
	}
	return object;
}

static struct json_object *json(struct mca_view *view)
{
	const struct mca_view_context *context = view->context;
	const struct pesa_mca_cycle_stack *stack = view->state;
	struct json_object *object = json_object_new_object();
	struct json_object *list = json_object_new_array();
	unsigned int count;
	struct mca_stack_row *rows = mca_stack_rows(context, stack, &count);

	mca_json_integer(object, "Cycles", pesa_mca_cycle_stack_cycles(stack));
	mca_json_integer(object, "WeightPerCycle", PESA_CYCLE);
	mca_json_boolean(object, "Complete", rows);
	for (unsigned int i = 0; rows && i < count; i++) {
		struct json_object *entry = json_object_new_object();
		uint64_t weight;
		struct json_object *inner = mca_stack_row_json(&rows[i], &weight);

		mca_json_integer(entry, "Instruction", rows[i].index);
		if (context->address)
			mca_json_integer(entry, "Address", (int64_t)rows[i].address);
		mca_json_integer(entry, "Executions", rows[i].executions);
		mca_json_integer(entry, "Weight", weight);
		json_object_object_add(entry, "CycleStack", inner);
		json_object_array_add(list, entry);
	}
	json_object_object_add(object, "Instructions", list);
	free(rows);
	return object;
}

static void free_stack(struct mca_view *view)
{
	pesa_mca_cycle_stack_free(view->state);
}

struct pesa_error *mca_view_cycle_stack(struct mca_view *view,
					const struct mca_view_context *context)
{
	struct pesa_mca_cycle_stack *stack = NULL;
	struct pesa_error *error = pesa_mca_cycle_stack_create(context->block, &stack);

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
	return error;
}
