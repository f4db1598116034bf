/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Paths executed on a model, see predict.h. */
#include <stdlib.h>

#include "decoder/compare/predict.h"
#include "decoder/mca/model/block.h"
#include "pesa/csr.h"
#include "pesa/record.h"

/* Whether the step is in another fetch block than the previous step. */
static bool begins_block(const struct compare_predictor *predictor, const struct compare_step *step)
{
	const struct compare_node *node = predictor->code->node;
	unsigned int bytes = predictor->core.fetch_bytes;

	return bytes && node[step[0].node].address / bytes != node[step[-1].node].address / bytes;
}

static struct pesa_error *bind(struct compare_predictor *predictor,
			       const struct pesa_mca_model *model, const struct compare_path *path,
			       struct pesa_mca_block **block)
{
	const struct pesa_mca_block_options options = {
		.processor = predictor->processor,
		.follow_calls = true,
		.skip_unsupported = true,
		.own_operands = true,
		.forward_latency = predictor->core.forward_latency,
		.drain_latency = predictor->core.drain_latency,
	};
	const struct compare_step *steps = predictor->paths->step + path->first;

	if (path->count > predictor->room) {
		void *larger = realloc(predictor->instruction,
				       path->count * sizeof(*predictor->instruction));

		if (!larger)
			return pesa_error_no_memory();
		predictor->instruction = larger;
		predictor->room = path->count;
	}
	for (unsigned int i = 0; i < path->count; i++)
		predictor->instruction[i] = (struct pesa_mca_instruction){
			.insn = predictor->code->node[steps[i].node].insn,
			.lmul = steps[i].lmul,
			.sew = steps[i].sew,
			.latency = -1,
			.taken = steps[i].flags & COMPARE_PATH_TAKEN,
			.mispredicted = steps[i].flags & COMPARE_PATH_MISPREDICTED,
			.forwarded_by = steps[i].forwarded,
			.forwarded_partly = steps[i].flags & COMPARE_PATH_PARTLY,
			.begins_block = i && begins_block(predictor, &steps[i]),
		};
	return pesa_mca_block_create(model, predictor->instruction, path->count, &options, block);
}

static void read_stack(const struct pesa_mca_cycle_stack *stack, unsigned int index,
		       struct compare_predicted *predicted)
{
	struct pesa_mca_bucket buckets[PESA_MCA_BUCKETS_MAX];
	unsigned int count = pesa_mca_cycle_stack_buckets(stack, index, buckets);

	*predicted = (struct compare_predicted){0};
	for (unsigned int i = 0; i < count; i++) {
		float cycles = (float)((double)buckets[i].weight / PESA_CYCLE);

		if (buckets[i].state == PESA_STATE_RETIRING)
			predicted->retiring += cycles;
		else if (buckets[i].state == PESA_STATE_STALLED && !buckets[i].cause)
			predicted->stalled += cycles;
	}
}

static struct pesa_error *run(struct compare_predictor *predictor,
			      const struct pesa_mca_block *block,
			      struct pesa_mca_cycle_stack *stack)
{
	const struct pesa_compare_core *core = &predictor->core;
	const struct pesa_mca_stimuli given = {
		.mispredict_penalty = core->mispredict_penalty,
		.fetch_width = core->fetch_width,
		.taken_branches = core->taken_branches,
		.fetch_buffer = core->fetch_buffer,
	};
	const struct pesa_mca_run_options options = {
		.iterations = 1,
		.every_iteration = true,
		.free_order = true,
		.dispatch_width = core->dispatch_width,
		.load_queue = core->load_queue,
		.store_queue = core->store_queue,
		.stimuli = &given,
	};
	const struct pesa_mca_listener listener = pesa_mca_cycle_stack_listener(stack);
	struct pesa_error *error;
	uint64_t cycles;

	error = pesa_mca_run(block, &options, &listener, 1, &cycles);
	predictor->instructions += pesa_mca_block_count(block);
	return error;
}

bool compare_is_flushed_before(const struct compare_predictor *predictor,
			       const struct compare_path *path, unsigned int step)
{
	const struct compare_step *steps = predictor->paths->step + path->first;

	return step && steps[step - 1].flags & COMPARE_PATH_MISPREDICTED;
}

struct pesa_error *compare_predict_path(struct compare_predictor *predictor,
					const struct pesa_mca_model *model,
					const struct compare_path *path,
					struct compare_predicted *predicted, int32_t *classes)
{
	bool in_order = !pesa_mca_model_is_out_of_order(model);
	struct pesa_mca_cycle_stack *stack = NULL;
	struct pesa_mca_block *block;
	struct pesa_error *error = bind(predictor, model, path, &block);

	if (error)
		return error;
	for (unsigned int i = 0; i < path->count; i++) {
		predicted[i] = (struct compare_predicted){0};
		if (classes)
			classes[i] = -1;
	}
	if (!block->count) {
		pesa_mca_block_free(block);
		return NULL;
	}
	error = pesa_mca_cycle_stack_create(block, &stack);
	if (!error)
		error = run(predictor, block, stack);
	for (unsigned int i = 0; i < block->count && !error; i++) {
		unsigned int source = block->lowered[i].source;

		read_stack(stack, i, &predicted[source]);
		if (in_order && compare_is_flushed_before(predictor, path, source))
			predicted[source].stalled += (float)predictor->redirect_stall;
		if (classes)
			classes[source] = block->lowered[i].description->class;
	}
	pesa_mca_cycle_stack_free(stack);
	pesa_mca_block_free(block);
	return error;
}

void compare_predictor_free(struct compare_predictor *predictor)
{
	free(predictor->instruction);
}
