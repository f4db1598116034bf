/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Flow: data shared by its parts.
 *
 * 	graph.c     the code of a profile as blocks and edges
 * 	network.c   flows that come nearest to wanted ones, and are conserved
 * 	estimate.c  what was measured of blocks and edges, as such a network
 * 	flow.c      runs these steps
 */
#ifndef DECODER_FLOW_INSIDE_H
#define DECODER_FLOW_INSIDE_H

#include "decoder/flow/graph.h"
#include "pesa/control_flow.h"

struct pesa_control_flow {
	struct flow_graph graph;
	bool plain;
};

/* What is known of the executions of a block from elsewhere. */
struct flow_wanted {
	double executions, variance;
};

/* Estimate the executions of all blocks and edges.  `wanted` (by block; NULL: none) is taken in place of
 * what was measured. */
struct pesa_error *flow_estimate(const struct pesa_profile *profile, struct flow_graph *graph,
				 bool plain, bool errors, const struct flow_wanted *wanted);

#endif
