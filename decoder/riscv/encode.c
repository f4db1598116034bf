/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Encoding of operands: see encode.h. */
#include <string.h>

#include "decoder/riscv/encode.h"
#include "decoder/riscv/print.h"
#include "pesa/assemble.h"

/* The bits of an operand before they are distributed to its fields.  False: the value cannot be
 * encoded. */
static bool raw_bits(const struct pesa_isa *isa, const struct riscv_operand *operand, int64_t value,
		     uint64_t *raw)
{
	static const uint8_t store_list[8] = {0, 1, 2, 4, 8, 16, 15, 31};
	const struct riscv_operand_type *type = &riscv_operand_types[operand->type];

	switch ((enum riscv_method)type->method) {
	case METHOD_REGISTER:
		for (unsigned int bits = 0; bits < 32; bits++)
			if (isa->members[operand->register_class][bits] == value) {
				*raw = bits;
				return value != RISCV_REGISTER_INVALID;
			}
		return false;
	case METHOD_SIGNED:
	case METHOD_TARGET:
		*raw = (uint64_t)value >> type->shift;
		return true;
	case METHOD_PLUS_ONE:
		*raw = value - 1;
		return true;
	case METHOD_STORE_LIST:
		for (unsigned int bits = 0; bits < 8; bits++)
			if (store_list[bits] == value) {
				*raw = bits;
				return true;
			}
		return false;
	case METHOD_CONSTANT:
		*raw = 0;
		return true;
	case METHOD_UNSIGNED: /* the field may be wider than the allowed range */
		*raw = value;
		return !type->width || !((uint64_t)value >> type->width);
	default:
		*raw = value;
		return true;
	}
}

static uint64_t spread(const struct riscv_operand *operand, uint64_t raw)
{
	const struct riscv_segment *segment = &riscv_segments[operand->first];
	uint64_t bits = (raw >> operand->low & operand->mask) << operand->place;

	for (unsigned int part = 0; part < operand->more; part++, segment++)
		bits |= (raw >> segment->low & ((UINT64_C(1) << segment->width) - 1))
			<< segment->place;
	return bits;
}

/* ---- What an assembler refuses although it can be encoded ------------------------------------ */

/* Index of the first source of a vector instruction: a destination that is also read has two
 * operands. */
static unsigned int first_source(const struct riscv_opcode *opcode)
{
	const struct riscv_operand *operand = &riscv_operands[opcode->first];

	return opcode->operands > 1 && !operand[1].output &&
			       operand[1].kind == PESA_OPERAND_REGISTER &&
			       operand[1].place == operand[0].place
		       ? 2
		       : 1;
}

static bool is_destination(const struct pesa_insn *insn, unsigned int operand)
{
	return operand < insn->operands && insn->operand[operand].kind == PESA_OPERAND_REGISTER &&
	       insn->operand[operand].value == insn->operand[0].value;
}

/* Whether a vector destination overlaps a source that it must not overlap. */
static bool overlaps(const struct riscv_opcode *opcode, const struct pesa_insn *insn)
{
	unsigned int source = first_source(opcode), last = insn->operands - 1u;
	bool first, second;

	if (!opcode->constraint)
		return false;
	/* sf.vc.v.*vw: an immediate precedes the copy of the destination; its sources are the last
	 * operands. */
	if (insn->operand[1].kind != PESA_OPERAND_REGISTER)
		source = last - 1;
	first = opcode->constraint & RISCV_APART_FIRST;
	second = opcode->constraint & RISCV_APART_SECOND;
	if ((first && is_destination(insn, source)) || (second && is_destination(insn, source + 1)))
		return true;
	return opcode->constraint & RISCV_APART_MASK &&
	       insn->operand[0].value == PESA_REGISTER_V0 && is_destination(insn, last);
}

/* Opcodes whose first operands must all differ. */
static bool are_equal(const struct riscv_opcode *opcode, const struct pesa_insn *insn)
{
	static const struct {
		const char *name;
		unsigned int operands;
	} distinct[] = {
		{"CM_MVSA01", 2}, {"QC_CM_MVSA01", 2}, {"TH_LDD", 3}, {"TH_LWD", 3}, {"TH_LWUD", 3},
	};

	for (size_t i = 0; i < sizeof(distinct) / sizeof(*distinct); i++) {
		if (strcmp(distinct[i].name, opcode->public.name))
			continue;
		for (unsigned int n = 1; n < distinct[i].operands; n++)
			for (unsigned int other = 0; other < n; other++)
				if (insn->operand[n].value == insn->operand[other].value)
					return true;
	}
	return false;
}

/* Values that the disassembler prints but the assembler rejects. */
static bool too_large(const struct riscv_operand *operand, int64_t value)
{
	static const struct {
		const char *type;
		int64_t maximum;
	} limits[] = {{"rnum", 10}};
	const char *type = riscv_operand_types[operand->type].name;

	for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++)
		if (value > limits[i].maximum && !strcmp(type, limits[i].type))
			return true;
	return false;
}

/* ---- Encoding -------------------------------------------------------------------------------- */

bool riscv_encode(const struct pesa_isa *isa, unsigned int id, const struct riscv_values *values,
		  struct pesa_insn *insn)
{
	const struct riscv_opcode *opcode = &riscv_opcodes[id];
	const struct riscv_operand *operand = &riscv_operands[opcode->first];
	uint64_t bits = opcode->match, raw;

	for (unsigned int i = 0; i < opcode->operands; i++)
		if (values->known[i]) {
			if (!raw_bits(isa, &operand[i], values->value[i], &raw))
				return false;
			bits |= spread(&operand[i], raw);
		}
	/* If decoding gives other operands, a value was too large, misaligned or conflicts with
	 * another. */
	if ((bits & opcode->mask) != opcode->match || !riscv_decode_as(isa, id, bits, insn))
		return false;
	for (unsigned int i = 0; i < opcode->operands; i++)
		if (values->known[i] && (insn->operand[i].value != values->value[i] ||
					 too_large(&operand[i], values->value[i])))
			return false;
	return !overlaps(opcode, insn) && !are_equal(opcode, insn);
}

static bool substitute(const struct pesa_isa *isa, const struct pesa_insn *insn,
		       const struct riscv_substitution *rule, struct pesa_insn *other)
{
	struct riscv_values values = {0};

	if (!isa->conditions[rule->condition] || !riscv_matches_hold(isa, insn, rule->matches))
		return false;
	for (unsigned int i = 0; i < riscv_opcodes[rule->other].operands; i++) {
		const struct riscv_source *source = &rule->sources[i];

		values.known[i] = true;
		values.value[i] = source->kind == SOURCE_COPY ? insn->operand[source->value].value
							      : source->value;
	}
	return riscv_encode(isa, rule->other, &values, other);
}

bool riscv_compress(const struct pesa_isa *isa, const struct pesa_insn *insn,
		    struct pesa_insn *shorter)
{
	unsigned int low = 0, high = riscv_compression_count;

	while (low < high) {
		unsigned int middle = (low + high) / 2;

		if (riscv_compressions[middle].opcode < insn->opcode)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < riscv_compression_count && riscv_compressions[low].opcode == insn->opcode;
	     low++)
		if (substitute(isa, insn, &riscv_compressions[low], shorter))
			return true;
	return false;
}

bool pesa_assembly_set_target(const struct pesa_isa *isa, struct pesa_insn *insn,
			      int64_t displacement)
{
	struct riscv_values values = {0};
	bool found = false;

	for (unsigned int i = 0; i < insn->operands; i++) {
		bool target = insn->operand[i].kind == PESA_OPERAND_TARGET;

		values.known[i] = true;
		values.value[i] = target ? displacement : insn->operand[i].value;
		found |= target;
	}
	return found && riscv_encode(isa, insn->opcode, &values, insn);
}
