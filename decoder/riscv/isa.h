/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An instruction set: the extensions that are on, and the index by which decode.c finds opcodes.
 *
 * The index is built once, from the opcodes whose condition holds.  16-bit instructions are looked
 * up by all their bits, 32-bit ones by major opcode, funct3 and funct7 (15 bits), 48-bit ones in
 * one list. A cell is RISCV_CELL_EMPTY, the id of the only opcode that can match, or
 * RISCV_CELL_LIST plus the offset of a list of ids that ends with RISCV_CELL_EMPTY, in the order in
 * which they are tried.
 */
#ifndef PESA_RISCV_ISA_H
#define PESA_RISCV_ISA_H

#include "decoder/riscv/tables.h"

#define RISCV_CELL_EMPTY 0xffff
#define RISCV_CELL_LIST	 0x8000

#define RISCV_CELLS_16 65536u
#define RISCV_CELLS_32 32768u

#define RISCV_FEATURE_WORDS 5

struct pesa_isa {
	unsigned int xlen;
	bool embedded;	       /* RVE: x16..x31 do not exist */
	bool alternate_format; /* vtype has altfmt */
	uint64_t features[RISCV_FEATURE_WORDS];
	uint8_t *conditions; /* by index in riscv_conditions: whether it holds */
	uint16_t *lists;
	uint16_t list_48; /* a cell */
	uint16_t cells_16[RISCV_CELLS_16];
	uint16_t cells_32[RISCV_CELLS_32];
};

/* The cell of a 32-bit instruction. */
static inline unsigned int riscv_cell_32(uint32_t bits)
{
	return (bits >> 2 & 0x1f) | (bits >> 12 & 7) << 5 | bits >> 25 << 8;
}

/* Fill the index of an instruction set whose conditions are known. */
struct pesa_error *riscv_index_build(struct pesa_isa *isa);

#endif
