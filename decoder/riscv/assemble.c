/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Assembling one line: see include/pesa/assemble.h.
 *
 * All opcodes and aliases with the line's mnemonic are tried.  The tables do not contain the order
 * of preference of LLVM's assembler: if several fit and their results differ, the line is refused.
 */
#include <ctype.h>
#include <string.h>

#include "decoder/riscv/operand.h"
#include "decoder/riscv/print.h"
#include "decoder/riscv/pseudo.h"

static const struct riscv_alias *row_alias(uint16_t row)
{
	unsigned int place = row & ~MNEMONIC_KIND_MASK;

	switch (row & MNEMONIC_KIND_MASK) {
	case MNEMONIC_ALIAS:
		return &riscv_aliases[place];
	case MNEMONIC_INPUT:
		return &riscv_input_aliases[place];
	default:
		return NULL;
	}
}

static const char *row_mnemonic(uint16_t row)
{
	const struct riscv_alias *alias = row_alias(row);

	return alias ? alias->mnemonic : riscv_opcodes[row].public.mnemonic;
}

static int compare_name(const char *name, size_t length, const char *other)
{
	int order = strncmp(name, other, length);

	return order ? order : other[length] ? -1 : 0;
}

/* The first row of riscv_mnemonics that is not before this mnemonic. */
static unsigned int first_row(const char *name, size_t length)
{
	unsigned int low = 0, high = riscv_mnemonic_count;

	while (low < high) {
		unsigned int middle = (low + high) / 2;

		if (compare_name(name, length, row_mnemonic(riscv_mnemonics[middle])) > 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Set the operands that an alias fixes. */
static void fix_operands(const struct riscv_alias *alias, struct riscv_values *values)
{
	for (unsigned int i = 0; i < RISCV_MATCHES_MAX && alias->matches[i].kind != MATCH_END;
	     i++) {
		const struct riscv_match *match = &alias->matches[i];
		unsigned int operand = match->operand;

		if (match->kind == MATCH_NUMBER && !values->known[operand]) {
			values->value[operand] = match->value;
			values->known[operand] = true;
		} else if (match->kind == MATCH_SAME && !values->known[operand]) {
			values->value[operand] = values->value[match->value];
			values->known[operand] = values->known[match->value];
		}
	}
}

/* Try one row of riscv_mnemonics.  *reading is the start of the operands. */
static bool try_row(uint16_t row, struct riscv_reading *reading, struct pesa_insn *insn)
{
	const struct riscv_alias *alias = row_alias(row);
	unsigned int opcode = alias ? alias->opcode : row;
	const char *format = alias ? alias->format : riscv_formats[riscv_opcodes[opcode].format];
	const struct pesa_isa *isa = reading->isa;

	if (!isa->conditions[riscv_opcodes[opcode].condition] ||
	    (alias && !isa->conditions[alias->condition]) ||
	    !riscv_read_operands(reading, opcode, format))
		return false;
	if (alias)
		fix_operands(alias, &reading->values);
	return riscv_encode(isa, opcode, &reading->values, insn) &&
	       (!alias || riscv_matches_hold(isa, insn, alias->matches));
}

/* The mnemonic for which another one is an alias, or itself. */
static const char *resolve(const struct pesa_isa *isa, const char *name, size_t *length)
{
	for (unsigned int i = 0; i < riscv_mnemonic_alias_count; i++) {
		const struct riscv_mnemonic_alias *alias = &riscv_mnemonic_aliases[i];

		if (*alias->name == *name && isa->conditions[alias->condition] &&
		    !compare_name(name, *length, alias->name)) {
			*length = strlen(alias->other);
			return alias->other;
		}
	}
	return name;
}

/* MIPS renames some shifts of x0: text written as a shift is assembled as a shift. */
static bool is_renamed(unsigned int opcode)
{
	return !strncmp(riscv_opcodes[opcode].public.name, "MIPS_", 5);
}

/* Whether the bytes decode to the instruction from which they were made. */
static bool round_trips(const struct pesa_isa *isa, const struct pesa_insn *insn)
{
	uint8_t bytes[8];
	struct pesa_insn decoded;

	for (unsigned int i = 0; i < sizeof(bytes); i++)
		bytes[i] = insn->bits >> i * 8;
	return pesa_insn_decode(isa, bytes, sizeof(bytes), &decoded) == insn->length &&
	       (decoded.opcode == insn->opcode || is_renamed(decoded.opcode));
}

/* The replacement for a target out of range is known only for branches of the base ISA. */
static bool takes_symbol(const struct pesa_insn *insn)
{
	static const char *const names[] = {"BEQ", "BNE",    "BLT",    "BGE", "BLTU", "BGEU",
					    "JAL", "C_BEQZ", "C_BNEZ", "C_J", "C_JAL"};
	const char *name = riscv_opcodes[insn->opcode].public.name;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

/*
 * The instruction to which a compressed branch is relaxed: its expansion, which may have another
 * order of operands than the text.
 */
static bool grow(const struct pesa_isa *isa, const struct pesa_insn *shorter,
		 struct pesa_insn *grown)
{
	struct riscv_values values = {0};
	struct pesa_insn full;

	if (!riscv_expand(isa, shorter, &full))
		return false;
	for (unsigned int i = 0; i < full.operands; i++) {
		values.value[i] = full.operand[i].value;
		values.known[i] = true;
	}
	return riscv_encode(isa, full.opcode, &values, grown);
}

/* If there is only one instruction, compress it if possible. */
static bool finish(const struct pesa_isa *isa, struct pesa_assembly *assembly)
{
	struct pesa_insn shorter;

	assembly->count = 1;
	assembly->grows = false;
	if (assembly->use == PESA_SYMBOL_TARGET && !takes_symbol(&assembly->insn[0]))
		return false;
	/* An instruction with a number unknown until linking is not compressed. */
	if (assembly->use <= PESA_SYMBOL_TARGET &&
	    riscv_compress(isa, &assembly->insn[0], &shorter)) {
		assembly->insn[0] = shorter;
		assembly->grows = assembly->use == PESA_SYMBOL_TARGET;
		if (assembly->grows && !grow(isa, &shorter, &assembly->grown))
			return false;
	}
	return round_trips(isa, &assembly->insn[0]);
}

static bool match_line(const struct pesa_isa *isa, const char *name, size_t length,
		       struct riscv_cursor operands, struct pesa_assembly *assembly)
{
	bool found = false;

	for (unsigned int i = first_row(name, length);
	     i < riscv_mnemonic_count &&
	     !compare_name(name, length, row_mnemonic(riscv_mnemonics[i]));
	     i++) {
		struct riscv_reading reading = {.isa = isa, .cursor = operands};
		struct pesa_insn insn;

		if (!try_row(riscv_mnemonics[i], &reading, &insn))
			continue;
		if (found && insn.bits != assembly->insn[0].bits)
			return false;
		found = true;
		assembly->insn[0] = insn;
		assembly->use = reading.use;
		assembly->symbol = reading.symbol;
		assembly->symbol_length = reading.symbol_length;
	}
	return found;
}

bool pesa_assemble(const struct pesa_isa *isa, const char *line, size_t length,
		   struct pesa_assembly *assembly)
{
	struct riscv_cursor cursor = {line, line + length};
	const char *name;
	size_t name_length = riscv_take_name(&cursor, &name);

	if (!name_length || (cursor.at < cursor.end && *cursor.at != ' ' && *cursor.at != '\t'))
		return false;
	name = resolve(isa, name, &name_length);
	if (match_line(isa, name, name_length, cursor, assembly))
		return finish(isa, assembly);
	return riscv_assemble_pseudo(isa, name, name_length, cursor, assembly);
}
