/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Operands to bits: the inverse of decode.c, from the same tables. */
#ifndef PESA_RISCV_ENCODE_H
#define PESA_RISCV_ENCODE_H

#include "decoder/riscv/isa.h"

/* Values of the operands of an opcode; those that follow from others need not be known. */
struct riscv_values {
	int64_t value[PESA_OPERANDS_MAX];
	bool known[PESA_OPERANDS_MAX];
};

/* The instruction with these operands.  False: an operand cannot have its value, or LLVM's
   assembler refuses the combination. */
bool riscv_encode(const struct pesa_isa *isa, unsigned int opcode,
		  const struct riscv_values *values, struct pesa_insn *insn);

/* The shorter instruction that LLVM's assembler puts in place of one.  False: there is none. */
bool riscv_compress(const struct pesa_isa *isa, const struct pesa_insn *insn,
		    struct pesa_insn *shorter);

#endif
