/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An instruction set: the enabled extensions, and the index by which decode.c finds opcodes.
 *
 * The index is built once, from the opcodes whose condition holds.  16-bit instructions are looked
 * up by quadrant and funct3 at their first use, and stored decoded.  32-bit instructions are looked
 * up by major opcode, funct3 and the relevant bits of funct7 (15 bits), 48-bit ones in one list.  A
 * cell is RISCV_CELL_EMPTY, the id of the only opcode that can match, or RISCV_CELL_LIST plus the
 * offset of a list of ids in the order of trial, terminated by RISCV_CELL_EMPTY.
 */
#ifndef PESA_RISCV_ISA_H
#define PESA_RISCV_ISA_H

#include <stddef.h>

#include "decoder/riscv/tables.h"

#define RISCV_CELL_EMPTY 0xffff
#define RISCV_CELL_LIST	 0x8000

#define RISCV_CELLS_16 32u
#define RISCV_CELLS_32 32768u

#define RISCV_FEATURE_WORDS 5

/* A decoded 16-bit instruction.  Those with more operands are decoded each time. */
#define RISCV_SHORT_OPERANDS 3

/* One thread stores the result; threads that need it in the meantime decode for themselves. */
enum riscv_short_state {
	RISCV_SHORT_UNKNOWN,
	RISCV_SHORT_CLAIMED,
	RISCV_SHORT_KNOWN,
};

struct riscv_short_operand {
	uint8_t kind; /* the fields before `value` are laid out as in struct pesa_operand */
	bool output;
	uint8_t registers;
	uint8_t unused;
	int32_t value;
};

struct riscv_short {
	uint16_t opcode; /* RISCV_CELL_EMPTY: not an instruction */
	uint8_t operands;
	_Atomic uint8_t
		state; /* enum riscv_short_state; the other fields are valid once it is known */
	struct riscv_short_operand operand[RISCV_SHORT_OPERANDS];
};

_Static_assert(offsetof(struct riscv_short_operand, kind) == offsetof(struct pesa_operand, kind) &&
		       offsetof(struct riscv_short_operand, output) ==
			       offsetof(struct pesa_operand, output) &&
		       offsetof(struct riscv_short_operand, registers) ==
			       offsetof(struct pesa_operand, registers) &&
		       offsetof(struct pesa_operand, value) >=
			       offsetof(struct riscv_short_operand, value),
	       "operands differ in layout");

struct pesa_isa {
	unsigned int xlen;
	bool embedded;		     /* RVE: x16..x31 do not exist */
	bool alternate_format;	     /* vtype has altfmt */
	uint64_t valid[VALID_COUNT]; /* by enum riscv_valid: bit n is set if the bits may be n */
	uint64_t features[RISCV_FEATURE_WORDS];
	/*
	 * By register class and bits: the register, as in riscv_register_classes, except for RVE.
	 * RISCV_CLASS_NONE has no invalid entries.
	 */
	uint8_t members[RISCV_CLASS_NONE + 1][32];
	uint8_t *conditions; /* by index in riscv_conditions: whether it holds */
	uint16_t *lists;
	uint16_t list_48; /* a cell */
	/* By riscv_short_index(); a cache that decoding fills even if the instruction set is
	 * const. */
	struct riscv_short *shorts;
	uint16_t cells_16[RISCV_CELLS_16]; /* by riscv_cell_16() */
	uint8_t funct7_masks[256];	   /* by major opcode and funct3: relevant bits of funct7 */
	uint16_t cells_32[RISCV_CELLS_32];
};

#define RISCV_SHORTS (3 * 16384u)

/* Index of a 16-bit instruction; its two lowest bits are not both set. */
static inline unsigned int riscv_short_index(unsigned int bits)
{
	return (bits & 3) << 14 | bits >> 2;
}

/* The cell of a 16-bit instruction: quadrant, funct3. */
static inline unsigned int riscv_cell_16(unsigned int bits)
{
	return (bits & 3) << 3 | bits >> 13;
}

/* The cell of a 32-bit instruction, before masking: major opcode, funct3, funct7. */
static inline unsigned int riscv_cell_bits(uint32_t bits)
{
	return (bits >> 2 & 0x1f) | (bits >> 12 & 7) << 5 | bits >> 25 << 8;
}

/*
 * The cell of a 32-bit instruction.  If no opcode tests funct7 (as in an immediate) its bits are
 * cleared, so that the cells in use are few and stay in the L1 cache.
 */
static inline unsigned int riscv_cell_32(const struct pesa_isa *isa, uint32_t bits)
{
	unsigned int cell = riscv_cell_bits(bits);

	return cell & (isa->funct7_masks[cell & 0xff] << 8 | 0xff);
}

/* Build the index of an instruction set whose other fields are set. */
struct pesa_error *riscv_index_build(struct pesa_isa *isa);

/* Decode the operands of a given opcode.  False: one is invalid. */
bool riscv_decode_as(const struct pesa_isa *isa, unsigned int id, uint64_t bits,
		     struct pesa_insn *insn);

#endif
