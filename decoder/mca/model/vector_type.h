/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The vector type that code sets: LMUL and SEW, as far as the instructions tell. */
#ifndef DECODER_MCA_MODEL_VECTOR_TYPE_H
#define DECODER_MCA_MODEL_VECTOR_TYPE_H

#include <string.h>

#include "pesa/mca.h"

/* Whether it is one of vsetvli, vsetivli and vsetvl. */
static inline bool mca_sets_vector_type(const struct pesa_insn *insn)
{
	return !strncmp(pesa_opcode_get(insn->opcode)->mnemonic, "vset", 4);
}

/* After an instruction: the type that it sets; unchanged if it sets none. */
static inline void mca_vector_type(const struct pesa_insn *insn, uint8_t *lmul, uint8_t *sew)
{
	static const uint8_t lmuls[] = {
		PESA_MCA_LMUL_1,    PESA_MCA_LMUL_2,   PESA_MCA_LMUL_4,	  PESA_MCA_LMUL_8,
		PESA_MCA_LMUL_NONE, PESA_MCA_LMUL_1_8, PESA_MCA_LMUL_1_4, PESA_MCA_LMUL_1_2,
	};
	uint64_t type;

	if (!mca_sets_vector_type(insn))
		return;
	*lmul = PESA_MCA_LMUL_NONE;
	*sew = 0;
	if (!insn->operands || insn->operand[insn->operands - 1].kind != PESA_OPERAND_IMMEDIATE)
		return;
	type = (uint64_t)insn->operand[insn->operands - 1].value;
	*lmul = lmuls[type & 7];
	*sew = (type >> 3 & 7) <= 3 ? (uint8_t)(8u << (type >> 3 & 7)) : 0;
}

#endif
