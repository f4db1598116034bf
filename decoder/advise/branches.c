/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Branches.
 *
 * Layout: a branch forward that mostly jumps over what is rarely executed, or to code that is placed
 * elsewhere and jumps back.  Laid out the other way it falls through, and the jump back is not there.
 *
 * Prediction: branches whose mispredictions flush.
 */
#include <stdlib.h>

#include "decoder/advise/inside.h"

#define TAKEN_LEAST 0.75 /* of its executions: else the other way is no better */
#define JUMP_BLOCKS 8	 /* in which the jump back is looked for */
#define JUMP_LEAST  0.5	 /* of the executions of the branch reach it */

static uint64_t start_of(const struct advise_code *code, uint32_t block)
{
	return code->instruction[code->block[block].first].address;
}

/* The most executed successor. */
static const struct advise_edge *hottest(const struct advise_code *code, uint32_t block)
{
	const struct advise_edge *best = NULL;

	for (uint32_t i = 0; i < code->block[block].edges; i++) {
		const struct advise_edge *edge = &code->edge[code->block[block].first_edge + i];

		if (!best || edge->executions > best->executions)
			best = edge;
	}
	return best;
}

/* The jump with which the code behind a branch comes back to in front of it; false: there is none. */
static bool find_jump_back(const struct advise_code *code, uint32_t branch,
			   const struct advise_edge *edge, uint32_t *block)
{
	const uint64_t from = code->instruction[advise_last(&code->block[branch])].address;
	const uint64_t to = start_of(code, edge->to);

	*block = edge->to;
	for (unsigned int i = 0; i < JUMP_BLOCKS; i++) {
		const struct advise_block *here = &code->block[*block];
		const struct advise_edge *next = hottest(code, *block);

		if (!next || here->executions < JUMP_LEAST * edge->executions)
			return false;
		if (here->edges == 1 && next->taken && !here->calls)
			return start_of(code, next->to) > from && start_of(code, next->to) < to;
		*block = next->to;
	}
	return false;
}

static struct pesa_error *advise_on_layout(struct pesa_advice *advice, uint32_t number,
					   const struct advise_edge *taken)
{
	const struct advise_code *code = &advice->code;
	const struct advise_block *block = &code->block[number];
	const uint64_t address = code->instruction[advise_last(block)].address;
	struct pesa_advice_remark remark = {
		.kind = PESA_ADVICE_LAYOUT,
		.place = {.dso = block->dso, .address = address},
		.executions = block->executions,
		.share = block->executions > 0 ? taken->executions / block->executions : 0,
		.other = start_of(code, taken->to),
	};
	struct advise_edits edits = {0};
	struct pesa_error *error;
	uint32_t jump;

	if (remark.share < TAKEN_LEAST || remark.other <= address)
		return NULL;
	error = advise_edit(advice, &edits, number, advise_last(block), PESA_WHY_NOT_TAKEN, 0);
	if (!error && find_jump_back(code, number, taken, &jump))
		error = advise_edit(advice, &edits, jump, advise_last(&code->block[jump]),
				    PESA_WHY_REMOVED, 0);
	if (!error)
		error = advise_try(advice, &edits, &remark);
	free(edits.edit);
	return error ? error : advise_add(advice, &remark);
}

static bool is_conditional(const struct advise_code *code, uint32_t number)
{
	const struct pesa_insn *insn = advise_insn(code, number, advise_last(&code->block[number]));

	return insn->length && pesa_insn_flow(insn) == PESA_FLOW_BRANCH &&
	       code->block[number].edges == 2;
}

/* Whether a branch decides if its loop goes on. */
static bool ends_loop(const struct advise_code *code, uint32_t number)
{
	const struct advise_block *block = &code->block[number];

	for (uint32_t i = 0; block->loop != ADVISE_NONE && i < block->edges; i++)
		if (!advise_loop_has(code, block->loop, code->edge[block->first_edge + i].to))
			return true;
	return false;
}

static double flushed_cycles(const struct pesa_instruction *measured)
{
	double cycles = 0;

	for (unsigned int i = 0; measured && i < measured->buckets; i++)
		if (measured->bucket[i].state == PESA_STATE_FLUSHED &&
		    measured->bucket[i].cause & PESA_CAUSE_BRANCH_MISPREDICT)
			cycles += (double)measured->bucket[i].weight / PESA_CYCLE;
	return cycles;
}

static struct pesa_error *advise_on_prediction(struct pesa_advice *advice, uint32_t number)
{
	const struct advise_code *code = &advice->code;
	const struct advise_block *block = &code->block[number];
	const struct pesa_instruction *measured =
		advise_measured(advice, number, advise_last(block));
	struct pesa_advice_remark remark = {
		.kind = PESA_ADVICE_PREDICT,
		.place = {.dso = block->dso,
			  .address = code->instruction[advise_last(block)].address},
		.executions = block->executions,
		.cycles = flushed_cycles(measured),
	};

	if (!(remark.cycles > 0) && !advice->why)
		return NULL;
	if (pesa_profile_totals(advice->profile)->exact)
		remark.share = -1;
	else if (measured && measured->retired_samples)
		remark.share = (double)(measured->mispredicted[0] + measured->mispredicted[1]) /
			       (double)measured->retired_samples;
	advise_estimate(advice, measured, PESA_WHY_PREDICT, &remark);
	if (is_conditional(code, number)) {
		remark.other = start_of(code, hottest(code, number)->to);
		if (ends_loop(code, number) && remark.saved.value >= advice->least)
			advise_describe_loop(advice, block->loop, &remark);
	}
	return advise_add(advice, &remark);
}

struct pesa_error *advise_branches(struct pesa_advice *advice)
{
	const struct advise_code *code = &advice->code;
	struct pesa_error *error = NULL;

	for (uint32_t i = 0; i < code->blocks && !error; i++) {
		const struct advise_block *block = &code->block[i];
		const struct advise_edge *taken = hottest(code, i);

		if (!(block->executions > 0))
			continue;
		if (advise_wants(advice, PESA_ADVICE_PREDICT))
			error = advise_on_prediction(advice, i);
		if (!error && advise_wants(advice, PESA_ADVICE_LAYOUT) && is_conditional(code, i) &&
		    taken->taken)
			error = advise_on_layout(advice, i, taken);
	}
	return error;
}
