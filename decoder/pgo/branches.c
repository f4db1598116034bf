/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>

#include "decoder/pgo/branches.h"
#include "decoder/profile/edges.h"

static struct pesa_error *add(struct pgo_branches *branches, uint64_t from, uint64_t to,
			      double count, double mispredicted)
{
	if (!(count > 0))
		return NULL;
	if (branches->count == branches->room) {
		size_t room = branches->room ? 2 * branches->room : 1024;
		struct pgo_branch *larger = realloc(branches->branch, room * sizeof(*larger));

		if (!larger)
			return pesa_error_no_memory();
		branches->branch = larger;
		branches->room = room;
	}
	branches->branch[branches->count++] = (struct pgo_branch){
		.from = from, .to = to, .count = count, .mispredicted = mispredicted};
	return NULL;
}

/* Which share of the taken transfers of an instruction was mispredicted, as far as samples tell. */
static double mispredicted_share(const struct pesa_instruction *measured)
{
	return measured && measured->retired_samples
		       ? (double)measured->mispredicted[1] /
				 (measured->transfers_taken ? (double)measured->transfers_taken
							    : (double)measured->retired_samples)
		       : 0;
}

/* Transfers to places that only samples tell: returns, and calls through pointers. */
static struct pesa_error *add_measured(struct pgo_branches *branches,
				       const struct pesa_control_flow_block *block,
				       const struct pesa_instruction *measured, double share)
{
	struct pesa_error *error = NULL;
	double sum = profile_edges_count(measured);

	for (unsigned int i = 0; measured && i < measured->edges && !error; i++) {
		double count = block->executions * (double)measured->edge[i].count / sum;

		if (measured->edge[i].target_dso == branches->dso)
			error = add(branches, block->last, measured->edge[i].target, count,
				    count * share);
	}
	return error;
}

static struct pesa_error *add_block(struct pgo_branches *branches, uint32_t number)
{
	const struct pesa_control_flow *flow = branches->flow;
	const struct pesa_control_flow_block *block = pesa_control_flow_block_at(flow, number);
	const struct pesa_instruction *measured =
		pesa_profile_find(branches->profile, block->dso, block->last);
	double share = mispredicted_share(measured);
	struct pesa_error *error = NULL;
	bool indirect = !block->edges || block->calls;

	if (share > 1)
		share = 1;
	if (block->callee)
		return add(branches, block->last, block->callee, block->executions,
			   block->executions * share);
	for (uint32_t i = 0; i < block->edges && !error; i++) {
		const struct pesa_control_flow_edge *edge =
			pesa_control_flow_edge_at(flow, block->first_edge + i);
		const struct pesa_control_flow_block *to =
			pesa_control_flow_block_at(flow, edge->to);

		if (edge->taken && to->dso == branches->dso)
			error = add(branches, block->last, to->start, edge->executions,
				    edge->executions * share);
	}
	return error || !indirect ? error : add_measured(branches, block, measured, share);
}

static int by_ends(const void *left, const void *right)
{
	const struct pgo_branch *a = left, *b = right;

	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	return a->to < b->to ? -1 : a->to > b->to;
}

struct pesa_error *pgo_branches_create(const struct pesa_profile *profile,
				       struct pesa_symbols *symbols,
				       const struct pesa_control_flow *flow, uint32_t dso,
				       struct pgo_branches *branches,
				       struct pesa_pgo_summary *summary)
{
	uint32_t blocks = pesa_control_flow_block_count(flow);
	struct pesa_error *error = NULL;

	*branches = (struct pgo_branches){
		.profile = profile, .symbols = symbols, .flow = flow, .dso = dso};
	while (branches->begin < blocks &&
	       pesa_control_flow_block_at(flow, branches->begin)->dso < dso)
		branches->begin++;
	for (branches->end = branches->begin;
	     branches->end < blocks && !error &&
	     pesa_control_flow_block_at(flow, branches->end)->dso == dso;
	     branches->end++) {
		const struct pesa_control_flow_block *block =
			pesa_control_flow_block_at(flow, branches->end);

		summary->executions += block->executions * block->instructions;
		error = add_block(branches, branches->end);
	}
	if (error)
		pgo_branches_free(branches);
	else if (branches->count)
		qsort(branches->branch, branches->count, sizeof(*branches->branch), by_ends);
	return error;
}

double pgo_fell_through(const struct pgo_branches *branches, uint32_t number)
{
	const struct pesa_control_flow_block *block =
		pesa_control_flow_block_at(branches->flow, number);

	for (uint32_t i = 0; i < block->edges && !block->calls; i++) {
		const struct pesa_control_flow_edge *edge =
			pesa_control_flow_edge_at(branches->flow, block->first_edge + i);

		if (!edge->taken)
			return edge->executions;
	}
	return 0;
}

void pgo_branches_free(struct pgo_branches *branches)
{
	free(branches->branch);
	branches->branch = NULL;
}
