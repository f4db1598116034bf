/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pseudo-instructions: their expansion by LLVM's assembler, without linker relaxation.  See
 * pseudo.h. */
#include <string.h>

#include "decoder/riscv/pseudo.h"

/* Make an instruction from an opcode name and up to three operands. */
static bool make(const struct pesa_isa *isa, const char *name, int64_t first, int64_t second,
		 int64_t third, struct pesa_insn *insn)
{
	struct riscv_values values = {{first, second, third}, {false}};
	int opcode = pesa_opcode_find(name);

	if (opcode < 0 || !isa->conditions[riscv_opcodes[opcode].condition])
		return false;
	for (unsigned int i = 0; i < riscv_opcodes[opcode].operands && i < 3; i++)
		values.known[i] = true;
	return riscv_encode(isa, opcode, &values, insn);
}

static bool exists(const struct pesa_isa *isa, const char *name)
{
	int opcode = pesa_opcode_find(name);

	return opcode >= 0 && isa->conditions[riscv_opcodes[opcode].condition];
}

static void shorten(const struct pesa_isa *isa, struct pesa_assembly *assembly)
{
	for (unsigned int i = 0; i < assembly->count; i++) {
		struct pesa_insn shorter;

		if (riscv_compress(isa, &assembly->insn[i], &shorter))
			assembly->insn[i] = shorter;
	}
}

/* ---- li -------------------------------------------------------------------------------------- */

/* Load a 32-bit number by its upper 20 bits and a signed addition. */
static bool upper_and_lower(const struct pesa_isa *isa, unsigned int to, int64_t value,
			    struct pesa_assembly *assembly)
{
	int64_t lower = ((value & 0xfff) ^ 0x800) - 0x800;
	int64_t upper = (value - lower) >> 12 & 0xfffff;
	/* The sum exceeds 31 bits: a 64-bit addition would give the wrong sign. */
	bool wraps = isa->xlen == 64 && (int32_t)((uint32_t)upper << 12) + lower != value;

	assembly->count = lower ? 2 : 1;
	return make(isa, "LUI", to, upper, 0, &assembly->insn[0]) &&
	       (!lower || make(isa, wraps ? "ADDIW" : "ADDI", to, to, lower, &assembly->insn[1]));
}

/* Numbers that need one instruction are an alias; with two, only 32-bit numbers are supported. */
static bool load_immediate(const struct pesa_isa *isa, struct riscv_cursor *cursor,
			   struct pesa_assembly *assembly)
{
	unsigned int to, zeros;
	int64_t value;
	bool made;

	if (!riscv_take_register(cursor, &to) || !riscv_take(cursor, ',') ||
	    !riscv_take_number(cursor, &value) || !riscv_at_end(cursor) || exists(isa, "QC_LI"))
		return false;
	if (isa->xlen == 32 && value >= 0 && value <= UINT32_MAX)
		value = (int32_t)value;
	/* 12-bit numbers are an alias, which was refused for a reason.  0x800 may be a single set
	 * bit. */
	if (value != (int32_t)value || (value >= -2048 && value < 2048) ||
	    (value == 2048 && exists(isa, "BSETI")))
		return false;
	zeros = __builtin_ctzll(value);
	assembly->count = 2;
	/* A small number that is shifted is shorter when compressed. */
	if (value & 0xfff && zeros && value >> zeros >= -32 && value >> zeros < 32)
		made = make(isa, "ADDI", to, 0, value >> zeros, &assembly->insn[0]) &&
		       make(isa, "SLLI", to, to, zeros, &assembly->insn[1]);
	else
		made = upper_and_lower(isa, to, value, assembly);
	if (made)
		shorten(isa, assembly);
	return made;
}

/* ---- Calls and addresses --------------------------------------------------------------------- */

static bool call_through(const struct pesa_isa *isa, struct riscv_cursor *cursor, unsigned int link,
			 unsigned int base, struct pesa_assembly *assembly)
{
	assembly->use = PESA_SYMBOL_CALL;
	assembly->count = 2;
	return riscv_take_symbol(cursor, &assembly->symbol, &assembly->symbol_length) &&
	       riscv_at_end(cursor) && make(isa, "AUIPC", base, 0, 0, &assembly->insn[0]) &&
	       make(isa, "JALR", link, base, 0, &assembly->insn[1]);
}

static bool call(const struct pesa_isa *isa, struct riscv_cursor *cursor,
		 struct pesa_assembly *assembly)
{
	return call_through(isa, cursor, 1, 1, assembly);
}

/* Zicfilp uses another register, which is not supported here. */
static bool tail(const struct pesa_isa *isa, struct riscv_cursor *cursor,
		 struct pesa_assembly *assembly)
{
	return call_through(isa, cursor, 0, 6, assembly);
}

static bool load_address(const struct pesa_isa *isa, struct riscv_cursor *cursor,
			 struct pesa_assembly *assembly)
{
	unsigned int to;

	assembly->use = PESA_SYMBOL_DISTANCE;
	assembly->count = 2;
	return riscv_take_register(cursor, &to) && riscv_take(cursor, ',') &&
	       riscv_take_symbol(cursor, &assembly->symbol, &assembly->symbol_length) &&
	       riscv_at_end(cursor) && make(isa, "AUIPC", to, 0, 0, &assembly->insn[0]) &&
	       make(isa, "ADDI", to, to, 0, &assembly->insn[1]);
}

bool riscv_assemble_pseudo(const struct pesa_isa *isa, const char *name, size_t length,
			   struct riscv_cursor operands, struct pesa_assembly *assembly)
{
	static const struct {
		const char *name;
		bool (*make)(const struct pesa_isa *isa, struct riscv_cursor *cursor,
			     struct pesa_assembly *assembly);
	} pseudos[] = {
		{"li", load_immediate}, {"call", call},	       {"tail", tail},
		{"la", load_address},	{"lla", load_address},
	};

	*assembly = (struct pesa_assembly){.use = PESA_SYMBOL_NONE};
	for (size_t i = 0; i < sizeof(pseudos) / sizeof(*pseudos); i++)
		if (strlen(pseudos[i].name) == length && !memcmp(pseudos[i].name, name, length))
			return pseudos[i].make(isa, &operands, assembly);
	return false;
}
