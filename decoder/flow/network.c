/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/flow/network.h"

#define STEPS_MAX     60
#define TOLERANCE     1e-5 /* of the largest wanted flow */
#define GRADIENTS     1e-4 /* residual of a step, relative */
#define GRADIENTS_MAX 500
#define HALVES_MAX    30

/* A part of the network, with nodes of its own: 0 is the ground. */
struct part {
	const uint32_t *arc; /* numbers */
	uint32_t arcs, nodes;
	struct flow_arc *all;
	const uint32_t *local; /* node of the part, by node */
	bool *flows;	       /* by arc of the part: whether it has a flow */
	double *noise;	       /* by arc of the part */
	/* By node of the part: */
	double *potential, *tried, *excess, *step, *residual, *direction, *product, *diagonal;
};

static uint32_t from_of(const struct part *part, uint32_t i)
{
	return part->local[part->all[part->arc[i]].from];
}

static uint32_t to_of(const struct part *part, uint32_t i)
{
	return part->local[part->all[part->arc[i]].to];
}

static uint32_t also_of(const struct part *part, uint32_t i)
{
	return part->local[part->all[part->arc[i]].also];
}

/* Which parts of the flow come in at `to` and at `also`. */
static double to_part(const struct flow_arc *arc)
{
	return 1 - arc->split;
}

static double also_part(const struct flow_arc *arc)
{
	return arc->split > 0 ? arc->split : 1;
}

/* How much more a flow is worth at its ends than at its beginning. */
static double difference(const struct part *part, const double *vector, uint32_t i)
{
	const struct flow_arc *arc = &part->all[part->arc[i]];

	return to_part(arc) * vector[to_of(part, i)] + also_part(arc) * vector[also_of(part, i)] -
	       vector[from_of(part, i)];
}

/* Add what flows along an arc to what comes into its nodes. */
static void carry(const struct part *part, double *node, uint32_t i, double flow)
{
	const struct flow_arc *arc = &part->all[part->arc[i]];

	node[to_of(part, i)] += to_part(arc) * flow;
	node[also_of(part, i)] += also_part(arc) * flow;
	node[from_of(part, i)] -= flow;
}

/* The flow before it is cut off at 0. */
static double free_flow(const struct part *part, const double *potential, uint32_t i)
{
	const struct flow_arc *arc = &part->all[part->arc[i]];

	return arc->wanted + arc->variance * difference(part, potential, i);
}

/* Value of the dual; excess: what comes into each node beyond what goes out. */
static double evaluate(const struct part *part, const double *potential, double *excess)
{
	double sum = 0;

	memset(excess, 0, part->nodes * sizeof(*excess));
	for (uint32_t i = 0; i < part->arcs; i++) {
		const struct flow_arc *arc = &part->all[part->arc[i]];
		double flow = fmax(free_flow(part, potential, i), 0), off = flow - arc->wanted;

		sum += off * off / (2 * arc->variance) - flow * difference(part, potential, i);
		carry(part, excess, i, flow);
	}
	excess[FLOW_GROUND] = 0;
	return sum;
}

/* product = Laplacian of the arcs that have a flow, times a vector that is 0 at the ground. */
static void multiply(const struct part *part, const double *vector, double *product)
{
	for (uint32_t i = 0; i < part->nodes; i++)
		product[i] = part->diagonal[i] * vector[i] * 1e-12;
	for (uint32_t i = 0; i < part->arcs; i++)
		if (part->flows[i])
			carry(part, product, i,
			      part->all[part->arc[i]].variance * difference(part, vector, i));
	product[FLOW_GROUND] = 0;
}

static double dot(const double *one, const double *other, uint32_t count)
{
	double sum = 0;

	for (uint32_t i = 0; i < count; i++)
		sum += one[i] * other[i];
	return sum;
}

static void make_diagonal(const struct part *part)
{
	for (uint32_t i = 0; i < part->nodes; i++)
		part->diagonal[i] = 1e-9;
	for (uint32_t i = 0; i < part->arcs; i++) {
		const struct flow_arc *arc = &part->all[part->arc[i]];
		double variance = arc->variance;

		part->flows[i] = free_flow(part, part->potential, i) > 0;
		if (!part->flows[i])
			continue;
		part->diagonal[to_of(part, i)] += variance * to_part(arc) * to_part(arc);
		part->diagonal[also_of(part, i)] += variance * also_part(arc) * also_part(arc);
		part->diagonal[from_of(part, i)] += variance;
	}
}

/* The step of Newton's method: conjugate gradients, preconditioned by the diagonal. */
static void find_step(struct part *part)
{
	uint32_t nodes = part->nodes;
	double rho, first, previous = 0;

	make_diagonal(part);
	memset(part->step, 0, nodes * sizeof(*part->step));
	for (uint32_t i = 0; i < nodes; i++)
		part->residual[i] = -part->excess[i];
	first = dot(part->residual, part->residual, nodes);
	for (uint32_t round = 0; round < 2 * nodes + 20 && round < GRADIENTS_MAX; round++) {
		double along;

		rho = 0;
		for (uint32_t i = 0; i < nodes; i++)
			rho += part->residual[i] * part->residual[i] / part->diagonal[i];
		for (uint32_t i = 0; i < nodes; i++) {
			double next = part->residual[i] / part->diagonal[i];

			part->direction[i] =
				round ? next + rho / previous * part->direction[i] : next;
		}
		multiply(part, part->direction, part->product);
		along = dot(part->direction, part->product, nodes);
		if (!(along > 0))
			break;
		for (uint32_t i = 0; i < nodes; i++) {
			part->step[i] += rho / along * part->direction[i];
			part->residual[i] -= rho / along * part->product[i];
		}
		if (dot(part->residual, part->residual, nodes) <= GRADIENTS * GRADIENTS * first)
			break;
		previous = rho;
	}
}

static double largest(const double *value, uint32_t count)
{
	double most = 0;

	for (uint32_t i = 0; i < count; i++)
		most = fmax(most, fabs(value[i]));
	return most;
}

static void solve_part(struct part *part)
{
	double wanted = 0, value;

	for (uint32_t i = 0; i < part->arcs; i++)
		wanted = fmax(wanted, part->all[part->arc[i]].wanted);
	value = evaluate(part, part->potential, part->excess);
	for (int step = 0;
	     step < STEPS_MAX && largest(part->excess, part->nodes) > TOLERANCE * wanted; step++) {
		double slope, share = 1, next = value;

		find_step(part);
		slope = -dot(part->excess, part->step, part->nodes);
		for (int half = 0; half < HALVES_MAX; half++, share /= 2) {
			for (uint32_t i = 0; i < part->nodes; i++)
				part->tried[i] = part->potential[i] + share * part->step[i];
			next = evaluate(part, part->tried, part->product);
			if (next >= value + 1e-4 * share * slope)
				break;
		}
		if (next <= value)
			break; /* no better by more than rounding */
		memcpy(part->potential, part->tried, part->nodes * sizeof(*part->tried));
		memcpy(part->excess, part->product, part->nodes * sizeof(*part->excess));
		value = next;
	}
	for (uint32_t i = 0; i < part->arcs; i++)
		part->all[part->arc[i]].flow = fmax(free_flow(part, part->potential, i), 0);
}

/* ---- Errors ---------------------------------------------------------------------------------- */

/* A number of a normal distribution, nearly: the sum of twelve uniform ones (xorshift64). */
static double draw(uint64_t *seed)
{
	double sum = -6;

	for (int i = 0; i < 12; i++) {
		*seed ^= *seed << 13;
		*seed ^= *seed >> 7;
		*seed ^= *seed << 17;
		sum += (double)(*seed >> 11) / (double)(UINT64_C(1) << 53);
	}
	return sum;
}

/* The noise that is left of noise on every arc, once what comes into a node goes out of it. */
static void draw_once(struct part *part, uint64_t *seed)
{
	memset(part->excess, 0, part->nodes * sizeof(*part->excess));
	make_diagonal(part);
	for (uint32_t i = 0; i < part->arcs; i++) {
		part->noise[i] = draw(seed) * sqrt(part->all[part->arc[i]].variance);
		if (part->flows[i])
			carry(part, part->excess, i, part->noise[i]);
	}
	part->excess[FLOW_GROUND] = 0;
	find_step(part);
	for (uint32_t i = 0; i < part->arcs; i++) {
		struct flow_arc *arc = &part->all[part->arc[i]];
		double left = part->noise[i] + arc->variance * difference(part, part->step, i);

		if (part->flows[i])
			arc->error += left * left;
	}
}

static void find_errors(struct part *part, unsigned int draws)
{
	uint64_t seed = UINT64_C(0x9e3779b97f4a7c15) * (part->nodes + 1);

	for (uint32_t i = 0; i < part->arcs; i++)
		part->all[part->arc[i]].error = 0;
	for (unsigned int i = 0; i < draws; i++)
		draw_once(part, &seed);
	for (uint32_t i = 0; draws && i < part->arcs; i++)
		part->all[part->arc[i]].error = sqrt(part->all[part->arc[i]].error / draws);
}

/* ---- Parts ----------------------------------------------------------------------------------- */

struct parts {
	uint32_t *group; /* by node: another node of its part; the first one has its own number */
	uint32_t *local; /* by node: its number in its part */
	uint32_t *order, *arc_end; /* arcs by part, and where those of a first node end */
	uint32_t *node, *node_end; /* nodes but the ground, likewise */
	bool *flows;		   /* room for one part */
	double *noise;		   /* likewise */
	unsigned int draws;
};

static uint32_t group_of(uint32_t *group, uint32_t node)
{
	while (group[node] != node) {
		group[node] = group[group[node]];
		node = group[node];
	}
	return node;
}

/* The part that an arc belongs to. */
static uint32_t part_of(const struct parts *parts, const struct flow_arc *arc)
{
	uint32_t node = arc->to != FLOW_GROUND ? arc->to : arc->from;

	return group_of(parts->group, node != FLOW_GROUND ? node : arc->also);
}

/* The nodes of an arc are in one part. */
static void join(uint32_t *group, const struct flow_arc *arc)
{
	const uint32_t node[] = {arc->from, arc->to, arc->also};
	uint32_t first = FLOW_GROUND;

	for (unsigned int i = 0; i < 3; i++) {
		if (node[i] == FLOW_GROUND)
			continue;
		if (first != FLOW_GROUND)
			group[group_of(group, first)] = group_of(group, node[i]);
		first = node[i];
	}
}

/* Numbers of items by group become the positions where each group begins. */
static void make_positions(uint32_t *count, uint32_t groups)
{
	uint32_t position = 0;

	for (uint32_t i = 0; i < groups; i++) {
		uint32_t here = count[i];

		count[i] = position;
		position += here;
	}
}

static void find_parts(struct parts *parts, const struct flow_arc *arc, uint32_t arcs,
		       uint32_t nodes)
{
	for (uint32_t i = 0; i < nodes; i++)
		parts->group[i] = i;
	for (uint32_t i = 0; i < arcs; i++)
		join(parts->group, &arc[i]);
	for (uint32_t i = 1; i < nodes; i++)
		parts->local[i] = ++parts->node_end[group_of(parts->group, i)];
	for (uint32_t i = 0; i < arcs; i++)
		parts->arc_end[part_of(parts, &arc[i])]++;
	make_positions(parts->node_end, nodes);
	make_positions(parts->arc_end, nodes);
	/* Where a group begins moves to where it ends. */
	for (uint32_t i = 1; i < nodes; i++)
		parts->node[parts->node_end[group_of(parts->group, i)]++] = i;
	for (uint32_t i = 0; i < arcs; i++)
		parts->order[parts->arc_end[part_of(parts, &arc[i])]++] = i;
}

/* Solve a part; `node`: its nodes but the ground, as many as `count`. */
static void solve_nodes(const struct parts *parts, struct part *part, const uint32_t *node,
			uint32_t count, double *potential, double *work)
{
	double **array[] = {&part->potential, &part->tried,	&part->excess,	&part->step,
			    &part->residual,  &part->direction, &part->product, &part->diagonal};

	part->local = parts->local;
	part->nodes = count + 1;
	for (unsigned int i = 0; i < sizeof(array) / sizeof(*array); i++)
		*array[i] = work + (size_t)i * part->nodes;
	part->potential[FLOW_GROUND] = 0;
	for (uint32_t i = 0; i < count; i++)
		part->potential[i + 1] = potential[node[i]];
	solve_part(part);
	find_errors(part, parts->draws);
	for (uint32_t i = 0; i < count; i++)
		potential[node[i]] = part->potential[i + 1];
}

static void solve_parts(const struct parts *parts, struct flow_arc *arc, double *potential,
			uint32_t nodes, double *work)
{
	uint32_t arc_begin = 0, node_begin = 0;

	for (uint32_t i = 0; i < nodes; i++) {
		struct part part = {
			.arc = parts->order + arc_begin,
			.arcs = parts->arc_end[i] - arc_begin,
			.all = arc,
			.flows = parts->flows,
			.noise = parts->noise,
		};

		if (part.arcs)
			solve_nodes(parts, &part, parts->node + node_begin,
				    parts->node_end[i] - node_begin, potential, work);
		arc_begin = parts->arc_end[i];
		node_begin = parts->node_end[i];
	}
}

struct pesa_error *flow_network_solve(struct flow_arc *arc, uint32_t arcs, double *potential,
				      uint32_t nodes, unsigned int draws)
{
	struct parts parts = {
		.group = calloc((size_t)nodes + 1, sizeof(uint32_t)),
		.local = calloc((size_t)nodes + 1, sizeof(uint32_t)),
		.arc_end = calloc((size_t)nodes + 1, sizeof(uint32_t)),
		.node_end = calloc((size_t)nodes + 1, sizeof(uint32_t)),
		.node = calloc((size_t)nodes + 1, sizeof(uint32_t)),
		.order = calloc((size_t)arcs + 1, sizeof(uint32_t)),
		.flows = calloc((size_t)arcs + 1, sizeof(bool)),
		.noise = calloc((size_t)arcs + 1, sizeof(double)),
		.draws = draws,
	};
	double *work = calloc(8 * ((size_t)nodes + 1), sizeof(*work));
	bool done = parts.group && parts.local && parts.arc_end && parts.node_end && parts.node &&
		    parts.order && parts.flows && parts.noise && work;

	if (done) {
		find_parts(&parts, arc, arcs, nodes);
		solve_parts(&parts, arc, potential, nodes, work);
	}
	free(parts.group);
	free(parts.local);
	free(parts.arc_end);
	free(parts.node_end);
	free(parts.node);
	free(parts.order);
	free(parts.flows);
	free(parts.noise);
	free(work);
	return done ? NULL : pesa_error_no_memory();
}
