/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The operands of an instruction as registers of the engine, see operands.h. */
#include "decoder/mca/model/operands.h"

#include <string.h>

#include "pesa/error.h"

struct pesa_error *mca_read_operands(const struct pesa_mca_instruction *instruction, int opcode,
				     struct mca_operands *operands)
{
	const struct pesa_insn *insn = &instruction->insn;

	*operands = (struct mca_operands){.opcode = &mca_opcodes[opcode]};
	operands->outputs = strlen(operands->opcode->outputs);
	operands->count = operands->outputs + strlen(operands->opcode->inputs);
	if (operands->count != insn->operands || operands->count > MCA_OPERANDS_MAX)
		return pesa_error_create(PESA_ERROR_UNSUPPORTED,
					 "%s has %u operands, not the %u that its description has",
					 operands->opcode->name, insn->operands, operands->count);
	for (unsigned int i = 0; i < operands->count; i++) {
		char letter = i < operands->outputs
				      ? operands->opcode->outputs[i]
				      : operands->opcode->inputs[i - operands->outputs];

		operands->is_register[i] = letter != '-';
		if (operands->is_register[i] && insn->operand[i].kind == PESA_OPERAND_REGISTER)
			operands->reg[i] = mca_register_from(letter, insn->operand[i].value);
	}
	return NULL;
}

unsigned int mca_implicit_registers(const char *names, uint16_t *registers)
{
	unsigned int count = 0;

	while (*names) {
		size_t length = strcspn(names, " ");

		registers[count++] = mca_register_find(names, length);
		names += length;
		names += *names == ' ';
	}
	return count;
}

bool mca_is_call(const struct mca_operands *operands)
{
	const char *name = operands->opcode->name;

	if (strchr(operands->opcode->flags, 'C'))
		return true;
	return (!strcmp(name, "JAL") || !strcmp(name, "JALR")) &&
	       operands->reg[0] != MCA_REGISTER_X;
}

bool mca_is_return(const struct mca_operands *operands)
{
	const char *name = operands->opcode->name;
	unsigned int link = 0;

	if (strchr(operands->opcode->flags, 'R'))
		return true;
	if (!strcmp(name, "JALR") && operands->reg[0] == MCA_REGISTER_X)
		link = operands->reg[1];
	else if (!strcmp(name, "C_JR"))
		link = operands->reg[0];
	return link == MCA_REGISTER_X + 1 || link == MCA_REGISTER_X + 5;
}
