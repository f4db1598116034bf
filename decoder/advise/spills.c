/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Values that go through the stack: a function stores a register at a fixed distance from the stack
 * pointer, or from its frame pointer, and loads it from there.
 *
 * These are values that found no register, and variables of code that was compiled without
 * optimisation.  Registers that are kept for the caller are not: the same register is stored when the
 * function is entered.  Where the function takes the address of a part of its frame, what is there or
 * behind it may be data that has to be in memory, and is left out.
 */
#include <stdlib.h>
#include <string.h>

#include "decoder/advise/inside.h"

#define VALUES_MAX 16 /* of a function that are tried together: those with most cycles */

struct access {
	uint8_t base;
	int64_t offset;
	uint32_t block, instruction;
	bool store;
	uint8_t reg; /* that is stored or loaded */
	double cycles;
};

/* The accesses to one place of the frame: adjacent after sorting. */
struct value {
	size_t first, count;
	double cycles;
};

struct frame {
	struct access *access;
	size_t count, room;
	struct value *value;
	size_t values;
	bool frame_pointer; /* s0 is one */
	/* The lowest distance whose address is taken, by base register: sp, s0. */
	int64_t taken[2];
	double entries;
};

/* ---- Accesses -------------------------------------------------------------------------------- */

static bool is_addi(const struct pesa_insn *insn)
{
	const char *name = advise_opcode_name(insn);

	return !strncmp(name, "ADDI", 4) && strncmp(name, "ADDIW", 5) != 0 && insn->operands == 3;
}

/* Note what an addi makes of the frame: a frame pointer, or an address in it. */
static void note_address(struct frame *frame, const struct pesa_insn *insn)
{
	const int64_t to = insn->operand[0].value, from = insn->operand[1].value;
	int64_t *taken = &frame->taken[from == ADVISE_FRAME_POINTER];

	if (to == ADVISE_FRAME_POINTER && from == ADVISE_STACK_POINTER)
		frame->frame_pointer = true;
	else if (to != ADVISE_STACK_POINTER &&
		 (from == ADVISE_STACK_POINTER || from == ADVISE_FRAME_POINTER) &&
		 insn->operand[2].value < *taken)
		*taken = insn->operand[2].value;
}

static struct pesa_error *add_access(const struct pesa_advice *advice, struct frame *frame,
				     uint32_t block, uint32_t instruction)
{
	const struct pesa_insn *insn = advise_insn(&advice->code, block, instruction);
	const uint32_t properties = pesa_opcode_get(insn->opcode)->properties;
	struct access access = {.block = block,
				.instruction = instruction,
				.store = properties & PESA_OPCODE_STORE};

	if (is_addi(insn))
		note_address(frame, insn);
	if (!(properties & (PESA_OPCODE_LOAD | PESA_OPCODE_STORE)) ||
	    properties & (PESA_OPCODE_ATOMIC | PESA_OPCODE_VECTOR) || insn->operands < 2 ||
	    !advise_base(insn, &access.base, &access.offset) ||
	    (access.base != ADVISE_STACK_POINTER && access.base != ADVISE_FRAME_POINTER))
		return NULL;
	access.reg = (uint8_t)insn->operand[0].value;
	access.cycles = advise_cycles(advice, block, instruction);
	if (frame->count == frame->room) {
		size_t room = frame->room ? 2 * frame->room : 64;
		void *larger = realloc(frame->access, room * sizeof(*frame->access));

		if (!larger)
			return pesa_error_no_memory();
		frame->access = larger;
		frame->room = room;
	}
	frame->access[frame->count++] = access;
	return NULL;
}

static int by_place(const void *left, const void *right)
{
	const struct access *a = left, *b = right;

	if (a->base != b->base)
		return a->base < b->base ? -1 : 1;
	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return a->instruction < b->instruction ? -1 : a->instruction > b->instruction;
}

/* ---- Values ---------------------------------------------------------------------------------- */

/* Whether a place holds a value that could be in a register. */
static bool is_value(const struct pesa_advice *advice, const struct frame *frame,
		     const struct value *value)
{
	const struct access *first = &frame->access[value->first];
	bool same_register = true;
	double stores = 0, loads = 0;

	if (first->base == ADVISE_FRAME_POINTER && !frame->frame_pointer)
		return false;
	if (first->offset >= frame->taken[first->base == ADVISE_FRAME_POINTER])
		return false;
	for (size_t i = 0; i < value->count; i++) {
		double executions = advice->code.block[first[i].block].executions;

		*(first[i].store ? &stores : &loads) += executions;
		same_register &= first[i].reg == first->reg;
	}
	/* Stored once when the function is entered, and the same register loaded from there. */
	if (same_register && advise_is_kept_for_caller(first->reg) &&
	    stores <= 1.2 * frame->entries)
		return false;
	return stores > 0 && loads > 0;
}

static int more_first(const void *left, const void *right)
{
	const struct value *a = left, *b = right;

	if (a->cycles != b->cycles)
		return a->cycles > b->cycles ? -1 : 1;
	return a->first < b->first ? -1 : 1;
}

static struct pesa_error *find_values(const struct pesa_advice *advice, struct frame *frame)
{
	frame->value = calloc(frame->count + 1, sizeof(*frame->value));
	if (!frame->value)
		return pesa_error_no_memory();
	qsort(frame->access, frame->count, sizeof(*frame->access), by_place);
	for (size_t i = 0; i < frame->count;) {
		const struct access *access = &frame->access[i];
		struct value value = {.first = i};

		for (; i < frame->count && frame->access[i].base == access->base &&
		       frame->access[i].offset == access->offset;
		     i++) {
			value.count++;
			value.cycles += frame->access[i].cycles;
		}
		if (is_value(advice, frame, &value))
			frame->value[frame->values++] = value;
	}
	qsort(frame->value, frame->values, sizeof(*frame->value), more_first);
	if (frame->values > VALUES_MAX)
		frame->values = VALUES_MAX;
	return NULL;
}

/* ---- A function ------------------------------------------------------------------------------ */

/* The hottest load stands for all of them, with a store of its value. */
static void find_place(const struct pesa_advice *advice, const struct frame *frame,
		       struct pesa_advice_remark *remark)
{
	const struct advise_code *code = &advice->code;
	double most = -1;

	for (size_t i = 0; i < frame->values; i++) {
		const struct value *value = &frame->value[i];
		uint64_t store = 0;

		for (size_t j = 0; j < value->count; j++)
			if (frame->access[value->first + j].store)
				store = code->instruction[frame->access[value->first + j]
								  .instruction]
						.address;
		for (size_t j = 0; j < value->count; j++) {
			const struct access *access = &frame->access[value->first + j];

			if (access->store || code->block[access->block].executions <= most)
				continue;
			most = code->block[access->block].executions;
			remark->place.address = code->instruction[access->instruction].address;
			remark->executions = most;
			remark->other = store;
		}
		remark->instructions += (unsigned int)value->count;
	}
}

static struct pesa_error *try_values(struct pesa_advice *advice, struct frame *frame, uint32_t dso)
{
	struct pesa_advice_remark remark = {.kind = PESA_ADVICE_SPILL, .place.dso = dso};
	struct advise_edits edits = {0};
	struct pesa_error *error = NULL;

	for (size_t i = 0; i < frame->values; i++) {
		const struct value *value = &frame->value[i];

		for (size_t j = 0; j < value->count && !error; j++) {
			const struct access *access = &frame->access[value->first + j];

			error = advise_edit(advice, &edits, access->block, access->instruction,
					    access->store ? PESA_WHY_KEPT : PESA_WHY_REUSED,
					    (unsigned int)i);
		}
	}
	if (!error && frame->values) {
		find_place(advice, frame, &remark);
		error = advise_try(advice, &edits, &remark);
		if (!error)
			error = advise_add(advice, &remark);
	}
	free(edits.edit);
	return error;
}

/* A function: blocks begin <= i < end. */
static struct pesa_error *advise_on(struct pesa_advice *advice, uint32_t begin, uint32_t end)
{
	const struct advise_code *code = &advice->code;
	struct frame frame = {.taken = {INT64_MAX, INT64_MAX},
			      .entries = code->block[begin].executions};
	struct pesa_error *error = NULL;

	for (uint32_t i = begin; i < end; i++)
		for (uint32_t j = 0; j < code->block[i].count && !error; j++)
			if (advise_insn(code, i, code->block[i].first + j)->length)
				error = add_access(advice, &frame, i, code->block[i].first + j);
	if (!error)
		error = find_values(advice, &frame);
	if (!error)
		error = try_values(advice, &frame, code->block[begin].dso);
	free(frame.access);
	free(frame.value);
	return error;
}

struct pesa_error *advise_spills(struct pesa_advice *advice)
{
	const struct advise_code *code = &advice->code;
	struct pesa_error *error = NULL;
	uint32_t end;

	for (uint32_t begin = 0;
	     begin < code->blocks && !error && advise_wants(advice, PESA_ADVICE_SPILL);
	     begin = end) {
		const struct advise_block *first = &code->block[begin];
		double cycles = 0;

		for (end = begin; end < code->blocks && code->block[end].dso == first->dso &&
				  code->block[end].function == first->function;
		     end++)
			for (uint32_t j = 0;
			     code->block[end].executions > 0 && j < code->block[end].count; j++)
				cycles += advise_cycles(advice, end, code->block[end].first + j);
		if (first->function && cycles >= advice->least)
			error = advise_on(advice, begin, end);
	}
	return error;
}
