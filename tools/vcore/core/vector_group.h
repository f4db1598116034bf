/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How many registers the operands of a vector instruction are.
 *
 * An operand is a group of registers: LMUL of them, where the instruction does not say otherwise
 * (RISC-V V extension 1.0).  Destinations of widening instructions and sources of narrowing ones
 * have twice as many, index vectors and loaded or stored data as many as their element width makes
 * of LMUL, fields of a segment follow each other; masks and scalars are one register.
 */
#ifndef TOOLS_VCORE_CORE_VECTOR_GROUP_H
#define TOOLS_VCORE_CORE_VECTOR_GROUP_H

#include "pesa/mca.h"
#include "pesa/riscv.h"

/* log2(LMUL). */
int vector_log(enum pesa_mca_lmul lmul);

/*
 * The registers of the operand of `insn` that begins with vector register `number` (0 to 31), under
 * LMUL and SEW (0: not known, then 1).  LMUL of a load or store that has an element width is that
 * of its data.  Of several operands that begin there the largest counts. Groups that would reach
 * beyond v31 end there.
 */
unsigned int vector_group_size(const struct pesa_insn *insn, enum pesa_mca_lmul lmul,
			       unsigned int sew, unsigned int number);

#endif
