/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Flows in a network that come nearest to what was measured: weighted least squares under
 * conservation.
 *
 *	minimise    sum over arcs of (flow - wanted)^2 / variance
 *	subject to  at each node but the ground what comes in goes out, and no flow is below 0
 *
 * This is a quadratic problem whose only constraints are those of a network, so its dual has one
 * number for each node, its potential; the flow of an arc follows from those at its ends.  The dual
 * is solved by Newton's method, each step of it by a sparse Cholesky factorisation (factor.h).  Parts
 * of the network that hang together only at the ground are solved one by one.
 */
#ifndef DECODER_FLOW_NETWORK_H
#define DECODER_FLOW_NETWORK_H

#include <stdbool.h>
#include <stdint.h>

#include "pesa/error.h"

/* The node where anything may come in and go out. */
#define FLOW_GROUND 0u

struct flow_arc {
	uint32_t from, to; /* nodes */
	/*
	 * Another node where it comes in; the ground: none.  split 0: as much as at `to`, so that a
	 * call is counted at the block behind it and at the function that it calls.  Else that part
	 * of the flow, and only the rest at `to`: so a branch divides the executions of its block.
	 */
	uint32_t also;
	double split;	 /* 0 to 1 */
	double wanted;	 /* at least 0 */
	double variance; /* above 0 */
	double flow;	 /* the solution */
	double error;	 /* its standard error; 0: not computed */
};

/* Which parts of the flow come in at `to` and at `also`. */
static inline double flow_to_part(const struct flow_arc *arc)
{
	return 1 - arc->split;
}

static inline double flow_also_part(const struct flow_arc *arc)
{
	return arc->split > 0 ? arc->split : 1;
}

/* How often noise is drawn for errors: they are then right within 1/sqrt(2 x this), an eighth. */
#define FLOW_DRAWS 32u

/* Find the flows of all arcs.  Nodes are 0 (the ground) to nodes - 1.  potential: by node; where the
 * search begins (0, or those of a similar network), and those of the solution.
 * draws: 0, or FLOW_DRAWS to compute errors: what noise of the arcs' variances, drawn at random (the
 * same numbers each time), does to the solution; arcs without a flow stay without. */
struct pesa_error *flow_network_solve(struct flow_arc *arc, uint32_t arcs, double *potential,
				      uint32_t nodes, unsigned int draws);

#endif
