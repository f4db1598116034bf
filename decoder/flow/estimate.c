/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What was measured, as a network.
 *
 * Each block is an arc, from the node where control comes in to the one where it goes out; its
 * wanted flow is the mean of the executions of its instructions.  The arc of a block that ends with a branch
 * comes in at both successors, divided by the measured share; arcs between these two, of which nothing
 * is wanted, let it be divided otherwise.  A block with one successor has no arc to it: where it goes
 * out is where the other one comes in.  Control may come from the
 * ground into functions, and go there from returns; elsewhere it may hardly.
 *
 * Variances are those of the estimate itself, not of the sample (a block that was not sampled is
 * not known to be never executed), so the network is solved in a few rounds.
 */
#include <math.h>
#include <stdlib.h>

#include "decoder/base/union_find.h"
#include "decoder/flow/inside.h"
#include "decoder/flow/network.h"
#include "decoder/profile/edges.h"
#include "pesa/record.h"

#define ROUNDS	      6
#define WANTED_ROUNDS 2

/* Relative error of a block's number beside sampling: cycles that could not be walked. */
#define BLOCK_MISFIT 0.01
/* Likewise of the share of a direction. */
#define SHARE_MISFIT 0.003
/* What comes from or goes to elsewhere in the midst of a function: signals, exceptions. */
#define ELSEWHERE 0.002
/* The wanted flows to the targets of a jump are shares of what the block had in the round before, which
 * is no measurement: they are held by this much less than the samples of the targets would. */
#define ANCHOR 4
/* Standard deviations up to which known callers explain the executions of a function. */
#define CHANCE 3

/* The nodes of a block. */
enum {
	IN,	 /* where control comes in */
	OUT,	 /* where it goes out; the ground: returns, unknown targets */
	CALLING, /* of one that calls through a pointer: the calls of each target */
	NODES,
};

struct observed {
	double mean; /* executions */
	/* How many instructions retire in one cycle with one of its own: those of other blocks count,
	 * since where these are executed as often, all of them are one sample. */
	double together;
};

/* Who calls a block that is entered. */
struct caller {
	bool known;	 /* there is a call of it */
	bool others;	 /* known ones do not explain its executions */
	double variance; /* of the sum of the calls of known ones */
	double unknown; /* calls from elsewhere, as estimated so far; below 0: calls that do not come */
};

struct estimate {
	const struct pesa_profile *profile;
	struct flow_graph *graph;
	double period; /* executions that one sample stands for */
	bool plain, errors;
	double most;			  /* executions of a block, wanted */
	const struct flow_wanted *wanted; /* by block, in place of what was measured; NULL: none */
	struct observed *observed;	  /* by block */
	uint32_t *node;			  /* NODES for each block */
	double *potential;		  /* by node */
	struct caller *caller;		  /* by block */
	struct flow_arc *arc;
	uint32_t arcs, nodes;
};

/* ---- Blocks ---------------------------------------------------------------------------------- */

/* Cycles in which an instruction retired, each divided among those that did. */
static double retiring_cycles(const struct pesa_instruction *measured)
{
	double weight = 0;

	for (unsigned int i = 0; i < measured->buckets; i++)
		if (measured->bucket[i].state == PESA_STATE_RETIRING)
			weight += (double)measured->bucket[i].weight;
	return weight / PESA_CYCLE;
}

static void observe(struct estimate *estimate, uint32_t number)
{
	const struct flow_graph *graph = estimate->graph;
	const struct pesa_control_flow_block *block = &graph->block[number];
	double executions = 0, cycles = 0;

	for (uint32_t i = 0; i < block->instructions; i++) {
		const struct pesa_instruction *measured =
			graph->instruction[graph->measured[number].first + i].measured;

		if (!measured)
			continue;
		executions += estimate->plain ? (double)measured->weight / PESA_CYCLE
					      : (double)measured->executions;
		cycles += retiring_cycles(measured);
	}
	estimate->observed[number].mean = executions / block->instructions;
	estimate->observed[number].together =
		estimate->plain || !(cycles > 0) ? 1 : fmax(executions / cycles, 1);
}

/* ---- Nodes ----------------------------------------------------------------------------------- */

/* The one successor of a block that cannot go elsewhere; NULL: there are several, or none. */
static const struct pesa_control_flow_edge *only_edge(const struct flow_graph *graph,
						      uint32_t block)
{
	return graph->block[block].edges == 1 && !graph->measured[block].left
		       ? &graph->edge[graph->block[block].first_edge]
		       : NULL;
}

/* Whether the block ends with an indirect jump some of whose targets are known. */
static bool has_targets(const struct flow_graph *graph, uint32_t number)
{
	return graph->block[number].edges && graph->edge[graph->block[number].first_edge].indirect;
}

/* Whether all that goes out of a block goes to the ground. */
static bool goes_elsewhere(const struct flow_graph *graph, uint32_t number)
{
	return graph->measured[number].left && !has_targets(graph, number);
}

/* How many targets of a call through a pointer were measured. */
static unsigned int targets_of(const struct flow_graph *graph, uint32_t block)
{
	const struct flow_instruction *last = flow_graph_last(graph, block);

	return last->measured && (last->flow == PESA_FLOW_INDIRECT_CALL ||
				  last->flow == PESA_FLOW_COROUTINE)
		       ? last->measured->edges
		       : 0;
}

static struct pesa_error *number_nodes(struct estimate *estimate)
{
	const struct flow_graph *graph = estimate->graph;
	uint32_t count = NODES * graph->blocks;
	uint32_t *join = calloc((size_t)count + 1, sizeof(*join));

	estimate->node = calloc((size_t)count + 1, sizeof(*estimate->node));
	if (!join || !estimate->node) {
		free(join);
		return pesa_error_no_memory();
	}
	for (uint32_t i = 0; i < count; i++)
		join[i] = i;
	for (uint32_t i = 0; i < graph->blocks; i++) {
		const struct pesa_control_flow_edge *edge = only_edge(graph, i);

		if (edge)
			join[union_find_root(join, NODES * i + OUT)] =
				union_find_root(join, NODES * edge->to + IN);
	}
	estimate->nodes = 1;
	for (uint32_t i = 0; i < count; i++) {
		const unsigned int which = i % NODES;

		if (union_find_root(join, i) != i ||
		    (which == OUT && goes_elsewhere(graph, i / NODES)) ||
		    (which == CALLING && !targets_of(graph, i / NODES)))
			continue;
		estimate->node[i] = estimate->nodes++;
	}
	for (uint32_t i = 0; i < count; i++)
		estimate->node[i] = estimate->node[union_find_root(join, i)];
	free(join);
	estimate->potential = calloc((size_t)estimate->nodes + 1, sizeof(*estimate->potential));
	return estimate->potential ? NULL : pesa_error_no_memory();
}

/* ---- Arcs ------------------------------------------------------------------------------------ */

static double squared(double value)
{
	return value * value;
}

/* An arc that also leads to a node `also`. */
static void add_arc_twice(struct estimate *estimate, uint32_t from, uint32_t to, uint32_t also,
			  double wanted, double variance)
{
	estimate->arc[estimate->arcs++] = (struct flow_arc){
		.from = from,
		.to = to,
		.also = also,
		.wanted = wanted,
		.variance = variance + 1e-3 * squared(estimate->period),
	};
}

static void add_arc(struct estimate *estimate, uint32_t from, uint32_t to, double wanted,
		    double variance)
{
	add_arc_twice(estimate, from, to, FLOW_GROUND, wanted, variance);
}

static uint32_t node_of(const struct estimate *estimate, uint32_t block, unsigned int which)
{
	return estimate->node[NODES * block + which];
}

static double block_variance(const struct estimate *estimate, uint32_t number)
{
	const struct pesa_control_flow_block *block = &estimate->graph->block[number];

	if (estimate->wanted)
		return estimate->wanted[number].variance;
	double part = estimate->observed[number].together / block->instructions;
	double least = estimate->period * part / 2;

	return estimate->period * fmax(block->executions, least) * part +
	       squared(BLOCK_MISFIT * block->executions);
}

/* What comes from elsewhere or goes there at a block that is not known to be connected with it. */
static double elsewhere_variance(const struct estimate *estimate,
				 const struct pesa_control_flow_block *block)
{
	return squared(ELSEWHERE * block->executions + 0.1 * estimate->period);
}

/* What samples tell of the direction of a branch. */
struct direction {
	double share;	       /* of its executions that transfer control */
	double variance;       /* of their number */
	uint32_t next, target; /* nodes */
};

static struct direction direction_of(const struct estimate *estimate, uint32_t number)
{
	const struct flow_graph *graph = estimate->graph;
	const struct pesa_control_flow_block *block = &graph->block[number];
	const struct pesa_control_flow_edge *edge = &graph->edge[block->first_edge];
	const struct pesa_instruction *measured = flow_graph_last(graph, number)->measured;
	double known = measured ? (double)measured->transfers_known : 0;
	double taken = measured ? (double)measured->transfers_taken : 0;
	double executions = fmax(block->executions, estimate->period / 4);
	/* A direction that was never sampled is not known to be never taken; but if half a sample
	 * were wanted of each, all of them together would be many. */
	double likely = (taken + 0.5) / (known + 1);

	return (struct direction){
		.share = known > 0 ? taken / known : 0.5,
		.variance = squared(executions) *
			    (likely * (1 - likely) / (known + 1) + squared(SHARE_MISFIT)),
		.next = node_of(estimate, edge[0].to, IN),
		.target = node_of(estimate, edge[1].to, IN),
	};
}

/* Whether a block ends with a branch both of whose successors are in the graph. */
static bool is_branch(const struct flow_graph *graph, uint32_t number)
{
	return graph->block[number].edges == 2 && !has_targets(graph, number);
}

/* The measured targets of an indirect jump. */
static void add_targets(struct estimate *estimate, uint32_t number)
{
	const struct flow_graph *graph = estimate->graph;
	const struct pesa_control_flow_block *block = &graph->block[number];
	const struct pesa_instruction *measured = flow_graph_last(graph, number)->measured;
	double sum = profile_edges_count(measured);

	for (uint32_t i = 0; i < block->edges; i++) {
		const struct pesa_control_flow_edge *edge = &graph->edge[block->first_edge + i];
		double seen = 0;

		for (unsigned int j = 0; measured && j < measured->edges; j++)
			if (measured->edge[j].target == graph->block[edge->to].start &&
			    measured->edge[j].target_dso == graph->block[edge->to].dso)
				seen = (double)measured->edge[j].count;
		add_arc(estimate, node_of(estimate, number, OUT), node_of(estimate, edge->to, IN),
			sum > 0 ? block->executions * seen / sum : 0,
			ANCHOR * estimate->period * fmax(seen, estimate->period / 2));
	}
}

/*
 * What comes in from places that are not in the profile, or goes there: hardly anything in the
 * midst of a function.  Of a function, what its known callers do not explain by chance is believed.
 */
static void add_elsewhere(struct estimate *estimate, uint32_t number)
{
	const struct pesa_control_flow_block *block = &estimate->graph->block[number];
	const uint32_t in = node_of(estimate, number, IN);
	const struct caller *caller = &estimate->caller[number];
	double variance = elsewhere_variance(estimate, block);
	double unknown = 0;

	if (block->entered && (!caller->known || caller->others)) {
		unknown = caller->unknown;
		variance = squared(block->executions + estimate->period);
	} else if (estimate->plain && estimate->graph->measured[number].jumped_to) {
		variance = squared(block->executions + estimate->period);
	}
	add_arc(estimate, FLOW_GROUND, in, fmax(unknown, 0), variance);
	add_arc(estimate, in, FLOW_GROUND, fmax(-unknown, 0), variance);
}

/* The executions of a block that ends with a branch, divided by the measured share, and what goes in
 * the other direction than that says. */
static void add_branch(struct estimate *estimate, uint32_t number)
{
	const struct direction direction = direction_of(estimate, number);
	const bool never = !(direction.share > 0);

	estimate->arc[estimate->arcs++] = (struct flow_arc){
		.from = node_of(estimate, number, IN),
		.to = direction.next,
		.also = never ? FLOW_GROUND : direction.target,
		.split = never ? 0 : direction.share,
		.wanted = estimate->observed[number].mean,
		.variance = block_variance(estimate, number),
	};
	add_elsewhere(estimate, number);
	add_arc(estimate, direction.next, direction.target, 0, direction.variance);
	add_arc(estimate, direction.target, direction.next, 0, direction.variance);
}

/* The calls of a block through a pointer, by their measured targets. */
static void add_calls(struct estimate *estimate, uint32_t number)
{
	const struct flow_graph *graph = estimate->graph;
	const struct pesa_control_flow_block *block = &graph->block[number];
	const struct pesa_instruction *measured = flow_graph_last(graph, number)->measured;
	const uint32_t calling = node_of(estimate, number, CALLING);
	double sum = profile_edges_count(measured);

	for (unsigned int i = 0; i < measured->edges; i++) {
		const struct pesa_edge *edge = &measured->edge[i];
		uint32_t callee = flow_graph_find_block(graph, edge->target_dso, edge->target);
		double count = (double)edge->count;

		add_arc(estimate, calling,
			callee == FLOW_NONE ? FLOW_GROUND : node_of(estimate, callee, IN),
			sum > 0 ? block->executions * count / sum : 0,
			ANCHOR * estimate->period * fmax(count, estimate->period / 2));
	}
	/* In both directions: one alone would take from the calls, never give. */
	add_arc(estimate, calling, FLOW_GROUND, 0, elsewhere_variance(estimate, block));
	add_arc(estimate, FLOW_GROUND, calling, 0, elsewhere_variance(estimate, block));
}

static uint32_t also_of(const struct estimate *estimate, uint32_t number)
{
	const uint32_t callee = estimate->graph->measured[number].callee;

	if (callee != FLOW_NONE)
		return node_of(estimate, callee, IN);
	return targets_of(estimate->graph, number) ? node_of(estimate, number, CALLING)
						   : FLOW_GROUND;
}

/* Samples that tell no directions hold none: each may have what comes in, but none less than nothing,
 * which two arcs between the successors would allow. */
static void add_directions(struct estimate *estimate, uint32_t number)
{
	const struct flow_graph *graph = estimate->graph;
	const struct pesa_control_flow_edge *edge = &graph->edge[graph->block[number].first_edge];

	for (unsigned int i = 0; i < 2; i++)
		add_arc(estimate, node_of(estimate, number, OUT), node_of(estimate, edge[i].to, IN),
			0, squared(estimate->most));
}

static void add_block(struct estimate *estimate, uint32_t number)
{
	const struct flow_graph *graph = estimate->graph;

	if (is_branch(graph, number) && !estimate->plain) {
		add_branch(estimate, number);
		return;
	}
	add_arc_twice(estimate, node_of(estimate, number, IN), node_of(estimate, number, OUT),
		      also_of(estimate, number), estimate->observed[number].mean,
		      block_variance(estimate, number));
	add_elsewhere(estimate, number);
	if (targets_of(graph, number))
		add_calls(estimate, number);
	if (is_branch(graph, number))
		add_directions(estimate, number);
	else if (has_targets(graph, number))
		add_targets(estimate, number);
}

/* ---- Rounds ---------------------------------------------------------------------------------- */

/* `unknown`: what came from elsewhere into a block in this round. */
static void learn_callers(struct estimate *estimate, uint32_t number, double unknown)
{
	struct caller *caller = &estimate->caller[number];
	double variance = block_variance(estimate, number) + caller->variance;

	caller->unknown = unknown;
	if (caller->known)
		caller->others &= fabs(unknown) > CHANCE * sqrt(variance);
}

static void call_from(struct estimate *estimate, uint32_t callee, double variance)
{
	if (callee == FLOW_NONE)
		return;
	estimate->caller[callee].known = true;
	estimate->caller[callee].unknown = 0;
	estimate->caller[callee].variance += variance;
}

/* Find the blocks that are called by others.  None of their calls is from elsewhere at first. */
static void find_callers(struct estimate *estimate)
{
	const struct flow_graph *graph = estimate->graph;

	for (uint32_t i = 0; i < graph->blocks; i++) {
		const struct pesa_instruction *measured = flow_graph_last(graph, i)->measured;

		if (graph->measured[i].callee != FLOW_NONE)
			call_from(estimate, graph->measured[i].callee, block_variance(estimate, i));
		for (unsigned int j = 0; j < targets_of(graph, i); j++)
			call_from(estimate,
				  flow_graph_find_block(graph, measured->edge[j].target_dso,
							measured->edge[j].target),
				  estimate->period * (double)measured->edge[j].count);
	}
}

static struct pesa_error *solve_once(struct estimate *estimate, unsigned int draws)
{
	struct flow_graph *graph = estimate->graph;
	struct pesa_error *error;
	uint32_t at = 0;

	estimate->arcs = 0;
	for (uint32_t i = 0; i < graph->blocks; i++)
		add_block(estimate, i);
	error = flow_network_solve(estimate->arc, estimate->arcs, estimate->potential,
				   estimate->nodes, draws);
	if (error)
		return error;
	/* The order is that in which they were added. */
	for (uint32_t i = 0; i < graph->blocks; i++) {
		struct pesa_control_flow_block *block = &graph->block[i];
		struct pesa_control_flow_edge *edge = &graph->edge[block->first_edge];

		block->executions = estimate->arc[at].flow;
		block->error = estimate->arc[at].error;
		learn_callers(estimate, i, estimate->arc[at + 1].flow - estimate->arc[at + 2].flow);
		at += 3;
		if (targets_of(graph, i))
			at += targets_of(graph, i) + 2;
		if (is_branch(graph, i) && !estimate->plain) {
			double taken = direction_of(estimate, i).share * block->executions +
				       estimate->arc[at].flow - estimate->arc[at + 1].flow;

			edge[1].executions = fmin(fmax(taken, 0), block->executions);
			edge[0].executions = block->executions - edge[1].executions;
			at += 2;
		} else if (is_branch(graph, i) || has_targets(graph, i)) {
			for (uint32_t j = 0; j < block->edges; j++)
				edge[j].executions = estimate->arc[at++].flow;
		} else if (only_edge(graph, i)) {
			edge->executions = block->executions;
		}
	}
	return NULL;
}

/* Exact profiles have the numbers themselves. */
static void take_exact(struct flow_graph *graph)
{
	for (uint32_t i = 0; i < graph->blocks; i++) {
		struct pesa_control_flow_block *block = &graph->block[i];
		const struct pesa_instruction *measured = flow_graph_last(graph, i)->measured;
		double taken = measured ? (double)measured->transfers_taken : 0;

		block->executions = block->measured;
		for (uint32_t j = 0; j < block->edges; j++) {
			struct pesa_control_flow_edge *edge = &graph->edge[block->first_edge + j];

			if (edge->indirect)
				continue;
			edge->executions = block->edges == 1 ? block->executions
					   : edge->taken     ? taken
							     : fmax(block->executions - taken, 0);
		}
	}
}

/* Most arcs that the blocks can have. */
static size_t count_arcs(const struct flow_graph *graph)
{
	size_t arcs = 3 * (size_t)graph->blocks + graph->edges + 1;

	for (uint32_t i = 0; i < graph->blocks; i++)
		if (targets_of(graph, i))
			arcs += targets_of(graph, i) + 2;
	return arcs;
}

static struct pesa_error *solve(struct estimate *estimate)
{
	struct flow_graph *graph = estimate->graph;
	/* Variances that are given do not change, only who is known to call. */
	const int rounds = estimate->wanted ? WANTED_ROUNDS : ROUNDS;
	struct pesa_error *error;

	estimate->observed = calloc((size_t)graph->blocks + 1, sizeof(*estimate->observed));
	estimate->caller = calloc((size_t)graph->blocks + 1, sizeof(*estimate->caller));
	estimate->arc = calloc(count_arcs(graph), sizeof(*estimate->arc));
	if (!estimate->observed || !estimate->caller || !estimate->arc)
		return pesa_error_no_memory();
	for (uint32_t i = 0; i < graph->blocks; i++) {
		if (estimate->wanted)
			estimate->observed[i] =
				(struct observed){estimate->wanted[i].executions, 1};
		else
			observe(estimate, i);
		estimate->most = fmax(estimate->most, estimate->observed[i].mean);
		graph->block[i].measured = estimate->observed[i].mean;
		graph->block[i].executions = estimate->observed[i].mean;
		estimate->caller[i].others = true;
		estimate->caller[i].unknown = estimate->observed[i].mean;
	}
	if (pesa_profile_totals(estimate->profile)->exact) {
		take_exact(graph);
		return NULL;
	}
	find_callers(estimate);
	error = number_nodes(estimate);
	for (int round = 0; round < rounds && !error; round++)
		error = solve_once(estimate,
				   estimate->errors && round == rounds - 1 ? FLOW_DRAWS : 0);
	return error;
}

struct pesa_error *flow_estimate(const struct pesa_profile *profile, struct flow_graph *graph,
				 bool plain, bool errors, const struct flow_wanted *wanted)
{
	struct estimate estimate = {
		.profile = profile,
		.graph = graph,
		.plain = plain,
		.errors = errors,
		.wanted = wanted,
		.period = pesa_profile_totals(profile)->period,
	};
	struct pesa_error *error = solve(&estimate);

	free(estimate.observed);
	free(estimate.caller);
	free(estimate.potential);
	free(estimate.node);
	free(estimate.arc);
	return error;
}
