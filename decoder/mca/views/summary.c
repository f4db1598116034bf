/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Summary: cycles, instructions and micro-ops per cycle, throughput of the block. */
#include "decoder/mca/views/views.h"

struct totals {
	uint64_t instructions, micro_ops;
	unsigned int width;
	double throughput; /* minimum cycles per iteration */
};

static struct totals count(const struct mca_view_context *context)
{
	struct totals totals = {
		.instructions = (uint64_t)context->iterations * context->count,
		.width = context->dispatch_width ? context->dispatch_width
						 : pesa_mca_model_issue_width(context->model),
	};

	for (unsigned int i = 0; i < context->count; i++) {
		struct pesa_mca_information information;

		pesa_mca_block_information(context->block, i, &information);
		totals.micro_ops += (uint64_t)context->iterations * information.micro_ops;
	}
	totals.throughput = pesa_mca_block_throughput(context->block, totals.width);
	return totals;
}

static void print(struct mca_view *view, struct mca_text *text)
{
	const struct mca_view_context *context = view->context;
	const struct totals totals = count(context);
	const double cycles = context->cycles;

	mca_print(text, "Iterations:        %u\n", context->iterations);
	mca_print(text, "Instructions:      %llu\n", (unsigned long long)totals.instructions);
	mca_print(text, "Total Cycles:      %llu\n", (unsigned long long)context->cycles);
	mca_print(text, "Total uOps:        %llu\n\n", (unsigned long long)totals.micro_ops);
	mca_print(text, "Dispatch Width:    %u\n", totals.width);
	mca_print(text, "uOps Per Cycle:    %.2f\n", mca_round(totals.micro_ops / cycles, 2));
	mca_print(text, "IPC:               %.2f\n", mca_round(totals.instructions / cycles, 2));
	mca_print(text, "Block RThroughput: %.1f\n", mca_round(totals.throughput, 1));
}

static struct json_object *json(struct mca_view *view)
{
	const struct mca_view_context *context = view->context;
	const struct totals totals = count(context);
	struct json_object *object = json_object_new_object();

	mca_json_number(object, "BlockRThroughput", totals.throughput);
	mca_json_integer(object, "DispatchWidth", totals.width);
	mca_json_number(object, "IPC", (double)totals.instructions / context->cycles);
	mca_json_integer(object, "Instructions", totals.instructions);
	mca_json_integer(object, "Iterations", context->iterations);
	mca_json_integer(object, "TotalCycles", context->cycles);
	mca_json_integer(object, "TotaluOps", totals.micro_ops);
	mca_json_number(object, "uOpsPerCycle", (double)totals.micro_ops / context->cycles);
	return object;
}

static void nothing(struct mca_view *view)
{
	(void)view;
}

/* It needs no events: a run with only this view has no listeners and takes the fast path. */
struct pesa_error *mca_view_summary(struct mca_view *view, const struct mca_view_context *context)
{
	*view = (struct mca_view){
		.context = context,
		.name = "SummaryView",
		.print = print,
		.json = json,
		.free = nothing,
	};
	return NULL;
}
