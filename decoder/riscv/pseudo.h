/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pseudo-instructions that are two instructions, or of which no opcode has the name. */
#ifndef PESA_RISCV_PSEUDO_H
#define PESA_RISCV_PSEUDO_H

#include "decoder/riscv/operand.h"

/* False: it is none of those that are known, or its operands are not understood. */
bool riscv_assemble_pseudo(const struct pesa_isa *isa, const char *name, size_t length,
			   struct riscv_cursor operands, struct pesa_assembly *assembly);

#endif
