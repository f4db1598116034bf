/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The number of registers of the operands of a vector instruction.
 *
 * An operand is a group of LMUL registers unless the instruction says otherwise (RISC-V V extension
 * 1.0).  Destinations of widening instructions and sources of narrowing ones have 2 * LMUL
 * registers; index vectors and memory data EEW / SEW * LMUL; fields of a segment follow each other;
 * masks and scalars have one register.
 */
#ifndef TOOLS_VCORE_CORE_VECTOR_GROUP_H
#define TOOLS_VCORE_CORE_VECTOR_GROUP_H

#include "pesa/mca.h"
#include "pesa/riscv.h"

/* log2(LMUL). */
int vector_log(enum pesa_mca_lmul lmul);

/*
 * The number of registers of the operand of `insn` that begins at vector register `number` (0 to
 * 31), under LMUL and SEW (0: unknown, then 1).  For a load or store with an element width, LMUL is
 * that of its data.  If several operands begin there, the largest counts.  Groups end at v31.
 */
unsigned int vector_group_size(const struct pesa_insn *insn, enum pesa_mca_lmul lmul,
			       unsigned int sew, unsigned int number);

#endif
