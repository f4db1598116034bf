/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The linear equations of a step of Newton's method in network.h: the Laplacian of the arcs that
 * have a flow, times the step, is what is left over at the nodes.
 *
 * It is symmetric, positive definite but for parts that do not reach the ground, and as sparse as the
 * control flow, so that its Cholesky factor is little larger than itself (CXSparse, with a minimum
 * degree order).  One factor serves for any number of right sides.
 */
#ifndef DECODER_FLOW_FACTOR_H
#define DECODER_FLOW_FACTOR_H

#include "decoder/flow/network.h"

struct flow_factor;

/*
 * Factor the matrix of the arcs arc[active[0..actives-1]].  node: those that they touch but the ground,
 * one for each row; row: by node, its row (of other nodes it is not read, but for the ground).
 * diagonal: by node, above 0 for each of `node`; a trifle of it is added, since nodes that hang together
 * with nothing else have no other solution.
 */
struct pesa_error *flow_factor_create(const struct flow_arc *arc, const uint32_t *active,
				      uint32_t actives, const uint32_t *node, uint32_t rows,
				      const uint32_t *row, const double *diagonal,
				      struct flow_factor **factor);
/* Solve, by row, in place; work has as many elements. */
void flow_factor_solve(const struct flow_factor *factor, double *vector, double *work);
void flow_factor_free(struct flow_factor *factor);

#endif
