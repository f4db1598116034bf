/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Selection of the alias, and of the uncompressed instruction, with which an instruction is
 * printed. */
#include <string.h>

#include "decoder/riscv/print.h"

/* vtype with a widening factor: bits 9 and 10 are its logarithm plus 1.  Other than that only vsew
 * and altfmt may be set, and element width times factor is at most 64. */
static bool is_widening_vtype(uint64_t value)
{
	unsigned int width = 8u << (value >> 3 & 7), factor = value >> 9 & 3;

	return !(value & ~UINT64_C(0x738)) && factor && width << (factor - 1) <= 64;
}

/* Whether an operand of this type can have this value. */
static bool type_accepts(const struct pesa_isa *isa, const struct riscv_operand_type *type,
			 int64_t value)
{
	int64_t limit = INT64_C(1) << type->width;

	switch ((enum riscv_method)type->method) {
	case METHOD_UNSIGNED:
		return value >= type->minimum && value < limit;
	case METHOD_SIGNED:
	case METHOD_TARGET:
		return value >= -limit / 2 && value < limit / 2 && (value || !type->minimum);
	case METHOD_SHIFT_AMOUNT:
		return value >= type->minimum && value < isa->xlen;
	case METHOD_PLUS_ONE:
		return value >= 1 && value >= type->minimum && value <= limit;
	case METHOD_STORE_LIST:
		return value == 0 || value == 1 || value == 2 || value == 4 || value == 8 ||
		       value == 15 || value == 16 || value == 31;
	case METHOD_C_LUI:
		return (value > 0 && value < 32) || (value >= 0xfffe0 && value <= 0xfffff);
	default:
		return false; /* no pattern uses the other methods */
	}
}

static bool class_has(const struct riscv_register_class *class, int64_t number)
{
	for (size_t i = 0; i < sizeof(class->member); i++)
		if (class->member[i] == number && number != RISCV_REGISTER_INVALID)
			return true;
	return false;
}

static bool match_holds(const struct pesa_isa *isa, const struct pesa_insn *insn,
			const struct riscv_match *match)
{
	const struct pesa_operand *operand = &insn->operand[match->operand];

	switch ((enum riscv_match_kind)match->kind) {
	case MATCH_NUMBER:
		return operand->value == match->value;
	case MATCH_SAME:
		return operand->value == insn->operand[match->value].value;
	case MATCH_CLASS:
		return class_has(&riscv_register_classes[match->value], operand->value);
	case MATCH_TYPE:
		return type_accepts(isa, &riscv_operand_types[match->value], operand->value);
	case MATCH_WIDENING_VTYPE:
		return is_widening_vtype(operand->value);
	case MATCH_END:
		break;
	}
	return true;
}

bool riscv_matches_hold(const struct pesa_isa *isa, const struct pesa_insn *insn,
			const struct riscv_match *matches)
{
	for (unsigned int i = 0; i < RISCV_MATCHES_MAX && matches[i].kind != MATCH_END; i++)
		if (!match_holds(isa, insn, &matches[i]))
			return false;
	return true;
}

const struct riscv_alias *riscv_alias_find(const struct pesa_isa *isa, const struct pesa_insn *insn)
{
	unsigned int low = 0, high = riscv_alias_count;

	while (low < high) {
		unsigned int middle = (low + high) / 2;

		if (riscv_aliases[middle].opcode < insn->opcode)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < riscv_alias_count && riscv_aliases[low].opcode == insn->opcode; low++)
		if (isa->conditions[riscv_aliases[low].condition] &&
		    riscv_matches_hold(isa, insn, riscv_aliases[low].matches))
			return &riscv_aliases[low];
	return NULL;
}

static void expand(const struct pesa_insn *insn, const struct riscv_substitution *expansion,
		   struct pesa_insn *full)
{
	const struct riscv_opcode *opcode = &riscv_opcodes[expansion->other];

	*full = *insn;
	full->opcode = expansion->other;
	full->operands = opcode->operands;
	for (unsigned int i = 0; i < opcode->operands; i++) {
		const struct riscv_source *source = &expansion->sources[i];
		struct pesa_operand *operand = &full->operand[i];

		if (source->kind == SOURCE_COPY) {
			*operand = insn->operand[source->value];
		} else {
			operand->kind = source->kind == SOURCE_REGISTER ? PESA_OPERAND_REGISTER
									: PESA_OPERAND_IMMEDIATE;
			operand->registers = 1;
			operand->value = source->value;
		}
		operand->output = i < opcode->outputs;
	}
}

bool riscv_expand(const struct pesa_isa *isa, const struct pesa_insn *insn, struct pesa_insn *full)
{
	unsigned int low = 0, high = riscv_expansion_count;

	while (low < high) {
		unsigned int middle = (low + high) / 2;

		if (riscv_expansions[middle].opcode < insn->opcode)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < riscv_expansion_count && riscv_expansions[low].opcode == insn->opcode; low++)
		if (isa->conditions[riscv_expansions[low].condition] &&
		    riscv_matches_hold(isa, insn, riscv_expansions[low].matches)) {
			expand(insn, &riscv_expansions[low], full);
			return true;
		}
	return false;
}
