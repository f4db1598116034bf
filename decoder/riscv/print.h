/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions shared by printing and parsing assembly, besides the tables of instructions. */
#ifndef PESA_RISCV_PRINT_H
#define PESA_RISCV_PRINT_H

#include "decoder/riscv/isa.h"

/* The name of a CSR in this instruction set; NULL: none. */
const char *riscv_csr_name(const struct pesa_isa *isa, unsigned int number);

/* The alias with which an instruction is printed; NULL: none. */
const struct riscv_alias *riscv_alias_find(const struct pesa_isa *isa,
					   const struct pesa_insn *insn);

/* Whether all conditions on operands hold. */
bool riscv_matches_hold(const struct pesa_isa *isa, const struct pesa_insn *insn,
			const struct riscv_match *matches);

/* Constants of fli (Zfa) by the bits of the operand, and rounding modes, as they are printed. */
extern const char *const riscv_float_constants[32];
extern const char *const riscv_rounding_modes[8];

/* Stack size in bytes of a Zcmp register list. */
int64_t riscv_list_bytes(unsigned int xlen, unsigned int list);

/* The expansion of a compressed instruction.  False: the instruction is not compressed. */
bool riscv_expand(const struct pesa_isa *isa, const struct pesa_insn *insn, struct pesa_insn *full);

#endif
