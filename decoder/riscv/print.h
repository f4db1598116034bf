/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What printing and reading assembly need beside the tables of instructions. */
#ifndef PESA_RISCV_PRINT_H
#define PESA_RISCV_PRINT_H

#include "decoder/riscv/isa.h"

/* The name of a CSR in this instruction set, or NULL if it has none. */
const char *riscv_csr_name(const struct pesa_isa *isa, unsigned int number);

/* The alias that an instruction is printed as, or NULL. */
const struct riscv_alias *riscv_alias_find(const struct pesa_isa *isa,
					   const struct pesa_insn *insn);

/* Whether all conditions on operands hold. */
bool riscv_matches_hold(const struct pesa_isa *isa, const struct pesa_insn *insn,
			const struct riscv_match *matches);

/* Constants of fli (Zfa) by the bits of the operand, and rounding modes, as they are written. */
extern const char *const riscv_float_constants[32];
extern const char *const riscv_rounding_modes[8];

/* Bytes that a Zcmp register list takes on the stack. */
int64_t riscv_list_bytes(unsigned int xlen, unsigned int list);

/* The instruction that a compressed one stands for.  False: it stands for itself. */
bool riscv_expand(const struct pesa_isa *isa, const struct pesa_insn *insn, struct pesa_insn *full);

#endif
