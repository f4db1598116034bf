/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Summary: cycles, instructions and micro-ops per cycle, throughput of the block. */
#include <stdlib.h>

#include "decoder/mca/views.h"

struct summary {
	uint64_t cycles, last, micro_ops;
};

static void on_event(void *data, const struct pesa_mca_event *event)
{
	struct mca_view *view = data;
	struct summary *summary = view->state;

	if (event->kind == PESA_MCA_CYCLE_END)
		summary->cycles++;
	else if (event->kind == PESA_MCA_REPEATED) {
		summary->cycles += event->cycles;
		summary->last += event->instruction;
	} else if (event->kind == PESA_MCA_DISPATCHED)
		summary->last = event->instruction;
	else if (event->instruction < view->context->count)
		summary->micro_ops += event->micro_ops;
}

static void print(struct mca_view *view, struct mca_text *text)
{
	const struct mca_view_context *context = view->context;
	const struct summary *summary = view->state;
	uint64_t iterations = summary->last / context->count + 1;
	uint64_t instructions = iterations * context->count;
	uint64_t micro_ops = iterations * summary->micro_ops;
	unsigned int width = context->dispatch_width ? context->dispatch_width
						     : pesa_mca_model_issue_width(context->model);

	mca_print(text, "Iterations:        %llu\n", (unsigned long long)iterations);
	mca_print(text, "Instructions:      %llu\n", (unsigned long long)instructions);
	mca_print(text, "Total Cycles:      %llu\n", (unsigned long long)summary->cycles);
	mca_print(text, "Total uOps:        %llu\n\n", (unsigned long long)micro_ops);
	mca_print(text, "Dispatch Width:    %u\n", width);
	mca_print(text, "uOps Per Cycle:    %.2f\n",
		  mca_round((double)micro_ops / summary->cycles, 2));
	mca_print(text, "IPC:               %.2f\n",
		  mca_round((double)instructions / summary->cycles, 2));
	mca_print(text, "Block RThroughput: %.1f\n",
		  mca_round(pesa_mca_block_throughput(context->block, width), 1));
}

static struct json_object *json(struct mca_view *view)
{
	const struct mca_view_context *context = view->context;
	const struct summary *summary = view->state;
	uint64_t iterations = summary->last / context->count + 1;
	uint64_t instructions = iterations * context->count;
	uint64_t micro_ops = iterations * summary->micro_ops;
	unsigned int width = context->dispatch_width ? context->dispatch_width
						     : pesa_mca_model_issue_width(context->model);
	struct json_object *object = json_object_new_object();

	mca_json_number(object, "BlockRThroughput",
			pesa_mca_block_throughput(context->block, width));
	mca_json_integer(object, "DispatchWidth", width);
	mca_json_number(object, "IPC", (double)instructions / summary->cycles);
	mca_json_integer(object, "Instructions", instructions);
	mca_json_integer(object, "Iterations", iterations);
	mca_json_integer(object, "TotalCycles", summary->cycles);
	mca_json_integer(object, "TotaluOps", micro_ops);
	mca_json_number(object, "uOpsPerCycle", (double)micro_ops / summary->cycles);
	return object;
}

bool mca_view_summary(struct mca_view *view, const struct mca_view_context *context)
{
	*view = (struct mca_view){
		.context = context,
		.listener = {on_event, view,
			     1u << PESA_MCA_CYCLE_END | 1u << PESA_MCA_DISPATCHED |
				     1u << PESA_MCA_RETIRED | 1u << PESA_MCA_REPEATED},
		.name = "SummaryView",
		.print = print,
		.json = json,
		.free = mca_view_free_state,
		.state = calloc(1, sizeof(struct summary)),
	};
	return view->state;
}
