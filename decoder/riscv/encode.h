/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Encoding of operands: the inverse of decode.c, with the same tables.
 *
 * riscv_encode() makes an instruction from an opcode and operand values; riscv_compress() finds its
 * 16-bit form.
 */
#ifndef PESA_RISCV_ENCODE_H
#define PESA_RISCV_ENCODE_H

#include "decoder/riscv/isa.h"

/* Operand values of an opcode; those that follow from others may be unknown. */
struct riscv_values {
	int64_t value[PESA_OPERANDS_MAX];
	bool known[PESA_OPERANDS_MAX];
};

/* Encode an instruction.  False: a value cannot be encoded, or LLVM's assembler rejects the
 * combination. */
bool riscv_encode(const struct pesa_isa *isa, unsigned int opcode,
		  const struct riscv_values *values, struct pesa_insn *insn);

/* The 16-bit instruction by which LLVM's assembler replaces an instruction.  False: there is
 * none. */
bool riscv_compress(const struct pesa_isa *isa, const struct pesa_insn *insn,
		    struct pesa_insn *shorter);

#endif
