/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decoding of bytes into opcode and operands. */
#include <stdatomic.h>
#include <string.h>

#include "decoder/riscv/isa.h"

unsigned int pesa_insn_length(uint16_t first)
{
	if ((first & 0x3) != 0x3)
		return 2;
	if ((first & 0x1c) != 0x1c)
		return 4;
	if ((first & 0x3f) == 0x1f)
		return 6;
	if ((first & 0x7f) == 0x3f)
		return 8;
	return 0;
}

/* The value of an immediate with an uncommon method.  False: not allowed in this instruction. */
static bool special_value(const struct pesa_isa *isa, const struct riscv_operand_type *type,
			  uint64_t raw, int64_t *value)
{
	static const uint8_t store_list[8] = {0, 1, 2, 4, 8, 16, 15, 31};

	switch ((enum riscv_method)type->method) {
	case METHOD_PLUS_ONE:
		*value = raw + 1;
		return raw + 1 >= type->minimum;
	case METHOD_C_LUI:
		*value = raw > 31 ? raw | 0xfffc0 : raw;
		return raw != 0;
	case METHOD_STORE_LIST:
		*value = store_list[raw & 7];
		return true;
	case METHOD_REGISTER_LIST:
		*value = raw;
		return raw >= type->minimum && (raw <= 6 || !isa->embedded);
	case METHOD_CONSTANT:
		*value = type->minimum;
		return true;
	default:
		return false; /* the other methods are not VALID_SPECIAL */
	}
}

_Static_assert(offsetof(struct riscv_operand, kind) == offsetof(struct pesa_operand, kind) &&
		       offsetof(struct riscv_operand, output) ==
			       offsetof(struct pesa_operand, output) &&
		       offsetof(struct riscv_operand, registers) ==
			       offsetof(struct pesa_operand, registers) &&
		       offsetof(struct riscv_operand, mask) <= offsetof(struct pesa_operand, value),
	       "operands differ in layout");

/*
 * Decode one operand from its bits.  Returns true if it is a register that is not allowed.
 * Register and immediate are both computed, without branches, since the kind of an operand is hard
 * to predict.
 */
static inline bool set_operand(const struct pesa_isa *isa, const struct riscv_operand *operand,
			       uint64_t raw, struct pesa_operand *result)
{
	bool is_register = operand->kind == PESA_OPERAND_REGISTER;
	int64_t number = isa->members[operand->register_class][raw & 31];
	int64_t value = (int64_t)(raw << operand->up) >> operand->down;

	memcpy(result, operand, offsetof(struct riscv_operand, mask));
	result->value = is_register ? number : value;
	return number == RISCV_REGISTER_INVALID;
}

/* Whether the bits of an immediate are allowed.  An immediate that can be invalid either has its
 * bits as its value, or is invalid only if they are 0. */
static inline bool immediate_allowed(const struct pesa_isa *isa,
				     const struct riscv_operand *operand, int64_t value)
{
	return operand->kind == PESA_OPERAND_REGISTER ||
	       ((uint64_t)value >= riscv_operand_types[operand->type].minimum &&
		isa->valid[operand->valid] >> (value & 63) & 1);
}

static inline uint64_t first_segment(const struct riscv_operand *operand, uint64_t bits)
{
	return (bits >> operand->place & operand->mask) << operand->low;
}

/* Decode the operands of any opcode.  False: one is invalid. */
static bool decode_any(const struct pesa_isa *isa, const struct riscv_opcode *opcode, uint64_t bits,
		       struct pesa_insn *insn)
{
	const struct riscv_operand *operand = &riscv_operands[opcode->first];

	for (unsigned int i = 0; i < opcode->operands; i++, operand++) {
		const struct riscv_segment *segment = &riscv_segments[operand->first];
		struct pesa_operand *result = &insn->operand[i];
		uint64_t raw = first_segment(operand, bits);

		for (unsigned int part = 0; part < operand->more; part++, segment++)
			raw |= (bits >> segment->place & ((UINT64_C(1) << segment->width) - 1))
			       << segment->low;
		if (set_operand(isa, operand, raw, result))
			return false;
		if (operand->valid == VALID_SPECIAL
			    ? !special_value(isa, &riscv_operand_types[operand->type], raw,
					     &result->value)
			    : !immediate_allowed(isa, operand, result->value))
			return false;
	}
	return true;
}

/*
 * Decode the operands of an opcode with at most one scattered operand.  Three operands are always
 * computed, so that only loads depend on the opcode, not branches.
 */
static inline bool decode_simple(const struct pesa_isa *isa, const struct riscv_opcode *opcode,
				 uint64_t bits, struct pesa_insn *insn)
{
	const struct riscv_operand *operand = &riscv_operands[opcode->first];
	const struct riscv_scatter *scatter = &riscv_scatters[opcode->scatter];
	unsigned int count = opcode->operands;
	uint64_t more = 0;
	bool bad = false;

#pragma GCC unroll 3
	for (unsigned int i = 0; i < 3; i++)
		more |= (uint64_t)(bits >> scatter->part[i].place & scatter->part[i].mask)
			<< scatter->part[i].low;
#pragma GCC unroll 3
	for (unsigned int i = 0; i < 3; i++) {
		uint64_t raw = first_segment(&operand[i], bits);

		raw |= scatter->operand == i ? more : 0;
		bad |= set_operand(isa, &operand[i], raw, &insn->operand[i]) & (i < count);
	}
	for (unsigned int i = 3; i < count; i++)
		bad |= set_operand(isa, &operand[i], first_segment(&operand[i], bits),
				   &insn->operand[i]);
	for (unsigned int i = 0; opcode->checked && i < count; i++)
		bad |= !immediate_allowed(isa, &operand[i], insn->operand[i].value);
	return !bad;
}

static inline bool decode_as(const struct pesa_isa *isa, unsigned int id, uint64_t bits,
			     unsigned int length, struct pesa_insn *insn)
{
	const struct riscv_opcode *opcode = &riscv_opcodes[id];

	insn->opcode = id;
	insn->length = length;
	insn->operands = opcode->operands;
	insn->bits = bits;
	if (opcode->scatter == RISCV_NO_SCATTER)
		return decode_any(isa, opcode, bits, insn);
	return decode_simple(isa, opcode, bits, insn);
}

bool riscv_decode_as(const struct pesa_isa *isa, unsigned int id, uint64_t bits,
		     struct pesa_insn *insn)
{
	return decode_as(isa, id, bits, riscv_opcodes[id].public.length, insn);
}

static inline bool fixed_bits_agree(unsigned int id, uint64_t bits)
{
	return (bits & riscv_opcodes[id].mask) == riscv_opcodes[id].match;
}

/*
 * As in LLVM: within a decoder table, the first opcode with matching fixed bits is used; if one of
 * its operands is invalid, the next table is tried.
 */
static bool decode_list(const struct pesa_isa *isa, const uint16_t *ids, uint64_t bits,
			unsigned int length, struct pesa_insn *insn)
{
	int failed_table = -1;

	for (; *ids != RISCV_CELL_EMPTY; ids++) {
		if (!fixed_bits_agree(*ids, bits) || riscv_opcodes[*ids].table == failed_table)
			continue;
		if (decode_as(isa, *ids, bits, length, insn))
			return true;
		failed_table = riscv_opcodes[*ids].table;
	}
	return false;
}

static inline bool decode_cell(const struct pesa_isa *isa, uint16_t cell, uint64_t bits,
			       unsigned int length, struct pesa_insn *insn)
{
	if (cell < RISCV_CELL_LIST)
		return fixed_bits_agree(cell, bits) && decode_as(isa, cell, bits, length, insn);
	if (cell == RISCV_CELL_EMPTY)
		return false;
	return decode_list(isa, isa->lists + (cell - RISCV_CELL_LIST), bits, length, insn);
}

static bool decode_short_slowly(const struct pesa_isa *isa, unsigned int bits,
				struct pesa_insn *insn)
{
	return decode_cell(isa, isa->cells_16[riscv_cell_16(bits)], bits, 2, insn);
}

/* Decode a 16-bit instruction at its first use, and store the result. */
static bool store_short(const struct pesa_isa *isa, struct riscv_short *result, unsigned int bits,
			struct pesa_insn *insn)
{
	uint8_t state = RISCV_SHORT_UNKNOWN;
	bool valid = decode_short_slowly(isa, bits, insn);

	if (!atomic_compare_exchange_strong_explicit(&result->state, &state, RISCV_SHORT_CLAIMED,
						     memory_order_relaxed, memory_order_relaxed))
		return valid;
	result->opcode = valid ? insn->opcode : RISCV_CELL_EMPTY;
	result->operands = valid ? insn->operands : 0;
	for (unsigned int i = 0; i < result->operands && i < RISCV_SHORT_OPERANDS; i++) {
		result->operand[i].kind = insn->operand[i].kind;
		result->operand[i].output = insn->operand[i].output;
		result->operand[i].registers = insn->operand[i].registers;
		result->operand[i].value = insn->operand[i].value;
	}
	atomic_store_explicit(&result->state, RISCV_SHORT_KNOWN, memory_order_release);
	return valid;
}

static inline bool decode_short(const struct pesa_isa *isa, unsigned int bits,
				struct pesa_insn *insn)
{
	struct riscv_short *known = &isa->shorts[riscv_short_index(bits)];

	if (__builtin_expect(atomic_load_explicit(&known->state, memory_order_acquire) !=
				     RISCV_SHORT_KNOWN,
			     0))
		return store_short(isa, known, bits, insn);
	if (known->opcode == RISCV_CELL_EMPTY)
		return false;
	if (known->operands > RISCV_SHORT_OPERANDS)
		return decode_as(isa, known->opcode, bits, 2, insn);
	insn->opcode = known->opcode;
	insn->length = 2;
	insn->operands = known->operands;
	insn->bits = bits;
#pragma GCC unroll 3
	for (unsigned int i = 0; i < RISCV_SHORT_OPERANDS; i++) {
		memcpy(&insn->operand[i], &known->operand[i],
		       offsetof(struct riscv_short_operand, value));
		insn->operand[i].value = known->operand[i].value;
	}
	return true;
}

/*
 * The length is computed from the bits alone, without the tables, so that the decoding of the
 * caller's next instruction does not wait for loads of this one.
 */
unsigned int pesa_insn_decode(const struct pesa_isa *isa, const void *bytes, size_t size,
			      struct pesa_insn *insn)
{
	const uint8_t *byte = bytes;
	uint64_t bits;

	if (size < 2)
		return 0;
	bits = byte[0] | byte[1] << 8;
	if ((bits & 3) != 3)
		return decode_short(isa, bits, insn) ? 2 : 0;
	if (size < 4)
		return 0;
	bits |= (uint64_t)byte[2] << 16 | (uint64_t)byte[3] << 24;
	if ((bits & 0x1c) != 0x1c)
		return decode_cell(isa, isa->cells_32[riscv_cell_32(isa, bits)], bits, 4, insn) ? 4
												: 0;
	if ((bits & 0x3f) != 0x1f || size < 6)
		return 0;
	bits |= (uint64_t)byte[4] << 32 | (uint64_t)byte[5] << 40;
	return decode_cell(isa, isa->list_48, bits, 6, insn) ? 6 : 0;
}
