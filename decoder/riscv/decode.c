/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bytes to opcode and operands. */
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

static inline uint64_t segment_bits(uint64_t bits, unsigned int place, unsigned int width,
				    unsigned int low)
{
	return (bits >> place & ((UINT64_C(1) << width) - 1)) << low;
}

/* The value of an immediate operand from its bits.  False: not allowed in this instruction. */
static bool immediate_value(const struct pesa_isa *isa, const struct riscv_operand_type *type,
			    uint64_t raw, int64_t *value)
{
	static const uint8_t store_list[8] = {0, 1, 2, 4, 8, 16, 15, 31};
	unsigned int unused = 64 - type->width;

	*value = raw;
	switch ((enum riscv_method)type->method) {
	case METHOD_SIGNED:
	case METHOD_TARGET:
		*value = (int64_t)(raw << type->shift << unused) >> unused;
		return raw >= type->minimum;
	case METHOD_UNSIGNED:
		return raw >= type->minimum;
	case METHOD_PLUS_ONE:
		*value = raw + 1;
		return raw + 1 >= type->minimum;
	case METHOD_SHIFT_AMOUNT:
		return raw >= type->minimum && raw < isa->xlen;
	case METHOD_C_LUI:
		*value = raw > 31 ? raw | 0xfffc0 : raw;
		return raw != 0;
	case METHOD_ROUNDING_MODE:
		return raw <= 4 || raw == 7;
	case METHOD_ROUND_TO_ZERO:
		return raw == 1;
	case METHOD_STORE_LIST:
		*value = store_list[raw & 7];
		return true;
	case METHOD_REGISTER_LIST:
		return raw >= type->minimum && (raw <= 6 || !isa->embedded);
	case METHOD_CONSTANT:
		*value = type->minimum;
		return true;
	case METHOD_REGISTER:
		break;
	}
	return false;
}

static inline bool decode_operands(const struct pesa_isa *isa, const struct riscv_opcode *opcode,
				   uint64_t bits, struct pesa_insn *insn)
{
	const struct riscv_operand *operand = &riscv_operands[opcode->first];
	struct pesa_operand *result = insn->operand;
	unsigned int outputs = opcode->outputs;

	for (unsigned int i = 0; i < opcode->operands; i++, operand++, result++) {
		const struct riscv_operand_type *type = &riscv_operand_types[operand->type];
		uint64_t raw = segment_bits(bits, operand->place, operand->width, operand->low);

		for (unsigned int part = 0; part < operand->more; part++) {
			const struct riscv_segment *segment =
				&riscv_segments[operand->first + part];

			raw |= segment_bits(bits, segment->place, segment->width, segment->low);
		}
		result->output = i < outputs;
		if (operand->method == METHOD_REGISTER) {
			const struct riscv_register_class *class =
				&riscv_register_classes[type->width];
			unsigned int number = class->member[raw & 31];

			if (number == RISCV_REGISTER_INVALID ||
			    (isa->embedded && class->limited && number >= 16))
				return false;
			result->kind = PESA_OPERAND_REGISTER;
			result->registers = class->registers;
			result->value = number;
			continue;
		}
		result->kind = operand->method == METHOD_TARGET ? PESA_OPERAND_TARGET
								: PESA_OPERAND_IMMEDIATE;
		result->registers = 1;
		if (!immediate_value(isa, type, raw, &result->value))
			return false;
	}
	return true;
}

/* Decode as this opcode if its fixed bits agree.  -1: they do not, 0: an operand is invalid. */
static inline int decode_as(const struct pesa_isa *isa, unsigned int id, uint64_t bits,
			    struct pesa_insn *insn)
{
	const struct riscv_opcode *opcode = &riscv_opcodes[id];

	if ((bits & opcode->mask) != opcode->match)
		return -1;
	insn->opcode = id;
	insn->length = opcode->public.length;
	insn->operands = opcode->operands;
	insn->bits = bits;
	return decode_operands(isa, opcode, bits, insn);
}

/*
 * As LLVM does: within a decoder table, the first opcode whose fixed bits agree is the one; if one
 * of its operands is invalid, the next table is asked.
 */
static unsigned int decode_list(const struct pesa_isa *isa, const uint16_t *ids, uint64_t bits,
				struct pesa_insn *insn)
{
	int failed_table = -1;

	for (; *ids != RISCV_CELL_EMPTY; ids++) {
		int result;

		if (riscv_opcodes[*ids].table == failed_table)
			continue;
		result = decode_as(isa, *ids, bits, insn);
		if (result > 0)
			return insn->length;
		if (result == 0)
			failed_table = riscv_opcodes[*ids].table;
	}
	return 0;
}

unsigned int pesa_insn_decode(const struct pesa_isa *isa, const void *bytes, size_t size,
			      struct pesa_insn *insn)
{
	const uint8_t *byte = bytes;
	uint64_t bits;
	uint16_t cell;

	if (size < 2)
		return 0;
	bits = byte[0] | byte[1] << 8;
	if ((bits & 3) != 3) {
		cell = isa->cells_16[bits];
	} else {
		if (size < 4)
			return 0;
		bits |= (uint64_t)byte[2] << 16 | (uint64_t)byte[3] << 24;
		if ((bits & 0x1c) != 0x1c) {
			cell = isa->cells_32[riscv_cell_32(bits)];
		} else {
			if ((bits & 0x3f) != 0x1f || size < 6)
				return 0;
			bits |= (uint64_t)byte[4] << 32 | (uint64_t)byte[5] << 40;
			cell = isa->list_48;
		}
	}
	if (cell < RISCV_CELL_LIST)
		return decode_as(isa, cell, bits, insn) > 0 ? insn->length : 0;
	if (cell == RISCV_CELL_EMPTY)
		return 0;
	return decode_list(isa, isa->lists + (cell - RISCV_CELL_LIST), bits, insn);
}
