/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <math.h>
#include <stdlib.h>

#include "decoder/advise/inside.h"

const struct pesa_instruction *advise_measured(const struct pesa_advice *advice, uint32_t block,
					       uint32_t instruction)
{
	return pesa_profile_find(advice->profile, advice->code.block[block].dso,
				 advice->code.instruction[instruction].address);
}

double advise_cycles(const struct pesa_advice *advice, uint32_t block, uint32_t instruction)
{
	const struct pesa_instruction *measured = advise_measured(advice, block, instruction);

	return measured ? (double)measured->weight / PESA_CYCLE : 0;
}

/* Part of the cycles of an instruction, with its interval. */
static struct pesa_estimate part_of(const struct pesa_advice *advice,
				    const struct pesa_instruction *measured, double part)
{
	double all = measured ? (double)measured->weight / PESA_CYCLE : 0, half = 0;

	/* Samples of the part have the same mean weight as those of the whole. */
	if (all > 0 && !pesa_profile_totals(advice->profile)->exact)
		half = pesa_estimate_deviations(advice->options.confidence) *
		       sqrt(measured->weight_squared * fmin(1, part / all));
	return (struct pesa_estimate){
		.value = part, .low = fmax(0, part - half), .high = part + half, .enough = true};
}

void advise_estimate(const struct pesa_advice *advice, const struct pesa_instruction *measured,
		     enum pesa_why_change change, struct pesa_advice_remark *remark)
{
	remark->saved = part_of(advice, measured, remark->cycles);
	for (unsigned int i = 0; advice->why && i < pesa_why_gain_count(advice->why); i++) {
		const struct pesa_why_gain *gain = pesa_why_gain(advice->why, i);

		if (gain->change != change || gain->place.dso != remark->place.dso ||
		    gain->place.address != remark->place.address)
			continue;
		remark->saved = gain->saved;
		remark->modelled = true;
	}
}

/* ---- Edits ----------------------------------------------------------------------------------- */

struct pesa_error *advise_edit(const struct pesa_advice *advice, struct advise_edits *edits,
			       uint32_t block, uint32_t instruction, enum pesa_why_edit edit,
			       unsigned int number)
{
	if (edits->count == edits->room) {
		size_t room = edits->room ? 2 * edits->room : 32;
		void *larger = realloc(edits->edit, room * sizeof(*edits->edit));

		if (!larger)
			return pesa_error_no_memory();
		edits->edit = larger;
		edits->room = room;
	}
	edits->edit[edits->count++] = (struct pesa_why_edited){
		.place = {.dso = advice->code.block[block].dso,
			  .address = advice->code.instruction[instruction].address},
		.edit = edit,
		.number = number};
	return NULL;
}

struct pesa_error *advise_try(const struct pesa_advice *advice, const struct advise_edits *edits,
			      struct pesa_advice_remark *remark)
{
	const double deviations = pesa_estimate_deviations(advice->options.confidence);
	const bool exact = pesa_profile_totals(advice->profile)->exact;
	struct pesa_error *error = NULL;
	double variance = 0;

	for (size_t i = 0; i < edits->count; i++) {
		const struct pesa_why_edited *edit = &edits->edit[i];
		const struct pesa_instruction *measured =
			pesa_profile_find(advice->profile, edit->place.dso, edit->place.address);
		/* Of `number` executions one stays. */
		double gone =
			edit->edit == PESA_WHY_REMOVED && edit->number ? 1 - 1.0 / edit->number : 1;

		if (!measured || edit->edit == PESA_WHY_NOT_TAKEN)
			continue;
		remark->cycles += gone * (double)measured->weight / PESA_CYCLE;
		variance += exact ? 0 : gone * gone * measured->weight_squared;
	}
	remark->saved =
		(struct pesa_estimate){.value = remark->cycles,
				       .low = fmax(0, remark->cycles - deviations * sqrt(variance)),
				       .high = remark->cycles + deviations * sqrt(variance),
				       .enough = true};
	if (advice->why && remark->cycles + 1 >= advice->least) {
		struct pesa_estimate saved;

		error = pesa_why_estimate_edits(advice->why, edits->edit, edits->count, &saved);
		remark->modelled = saved.enough;
		if (saved.enough)
			remark->saved = saved;
	}
	return error;
}

/* ---- Remarks --------------------------------------------------------------------------------- */

struct pesa_error *advise_add(struct pesa_advice *advice, const struct pesa_advice_remark *remark)
{
	/* What may as well be nothing is not worth a try.  Loads are listed by what they expose. */
	if (!(remark->saved.value >= advice->least) ||
	    (remark->kind != PESA_ADVICE_PREFETCH && !(remark->saved.low > 0)))
		return NULL;
	if (advice->count == advice->room) {
		size_t room = advice->room ? 2 * advice->room : 64;
		void *larger = realloc(advice->remark, room * sizeof(*advice->remark));

		if (!larger)
			return pesa_error_no_memory();
		advice->remark = larger;
		advice->room = room;
	}
	advice->remark[advice->count++] = *remark;
	return NULL;
}

void advise_describe_loop(const struct pesa_advice *advice, uint32_t loop,
			  struct pesa_advice_remark *remark)
{
	const struct advise_code *code = &advice->code;
	const struct advise_loop *here = &code->loop[loop];
	double cycles = 0;

	for (uint32_t i = 0; i < here->count; i++) {
		uint32_t block = code->member[here->first + i];

		for (uint32_t j = 0; j < code->block[block].count; j++)
			cycles += advise_cycles(advice, block, code->block[block].first + j);
	}
	remark->loop.head = code->instruction[code->block[here->head].first].address;
	remark->loop.entries = here->entries;
	/* One entry may be in no sample. */
	remark->loop.iterations = here->iterations / fmax(1, here->entries);
	remark->loop.cycles = here->iterations > 0 ? cycles / here->iterations : 0;
	remark->loop.instructions = here->instructions;
}

bool advise_wants(const struct pesa_advice *advice, enum pesa_advice_kind kind)
{
	return advice->options.kinds >> kind & 1;
}
