/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "decoder/advise/values.h"

/* Blocks that are looked at for one value, and nested: code with many ways is not worth more. */
#define STEPS_MAX 4000u
#define DEPTH_MAX 200u

struct search {
	const struct advise_code *code;
	uint32_t loop;
	unsigned int steps, depth;
	uint32_t open[DEPTH_MAX]; /* blocks whose beginnings are being evaluated */
	uint8_t open_reg[DEPTH_MAX];
};

/* ---- Arithmetic ------------------------------------------------------------------------------ */

static struct advise_value unknown(void)
{
	return (struct advise_value){
		.form = ADVISE_UNKNOWN, .load = ADVISE_NONE, .load_block = ADVISE_NONE};
}

static struct advise_value constant(int64_t value)
{
	return (struct advise_value){
		.constant = value, .load = ADVISE_NONE, .load_block = ADVISE_NONE};
}

static struct advise_value at_head(uint8_t reg)
{
	struct advise_value value = constant(0);

	value.term[0].reg = reg;
	value.term[0].factor = 1;
	value.terms = 1;
	value.depends[reg / 64] = UINT64_C(1) << reg % 64;
	return value;
}

/* What both depend on, without a sum. */
static struct advise_value mixed(struct advise_value a, struct advise_value b)
{
	if (a.form >= ADVISE_UNKNOWN || b.form >= ADVISE_UNKNOWN)
		return unknown();
	a.form = ADVISE_OTHER;
	a.terms = 0;
	a.constant = 0;
	a.depends[0] |= b.depends[0];
	a.depends[1] |= b.depends[1];
	if (a.load == ADVISE_NONE) {
		a.load = b.load;
		a.load_block = b.load_block;
	}
	return a;
}

static struct advise_value times(struct advise_value a, int64_t factor)
{
	if (a.form != ADVISE_SUM)
		return mixed(a, a);
	a.constant = (int64_t)((uint64_t)a.constant * (uint64_t)factor);
	for (unsigned int i = 0; i < a.terms; i++)
		a.term[i].factor = (int64_t)((uint64_t)a.term[i].factor * (uint64_t)factor);
	return a;
}

static struct advise_value sum(struct advise_value a, struct advise_value b)
{
	struct advise_value result = a;

	if (a.form != ADVISE_SUM || b.form != ADVISE_SUM)
		return mixed(a, b);
	result.constant = (int64_t)((uint64_t)a.constant + (uint64_t)b.constant);
	for (unsigned int i = 0; i < b.terms; i++) {
		unsigned int at = 0;

		while (at < result.terms && result.term[at].reg != b.term[i].reg)
			at++;
		if (at == ADVISE_TERMS)
			return mixed(a, b);
		if (at == result.terms) {
			result.term[result.terms++] = b.term[i];
			continue;
		}
		result.term[at].factor =
			(int64_t)((uint64_t)result.term[at].factor + (uint64_t)b.term[i].factor);
		if (!result.term[at].factor)
			result.term[at] = result.term[--result.terms];
	}
	result.depends[0] |= b.depends[0];
	result.depends[1] |= b.depends[1];
	return result;
}

/* Shifted right: exact where everything was shifted left before, as for an unsigned index. */
static struct advise_value divided(struct advise_value a, unsigned int shift)
{
	uint64_t low = (UINT64_C(1) << shift) - 1;

	if (a.form != ADVISE_SUM || (uint64_t)a.constant & low)
		return mixed(a, a);
	for (unsigned int i = 0; i < a.terms; i++)
		if ((uint64_t)a.term[i].factor & low)
			return mixed(a, a);
	/* A factor of 2^63 and more is a negative one of 2^(63 - shift). */
	a.constant >>= shift;
	for (unsigned int i = 0; i < a.terms; i++)
		a.term[i].factor >>= shift;
	return a;
}

static bool same(const struct advise_value *a, const struct advise_value *b)
{
	if (a->form != b->form || a->constant != b->constant || a->terms != b->terms ||
	    a->load != b->load || a->form == ADVISE_UNKNOWN)
		return false;
	for (unsigned int i = 0; i < a->terms; i++)
		if (a->term[i].reg != b->term[i].reg || a->term[i].factor != b->term[i].factor)
			return false;
	/* Of something else it is not known whether it is the same, unless it is what was loaded. */
	return a->form == ADVISE_SUM || a->load != ADVISE_NONE;
}

/* ---- Instructions ---------------------------------------------------------------------------- */

enum operation {
	MOVE,
	ADD,
	ADD_IMMEDIATE,
	SUBTRACT,
	SHIFT_LEFT,
	SHIFT_RIGHT,
	SHIFT_ADD,
	SET,
	DEPENDS,
};

/* Without C_ of the compressed ones.  Of 32-bit operations: a sum that wraps is not expected. */
static const struct {
	const char *name;
	enum operation operation;
	unsigned int shift; /* SHIFT_ADD */
} operations[] = {
	{"MV", MOVE, 0},
	{"ADD", ADD, 0},
	{"ADDW", ADD, 0},
	{"ADD_UW", ADD, 0},
	{"ADDI", ADD_IMMEDIATE, 0},
	{"ADDIW", ADD_IMMEDIATE, 0},
	{"ADDI16SP", ADD_IMMEDIATE, 0},
	{"ADDI4SPN", ADD_IMMEDIATE, 0},
	{"SUB", SUBTRACT, 0},
	{"SUBW", SUBTRACT, 0},
	{"SLLI", SHIFT_LEFT, 0},
	{"SLLIW", SHIFT_LEFT, 0},
	{"SLLI_UW", SHIFT_LEFT, 0},
	{"SRLI", SHIFT_RIGHT, 0},
	{"SRAI", SHIFT_RIGHT, 0},
	{"SH1ADD", SHIFT_ADD, 1},
	{"SH2ADD", SHIFT_ADD, 2},
	{"SH3ADD", SHIFT_ADD, 3},
	{"SH1ADD_UW", SHIFT_ADD, 1},
	{"SH2ADD_UW", SHIFT_ADD, 2},
	{"SH3ADD_UW", SHIFT_ADD, 3},
	{"LI", SET, 0},
	{"LUI", SET, 0},
	{"AUIPC", SET, 0},
};

#define OPERATIONS (sizeof(operations) / sizeof(*operations))

const char *advise_opcode_name(const struct pesa_insn *insn)
{
	const char *name = pesa_opcode_get(insn->opcode)->name;

	return strncmp(name, "C_", 2) ? name : name + 2;
}

static size_t operation_of(const struct pesa_insn *insn)
{
	const char *name = advise_opcode_name(insn);
	size_t i = 0;

	while (i < OPERATIONS && strcmp(name, operations[i].name))
		i++;
	return i;
}

bool advise_base(const struct pesa_insn *insn, uint8_t *reg, int64_t *offset)
{
	const struct pesa_operand *base = NULL;

	*offset = 0;
	/* The address is the last register that is read; a distance may follow. */
	for (unsigned int i = 0; i < insn->operands; i++) {
		const struct pesa_operand *operand = &insn->operand[i];

		if (operand->kind == PESA_OPERAND_REGISTER && !operand->output) {
			base = operand;
			*offset = 0;
		} else if (operand->kind == PESA_OPERAND_IMMEDIATE && base) {
			*offset = operand->value;
		}
	}
	if (!base || base->value >= PESA_REGISTER_F0)
		return false;
	*reg = (uint8_t)base->value;
	return true;
}

static bool writes(const struct pesa_insn *insn, uint8_t reg)
{
	struct pesa_register_list defs, uses;

	pesa_insn_registers(insn, &defs, &uses);
	for (unsigned int i = 0; i < defs.count; i++)
		if (defs.registers[i] == reg)
			return true;
	return false;
}

bool advise_is_saved(int64_t reg)
{
	const int64_t number = reg % 32;

	return reg < PESA_REGISTER_V0 &&
	       (number == 8 || number == 9 || (number >= 18 && number <= 27));
}

/* Registers that a called function keeps: sp, gp, tp, and those that it saves. */
static bool is_kept_by_calls(uint8_t reg)
{
	return (reg >= 2 && reg <= 4) || advise_is_saved(reg);
}

/* ---- Data flow ------------------------------------------------------------------------------- */

static struct advise_value before(struct search *search, uint32_t block, uint32_t instruction,
				  uint8_t reg);

/* What an instruction writes, by what it reads. */
static struct advise_value written(struct search *search, uint32_t block, uint32_t instruction,
				   const struct pesa_insn *insn)
{
	struct advise_value value[2] = {constant(0), constant(0)};
	const size_t which = operation_of(insn);
	unsigned int registers = 0;
	int64_t immediate = 0;

	for (unsigned int i = 0; i < insn->operands; i++) {
		const struct pesa_operand *operand = &insn->operand[i];

		if (operand->kind == PESA_OPERAND_IMMEDIATE) {
			immediate = operand->value;
		} else if (operand->kind == PESA_OPERAND_REGISTER && !operand->output) {
			struct advise_value one = operand->value == PESA_REGISTER_X0
							  ? constant(0)
							  : before(search, block, instruction,
								   (uint8_t)operand->value);

			if (registers < 2)
				value[registers] = one;
			else
				value[1] = mixed(value[1], one);
			registers++;
		}
	}
	if (pesa_opcode_get(insn->opcode)->properties & PESA_OPCODE_LOAD) {
		struct advise_value loaded = mixed(value[0], value[1]);

		if (loaded.form == ADVISE_UNKNOWN)
			loaded = constant(0);
		loaded.form = ADVISE_OTHER;
		loaded.load = instruction;
		loaded.load_block = block;
		return loaded;
	}
	switch (which == OPERATIONS ? DEPENDS : operations[which].operation) {
	case MOVE:
		return value[0];
	case ADD:
		return sum(value[0], value[1]);
	case ADD_IMMEDIATE:
		return sum(value[0], constant(immediate));
	case SUBTRACT:
		return sum(value[0], times(value[1], -1));
	case SHIFT_LEFT:
		return times(value[0], (int64_t)(UINT64_C(1) << (immediate & 63)));
	case SHIFT_RIGHT:
		return divided(value[0], immediate & 63);
	case SHIFT_ADD:
		return sum(times(value[0], 1 << operations[which].shift), value[1]);
	case SET:
		return constant(immediate);
	default:
		return mixed(value[0], value[1]);
	}
}

/* The value of a register at the beginning of a block.  Where the way back leads to a beginning that is
 * being evaluated, nothing on that way wrote the register. */
static bool at_beginning(struct search *search, uint32_t block, uint8_t reg,
			 struct advise_value *value)
{
	const struct advise_code *code = search->code;
	const struct advise_block *here = &code->block[block];
	bool any = false;

	if (block == code->loop[search->loop].head) {
		*value = at_head(reg);
		return true;
	}
	for (unsigned int i = 0; i < search->depth; i++)
		if (search->open[i] == block && search->open_reg[i] == reg)
			return false;
	*value = unknown();
	if (search->depth == DEPTH_MAX || ++search->steps > STEPS_MAX)
		return true;
	search->open[search->depth] = block;
	search->open_reg[search->depth++] = reg;
	for (uint32_t i = 0; i < here->predecessors; i++) {
		uint32_t from = code->predecessor[here->first_predecessor + i];
		struct advise_value one;

		if (!advise_loop_has(code, search->loop, from))
			continue;
		one = before(search, from, advise_last(&code->block[from]) + 1, reg);
		if (one.form == ADVISE_NOTHING)
			continue;
		if (any && !same(value, &one)) {
			*value = unknown();
			break;
		}
		*value = one;
		any = true;
	}
	search->depth--;
	return true;
}

static struct advise_value before(struct search *search, uint32_t block, uint32_t instruction,
				  uint8_t reg)
{
	const struct advise_code *code = search->code;
	const struct advise_block *here = &code->block[block];
	struct advise_value value;

	if (here->calls && instruction > advise_last(here) && !is_kept_by_calls(reg))
		return unknown();
	while (instruction-- > here->first) {
		const struct pesa_insn *insn = advise_insn(code, block, instruction);

		if (!insn->length)
			return unknown();
		if (writes(insn, reg)) {
			if (++search->steps > STEPS_MAX)
				return unknown();
			return written(search, block, instruction, insn);
		}
	}
	if (at_beginning(search, block, reg, &value))
		return value;
	value = unknown();
	value.form = ADVISE_NOTHING;
	return value;
}

struct advise_value advise_value_before(const struct advise_code *code, uint32_t loop,
					uint32_t block, uint32_t instruction, uint8_t reg)
{
	struct search search = {.code = code, .loop = loop};

	return before(&search, block, instruction, reg);
}

struct advise_value advise_value_next(const struct advise_code *code, uint32_t loop, uint8_t reg)
{
	const struct advise_block *head = &code->block[code->loop[loop].head];
	struct advise_value value = unknown();
	bool any = false;

	for (uint32_t i = 0; i < head->predecessors; i++) {
		uint32_t from = code->predecessor[head->first_predecessor + i];
		struct advise_value one;

		if (!advise_loop_has(code, loop, from))
			continue;
		one = advise_value_before(code, loop, from, advise_last(&code->block[from]) + 1,
					  reg);
		if (any && !same(&value, &one))
			return unknown();
		value = one;
		any = true;
	}
	return value;
}

/* ---- Addresses ------------------------------------------------------------------------------- */

/* How registers come to the next iteration, found when they are needed. */
struct iteration {
	const struct advise_code *code;
	uint32_t loop;
	bool known[PESA_REGISTER_COUNT];
	struct advise_value next[PESA_REGISTER_COUNT];
};

static const struct advise_value *next_of(struct iteration *iteration, uint8_t reg)
{
	if (!iteration->known[reg]) {
		iteration->known[reg] = true;
		iteration->next[reg] = advise_value_next(iteration->code, iteration->loop, reg);
	}
	return &iteration->next[reg];
}

/* Whether a register comes back as itself plus a distance. */
static bool moves(struct iteration *iteration, uint8_t reg, int64_t *distance, bool *regular)
{
	const struct advise_value *next = next_of(iteration, reg);
	bool itself = false;

	*distance = next->constant;
	*regular = false;
	if (next->form != ADVISE_SUM)
		return false;
	for (unsigned int i = 0; i < next->terms; i++) {
		const struct advise_value *other;

		if (next->term[i].reg == reg && next->term[i].factor == 1) {
			itself = true;
			continue;
		}
		/* Another register, if that stays as it is. */
		if (next->term[i].reg == reg)
			return false;
		other = next_of(iteration, next->term[i].reg);
		if (other->form != ADVISE_SUM || other->terms != 1 || other->constant ||
		    other->term[0].reg != next->term[i].reg || other->term[0].factor != 1)
			return false;
		*regular = true;
	}
	return itself;
}

/* Everything that a value depends on, also through earlier iterations.  False: not known. */
static bool close_over(struct iteration *iteration, uint64_t depends[2])
{
	uint64_t before_[2] = {0, 0};

	while (before_[0] != depends[0] || before_[1] != depends[1]) {
		before_[0] = depends[0];
		before_[1] = depends[1];
		for (unsigned int reg = 0; reg < PESA_REGISTER_COUNT; reg++) {
			const struct advise_value *next;

			if (!(before_[reg / 64] >> reg % 64 & 1))
				continue;
			next = next_of(iteration, (uint8_t)reg);
			if (next->form == ADVISE_UNKNOWN)
				return false;
			depends[0] |= next->depends[0];
			depends[1] |= next->depends[1];
		}
	}
	return true;
}

static bool address_value(const struct advise_code *code, uint32_t loop, uint32_t block,
			  uint32_t instruction, struct advise_value *value)
{
	int64_t offset;
	uint8_t reg;

	if (!advise_base(advise_insn(code, block, instruction), &reg, &offset))
		return false;
	*value = sum(advise_value_before(code, loop, block, instruction, reg), constant(offset));
	return true;
}

static enum pesa_advice_address classify_sum(struct iteration *iteration,
					     const struct advise_value *value, int64_t *stride)
{
	enum pesa_advice_address kind = PESA_ADVICE_STRIDE;

	*stride = 0;
	for (unsigned int i = 0; i < value->terms; i++) {
		int64_t distance;
		bool regular;

		if (!moves(iteration, value->term[i].reg, &distance, &regular))
			return PESA_ADVICE_UNKNOWN;
		if (regular)
			kind = PESA_ADVICE_REGULAR;
		*stride += (int64_t)((uint64_t)distance * (uint64_t)value->term[i].factor);
	}
	if (kind == PESA_ADVICE_REGULAR)
		*stride = 0;
	return kind == PESA_ADVICE_STRIDE && !*stride ? PESA_ADVICE_NO_LOOP : kind;
}

/* Where a value that is no sum comes from: from a load of this iteration, or of the one before. */
static struct advise_address_of classify_other(struct iteration *iteration,
					       const struct advise_value *value)
{
	struct advise_address_of result = {
		.kind = PESA_ADVICE_COMPUTED, .via = ADVISE_NONE, .loop = iteration->loop};
	uint64_t depends[2] = {value->depends[0], value->depends[1]};
	uint32_t load = value->load, block = value->load_block;
	struct advise_value source;

	if (value->form == ADVISE_UNKNOWN || !close_over(iteration, depends)) {
		result.kind = PESA_ADVICE_UNKNOWN;
		return result;
	}
	for (unsigned int reg = 0; reg < PESA_REGISTER_COUNT; reg++) {
		const struct advise_value *next = &iteration->next[reg];
		uint64_t behind[2];

		if (!(depends[reg / 64] >> reg % 64 & 1) || next->load == ADVISE_NONE)
			continue;
		/* Loaded in the iteration before: at an address that depends on this register itself? */
		behind[0] = next->depends[0];
		behind[1] = next->depends[1];
		if (close_over(iteration, behind) && behind[reg / 64] >> reg % 64 & 1) {
			result.kind = PESA_ADVICE_CHASED;
			result.via = next->load;
			return result;
		}
		if (load == ADVISE_NONE) {
			load = next->load;
			block = next->load_block;
		}
	}
	if (load == ADVISE_NONE)
		return result;
	result.kind = PESA_ADVICE_INDEXED;
	result.via = load;
	if (address_value(iteration->code, iteration->loop, block, load, &source) &&
	    source.form == ADVISE_SUM)
		classify_sum(iteration, &source, &result.stride);
	return result;
}

struct advise_address_of advise_address_of(const struct advise_code *code, uint32_t block,
					   uint32_t instruction)
{
	struct advise_address_of result = {
		.kind = PESA_ADVICE_NO_LOOP, .via = ADVISE_NONE, .loop = ADVISE_NONE};

	for (uint32_t loop = code->block[block].loop; loop != ADVISE_NONE;
	     loop = code->loop[loop].parent) {
		struct iteration iteration = {.code = code, .loop = loop};
		struct advise_value value;

		if (!address_value(code, loop, block, instruction, &value))
			return result;
		result = (struct advise_address_of){
			.kind = PESA_ADVICE_UNKNOWN, .via = ADVISE_NONE, .loop = loop};
		if (value.form == ADVISE_SUM)
			result.kind = classify_sum(&iteration, &value, &result.stride);
		if (result.kind == PESA_ADVICE_UNKNOWN)
			result = classify_other(&iteration, &value);
		if (result.kind != PESA_ADVICE_NO_LOOP)
			return result;
	}
	return result;
}
