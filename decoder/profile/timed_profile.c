// SPDX-License-Identifier: GPL-2.0-or-later
/* A profile of what branch stacks tell: pesa_timed_blocks_apply() of include/pesa/timed_blocks.h. */
#include <math.h>
#include <stdlib.h>

#include "decoder/profile/data.h"
#include "pesa/riscv.h"
#include "pesa/timed_blocks.h"

struct applying {
	const struct pesa_timed_blocks *blocks;
	struct pesa_profile *profile;
	struct pesa_profile_store *store;
};

static bool instruction_at(const struct applying *applying, uint32_t dso, uint64_t address,
			   struct pesa_text_insn *insn)
{
	return dso < applying->profile->dsos &&
	       pesa_binaries_instruction(applying->profile->binaries, applying->profile->dso[dso],
					 address, insn) == PESA_TEXT_OK;
}

/* How many instructions a block has; 0: not all of its text is at hand. */
static uint32_t count_instructions(const struct applying *applying,
				   const struct pesa_timed_block *block)
{
	struct pesa_text_insn insn;
	uint64_t address = block->start;
	uint32_t count = 0;

	while (address <= block->last && instruction_at(applying, block->dso, address, &insn)) {
		count++;
		if (address == block->last)
			return count;
		address += insn.length;
	}
	return 0;
}

/* Add so many of the executions of a block's instruction, each with `weight`. */
static struct pesa_error *add_executions(const struct applying *applying,
					 const struct pesa_timed_block *block, uint32_t number,
					 uint64_t seen, uint32_t weight,
					 const struct pesa_retirements *retired)
{
	double executions = block->executions * (double)seen / (double)block->seen;
	const struct pesa_times times = {
		.samples = seen,
		.periods = (uint64_t)llround(executions),
		.periods_squared = executions * executions / (double)seen,
	};
	const struct pesa_part part = {.weight = weight, .state = PESA_STATE_UNKNOWN};

	return pesa_profile_store_add(applying->store, number, &times, &part, 1, retired);
}

/* Add an instruction of a block, each execution of which has `weight`. */
static struct pesa_error *add_instruction(const struct applying *applying,
					  const struct pesa_timed_block *block, uint64_t address,
					  const struct pesa_text_insn *insn, uint32_t weight)
{
	const bool transfers = insn->flow != PESA_FLOW_NEXT, last = address == block->last;
	const uint64_t mispredicted = transfers && last ? block->mispredicted : 0;
	struct pesa_retirements retired = {
		.all = 1,
		.transfers_known = transfers,
		.transfers_taken = transfers && last,
	};
	uint32_t number = pesa_profile_store_get(applying->store, block->dso, address);
	struct pesa_error *error = NULL;

	if (number == UINT32_MAX)
		return pesa_error_no_memory();
	if (mispredicted < block->seen)
		error = add_executions(applying, block, number, block->seen - mispredicted, weight,
				       &retired);
	retired.mispredicted[1] = 1;
	return error || !mispredicted
		       ? error
		       : add_executions(applying, block, number, mispredicted, weight, &retired);
}

static struct pesa_error *add_block(const struct applying *applying,
				    const struct pesa_timed_block *block)
{
	uint32_t count = count_instructions(applying, block);
	struct pesa_error *error = NULL;
	struct pesa_text_insn insn;
	uint64_t address = block->start;
	double weight;

	if (!count || !(block->executions > 0))
		return NULL;
	weight = fmin(block->cycles / block->executions / count * PESA_CYCLE, UINT32_MAX);
	for (uint32_t i = 0; i < count && !error; i++, address += insn.length) {
		if (!instruction_at(applying, block->dso, address, &insn))
			return NULL;
		error = add_instruction(applying, block, address, &insn, (uint32_t)weight);
	}
	return error;
}

static struct pesa_error *add_transfer(const struct applying *applying,
				       const struct pesa_timed_transfer *transfer)
{
	struct pesa_text_insn insn;
	uint32_t number;

	if (!instruction_at(applying, transfer->dso, transfer->from, &insn) ||
	    insn.flow == PESA_FLOW_NEXT)
		return NULL;
	number = pesa_profile_store_get(applying->store, transfer->dso, transfer->from);
	if (number == UINT32_MAX)
		return pesa_error_no_memory();
	return pesa_profile_store_edge(applying->store, number, transfer->target_dso,
				       transfer->target, (uint64_t)llround(transfer->executions),
				       0);
}

/* Put the arrays of the store in place of those of the profile. */
static struct pesa_error *replace(const struct applying *applying)
{
	struct pesa_profile *profile = applying->profile;
	uint32_t *same = calloc((size_t)profile->dsos + 1, sizeof(*same));
	struct pesa_profile_arrays made = {0};
	struct pesa_error *error;
	size_t at = 0;

	if (!same)
		return pesa_error_no_memory();
	for (uint32_t i = 0; i < profile->dsos; i++)
		same[i] = i;
	error = pesa_profile_store_finish(applying->store, same, &made);
	free(same);
	if (error)
		return error;
	pesa_profile_arrays_free(&profile->arrays);
	profile->arrays = made;
	for (uint32_t dso = 0; dso <= profile->dsos; dso++) {
		while (at < made.instructions && made.instruction[at].dso < dso)
			at++;
		profile->first[dso] = at;
	}
	free(profile->executions);
	free(profile->errors);
	profile->executions = profile->errors = NULL;
	profile->totals.paths = true;
	return NULL;
}

struct pesa_error *pesa_timed_blocks_apply(const struct pesa_timed_blocks *blocks,
					   struct pesa_profile *profile)
{
	struct applying applying = {
		.blocks = blocks, .profile = profile, .store = pesa_profile_store_create()};
	struct pesa_error *error = applying.store ? NULL : pesa_error_no_memory();

	for (size_t i = 0; i < pesa_timed_blocks_count(blocks) && !error; i++)
		error = add_block(&applying, pesa_timed_blocks_at(blocks, i));
	for (size_t i = 0; i < pesa_timed_blocks_transfer_count(blocks) && !error; i++)
		error = add_transfer(&applying, pesa_timed_blocks_transfer(blocks, i));
	if (!error)
		error = replace(&applying);
	pesa_profile_store_free(applying.store);
	return error;
}
