/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Following the code, and dividing it into blocks. */
#include <stdlib.h>
#include <string.h>

#include "decoder/base/distinct.h"
#include "decoder/flow/graph.h"
#include "decoder/profile/isas.h"

/* Limit of instructions that are followed: damage, not code, is larger. */
#define INSTRUCTIONS_MAX (1u << 24)

/* Key of struct flow_instruction. */
struct place {
	uint64_t dso, address;
};

struct following {
	const struct pesa_profile *profile;
	struct profile_isas isas;
	struct distinct_records found; /* struct flow_instruction; read in the order of discovery */
};

/* Add the instruction at an address, if it is new. */
static struct pesa_error *reach(struct following *following, uint64_t dso, uint64_t address,
				const struct pesa_instruction *measured, bool leader)
{
	const struct place place = {.dso = dso, .address = address};
	struct flow_instruction *instruction;
	uint32_t number;

	if (following->found.index.count >= INSTRUCTIONS_MAX)
		return pesa_error_create(PESA_ERROR_UNSUPPORTED,
					 "more than %u instructions of code", INSTRUCTIONS_MAX);
	number = distinct_records_get(&following->found, &place);
	if (number == DISTINCT_NONE)
		return pesa_error_no_memory();
	instruction = distinct_records_at(&following->found, number);
	if (measured)
		instruction->measured = measured;
	instruction->leader |= leader;
	return NULL;
}

/* Whether the next instruction can be executed after one with this flow. */
static bool falls_through(uint8_t flow)
{
	switch (flow) {
	case PESA_FLOW_NEXT:
	case PESA_FLOW_BRANCH:
	case PESA_FLOW_CALL:
	case PESA_FLOW_INDIRECT_CALL:
	case PESA_FLOW_COROUTINE:
	case PESA_FLOW_TRAP:
		return true;
	default:
		return false;
	}
}

bool flow_is_call(uint8_t flow)
{
	return flow == PESA_FLOW_CALL || flow == PESA_FLOW_INDIRECT_CALL ||
	       flow == PESA_FLOW_COROUTINE;
}

/* The target of a far call or jump: auipc before it has the upper part of the distance, jalr the lower
 * one.  False: `jump` is no such pair's. */
static bool pair_target(const struct following *following, uint32_t dso, uint64_t address,
			const struct pesa_insn *jump, uint64_t *target)
{
	const uint64_t before = address - 4;
	struct pesa_insn insn;

	if (strcmp(pesa_opcode_get(jump->opcode)->name, "JALR") ||
	    !profile_isas_decode(&following->isas, following->profile, dso, before, &insn) ||
	    strcmp(pesa_opcode_get(insn.opcode)->name, "AUIPC") ||
	    insn.operand[0].value != jump->operand[1].value)
		return false;
	/* The upper part has 20 bits, the highest of which is the sign. */
	*target = before + (uint64_t)(int64_t)(int32_t)((uint32_t)insn.operand[1].value << 12) +
		  (uint64_t)jump->operand[2].value;
	return true;
}

/* An instruction that cannot be decoded has length 0, and no successors. */
static void decode(struct following *following, struct flow_instruction *instruction)
{
	const uint32_t dso = (uint32_t)instruction->dso;
	struct pesa_insn insn;

	if (!profile_isas_decode(&following->isas, following->profile, dso, instruction->address,
				 &insn))
		return;
	instruction->length = insn.length;
	instruction->flow = pesa_insn_flow(&insn);
	/* ebreak and unimp end a program, or what a compiler knows not to be reached. */
	if (instruction->flow == PESA_FLOW_TRAP &&
	    pesa_opcode_get(insn.opcode)->properties & PESA_OPCODE_TRAP)
		instruction->flow = PESA_FLOW_RETURN;
	instruction->has_target =
		pesa_insn_target(&insn, instruction->address, &instruction->target);
	if (!instruction->has_target && instruction->flow != PESA_FLOW_NEXT &&
	    pair_target(following, dso, instruction->address, &insn, &instruction->target)) {
		instruction->has_target = true;
		if (instruction->flow == PESA_FLOW_INDIRECT)
			instruction->flow = PESA_FLOW_JUMP;
		else if (instruction->flow == PESA_FLOW_INDIRECT_CALL)
			instruction->flow = PESA_FLOW_CALL;
	}
	if (instruction->has_target && pesa_isa_xlen(following->isas.isa[dso]) == 32)
		instruction->target = (uint32_t)instruction->target;
}

static struct pesa_error *follow(struct following *following, uint32_t number)
{
	struct flow_instruction *instruction = distinct_records_at(&following->found, number);
	struct flow_instruction now;
	struct pesa_error *error = NULL;

	decode(following, instruction);
	now = *instruction;
	if (!now.length)
		return NULL;
	if (falls_through(now.flow))
		error = reach(following, now.dso, now.address + now.length, NULL,
			      now.flow != PESA_FLOW_NEXT);
	if (!error && now.has_target && !flow_is_call(now.flow))
		error = reach(following, now.dso, now.target, NULL, true);
	if (now.flow != PESA_FLOW_INDIRECT || !now.measured)
		return error;
	for (unsigned int i = 0; i < now.measured->edges && !error; i++)
		error = reach(following, now.measured->edge[i].target_dso,
			      now.measured->edge[i].target, NULL, true);
	return error;
}

static struct pesa_error *follow_all(struct following *following)
{
	const struct pesa_profile *profile = following->profile;
	size_t measured = pesa_profile_instruction_count(profile);
	struct pesa_error *error = profile_isas_create(profile, &following->isas);

	for (size_t i = 0; i < measured && !error; i++) {
		const struct pesa_instruction *one = pesa_profile_instruction(profile, i);

		error = reach(following, one->dso, one->address, one, false);
	}
	for (uint32_t i = 0; i < following->found.index.count && !error; i++)
		error = follow(following, i);
	return error;
}

/* ---- Blocks ---------------------------------------------------------------------------------- */

static int by_place(const void *left, const void *right)
{
	const struct flow_instruction *a = left, *b = right;

	if (a->dso != b->dso)
		return a->dso < b->dso ? -1 : 1;
	return a->address < b->address ? -1 : a->address > b->address;
}

uint32_t flow_graph_find(const struct flow_graph *graph, uint32_t dso, uint64_t address)
{
	const struct flow_instruction key = {.dso = dso, .address = address};
	const struct flow_instruction *found =
		graph->instructions ? bsearch(&key, graph->instruction, graph->instructions,
					      sizeof(key), by_place)
				    : NULL;

	return found ? (uint32_t)(found - graph->instruction) : FLOW_NONE;
}

const struct flow_instruction *flow_graph_last(const struct flow_graph *graph, uint32_t block)
{
	return &graph->instruction[graph->measured[block].first + graph->block[block].instructions -
				   1];
}

uint32_t flow_graph_block(const struct flow_graph *graph, uint32_t instruction)
{
	uint32_t low = 0, high = graph->blocks;

	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (graph->measured[middle].first <= instruction)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* Mark the targets of calls: they begin a block, and control comes there from elsewhere. */
static void mark_called(struct flow_graph *graph, uint32_t dso, uint64_t address)
{
	uint32_t found = flow_graph_find(graph, dso, address);

	if (found == FLOW_NONE)
		return;
	graph->instruction[found].leader = true;
	graph->instruction[found].called = true;
}

static void mark_leaders(struct flow_graph *graph)
{
	for (uint32_t i = 0; i < graph->instructions; i++) {
		struct flow_instruction *one = &graph->instruction[i];
		const struct flow_instruction *before = i ? one - 1 : NULL;
		const struct pesa_instruction *measured = one->measured;

		if (!before || before->dso != one->dso || !before->length ||
		    before->address + before->length != one->address ||
		    before->flow != PESA_FLOW_NEXT)
			one->leader = true;
		if (!flow_is_call(one->flow))
			continue;
		if (one->has_target)
			mark_called(graph, (uint32_t)one->dso, one->target);
		for (unsigned int j = 0; measured && j < measured->edges; j++)
			mark_called(graph, measured->edge[j].target_dso, measured->edge[j].target);
	}
}

static struct pesa_error *make_blocks(struct flow_graph *graph)
{
	graph->block = calloc((size_t)graph->instructions + 1, sizeof(*graph->block));
	graph->measured = calloc((size_t)graph->instructions + 1, sizeof(*graph->measured));
	if (!graph->block || !graph->measured)
		return pesa_error_no_memory();
	for (uint32_t i = 0; i < graph->instructions; i++) {
		const struct flow_instruction *one = &graph->instruction[i];
		struct pesa_control_flow_block *block;

		if (one->leader) {
			graph->measured[graph->blocks].first = i;
			graph->block[graph->blocks++] = (struct pesa_control_flow_block){
				.dso = (uint32_t)one->dso,
				.start = one->address,
				.entered = one->called,
			};
		}
		block = &graph->block[graph->blocks - 1];
		block->last = one->address;
		block->end = one->address + one->length;
		block->instructions++;
	}
	return NULL;
}

/* ---- Edges ----------------------------------------------------------------------------------- */

uint32_t flow_graph_find_block(const struct flow_graph *graph, uint32_t dso, uint64_t address)
{
	uint32_t instruction = flow_graph_find(graph, dso, address);

	return instruction == FLOW_NONE ? FLOW_NONE : flow_graph_block(graph, instruction);
}

static void add_edge(struct flow_graph *graph, uint32_t from, uint32_t dso, uint64_t address,
		     struct pesa_control_flow_edge edge)
{
	edge.from = from;
	edge.to = flow_graph_find_block(graph, dso, address);
	if (edge.to == FLOW_NONE)
		return;
	graph->edge[graph->edges++] = edge;
	graph->block[from].edges++;
}

/* Add the successors of a block: at most two, or as many as were measured. */
static void link_block(struct flow_graph *graph, uint32_t number)
{
	struct pesa_control_flow_block *block = &graph->block[number];
	const struct flow_instruction *last = flow_graph_last(graph, number);
	const struct pesa_instruction *measured = last->measured;

	block->first_edge = graph->edges;
	if (last->length && falls_through(last->flow))
		add_edge(graph, number, block->dso, block->end, (struct pesa_control_flow_edge){0});
	if (last->has_target && !flow_is_call(last->flow))
		add_edge(graph, number, block->dso, last->target,
			 (struct pesa_control_flow_edge){.taken = true});
	for (unsigned int i = 0;
	     last->flow == PESA_FLOW_INDIRECT && measured && i < measured->edges; i++)
		add_edge(graph, number, measured->edge[i].target_dso, measured->edge[i].target,
			 (struct pesa_control_flow_edge){.taken = true,
							 .indirect = true,
							 .executions =
								 (double)measured->edge[i].count});
	graph->measured[number].callee = FLOW_NONE;
	block->calls = flow_is_call(last->flow);
	if (block->calls && last->has_target) {
		block->callee = last->target;
		graph->measured[number].callee =
			flow_graph_find_block(graph, block->dso, last->target);
	}
	graph->measured[number].left = last->flow == PESA_FLOW_RETURN ||
				       last->flow == PESA_FLOW_INDIRECT ||
				       block->edges < (last->flow == PESA_FLOW_BRANCH ? 2 : 1);
}

static struct pesa_error *link_blocks(struct flow_graph *graph)
{
	size_t room = 2 * (size_t)graph->blocks + 1;
	bool *led_to;

	for (uint32_t i = 0; i < graph->instructions; i++)
		if (graph->instruction[i].flow == PESA_FLOW_INDIRECT &&
		    graph->instruction[i].measured)
			room += graph->instruction[i].measured->edges;
	graph->edge = calloc(room, sizeof(*graph->edge));
	led_to = calloc((size_t)graph->blocks + 1, sizeof(*led_to));
	if (!graph->edge || !led_to) {
		free(led_to);
		return pesa_error_no_memory();
	}
	for (uint32_t i = 0; i < graph->blocks; i++)
		link_block(graph, i);
	for (uint32_t i = 0; i < graph->edges; i++)
		led_to[graph->edge[i].to] = true;
	for (uint32_t i = 0; i < graph->blocks; i++)
		graph->block[i].entered |= !led_to[i];
	free(led_to);
	return NULL;
}

/* Whether a block ends with a jump through a register whose targets are not known. */
static bool jumps_anywhere(const struct flow_graph *graph, uint32_t number)
{
	return flow_graph_last(graph, number)->flow == PESA_FLOW_INDIRECT &&
	       !graph->block[number].edges;
}

/* Mark what the jumps of a function may lead to, blocks first up to end. */
static void mark_jumped_to(struct flow_graph *graph, uint32_t first, uint32_t end)
{
	bool any = false;

	for (uint32_t i = first; i < end; i++)
		any |= jumps_anywhere(graph, i);
	for (uint32_t i = first + 1; any && i < end; i++) {
		const struct flow_instruction *before = flow_graph_last(graph, i - 1);

		graph->measured[i].jumped_to = graph->block[i - 1].end != graph->block[i].start ||
					       !falls_through(before->flow);
	}
}

/* Functions that only pointers call begin where a symbol does. */
static struct pesa_error *mark_functions(struct flow_graph *graph, struct pesa_symbols *symbols)
{
	const struct pesa_symbol *last = NULL;
	uint32_t first = 0;

	for (uint32_t i = 0; symbols && i < graph->blocks; i++) {
		struct pesa_control_flow_block *block = &graph->block[i];
		const struct pesa_symbol *symbol;
		struct pesa_error *error =
			pesa_symbols_find(symbols, block->dso, block->start, &symbol);

		if (error)
			return error;
		if (symbol && symbol->start == block->start)
			block->entered = true;
		if (symbol == last)
			continue;
		mark_jumped_to(graph, first, i);
		first = i;
		last = symbol;
	}
	if (last)
		mark_jumped_to(graph, first, graph->blocks);
	return NULL;
}

struct pesa_error *flow_graph_create(const struct pesa_profile *profile,
				     struct pesa_symbols *symbols, struct flow_graph *graph)
{
	struct following following = {.profile = profile};
	struct pesa_error *error;

	*graph = (struct flow_graph){0};
	distinct_records_begin(&following.found, sizeof(struct flow_instruction),
			       sizeof(struct place));
	error = follow_all(&following);
	profile_isas_free(&following.isas);
	if (error) {
		distinct_records_free(&following.found);
		return error;
	}
	graph->instructions = following.found.index.count;
	graph->instruction = calloc((size_t)graph->instructions + 1, sizeof(*graph->instruction));
	if (!graph->instruction) {
		distinct_records_free(&following.found);
		return pesa_error_no_memory();
	}
	for (uint32_t i = 0; i < graph->instructions; i++)
		graph->instruction[i] =
			*(const struct flow_instruction *)distinct_records_at(&following.found, i);
	distinct_records_free(&following.found);
	qsort(graph->instruction, graph->instructions, sizeof(*graph->instruction), by_place);
	mark_leaders(graph);
	error = make_blocks(graph);
	if (!error)
		error = link_blocks(graph);
	if (!error)
		error = mark_functions(graph, symbols);
	if (error)
		flow_graph_free(graph);
	return error;
}

void flow_graph_free(struct flow_graph *graph)
{
	free(graph->instruction);
	free(graph->block);
	free(graph->measured);
	free(graph->edge);
	*graph = (struct flow_graph){0};
}
