/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/base/union_find.h"
#include "decoder/flow/factor.h"
#include "decoder/flow/network.h"

#define STEPS_MAX  60
#define TOLERANCE  1e-5 /* of the largest wanted flow */
#define HALVES_MAX 30

/* A part of the network, with nodes of its own: 0 is the ground. */
struct part {
	struct flow_arc *arc; /* between nodes of the part */
	uint32_t arcs, nodes;
	/* Arcs that have a flow, and the nodes that they connect but the ground: only those matter in a
	 * step.  Most code of a program is never executed. */
	uint32_t *active, *touched;
	uint32_t *row; /* by node: its index in `touched`, if it is there */
	uint32_t actives, touches;
	double *noise; /* by arc */
	/* By node: */
	double *potential, *tried, *excess, *step, *residual, *product, *diagonal;
};

/* How much more a flow is worth at its ends than at its beginning. */
static double difference(const struct flow_arc *arc, const double *vector)
{
	return flow_to_part(arc) * vector[arc->to] + flow_also_part(arc) * vector[arc->also] -
	       vector[arc->from];
}

/* Add what flows along an arc to what comes into its nodes. */
static void carry(const struct flow_arc *arc, double *node, double flow)
{
	node[arc->to] += flow_to_part(arc) * flow;
	node[arc->also] += flow_also_part(arc) * flow;
	node[arc->from] -= flow;
}

/* The flow before it is cut off at 0. */
static double free_flow(const struct flow_arc *arc, const double *potential)
{
	return arc->wanted + arc->variance * difference(arc, potential);
}

/* Value of the dual; excess: what comes into each node beyond what goes out. */
static double evaluate(const struct part *part, const double *potential, double *excess)
{
	double sum = 0;

	memset(excess, 0, part->nodes * sizeof(*excess));
	for (uint32_t i = 0; i < part->arcs; i++) {
		const struct flow_arc *arc = &part->arc[i];
		double flow = fmax(free_flow(arc, potential), 0), off = flow - arc->wanted;

		sum += off * off / (2 * arc->variance) - flow * difference(arc, potential);
		carry(arc, excess, flow);
	}
	excess[FLOW_GROUND] = 0;
	return sum;
}

/* Find the arcs that have a flow, their nodes, and the diagonal of their Laplacian. */
static void find_active(struct part *part)
{
	memset(part->diagonal, 0, part->nodes * sizeof(*part->diagonal));
	part->actives = part->touches = 0;
	for (uint32_t i = 0; i < part->arcs; i++) {
		const struct flow_arc *arc = &part->arc[i];

		if (free_flow(arc, part->potential) <= 0)
			continue;
		part->active[part->actives++] = i;
		part->diagonal[arc->to] += arc->variance * flow_to_part(arc) * flow_to_part(arc);
		part->diagonal[arc->also] +=
			arc->variance * flow_also_part(arc) * flow_also_part(arc);
		part->diagonal[arc->from] += arc->variance;
	}
	for (uint32_t i = 1; i < part->nodes; i++)
		if (part->diagonal[i] > 0) {
			part->row[i] = part->touches;
			part->touched[part->touches++] = i;
		}
}

/* Products of two vectors, over the nodes that are touched. */
static double dot(const struct part *part, const double *one, const double *other)
{
	double sum = 0;

	for (uint32_t i = 0; i < part->touches; i++)
		sum += one[part->touched[i]] * other[part->touched[i]];
	return sum;
}

static struct pesa_error *make_factor(const struct part *part, struct flow_factor **factor)
{
	return flow_factor_create(part->arc, part->active, part->actives, part->touched,
				  part->touches, part->row, part->diagonal, factor);
}

/* The step of Newton's method from this excess. */
static void find_step(struct part *part, const struct flow_factor *factor)
{
	memset(part->step, 0, part->nodes * sizeof(*part->step));
	for (uint32_t i = 0; i < part->touches; i++)
		part->residual[i] = -part->excess[part->touched[i]];
	flow_factor_solve(factor, part->residual, part->product);
	for (uint32_t i = 0; i < part->touches; i++)
		part->step[part->touched[i]] = part->residual[i];
}

static double largest(const double *value, uint32_t count)
{
	double most = 0;

	for (uint32_t i = 0; i < count; i++)
		most = fmax(most, fabs(value[i]));
	return most;
}

static struct pesa_error *solve_part(struct part *part)
{
	struct flow_factor *factor;
	struct pesa_error *error;
	double wanted = 0, value;

	for (uint32_t i = 0; i < part->arcs; i++)
		wanted = fmax(wanted, part->arc[i].wanted);
	value = evaluate(part, part->potential, part->excess);
	for (int step = 0;
	     step < STEPS_MAX && largest(part->excess, part->nodes) > TOLERANCE * wanted; step++) {
		double slope, share = 1, next = value;

		find_active(part);
		if (!part->touches)
			break;
		error = make_factor(part, &factor);
		if (error)
			return error;
		find_step(part, factor);
		flow_factor_free(factor);
		slope = -dot(part, part->excess, part->step);
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
		part->arc[i].flow = fmax(free_flow(&part->arc[i], part->potential), 0);
	return NULL;
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
static void draw_once(struct part *part, const struct flow_factor *factor, uint64_t *seed)
{
	memset(part->excess, 0, part->nodes * sizeof(*part->excess));
	for (uint32_t i = 0; i < part->actives; i++) {
		const struct flow_arc *arc = &part->arc[part->active[i]];

		part->noise[i] = draw(seed) * sqrt(arc->variance);
		carry(arc, part->excess, part->noise[i]);
	}
	find_step(part, factor);
	for (uint32_t i = 0; i < part->actives; i++) {
		struct flow_arc *arc = &part->arc[part->active[i]];
		double left = part->noise[i] + arc->variance * difference(arc, part->step);

		arc->error += left * left;
	}
}

static struct pesa_error *find_errors(struct part *part, unsigned int draws)
{
	struct flow_factor *factor;
	struct pesa_error *error;
	uint64_t seed = UINT64_C(0x9e3779b97f4a7c15) * (part->nodes + 1);

	for (uint32_t i = 0; i < part->arcs; i++)
		part->arc[i].error = 0;
	if (!draws)
		return NULL;
	find_active(part);
	if (!part->touches)
		return NULL;
	error = make_factor(part, &factor);
	if (error)
		return error;
	for (unsigned int i = 0; i < draws; i++)
		draw_once(part, factor, &seed);
	flow_factor_free(factor);
	for (uint32_t i = 0; i < part->actives; i++) {
		struct flow_arc *arc = &part->arc[part->active[i]];

		arc->error = sqrt(arc->error / draws);
	}
	return NULL;
}

/* ---- Parts ----------------------------------------------------------------------------------- */

struct parts {
	uint32_t *group;	   /* by node: sets of union_find.h, the parts */
	uint32_t *local;	   /* by node: its number in its part */
	uint32_t *order, *arc_end; /* arcs by part, and where those of a first node end */
	uint32_t *node, *node_end; /* nodes but the ground, likewise */
	/* Room for one part: */
	struct flow_arc *arc;
	uint32_t *active, *touched, *row;
	double *noise;
	unsigned int draws;
};

/* The part that an arc belongs to. */
static uint32_t part_of(const struct parts *parts, const struct flow_arc *arc)
{
	uint32_t node = arc->to != FLOW_GROUND ? arc->to : arc->from;

	return union_find_root(parts->group, node != FLOW_GROUND ? node : arc->also);
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
			group[union_find_root(group, first)] = union_find_root(group, node[i]);
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
		parts->local[i] = ++parts->node_end[union_find_root(parts->group, i)];
	for (uint32_t i = 0; i < arcs; i++)
		parts->arc_end[part_of(parts, &arc[i])]++;
	make_positions(parts->node_end, nodes);
	make_positions(parts->arc_end, nodes);
	/* Where a group begins moves to where it ends. */
	for (uint32_t i = 1; i < nodes; i++)
		parts->node[parts->node_end[union_find_root(parts->group, i)]++] = i;
	for (uint32_t i = 0; i < arcs; i++)
		parts->order[parts->arc_end[part_of(parts, &arc[i])]++] = i;
}

/* The node of a part that a node of the network is. */
static struct flow_arc localised(const struct parts *parts, struct flow_arc arc)
{
	arc.from = parts->local[arc.from];
	arc.to = parts->local[arc.to];
	arc.also = parts->local[arc.also];
	return arc;
}

/* Solve a part with these arcs and nodes (but the ground). */
static struct pesa_error *solve_numbers(const struct parts *parts, struct flow_arc *arc,
					const uint32_t *numbers, uint32_t arcs,
					const uint32_t *node, uint32_t count, double *potential,
					double *work)
{
	struct part part = {
		.arc = parts->arc,
		.arcs = arcs,
		.nodes = count + 1,
		.active = parts->active,
		.touched = parts->touched,
		.row = parts->row,
		.noise = parts->noise,
	};
	double **array[] = {&part.potential, &part.tried,   &part.excess,  &part.step,
			    &part.residual,  &part.product, &part.diagonal};
	struct pesa_error *error;

	for (unsigned int i = 0; i < sizeof(array) / sizeof(*array); i++)
		*array[i] = work + (size_t)i * part.nodes;
	for (uint32_t i = 0; i < arcs; i++)
		part.arc[i] = localised(parts, arc[numbers[i]]);
	part.potential[FLOW_GROUND] = 0;
	for (uint32_t i = 0; i < count; i++)
		part.potential[i + 1] = potential[node[i]];
	error = solve_part(&part);
	if (!error)
		error = find_errors(&part, parts->draws);
	for (uint32_t i = 0; i < count; i++)
		potential[node[i]] = part.potential[i + 1];
	for (uint32_t i = 0; i < arcs; i++) {
		arc[numbers[i]].flow = part.arc[i].flow;
		arc[numbers[i]].error = part.arc[i].error;
	}
	return error;
}

static struct pesa_error *solve_parts(const struct parts *parts, struct flow_arc *arc,
				      double *potential, uint32_t nodes, double *work)
{
	uint32_t arc_begin = 0, node_begin = 0;
	struct pesa_error *error = NULL;

	for (uint32_t i = 0; i < nodes && !error; i++) {
		uint32_t arcs = parts->arc_end[i] - arc_begin;

		if (arcs)
			error = solve_numbers(parts, arc, parts->order + arc_begin, arcs,
					      parts->node + node_begin,
					      parts->node_end[i] - node_begin, potential, work);
		arc_begin = parts->arc_end[i];
		node_begin = parts->node_end[i];
	}
	return error;
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
		.arc = calloc((size_t)arcs + 1, sizeof(struct flow_arc)),
		.active = calloc((size_t)arcs + 1, sizeof(uint32_t)),
		.touched = calloc((size_t)nodes + 1, sizeof(uint32_t)),
		.row = calloc((size_t)nodes + 1, sizeof(uint32_t)),
		.noise = calloc((size_t)arcs + 1, sizeof(double)),
		.draws = draws,
	};
	double *work = calloc(7 * ((size_t)nodes + 1), sizeof(*work));
	bool done = parts.group && parts.local && parts.arc_end && parts.node_end && parts.node &&
		    parts.order && parts.arc && parts.active && parts.touched && parts.row &&
		    parts.noise && work;
	struct pesa_error *error = done ? NULL : pesa_error_no_memory();

	if (done) {
		find_parts(&parts, arc, arcs, nodes);
		error = solve_parts(&parts, arc, potential, nodes, work);
	}
	free(parts.group);
	free(parts.local);
	free(parts.arc_end);
	free(parts.node_end);
	free(parts.node);
	free(parts.order);
	free(parts.arc);
	free(parts.active);
	free(parts.touched);
	free(parts.row);
	free(parts.noise);
	free(work);
	return error;
}
