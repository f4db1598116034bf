/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loads that miss: the stalls that have their root in one, also those of instructions that wait for what
 * it loads.
 *
 * How far ahead a prefetch has to be: as many iterations as pass while a line is fetched.  How long that
 * takes is known as far as it stalled: the exposed cycles of an execution that missed.  An iteration
 * lasts as long as it would without these stalls.  A stride below a cache line needs a distance of a line
 * at least.
 */
#include <math.h>
#include <stdlib.h>

#include "decoder/advise/inside.h"
#include "decoder/why/measured.h"

#define LINE	     64 /* bytes of a cache line, as on all cores that are known */
#define DISTANCE_MAX 64 /* iterations */

/* Add cycles to the instruction at a place; *at: by instruction. */
static void expose(const struct pesa_advice *advice, double *at, uint32_t dso, uint64_t address,
		   double cycles)
{
	uint32_t block = advise_find_block(&advice->code, dso, address);
	uint32_t instruction = block == ADVISE_NONE
				       ? ADVISE_NONE
				       : advise_find_instruction(&advice->code, block, address);

	if (instruction != ADVISE_NONE)
		at[instruction] += cycles;
}

/* With a model: by the roots of all waits. */
static void find_roots(const struct pesa_advice *advice, double *exposed)
{
	for (size_t i = 0; i < pesa_why_count(advice->why); i++) {
		const struct pesa_why_wait *wait = pesa_why_wait(advice->why, i);

		for (unsigned int j = 0; j < wait->causes; j++)
			if (wait->cause[j].kind == PESA_WHY_MISS)
				expose(advice, exposed, wait->cause[j].root.dso,
				       wait->cause[j].root.address,
				       wait->cause[j].share * wait->cycles);
	}
}

/* Without: the stalls of the instructions that missed. */
static void find_stalls(const struct pesa_advice *advice, double *exposed)
{
	const struct pesa_capabilities *capabilities = pesa_profile_capabilities(advice->profile);
	const uint16_t misses = why_data_misses(capabilities);

	for (size_t i = 0; i < pesa_profile_instruction_count(advice->profile); i++) {
		const struct pesa_instruction *one = pesa_profile_instruction(advice->profile, i);
		double cycles = why_measured_stalls(misses, one).missed;

		if (cycles > 0)
			expose(advice, exposed, one->dso, one->address, cycles);
	}
}

static void describe_address(const struct pesa_advice *advice, uint32_t block, uint32_t instruction,
			     struct pesa_advice_remark *remark)
{
	struct advise_address_of found = advise_address_of(&advice->code, block, instruction);

	remark->address = found.kind;
	remark->stride = found.stride;
	if (found.via != ADVISE_NONE)
		remark->other = advice->code.instruction[found.via].address;
	if (remark->address != PESA_ADVICE_NO_LOOP)
		advise_describe_loop(advice, found.loop, remark);
}

static unsigned int distance_of(const struct pesa_advice_remark *remark)
{
	double each = remark->executions > 0 ? remark->cycles / remark->executions : 0;
	double missed = remark->share > 0 ? each / remark->share : each;
	double distance = ceil(missed / fmax(1, remark->loop.cycles - each)), least = 1;

	switch (remark->address) {
	case PESA_ADVICE_STRIDE:
		least = ceil(LINE / fabs((double)remark->stride));
		distance = fmax(distance, least);
		break;
	case PESA_ADVICE_INDEXED:
		if (!remark->stride)
			return 0;
		break;
	case PESA_ADVICE_REGULAR:
		break;
	default:
		return 0;
	}
	/* What is behind the loop's end is of no use. */
	distance = fmin(distance, floor(remark->loop.iterations / 2));
	return distance < least ? 0 : (unsigned int)fmin(DISTANCE_MAX, distance);
}

static struct pesa_error *add(struct pesa_advice *advice, uint32_t block, uint32_t instruction,
			      double exposed)
{
	const struct advise_block *here = &advice->code.block[block];
	const struct pesa_instruction *measured = advise_measured(advice, block, instruction);
	struct pesa_advice_remark remark = {
		.kind = PESA_ADVICE_PREFETCH,
		.place = {.dso = here->dso,
			  .address = advice->code.instruction[instruction].address},
		.cycles = exposed,
		.executions = here->executions,
		.share = advice->why ? 0 : -1,
	};

	if (!(pesa_opcode_get(advise_insn(&advice->code, block, instruction)->opcode)->properties &
	      PESA_OPCODE_LOAD))
		return NULL;
	if (advice->why)
		remark.share = pesa_why_misses(advice->why, &remark.place).l1d;
	describe_address(advice, block, instruction, &remark);
	remark.distance = distance_of(&remark);
	advise_estimate(advice, measured, PESA_WHY_HIT, &remark);
	return advise_add(advice, &remark);
}

struct pesa_error *advise_loads(struct pesa_advice *advice)
{
	const struct advise_code *code = &advice->code;
	double *exposed;
	struct pesa_error *error = NULL;

	if (!advise_wants(advice, PESA_ADVICE_PREFETCH))
		return NULL;
	exposed = calloc((size_t)code->instructions + 1, sizeof(*exposed));
	if (!exposed)
		return pesa_error_no_memory();
	if (advice->why)
		find_roots(advice, exposed);
	else
		find_stalls(advice, exposed);
	for (uint32_t i = 0; i < code->blocks && !error; i++)
		for (uint32_t j = 0; j < code->block[i].count && !error; j++)
			if (exposed[code->block[i].first + j] >= advice->least)
				error = add(advice, i, code->block[i].first + j,
					    exposed[code->block[i].first + j]);
	free(exposed);
	return error;
}
