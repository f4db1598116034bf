/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An instruction while it is bound (block.c): its opcode, and its operands as registers of the engine. */
#ifndef DECODER_MCA_MODEL_OPERANDS_H
#define DECODER_MCA_MODEL_OPERANDS_H

#include "decoder/mca/model/registers.h"
#include "pesa/mca.h"

#define MCA_OPERANDS_MAX 16
#define MCA_IMPLICIT_MAX 24

struct mca_operands {
	const struct mca_opcode *opcode;
	unsigned int outputs, count;
	bool is_register[MCA_OPERANDS_MAX];
	uint16_t reg[MCA_OPERANDS_MAX];
};

/* `opcode`: index of the instruction's opcode.  An error if its description has other operands. */
struct pesa_error *mca_read_operands(const struct pesa_mca_instruction *instruction, int opcode,
				     struct mca_operands *operands);
/* Parse a list of register names such as "VL VTYPE"; returns their number, at most MCA_IMPLICIT_MAX. */
unsigned int mca_implicit_registers(const char *names, uint16_t *registers);
/* Whether it calls a function, or returns from one: by LLVM's flags, or by the link register. */
bool mca_is_call(const struct mca_operands *operands);
bool mca_is_return(const struct mca_operands *operands);

#endif
