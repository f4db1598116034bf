/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pseudo-instructions that expand to two instructions, or that have no opcode of their name. */
#ifndef PESA_RISCV_PSEUDO_H
#define PESA_RISCV_PSEUDO_H

#include "decoder/riscv/operand.h"

/* False: not a supported pseudo-instruction, or malformed operands. */
bool riscv_assemble_pseudo(const struct pesa_isa *isa, const char *name, size_t length,
			   struct riscv_cursor operands, struct pesa_assembly *assembly);

#endif
