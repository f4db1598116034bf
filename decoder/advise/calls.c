/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls that could be inlined: direct calls of small functions that do not call themselves.
 *
 * What would not be there: the call, the return, and what the function does for being one, which is
 * moving the stack pointer, and storing and loading registers there that callers want to keep.
 */
#include <stdlib.h>
#include <string.h>

#include "decoder/advise/inside.h"

#define SIZE_MAX_OF_CODE \
	400 /* bytes: about 130 instructions; larger functions are larger in each caller */
#define EXECUTED_MAX 150 /* instructions of one call: more hide what the call costs */
#define SITES_MAX    64	 /* calls of one function that are looked at */

struct called {
	uint32_t entry; /* its first block */
	const struct pesa_symbol *function;
	double calls, executed;	  /* executions of its direct calls; of its instructions */
	uint32_t site[SITES_MAX]; /* blocks that end with a call of it */
	unsigned int sites;
	bool recursive;
};

static bool starts_with(const struct pesa_insn *insn, const char *name)
{
	return !strncmp(advise_opcode_name(insn), name, strlen(name));
}

/* addi sp, sp, N */
static bool moves_stack(const struct pesa_insn *insn)
{
	return starts_with(insn, "ADDI") && insn->operands >= 2 &&
	       insn->operand[0].kind == PESA_OPERAND_REGISTER && insn->operand[0].output &&
	       insn->operand[0].value == ADVISE_STACK_POINTER &&
	       insn->operand[1].value == ADVISE_STACK_POINTER;
}

/* sd s1, 8(sp), or ld s1, 8(sp) */
static bool keeps_register(const struct pesa_insn *insn)
{
	const uint32_t properties = pesa_opcode_get(insn->opcode)->properties;
	int64_t offset;
	uint8_t base;

	return properties & (PESA_OPCODE_LOAD | PESA_OPCODE_STORE) &&
	       advise_base(insn, &base, &offset) && base == ADVISE_STACK_POINTER &&
	       advise_is_kept_for_caller(insn->operand[0].value);
}

/* What the blocks of a function have in common with being called. */
static struct pesa_error *edit_callee(const struct pesa_advice *advice, struct called *called,
				      struct advise_edits *edits)
{
	const struct advise_code *code = &advice->code;
	const struct advise_block *entry = &code->block[called->entry];
	struct pesa_error *error = NULL;

	for (uint32_t i = called->entry; i < code->blocks && !error; i++) {
		const struct advise_block *block = &code->block[i];

		if (block->dso != entry->dso ||
		    code->instruction[block->first].address >=
			    called->function->start + called->function->size)
			break;
		called->executed += block->executions * block->count;
		called->recursive |= block->callee == called->function->start;
		for (uint32_t j = block->first; j <= advise_last(block) && !error; j++) {
			const struct pesa_insn *insn = advise_insn(code, i, j);

			if (insn->length && (moves_stack(insn) || keeps_register(insn) ||
					     pesa_insn_flow(insn) == PESA_FLOW_RETURN))
				error = advise_edit(advice, edits, i, j, PESA_WHY_REMOVED, 0);
		}
	}
	return error;
}

static struct pesa_error *edit_site(const struct pesa_advice *advice, uint32_t number,
				    struct advise_edits *edits)
{
	const struct advise_block *block = &advice->code.block[number];
	uint32_t last = advise_last(block);
	struct pesa_error *error = advise_edit(advice, edits, number, last, PESA_WHY_REMOVED, 0);

	/* A far call is auipc and jalr. */
	if (!error && block->count > 1 &&
	    starts_with(advise_insn(&advice->code, number, last), "JALR") &&
	    starts_with(advise_insn(&advice->code, number, last - 1), "AUIPC"))
		error = advise_edit(advice, edits, number, last - 1, PESA_WHY_REMOVED, 0);
	return error;
}

static bool is_candidate(const struct called *called)
{
	return !called->recursive && called->calls > 0 &&
	       called->executed <= EXECUTED_MAX * called->calls &&
	       (called->function->size <= SIZE_MAX_OF_CODE || called->sites == 1);
}

/* All its calls are tried together; each gets its share of what that saves. */
static struct pesa_error *advise_on(struct pesa_advice *advice, struct called *called)
{
	struct pesa_advice_remark all = {.kind = PESA_ADVICE_INLINE};
	struct advise_edits edits = {0};
	struct pesa_error *error = edit_callee(advice, called, &edits);

	for (unsigned int i = 0; i < called->sites && !error; i++)
		error = edit_site(advice, called->site[i], &edits);
	if (!error && is_candidate(called))
		error = advise_try(advice, &edits, &all);
	for (unsigned int i = 0; i < called->sites && !error && is_candidate(called); i++) {
		const struct advise_block *block = &advice->code.block[called->site[i]];
		struct pesa_advice_remark one = all;

		one.place.dso = block->dso;
		one.place.address = advice->code.instruction[advise_last(block)].address;
		one.executions = block->executions;
		one.other = called->function->start;
		one.callers = block->executions / called->calls;
		one.instructions = (unsigned int)(called->executed / called->calls + 0.5);
		one.cycles *= one.callers;
		one.saved.value *= one.callers;
		one.saved.low *= one.callers;
		one.saved.high *= one.callers;
		error = advise_add(advice, &one);
	}
	free(edits.edit);
	return error;
}

/* The calls of a function, from the first one on. */
static bool collect(const struct pesa_advice *advice, const uint32_t *calls, uint32_t count,
		    uint32_t from, struct called *called)
{
	const struct advise_code *code = &advice->code;
	const struct advise_block *first = &code->block[calls[from]];

	*called = (struct called){.entry = advise_find_block(code, first->dso, first->callee)};
	if (called->entry == ADVISE_NONE)
		return false;
	called->function = code->block[called->entry].function;
	if (!called->function || called->function->start != first->callee ||
	    !called->function->size)
		return false;
	for (uint32_t i = from; i < count && code->block[calls[i]].callee == first->callee &&
				code->block[calls[i]].dso == first->dso;
	     i++) {
		if (called->sites == SITES_MAX)
			return false;
		called->site[called->sites++] = calls[i];
		called->calls += code->block[calls[i]].executions;
	}
	return true;
}

static int by_callee(const void *left, const void *right, void *context)
{
	const struct advise_code *code = context;
	const struct advise_block *a = &code->block[*(const uint32_t *)left],
				  *b = &code->block[*(const uint32_t *)right];

	if (a->dso != b->dso)
		return a->dso < b->dso ? -1 : 1;
	if (a->callee != b->callee)
		return a->callee < b->callee ? -1 : 1;
	return *(const uint32_t *)left < *(const uint32_t *)right ? -1 : 1;
}

struct pesa_error *advise_calls(struct pesa_advice *advice)
{
	struct advise_code *code = &advice->code;
	struct pesa_error *error = NULL;
	uint32_t *calls, count = 0;
	struct called called;

	if (!advise_wants(advice, PESA_ADVICE_INLINE))
		return NULL;
	calls = calloc((size_t)code->blocks + 1, sizeof(*calls));
	if (!calls)
		return pesa_error_no_memory();
	for (uint32_t i = 0; i < code->blocks; i++)
		if (code->block[i].callee && code->block[i].executions > 0)
			calls[count++] = i;
	qsort_r(calls, count, sizeof(*calls), by_callee, code);
	for (uint32_t i = 0; i < count && !error; i++) {
		bool again = i &&
			     code->block[calls[i]].callee == code->block[calls[i - 1]].callee &&
			     code->block[calls[i]].dso == code->block[calls[i - 1]].dso;

		if (!again && collect(advice, calls, count, i, &called))
			error = advise_on(advice, &called);
	}
	free(calls);
	return error;
}
