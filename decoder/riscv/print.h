/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What printing needs beside the tables of instructions. */
#ifndef PESA_RISCV_PRINT_H
#define PESA_RISCV_PRINT_H

#include "decoder/riscv/isa.h"

/* The name of a CSR in this instruction set, or NULL if it has none. */
const char *riscv_csr_name(const struct pesa_isa *isa, unsigned int number);

/* The alias that an instruction is printed as, or NULL. */
const struct riscv_alias *riscv_alias_find(const struct pesa_isa *isa,
					   const struct pesa_insn *insn);

/* The instruction that a compressed one stands for.  False: it stands for itself. */
bool riscv_expand(const struct pesa_isa *isa, const struct pesa_insn *insn, struct pesa_insn *full);

#endif
