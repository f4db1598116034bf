// SPDX-License-Identifier: GPL-2.0-or-later
/* The spans of the stacks: their instructions, and in which order they run. */
#include <stdlib.h>

#include "decoder/compare/timed/inside.h"

static int by_address(const void *left, const void *right)
{
	const struct compare_node *a = left, *b = right;

	if (a->dso != b->dso)
		return a->dso < b->dso ? -1 : 1;
	return a->address < b->address ? -1 : a->address > b->address;
}

/* ---- Instructions ---------------------------------------------------------------------------- */

/* Add the nodes of a span; sort_nodes() leaves one of those that several spans have. */
static struct pesa_error *decode_span(struct compare_code *code, const struct pesa_profile *profile,
				      struct timed_span *span)
{
	uint32_t before = code->count;
	uint64_t address = span->start;

	while (address <= span->last && code->count - before < TIMED_SPAN_MOST &&
	       code->count < TIMED_DECODE_MOST) {
		struct compare_node *node = compare_code_add(code, span->dso, address);

		if (!node)
			return pesa_error_no_memory();
		if (!compare_code_decode(code, profile, node))
			break;
		if (address == span->last) {
			span->count = code->count - before;
			span->flow = node->flow;
			return NULL;
		}
		/* Control does not go on behind a jump: these are not all transfers. */
		if (node->flow != PESA_FLOW_NEXT && node->flow != PESA_FLOW_BRANCH &&
		    node->flow != PESA_FLOW_TRAP)
			break;
		address += node->insn.length;
	}
	code->count = before;
	return NULL;
}

/* Each node once, in the order of addresses. */
static void sort_nodes(struct compare_code *code)
{
	uint32_t count = 0;

	if (code->count)
		qsort(code->node, code->count, sizeof(*code->node), by_address);
	for (uint32_t i = 0; i < code->count; i++)
		if (!count || by_address(&code->node[count - 1], &code->node[i]))
			code->node[count++] = code->node[i];
	code->count = count;
	for (uint32_t i = 0; i < count; i++) {
		struct compare_node *node = &code->node[i];

		node->next = compare_code_find(code, node->dso, node->address + node->insn.length);
	}
}

/* By node: whether the model has it.  What vector instructions cost depends on what ran before. */
static struct pesa_error *find_supported(const struct compare_code *code,
					 const struct pesa_mca_model *model, const char *processor,
					 bool *supported)
{
	const struct pesa_mca_block_options options = {
		.processor = processor, .skip_unsupported = true, .follow_calls = true};
	struct pesa_mca_instruction *instruction = calloc(code->count + 1, sizeof(*instruction));
	struct pesa_mca_block *block;
	struct pesa_error *error;

	if (!instruction)
		return pesa_error_no_memory();
	for (uint32_t i = 0; i < code->count; i++) {
		instruction[i] =
			(struct pesa_mca_instruction){.insn = code->node[i].insn, .latency = -1};
		supported[i] = timed_is_vector(&code->node[i].insn);
	}
	error = pesa_mca_block_create(model, instruction, code->count, &options, &block);
	free(instruction);
	if (error)
		return error;
	for (unsigned int i = 0; i < pesa_mca_block_count(block); i++)
		supported[pesa_mca_block_source(block, i)] = true;
	pesa_mca_block_free(block);
	return NULL;
}

static void describe(struct pesa_timed_compare *timed, const bool *supported,
		     struct timed_span *span)
{
	uint32_t at = span->first = compare_code_find(&timed->code, span->dso, span->start);

	for (uint32_t i = 0; i < span->count; i++, at = timed->code.node[at].next) {
		const struct compare_node *node = &timed->code.node[at];

		span->unsupported |= !supported[at];
		span->ordering |= node->kind != COMPARE_NO_KIND;
		span->memory |= !!(pesa_opcode_get(node->insn.opcode)->properties &
				   (PESA_OPCODE_LOAD | PESA_OPCODE_STORE | PESA_OPCODE_ATOMIC));
	}
}

struct pesa_error *timed_spans_decode(struct pesa_timed_compare *timed,
				      const struct pesa_profile *profile,
				      const struct pesa_mca_model *model, const char *processor)
{
	struct pesa_error *error = profile_isas_create(profile, &timed->code.isas);
	struct compare_kinds kinds;
	bool *supported;

	for (uint32_t i = 0; i < timed_spans(timed) && !error; i++) {
		struct timed_span *span = &timed->stacks.span[i];

		span->dso = pesa_profile_dso_of_number(profile, span->dso);
		span->before = TIMED_NONE;
		error = decode_span(&timed->code, profile, span);
	}
	if (error)
		return error;
	sort_nodes(&timed->code);
	supported = calloc(timed->code.count + 1, sizeof(*supported));
	if (!supported)
		return pesa_error_no_memory();
	if (timed->code.count)
		error = find_supported(&timed->code, model, processor, supported);
	/* Beyond COMPARE_KINDS_MAX kinds instructions would not be taken to order: there are so many
	 * different ones in no program. */
	compare_kinds_find(&timed->code, NULL, &kinds);
	for (uint32_t i = 0; i < timed_spans(timed) && !error; i++)
		if (timed->stacks.span[i].count)
			describe(timed, supported, &timed->stacks.span[i]);
	free(supported);
	return error;
}

/* ---- Order ----------------------------------------------------------------------------------- */

/* One span behind another, in the stacks. */
struct pair {
	uint32_t span, before;
	double weight;
};

static int by_span(const void *left, const void *right)
{
	const struct pair *a = left, *b = right;

	if (a->span != b->span)
		return a->span < b->span ? -1 : 1;
	return a->before < b->before ? -1 : a->before > b->before;
}

/* Of a span all pairs are adjacent: those with it as `span`. */
static void choose_before(struct timed_span *spans, const struct pair *pair, size_t count)
{
	double most = 0, all = 0, own = 0;

	for (size_t i = 0; i < count;) {
		uint32_t before = pair[i].before;
		double sum = 0;

		for (; i < count && pair[i].before == before; i++)
			sum += pair[i].weight;
		all += sum;
		own += before == pair->span ? sum : 0;
		if (sum > most) {
			most = sum;
			spans[pair->span].before = before;
		}
	}
	spans[pair->span].loop = 2 * own > all;
}

struct pesa_error *timed_spans_order(struct pesa_timed_compare *timed)
{
	struct timed_stacks *stacks = &timed->stacks;
	struct pair *pair = calloc(stacks->items + 1, sizeof(*pair));
	size_t count = 0;

	if (!pair)
		return pesa_error_no_memory();
	for (uint32_t i = 0; i < stacks->count; i++) {
		const struct timed_stack *stack = &stacks->stack[i];
		const struct timed_item *item = &stacks->item[stack->first];

		for (uint32_t k = 1; k < stack->count; k++)
			if (item[k - 1].span != TIMED_NONE && item[k].span != TIMED_NONE)
				pair[count++] = (struct pair){item[k].span, item[k - 1].span,
							      stack->weight};
	}
	if (count)
		qsort(pair, count, sizeof(*pair), by_span);
	for (size_t i = 0, end; i < count; i = end) {
		for (end = i; end < count && pair[end].span == pair[i].span;)
			end++;
		choose_before(stacks->span, pair + i, end - i);
	}
	free(pair);
	return NULL;
}
