/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Instructions that order others, see order.h. */
#include "decoder/compare/order.h"

#define ACQUIRE_RELEASE(bits) ((uint32_t)((bits) >> 25) & 3)
#define FUNCT3(bits)	      ((uint32_t)((bits) >> 12) & 7)
#define SOURCE(bits)	      ((uint32_t)((bits) >> 15) & 31)

bool compare_writes_csr(const struct pesa_insn *insn)
{
	return (pesa_opcode_get(insn->opcode)->properties & PESA_OPCODE_CSR) &&
	       ((FUNCT3(insn->bits) & 3) == 1 || SOURCE(insn->bits));
}

/* Whether an instruction may order others, and how; see compare_kind.ordering. */
static bool may_order(const struct compare_node *node, bool supported, uint32_t *ordering)
{
	uint32_t properties = pesa_opcode_get(node->insn.opcode)->properties;
	uint64_t bits = node->insn.bits;

	*ordering = 0;
	if (node->flow == PESA_FLOW_TRAP || (properties & PESA_OPCODE_SYSTEM))
		return true;
	if (properties & PESA_OPCODE_FENCE) {
		*ordering = (uint32_t)(bits >> 20) & 0xfff;
		return true;
	}
	if (properties & PESA_OPCODE_CSR) {
		*ordering = compare_writes_csr(&node->insn);
		return true;
	}
	if ((properties & PESA_OPCODE_ATOMIC) && ACQUIRE_RELEASE(bits)) {
		*ordering = ACQUIRE_RELEASE(bits);
		return true;
	}
	return !supported;
}

static double cycles_of(const struct compare_node *node)
{
	const struct pesa_compare_time *time = &node->time;

	return time->core + time->event + time->flushed + time->drained + time->unknown;
}

static struct compare_kind *kind_of(struct compare_kinds *kinds, uint32_t opcode, uint32_t ordering)
{
	for (unsigned int i = 0; i < kinds->count; i++)
		if (kinds->kind[i].opcode == opcode && kinds->kind[i].ordering == ordering)
			return &kinds->kind[i];
	if (kinds->count == COMPARE_KINDS_MAX)
		return NULL;
	kinds->kind[kinds->count] = (struct compare_kind){
		.opcode = opcode, .ordering = ordering, .example = COMPARE_NONE};
	return &kinds->kind[kinds->count++];
}

void compare_kinds_find(struct compare_code *code, const bool *supported,
			struct compare_kinds *kinds)
{
	kinds->count = 0;
	for (uint32_t i = 0; i < code->count; i++) {
		struct compare_node *node = &code->node[i];
		struct compare_kind *kind;
		uint32_t ordering;

		node->kind = COMPARE_NO_KIND;
		if (!node->decoded || !may_order(node, !supported || supported[i], &ordering))
			continue;
		kind = kind_of(kinds, node->insn.opcode, ordering);
		if (!kind)
			continue;
		node->kind = (uint8_t)(kind - kinds->kind);
		if (kind->example == COMPARE_NONE ||
		    cycles_of(node) > cycles_of(&code->node[kind->example]))
			kind->example = i;
		kind->memory = pesa_opcode_get(node->insn.opcode)->properties &
			       (PESA_OPCODE_FENCE | PESA_OPCODE_ATOMIC);
		kind->modelled = !supported || supported[i];
		kind->cycles += cycles_of(node);
		kind->flushed += node->time.flushed;
		kind->executions += node->executions;
	}
}
