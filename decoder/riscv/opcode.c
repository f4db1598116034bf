/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Properties of opcodes and decoded instructions: registers and control flow. */
#include <string.h>

#include "decoder/riscv/tables.h"

unsigned int pesa_opcode_count(void)
{
	return riscv_opcode_count;
}

const struct pesa_opcode *pesa_opcode_get(unsigned int id)
{
	return &riscv_opcodes[id].public;
}

int pesa_opcode_find(const char *name)
{
	unsigned int low = 0, high = riscv_opcode_count;

	while (low < high) {
		unsigned int middle = (low + high) / 2;
		int order = strcmp(name, riscv_opcodes[middle].public.name);

		if (!order)
			return middle;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return -1;
}

static void add_register(struct pesa_register_list *list, unsigned int number)
{
	if (number == PESA_REGISTER_X0 || number == PESA_REGISTER_NONE ||
	    list->count == PESA_REGISTERS_MAX)
		return;
	for (unsigned int i = 0; i < list->count; i++)
		if (list->registers[i] == number)
			return;
	list->registers[list->count++] = number;
}

static void add_implicit(struct pesa_register_list *list, unsigned int index)
{
	const struct riscv_register_list *implicit = &riscv_register_lists[index];

	for (unsigned int i = 0; i < implicit->count; i++)
		add_register(list, implicit->registers[i]);
}

void pesa_insn_registers(const struct pesa_insn *insn, struct pesa_register_list *defs,
			 struct pesa_register_list *uses)
{
	const struct riscv_opcode *opcode = &riscv_opcodes[insn->opcode];

	defs->count = 0;
	uses->count = 0;
	for (unsigned int i = 0; i < insn->operands; i++) {
		const struct pesa_operand *operand = &insn->operand[i];

		if (operand->kind != PESA_OPERAND_REGISTER)
			continue;
		/* The pair of x0 reads as zero; x1 is not part of it. */
		for (unsigned int n = 0; n < (operand->value ? operand->registers : 1u); n++)
			add_register(operand->output ? defs : uses, operand->value + n);
	}
	add_implicit(defs, opcode->defs);
	add_implicit(uses, opcode->uses);
}

static bool is_link(int64_t number)
{
	return number == 1 || number == 5;
}

/* The first register that is an output, or the first that is only an input; PESA_REGISTER_X0:
 * none. */
static int64_t register_operand(const struct pesa_insn *insn, bool output)
{
	for (unsigned int i = 0; i < insn->operands; i++)
		if (insn->operand[i].kind == PESA_OPERAND_REGISTER &&
		    insn->operand[i].output == output)
			return insn->operand[i].value;
	return PESA_REGISTER_X0;
}

enum pesa_flow pesa_insn_flow(const struct pesa_insn *insn)
{
	const struct riscv_opcode *opcode = &riscv_opcodes[insn->opcode];
	uint32_t properties = opcode->public.properties;
	int64_t link, target;

	if (properties & PESA_OPCODE_TRAP)
		return PESA_FLOW_TRAP;
	if (!(properties & (PESA_OPCODE_BRANCH | PESA_OPCODE_CALL)))
		return PESA_FLOW_NEXT;
	if (properties & PESA_OPCODE_CONDITIONAL)
		return PESA_FLOW_BRANCH;
	if (properties & PESA_OPCODE_RETURN)
		return PESA_FLOW_RETURN;
	/* A call opcode without an output operand links to ra. */
	link = opcode->outputs		       ? register_operand(insn, true)
	       : properties & PESA_OPCODE_CALL ? 1
					       : PESA_REGISTER_X0;
	if (!(properties & PESA_OPCODE_INDIRECT))
		return is_link(link) ? PESA_FLOW_CALL : PESA_FLOW_JUMP;
	target = register_operand(insn, false);
	if (is_link(link))
		return is_link(target) && target != link ? PESA_FLOW_COROUTINE
							 : PESA_FLOW_INDIRECT_CALL;
	return is_link(target) ? PESA_FLOW_RETURN : PESA_FLOW_INDIRECT;
}

bool pesa_insn_target(const struct pesa_insn *insn, uint64_t pc, uint64_t *target)
{
	for (unsigned int i = 0; i < insn->operands; i++) {
		if (insn->operand[i].kind != PESA_OPERAND_TARGET)
			continue;
		*target = pc + (uint64_t)insn->operand[i].value;
		return true;
	}
	return false;
}
