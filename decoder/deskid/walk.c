/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Paths along the flow: directions are drawn, in proportion to the estimated executions.
 *
 * Samples tell no targets of indirect jumps and calls, nor callers of returns.  A jump leads to a
 * block of its function that control reaches from unknown places, a call to any such block, each in
 * proportion to what comes in there; a return without a call on the path to a call of its function.
 */
#include <stdlib.h>
#include <string.h>

#include "decoder/compare/memory.h"
#include "decoder/deskid/inside.h"
#include "decoder/mca/model/vector_type.h"

#define CALLS_MAX 64
#define CHAIN_MAX 1024 /* blocks of a warm-up */
#define SELDOM	  0.01 /* share of a block's executions that leaves it in unseen directions */
#define TRIES	  20

struct deskid_walker {
	struct pesa_deskid *deskid;
	const struct flow_graph *graph;
	uint32_t *before; /* by block: the likeliest one before it */
	uint32_t *entry, *caller;
	uint32_t entries, callers;
	uint32_t chain[CHAIN_MAX];
	uint32_t call[CALLS_MAX];
	unsigned int depth;
	struct compare_memory memory;
};

/* ---- Successors ------------------------------------------------------------------------------ */

static void push(struct deskid_walker *walker, uint32_t block)
{
	if (walker->depth == CALLS_MAX) {
		memmove(walker->call, walker->call + 1, (CALLS_MAX - 1) * sizeof(*walker->call));
		walker->depth--;
	}
	walker->call[walker->depth++] = block;
}

/* The first successor of a block; of a call, the block behind it. */
static uint32_t first_edge(const struct flow_graph *graph, uint32_t number)
{
	const struct pesa_control_flow_block *block = &graph->block[number];

	return block->edges ? graph->edge[block->first_edge].to : FLOW_NONE;
}

static uint32_t draw_edge(struct deskid_walker *walker, uint32_t number, bool *taken)
{
	const struct pesa_control_flow_block *block = &walker->graph->block[number];
	const struct pesa_control_flow_edge *edge = &walker->graph->edge[block->first_edge];
	double sum = 0, least, at;
	uint32_t i = 0;

	for (uint32_t k = 0; k < block->edges; k++)
		sum += edge[k].executions;
	least = sum > 0 ? SELDOM * sum / block->edges : 1;
	at = deskid_draw(walker->deskid) * (sum + least * block->edges) - edge[0].executions -
	     least;
	while (at > 0 && i + 1 < block->edges)
		at -= edge[++i].executions + least;
	*taken = edge[i].taken;
	return edge[i].to;
}

/* A block that control reaches from unknown places: of a function, if it has one; NULL: any. */
static uint32_t draw_entry(struct deskid_walker *walker, const void *function)
{
	const struct deskid_code *code = &walker->deskid->code;
	uint32_t last = FLOW_NONE;
	double sum = 0, at;

	for (uint32_t i = 0; i < walker->entries; i++)
		if (!function || code->function[walker->entry[i]] == function)
			sum += code->unknown[walker->entry[i]];
	if (!(sum > 0))
		return function ? draw_entry(walker, NULL) : FLOW_NONE;
	at = deskid_draw(walker->deskid) * sum;
	for (uint32_t i = 0; i < walker->entries && at >= 0; i++)
		if (!function || code->function[walker->entry[i]] == function) {
			last = walker->entry[i];
			at -= code->unknown[last];
		}
	return last;
}

/* Whether a block calls a function, directly. */
static bool calls(const struct deskid_walker *walker, uint32_t block, const void *function)
{
	uint32_t callee = walker->graph->measured[block].callee;

	return callee != FLOW_NONE && walker->deskid->code.function[callee] == function;
}

static uint32_t draw_return(struct deskid_walker *walker, const void *function)
{
	const struct flow_graph *graph = walker->graph;
	uint32_t last = FLOW_NONE;
	double sum = 0, at;

	for (uint32_t i = 0; i < walker->callers; i++)
		if (calls(walker, walker->caller[i], function))
			sum += graph->block[walker->caller[i]].executions;
	at = deskid_draw(walker->deskid) * sum;
	for (uint32_t i = 0; i < walker->callers && sum > 0 && at >= 0; i++)
		if (calls(walker, walker->caller[i], function)) {
			last = walker->caller[i];
			at -= graph->block[last].executions;
		}
	for (int i = 0; i < TRIES && last == FLOW_NONE && walker->callers; i++) {
		uint32_t one =
			walker->caller[(uint32_t)(deskid_draw(walker->deskid) * walker->callers)];

		if (graph->measured[one].callee == FLOW_NONE)
			last = one;
	}
	return last == FLOW_NONE ? FLOW_NONE : first_edge(graph, last);
}

static uint32_t draw_call(struct deskid_walker *walker, uint32_t number)
{
	const struct flow_graph *graph = walker->graph;
	uint32_t callee = graph->measured[number].callee, behind = first_edge(graph, number);

	if (callee == FLOW_NONE && flow_graph_last(graph, number)->flow != PESA_FLOW_CALL)
		callee = draw_entry(walker, NULL);
	if (callee == FLOW_NONE)
		return behind;
	if (behind != FLOW_NONE)
		push(walker, behind);
	return callee;
}

/* The next block, FLOW_NONE: the path ends. */
static uint32_t draw_next(struct deskid_walker *walker, uint32_t number, bool *taken)
{
	const struct flow_instruction *last = flow_graph_last(walker->graph, number);
	const void *function = walker->deskid->code.function[number];

	*taken = true;
	if (flow_is_call(last->flow))
		return draw_call(walker, number);
	if (last->flow == PESA_FLOW_RETURN)
		return walker->depth ? walker->call[--walker->depth]
				     : draw_return(walker, function);
	if (walker->graph->block[number].edges)
		return draw_edge(walker, number, taken);
	return last->flow == PESA_FLOW_INDIRECT ? draw_entry(walker, function) : FLOW_NONE;
}

/* From a block to one that is known to be next. */
static void step_to(struct deskid_walker *walker, uint32_t number, uint32_t to, bool *taken)
{
	const struct pesa_control_flow_block *from = &walker->graph->block[number];

	*taken = walker->graph->block[to].start != from->end ||
		 walker->graph->block[to].dso != from->dso;
	if (from->calls && *taken && from->edges)
		push(walker, first_edge(walker->graph, number));
}

/* ---- One path -------------------------------------------------------------------------------- */

/* Add the instructions of a block.  False: the path ends. */
static bool add_block(struct deskid_walker *walker, uint32_t number, struct deskid_path *path,
		      uint8_t *lmul, uint8_t *sew)
{
	const struct flow_graph *graph = walker->graph;
	const unsigned int bytes = walker->deskid->predictor.core.fetch_bytes;
	uint32_t first = graph->measured[number].first;

	for (uint32_t i = first; i < first + graph->block[number].instructions; i++) {
		const struct pesa_insn *insn = &walker->deskid->code.insn[i];
		uint64_t address = graph->instruction[i].address;
		struct compare_forward forward;

		if (path->count == path->room || !insn->length)
			return false;
		forward = compare_memory_step(&walker->memory, insn, address);
		if (forward.distance > UINT8_MAX)
			forward.distance = 0;
		path->instruction[path->count] = (struct pesa_mca_instruction){
			.insn = *insn,
			.lmul = *lmul,
			.sew = *sew,
			.latency = -1,
			.forwarded_by = forward.distance,
			.forwarded_partly = forward.distance && forward.partly,
			.begins_block =
				path->count && bytes &&
				address / bytes !=
					graph->instruction[path->node[path->count - 1]].address /
						bytes,
		};
		path->node[path->count++] = i;
		mca_vector_type(insn, lmul, sew);
	}
	return true;
}

void deskid_walk(struct deskid_walker *walker, uint32_t block, struct deskid_path *path)
{
	unsigned int steps = 0, chained = 1, warm = path->warm;
	uint8_t lmul = PESA_MCA_LMUL_NONE, sew = 0;
	bool taken;

	walker->chain[0] = block;
	while (steps < warm && chained < CHAIN_MAX &&
	       walker->before[walker->chain[chained - 1]] != FLOW_NONE) {
		walker->chain[chained] = walker->before[walker->chain[chained - 1]];
		steps += walker->graph->block[walker->chain[chained++]].instructions;
	}
	walker->depth = 0;
	path->count = 0;
	path->warm = steps < warm ? steps : warm;
	compare_memory_begin(&walker->memory);
	block = walker->chain[--chained];
	while (block != FLOW_NONE && add_block(walker, block, path, &lmul, &sew)) {
		uint32_t from = block;

		if (chained) {
			block = walker->chain[--chained];
			step_to(walker, from, block, &taken);
		} else {
			block = draw_next(walker, from, &taken);
		}
		path->instruction[path->count - 1].taken = taken && block != FLOW_NONE;
	}
}

/* ---- All paths ------------------------------------------------------------------------------- */

static void offer(uint32_t *before, double *most, uint32_t from, uint32_t to, double executions)
{
	if (executions <= most[to])
		return;
	most[to] = executions;
	before[to] = from;
}

static struct pesa_error *find_before(struct deskid_walker *walker)
{
	const struct flow_graph *graph = walker->graph;
	double *most = calloc(graph->blocks + 1u, sizeof(*most));

	if (!most)
		return pesa_error_no_memory();
	for (uint32_t i = 0; i < graph->blocks; i++)
		walker->before[i] = FLOW_NONE;
	for (uint32_t i = 0; i < graph->edges; i++)
		offer(walker->before, most, graph->edge[i].from, graph->edge[i].to,
		      graph->edge[i].executions);
	for (uint32_t i = 0; i < graph->blocks; i++)
		if (graph->measured[i].callee != FLOW_NONE)
			offer(walker->before, most, i, graph->measured[i].callee,
			      graph->block[i].executions);
	free(most);
	return NULL;
}

struct pesa_error *deskid_walker_create(struct pesa_deskid *deskid, struct deskid_walker **result)
{
	const struct flow_graph *graph = deskid->code.graph;
	struct deskid_walker *walker = calloc(1, sizeof(*walker));
	struct pesa_error *error = NULL;

	if (!walker)
		return pesa_error_no_memory();
	walker->deskid = deskid;
	walker->graph = graph;
	walker->before = calloc(graph->blocks + 1u, sizeof(*walker->before));
	walker->entry = calloc(graph->blocks + 1u, sizeof(*walker->entry));
	walker->caller = calloc(graph->blocks + 1u, sizeof(*walker->caller));
	error = walker->before && walker->entry && walker->caller ? find_before(walker)
								  : pesa_error_no_memory();
	if (error) {
		deskid_walker_free(walker);
		return error;
	}
	for (uint32_t i = 0; i < graph->blocks; i++) {
		if (deskid->code.unknown[i] > 0)
			walker->entry[walker->entries++] = i;
		if (graph->block[i].calls)
			walker->caller[walker->callers++] = i;
	}
	*result = walker;
	return NULL;
}

void deskid_walker_free(struct deskid_walker *walker)
{
	if (!walker)
		return;
	free(walker->before);
	free(walker->entry);
	free(walker->caller);
	free(walker);
}
