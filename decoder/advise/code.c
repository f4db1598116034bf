/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>

#include "decoder/advise/code.h"

/* ---- Blocks ---------------------------------------------------------------------------------- */

static struct pesa_error *copy_block(struct advise_code *code, struct pesa_symbols *symbols,
				     const struct pesa_control_flow *flow, uint32_t number)
{
	const struct pesa_control_flow_block *from = pesa_control_flow_block_at(flow, number);
	struct advise_block *block = &code->block[number];

	*block = (struct advise_block){
		.dso = from->dso,
		.first = code->instructions,
		.count = from->instructions,
		.executions = from->executions,
		.callee = from->callee,
		.calls = from->calls,
		.entered = from->entered,
		.first_edge = code->edges,
		.edges = from->edges,
		.loop = ADVISE_NONE,
	};
	for (uint32_t i = 0; i < from->instructions; i++)
		code->instruction[code->instructions++].address =
			pesa_control_flow_address(flow, number, i);
	for (uint32_t i = 0; i < from->edges; i++) {
		const struct pesa_control_flow_edge *edge =
			pesa_control_flow_edge_at(flow, from->first_edge + i);

		code->edge[code->edges++] = (struct advise_edge){.from = edge->from,
								 .to = edge->to,
								 .taken = edge->taken,
								 .executions = edge->executions};
	}
	return symbols ? pesa_symbols_find(symbols, from->dso, from->start, &block->function)
		       : NULL;
}

struct pesa_error *advise_code_create(const struct pesa_profile *profile,
				      struct pesa_symbols *symbols,
				      const struct pesa_control_flow *flow,
				      struct advise_code *code)
{
	size_t instructions = 0, edges = 0;
	struct pesa_error *error;

	*code = (struct advise_code){.profile = profile,
				     .blocks = pesa_control_flow_block_count(flow)};
	for (uint32_t i = 0; i < code->blocks; i++) {
		instructions += pesa_control_flow_block_at(flow, i)->instructions;
		edges += pesa_control_flow_block_at(flow, i)->edges;
	}
	code->instruction = calloc(instructions + 1, sizeof(*code->instruction));
	code->block = calloc((size_t)code->blocks + 1, sizeof(*code->block));
	code->edge = calloc(edges + 1, sizeof(*code->edge));
	error = code->instruction && code->block && code->edge
			? profile_isas_create(profile, &code->isas)
			: pesa_error_no_memory();
	for (uint32_t i = 0; i < code->blocks && !error; i++)
		error = copy_block(code, symbols, flow, i);
	if (!error)
		error = advise_code_link(code);
	if (error)
		advise_code_free(code);
	return error;
}

void advise_code_free(struct advise_code *code)
{
	profile_isas_free(&code->isas);
	free(code->instruction);
	free(code->block);
	free(code->edge);
	free(code->predecessor);
	free(code->loop);
	free(code->member);
	*code = (struct advise_code){0};
}

const struct pesa_insn *advise_insn(const struct advise_code *code, uint32_t block,
				    uint32_t instruction)
{
	struct advise_instruction *one = &code->instruction[instruction];

	if (!one->decoded) {
		one->decoded = true;
		if (!code->profile ||
		    !profile_isas_decode(&code->isas, code->profile, code->block[block].dso,
					 one->address, &one->insn))
			one->insn.length = 0;
	}
	return &one->insn;
}

uint32_t advise_find_block(const struct advise_code *code, uint32_t dso, uint64_t address)
{
	uint32_t low = 0, high = code->blocks;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct advise_block *block = &code->block[middle];

		if (block->dso < dso ||
		    (block->dso == dso && code->instruction[advise_last(block)].address < address))
			low = middle + 1;
		else
			high = middle;
	}
	if (low == code->blocks || code->block[low].dso != dso ||
	    code->instruction[code->block[low].first].address > address)
		return ADVISE_NONE;
	return low;
}

uint32_t advise_find_instruction(const struct advise_code *code, uint32_t block, uint64_t address)
{
	const struct advise_block *here = &code->block[block];

	for (uint32_t i = here->first; i <= advise_last(here); i++)
		if (code->instruction[i].address == address)
			return i;
	return ADVISE_NONE;
}

/* ---- Dominators ------------------------------------------------------------------------------ */

/*
 * Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm": immediate dominators in the order
 * of a depth-first search, until nothing changes.  The root, number `blocks`, leads to every block
 * that is entered from outside, and to those that nothing else leads to.
 */
struct dominators {
	uint32_t *order; /* blocks in postorder */
	uint32_t
		*number; /* by block: its place there; of the root the highest; ADVISE_NONE: none */
	uint32_t *parent; /* by block: its immediate dominator */
	bool *root;	  /* by block: the root leads to it */
	uint32_t count;
};

static void search_from(const struct advise_code *code, struct dominators *found, uint32_t start,
			uint32_t *stack, uint32_t *next)
{
	uint32_t depth = 0;

	found->root[start] = true;
	found->number[start] = 0;
	stack[depth++] = start;
	while (depth) {
		uint32_t block = stack[depth - 1];
		const struct advise_block *here = &code->block[block];

		if (next[block] < here->edges) {
			uint32_t to = code->edge[here->first_edge + next[block]++].to;

			if (found->number[to] == ADVISE_NONE) {
				found->number[to] = 0;
				stack[depth++] = to;
			}
			continue;
		}
		found->number[block] = found->count;
		found->order[found->count++] = block;
		depth--;
	}
}

static uint32_t common(const struct dominators *found, uint32_t a, uint32_t b)
{
	while (a != b) {
		while (found->number[a] < found->number[b])
			a = found->parent[a];
		while (found->number[b] < found->number[a])
			b = found->parent[b];
	}
	return a;
}

/* The dominator of a block, by those of its predecessors that are known. */
static uint32_t dominator_of(const struct advise_code *code, const struct dominators *found,
			     uint32_t block)
{
	const struct advise_block *here = &code->block[block];
	uint32_t result = found->root[block] ? code->blocks : ADVISE_NONE;

	for (uint32_t i = 0; i < here->predecessors; i++) {
		uint32_t from = code->predecessor[here->first_predecessor + i];

		if (found->parent[from] != ADVISE_NONE)
			result = result == ADVISE_NONE ? from : common(found, result, from);
	}
	return result;
}

static void find_dominators(const struct advise_code *code, struct dominators *found,
			    uint32_t *stack, uint32_t *next)
{
	bool changed = true;

	for (uint32_t i = 0; i <= code->blocks; i++)
		found->number[i] = found->parent[i] = ADVISE_NONE;
	for (uint32_t i = 0; i < code->blocks; i++)
		if (code->block[i].entered && found->number[i] == ADVISE_NONE)
			search_from(code, found, i, stack, next);
	for (uint32_t i = 0; i < code->blocks; i++)
		if (found->number[i] == ADVISE_NONE)
			search_from(code, found, i, stack, next);
	for (uint32_t i = 0; i < code->blocks; i++)
		found->root[i] |= code->block[i].entered;
	found->number[code->blocks] = found->count;
	found->parent[code->blocks] = code->blocks;
	while (changed) {
		changed = false;
		for (uint32_t i = found->count; i-- > 0;) {
			uint32_t block = found->order[i];
			uint32_t parent = dominator_of(code, found, block);

			changed |= parent != found->parent[block];
			found->parent[block] = parent;
		}
	}
}

static bool dominates(const struct advise_code *code, const struct dominators *found, uint32_t head,
		      uint32_t block)
{
	while (block != code->blocks && found->number[block] < found->number[head])
		block = found->parent[block];
	return block == head;
}

/* ---- Loops ----------------------------------------------------------------------------------- */

static bool grow(void **array, uint32_t *room, uint32_t count, size_t size)
{
	uint32_t wanted = *room ? 2 * *room : 256;
	void *larger;

	if (count < *room)
		return true;
	larger = realloc(*array, wanted * size);
	if (!larger)
		return false;
	*array = larger;
	*room = wanted;
	return true;
}

/* Add a block to the loop that is being made, unless it is in it. */
static bool add_member(struct advise_code *code, uint32_t *stamp, uint32_t loop, uint32_t block)
{
	if (stamp[block] == loop)
		return true;
	if (!grow((void **)&code->member, &code->member_room, code->members, sizeof(*code->member)))
		return false;
	stamp[block] = loop;
	code->member[code->members++] = block;
	return true;
}

/* The loop with a head: the blocks from which its back edges are reached without passing it. */
static struct pesa_error *add_loop(struct advise_code *code, const struct dominators *found,
				   uint32_t *stamp, uint32_t head)
{
	const struct advise_block *here = &code->block[head];
	struct advise_loop *loop;
	bool enough = true;

	if (!grow((void **)&code->loop, &code->loop_room, code->loops, sizeof(*code->loop)))
		return pesa_error_no_memory();
	loop = &code->loop[code->loops];
	*loop = (struct advise_loop){.head = head,
				     .first = code->members,
				     .parent = ADVISE_NONE,
				     .innermost = true,
				     .iterations = here->executions,
				     .entries = here->executions};
	enough = add_member(code, stamp, code->loops, head);
	for (uint32_t i = 0; i < here->predecessors && enough; i++) {
		uint32_t from = code->predecessor[here->first_predecessor + i];

		if (dominates(code, found, head, from))
			enough = add_member(code, stamp, code->loops, from);
	}
	for (uint32_t i = loop->first + 1; i < code->members && enough; i++) {
		const struct advise_block *block = &code->block[code->member[i]];

		for (uint32_t j = 0; j < block->predecessors && enough; j++)
			enough = add_member(code, stamp, code->loops,
					    code->predecessor[block->first_predecessor + j]);
	}
	loop->count = code->members - loop->first;
	for (uint32_t i = 0; i < loop->count && enough; i++) {
		const struct advise_block *block = &code->block[code->member[loop->first + i]];

		loop->instructions += block->count;
		for (uint32_t j = 0; j < block->edges; j++)
			if (code->edge[block->first_edge + j].to == head)
				loop->entries -= code->edge[block->first_edge + j].executions;
	}
	if (loop->entries < 0)
		loop->entries = 0;
	code->loops++;
	return enough ? NULL : pesa_error_no_memory();
}

static int larger_first(const void *left, const void *right)
{
	const struct advise_loop *a = left, *b = right;

	if (a->count != b->count)
		return a->count > b->count ? -1 : 1;
	return a->head < b->head ? -1 : a->head > b->head;
}

/* Which loop is in which: the larger ones come first. */
static void nest(struct advise_code *code)
{
	if (code->loops)
		qsort(code->loop, code->loops, sizeof(*code->loop), larger_first);
	for (uint32_t i = 0; i < code->loops; i++) {
		struct advise_loop *loop = &code->loop[i];

		loop->parent = code->block[loop->head].loop;
		if (loop->parent != ADVISE_NONE)
			code->loop[loop->parent].innermost = false;
		for (uint32_t j = 0; j < loop->count; j++)
			code->block[code->member[loop->first + j]].loop = i;
	}
}

static struct pesa_error *find_loops(struct advise_code *code, const struct dominators *found,
				     uint32_t *stamp)
{
	struct pesa_error *error = NULL;

	for (uint32_t i = 0; i < code->blocks; i++)
		stamp[i] = ADVISE_NONE;
	for (uint32_t i = 0; i < code->blocks && !error; i++) {
		const struct advise_block *block = &code->block[i];
		bool is_head = false;

		for (uint32_t j = 0; block->executions > 0 && j < block->predecessors; j++)
			is_head |= dominates(code, found, i,
					     code->predecessor[block->first_predecessor + j]);
		if (is_head)
			error = add_loop(code, found, stamp, i);
	}
	if (!error)
		nest(code);
	return error;
}

static struct pesa_error *find_predecessors(struct advise_code *code)
{
	uint32_t before = 0;

	code->predecessor = calloc((size_t)code->edges + 1, sizeof(*code->predecessor));
	if (!code->predecessor)
		return pesa_error_no_memory();
	for (uint32_t i = 0; i < code->edges; i++)
		code->block[code->edge[i].to].predecessors++;
	for (uint32_t i = 0; i < code->blocks; i++) {
		code->block[i].first_predecessor = before;
		before += code->block[i].predecessors;
		code->block[i].predecessors = 0;
	}
	for (uint32_t i = 0; i < code->edges; i++) {
		struct advise_block *to = &code->block[code->edge[i].to];

		code->predecessor[to->first_predecessor + to->predecessors++] = code->edge[i].from;
	}
	return NULL;
}

struct pesa_error *advise_code_link(struct advise_code *code)
{
	size_t room = (size_t)code->blocks + 1;
	struct dominators found = {.order = calloc(room, sizeof(*found.order)),
				   .number = calloc(room, sizeof(*found.number)),
				   .parent = calloc(room, sizeof(*found.parent)),
				   .root = calloc(room, sizeof(*found.root))};
	uint32_t *stack = calloc(room, sizeof(*stack)), *next = calloc(room, sizeof(*next));
	struct pesa_error *error = find_predecessors(code);

	if (!error &&
	    (!found.order || !found.number || !found.parent || !found.root || !stack || !next))
		error = pesa_error_no_memory();
	if (!error) {
		find_dominators(code, &found, stack, next);
		error = find_loops(code, &found, stack);
	}
	free(found.order);
	free(found.number);
	free(found.parent);
	free(found.root);
	free(stack);
	free(next);
	return error;
}

bool advise_loop_has(const struct advise_code *code, uint32_t loop, uint32_t block)
{
	uint32_t one = code->block[block].loop;

	while (one != ADVISE_NONE && one != loop)
		one = code->loop[one].parent;
	return one == loop;
}
