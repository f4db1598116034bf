/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The hot code: every instruction in the profile, decoded, and short gaps between them. */
#include <stdlib.h>

#include "decoder/compare/code.h"
#include "decoder/mca/model/vector_type.h"
#include "pesa/csr.h"
#include "pesa/record.h"

/* Limit in bytes of a gap without samples that is filled in: hot code is dense. */
#define GAP_MAX 64

struct compare_node *compare_code_add(struct compare_code *code, uint32_t dso, uint64_t address)
{
	if (code->count == code->room) {
		uint32_t room = code->room ? 2 * code->room : 4096;
		struct compare_node *larger = realloc(code->node, room * sizeof(*larger));

		if (!larger)
			return NULL;
		code->node = larger;
		code->room = room;
	}
	code->node[code->count] = (struct compare_node){
		.dso = dso,
		.address = address,
		.next = COMPARE_NONE,
		.target = COMPARE_NONE,
		.region = COMPARE_NONE,
		.group = COMPARE_NONE,
		.class = -1,
		.lmul = PESA_MCA_LMUL_NONE,
	};
	return &code->node[code->count++];
}

bool compare_code_decode(const struct compare_code *code, const struct pesa_profile *profile,
			 struct compare_node *node)
{
	if (!profile_isas_decode(&code->isas, profile, node->dso, node->address, &node->insn))
		return false;
	node->flow = pesa_insn_flow(&node->insn);
	node->decoded = true;
	return true;
}

static void measure(struct compare_node *node)
{
	const struct pesa_instruction *measured = node->measured;

	node->executions = measured->executions;
	for (unsigned int i = 0; i < measured->buckets; i++) {
		const struct pesa_bucket *bucket = &measured->bucket[i];
		double cycles = (double)bucket->weight / PESA_CYCLE;

		switch (bucket->state) {
		case PESA_STATE_RETIRING:
			node->time.core += cycles;
			node->time.retiring += cycles;
			break;
		case PESA_STATE_STALLED:
			*(bucket->cause ? &node->time.event : &node->time.core) += cycles;
			break;
		case PESA_STATE_FLUSHED:
			node->time.flushed += cycles;
			break;
		case PESA_STATE_DRAINED:
			node->time.drained += cycles;
			break;
		default:
			node->time.unknown += cycles;
			break;
		}
	}
}

/* Add the instructions between the end of one instruction with samples and the next. */
static bool fill(const struct pesa_profile *profile, struct compare_code *code, uint64_t end)
{
	struct compare_node last = code->node[code->count - 1];

	if (end <= last.address || end - last.address > GAP_MAX || !last.decoded)
		return true;
	while (last.address + last.insn.length < end) {
		struct compare_node *node =
			compare_code_add(code, last.dso, last.address + last.insn.length);

		if (!node)
			return false;
		if (!compare_code_decode(code, profile, node)) {
			code->count--;
			break;
		}
		last = *node;
	}
	return true;
}

static void link_nodes(struct compare_code *code)
{
	for (uint32_t i = 0; i < code->count; i++) {
		struct compare_node *node = &code->node[i];
		uint64_t target;

		if (!node->decoded)
			continue;
		node->next = compare_code_find(code, node->dso, node->address + node->insn.length);
		if (!pesa_insn_target(&node->insn, node->address, &target))
			continue;
		if (pesa_isa_xlen(code->isas.isa[node->dso]) == 32)
			target = (uint32_t)target;
		node->target = compare_code_find(code, node->dso, target);
		if (node->target != COMPARE_NONE)
			code->node[node->target].leader = true;
	}
	for (uint32_t i = 0; i < code->count; i++) {
		struct compare_node *node = &code->node[i];

		if (!i || code->node[i - 1].next != i || code->node[i - 1].flow != PESA_FLOW_NEXT)
			node->leader = true;
		for (unsigned int j = 0; node->measured && j < node->measured->edges; j++) {
			const struct pesa_edge *edge = &node->measured->edge[j];
			uint32_t to = compare_code_find(code, edge->target_dso, edge->target);

			if (to != COMPARE_NONE)
				code->node[to].leader = true;
		}
	}
}

struct pesa_error *compare_code_create(const struct pesa_profile *profile,
				       struct compare_code *code)
{
	size_t count = pesa_profile_instruction_count(profile);
	struct pesa_error *error = profile_isas_create(profile, &code->isas);

	if (error)
		return error;
	for (size_t i = 0; i < count; i++) {
		const struct pesa_instruction *measured = pesa_profile_instruction(profile, i);
		struct compare_node *node;

		if (code->count && code->node[code->count - 1].dso == measured->dso &&
		    !fill(profile, code, measured->address))
			return pesa_error_no_memory();
		node = compare_code_add(code, measured->dso, measured->address);
		if (!node)
			return pesa_error_no_memory();
		node->measured = measured;
		measure(node);
		compare_code_decode(code, profile, node);
	}
	link_nodes(code);
	return NULL;
}

/* ---- Vector types ---------------------------------------------------------------------------- */

#define FUNCTION_MAX 65536 /* bytes that are decoded before the last node of a function */

static bool is_vector(const struct compare_node *node)
{
	return node->decoded && pesa_opcode_get(node->insn.opcode)->properties & PESA_OPCODE_VECTOR;
}

static bool is_in(const struct compare_node *node, uint32_t dso, const struct pesa_symbol *function)
{
	return node->dso == dso && node->address - function->start < function->size;
}

/* Decode a function from its beginning on, for its nodes from `first` to before `end`. */
static void scan_function(struct compare_code *code, const struct pesa_profile *profile,
			  uint64_t start, uint32_t first, uint32_t end)
{
	struct compare_node at = {.dso = code->node[first].dso, .address = start};
	uint8_t lmul = PESA_MCA_LMUL_NONE, sew = 0;

	for (uint32_t i = first; i < end; i++) {
		struct compare_node *node = &code->node[i];

		while (at.address < node->address && compare_code_decode(code, profile, &at)) {
			mca_vector_type(&at.insn, &lmul, &sew);
			at.address += at.insn.length;
		}
		/* Data, or another way through the bytes. */
		if (at.address != node->address) {
			lmul = PESA_MCA_LMUL_NONE;
			at.address = node->address;
		}
		node->lmul = lmul;
		node->sew = sew;
	}
}

struct pesa_error *compare_code_set_vector_types(struct compare_code *code,
						 const struct pesa_profile *profile,
						 struct pesa_symbols *symbols)
{
	for (uint32_t i = 0; i < code->count; i++) {
		const struct compare_node *node = &code->node[i];
		const struct pesa_symbol *symbol;
		uint32_t first = i, end = i + 1;
		struct pesa_error *error;

		if (!is_vector(node))
			continue;
		error = pesa_symbols_find(symbols, node->dso, node->address, &symbol);
		if (error)
			return error;
		if (!symbol)
			continue;
		while (first && is_in(&code->node[first - 1], node->dso, symbol))
			first--;
		while (end < code->count && is_in(&code->node[end], node->dso, symbol))
			end++;
		if (code->node[first].address - symbol->start <= FUNCTION_MAX)
			scan_function(code, profile, symbol->start, first, end);
		i = end - 1;
	}
	return NULL;
}

void compare_code_free(struct compare_code *code)
{
	profile_isas_free(&code->isas);
	free(code->node);
	free(code->set);
}

double compare_marked_mispredicts(const struct compare_node *node)
{
	double count = 0;

	for (unsigned int i = 0; i < node->measured->buckets; i++) {
		const struct pesa_bucket *bucket = &node->measured->bucket[i];

		if (bucket->state == PESA_STATE_RETIRING &&
		    bucket->cause & PESA_CAUSE_BRANCH_MISPREDICT)
			count += (double)bucket->samples;
	}
	return count;
}

uint32_t compare_code_find(const struct compare_code *code, uint32_t dso, uint64_t address)
{
	uint32_t low = 0, high = code->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct compare_node *node = &code->node[middle];

		if (node->dso < dso || (node->dso == dso && node->address < address))
			low = middle + 1;
		else
			high = middle;
	}
	if (low < code->count && code->node[low].dso == dso && code->node[low].address == address)
		return low;
	return COMPARE_NONE;
}
