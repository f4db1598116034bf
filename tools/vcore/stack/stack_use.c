// SPDX-License-Identifier: GPL-2.0-or-later
/* What an instruction does with the stack pointer: see call_stack.h. */
#include <string.h>

#include "tools/vcore/stack/call_stack.h"

#define SP (PESA_REGISTER_X0 + 2)

static bool is_sp(const struct pesa_operand *operand)
{
	return operand->kind == PESA_OPERAND_REGISTER && operand->value == SP;
}

/* The operands end in sp and an immediate. */
static bool ends_in_sp_and_offset(const struct pesa_insn *insn, int32_t *offset)
{
	const struct pesa_operand *last = &insn->operand[insn->operands - 1];

	if (insn->operands < 2 || last->kind != PESA_OPERAND_IMMEDIATE || !is_sp(last - 1) ||
	    last[-1].output || last->value != (int32_t)last->value)
		return false;
	*offset = (int32_t)last->value;
	return true;
}

/* Whether the first operand, which a store writes to memory and a load from it, is sp. */
static bool transfers_sp(const struct pesa_insn *insn, bool load)
{
	return insn->operands && is_sp(&insn->operand[0]) && insn->operand[0].output == load;
}

uint8_t stack_use_of(const struct pesa_insn *insn, int32_t *offset)
{
	static const char *const adds[] = {"ADDI", "C_ADDI", "C_ADDI16SP"};
	const struct pesa_opcode *opcode = pesa_opcode_get(insn->opcode);
	const uint32_t other = PESA_OPCODE_VECTOR | PESA_OPCODE_ATOMIC;
	bool load = opcode->properties & PESA_OPCODE_LOAD && !(opcode->properties & other);
	bool store = opcode->properties & PESA_OPCODE_STORE && !(opcode->properties & other);
	struct pesa_register_list defs, uses;
	bool writes = false;
	uint8_t use;

	*offset = 0;
	pesa_insn_registers(insn, &defs, &uses);
	for (unsigned int i = 0; i < defs.count; i++)
		writes |= defs.registers[i] == SP;
	if (!writes) {
		use = (load || store) && ends_in_sp_and_offset(insn, offset) ? STACK_USE_ACCESS
									     : STACK_USE_NONE;
		if (store)
			use |= STACK_USE_STORES;
		return store && transfers_sp(insn, false) ? use | STACK_USE_SAVES : use;
	}
	if (load && transfers_sp(insn, true))
		return STACK_USE_LOAD;
	for (size_t i = 0; i < sizeof(adds) / sizeof(*adds); i++)
		if (!strcmp(opcode->name, adds[i]) && ends_in_sp_and_offset(insn, offset))
			return STACK_USE_ADD;
	return STACK_USE_SET;
}
