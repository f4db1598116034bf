/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loops that could be unrolled: innermost ones without calls, small, with many iterations.
 *
 * Of FACTOR iterations one would count and branch: so much of the branch at the end, and of the
 * instructions that add a constant to a register each iteration, would not be there.
 */
#include <stdlib.h>
#include <string.h>

#include "decoder/advise/inside.h"

#define FACTOR		 4
#define INSTRUCTIONS_MAX 40 /* in the loop: of larger ones counting is a small part */
#define ITERATIONS_LEAST (2.0 * FACTOR)
#define BELIEVED_MAX	 2 /* times the measured cycles of what would not be there */

/* The block that ends with the only branch back to the head, ADVISE_NONE: there are several. */
static uint32_t latch_of(const struct advise_code *code, const struct advise_loop *loop,
			 uint32_t number)
{
	const struct advise_block *head = &code->block[loop->head];
	uint32_t latch = ADVISE_NONE;

	for (uint32_t i = 0; i < head->predecessors; i++) {
		uint32_t from = code->predecessor[head->first_predecessor + i];

		if (!advise_loop_has(code, number, from))
			continue;
		if (latch != ADVISE_NONE)
			return ADVISE_NONE;
		latch = from;
	}
	return latch;
}

/* addi r, r, N, of a register that each iteration moves by N. */
static bool counts(const struct advise_code *code, uint32_t loop, const struct pesa_insn *insn)
{
	const char *name = advise_opcode_name(insn);
	struct advise_value next;

	if (strcmp(name, "ADDI") != 0 && strcmp(name, "ADDIW") != 0)
		return false;
	if (insn->operands != 3 || insn->operand[0].value != insn->operand[1].value)
		return false;
	next = advise_value_next(code, loop, (uint8_t)insn->operand[0].value);
	return next.form == ADVISE_SUM && next.terms == 1 &&
	       next.term[0].reg == insn->operand[0].value && next.term[0].factor == 1 &&
	       next.constant == insn->operand[2].value;
}

static struct pesa_error *edit_loop(const struct pesa_advice *advice, uint32_t number,
				    uint32_t latch, struct advise_edits *edits)
{
	const struct advise_code *code = &advice->code;
	const struct advise_loop *loop = &code->loop[number];
	struct pesa_error *error = advise_edit(
		advice, edits, latch, advise_last(&code->block[latch]), PESA_WHY_REMOVED, FACTOR);

	for (uint32_t i = 0; i < loop->count && !error; i++) {
		uint32_t block = code->member[loop->first + i];

		for (uint32_t j = code->block[block].first;
		     j <= advise_last(&code->block[block]) && !error; j++)
			if (advise_insn(code, block, j)->length &&
			    counts(code, number, advise_insn(code, block, j)))
				error = advise_edit(advice, edits, block, j, PESA_WHY_REMOVED,
						    FACTOR);
	}
	return error;
}

static bool has_call(const struct advise_code *code, const struct advise_loop *loop)
{
	for (uint32_t i = 0; i < loop->count; i++)
		if (code->block[code->member[loop->first + i]].calls)
			return true;
	return false;
}

static struct pesa_error *advise_on(struct pesa_advice *advice, uint32_t number)
{
	const struct advise_code *code = &advice->code;
	const struct advise_loop *loop = &code->loop[number];
	uint32_t latch = latch_of(code, loop, number);
	struct pesa_advice_remark remark = {
		.kind = PESA_ADVICE_UNROLL, .executions = loop->iterations, .factor = FACTOR};
	struct advise_edits edits = {0};
	struct pesa_error *error;

	if (latch == ADVISE_NONE || code->block[latch].edges == 0)
		return NULL;
	remark.place.dso = code->block[latch].dso;
	remark.place.address = code->instruction[advise_last(&code->block[latch])].address;
	advise_describe_loop(advice, number, &remark);
	if (remark.loop.cycles * loop->iterations < advice->least)
		return NULL;
	error = edit_loop(advice, number, latch, &edits);
	if (!error)
		error = advise_try(advice, &edits, &remark);
	free(edits.edit);
	/* Where the model says far more than these instructions take, it is of no use. */
	if (remark.saved.value > BELIEVED_MAX * remark.cycles)
		return error;
	return error ? error : advise_add(advice, &remark);
}

struct pesa_error *advise_unroll(struct pesa_advice *advice)
{
	const struct advise_code *code = &advice->code;
	struct pesa_error *error = NULL;

	for (uint32_t i = 0; i < code->loops && !error && advise_wants(advice, PESA_ADVICE_UNROLL);
	     i++) {
		const struct advise_loop *loop = &code->loop[i];

		if (loop->innermost && loop->instructions <= INSTRUCTIONS_MAX &&
		    loop->iterations >= ITERATIONS_LEAST * loop->entries && !has_call(code, loop))
			error = advise_on(advice, i);
	}
	return error;
}
