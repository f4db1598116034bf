/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Alternatives: what a core does and no model says (ordering, waiting for stores, misses) is found by
 * predicting all paths in several ways.  What is nearest to the measurement is taken.
 */
#ifndef DECODER_COMPARE_ALTERNATIVES_H
#define DECODER_COMPARE_ALTERNATIVES_H

#include "decoder/compare/inside.h"

/* Predict all paths, and copy the core time of each node: cycles an execution, NaN if there is no
 * prediction. */
struct pesa_error *compare_predict_each(struct pesa_compare *compare,
					const struct compare_path_options *options, double *each);
/*
 * Sum over basic blocks of |measured - predicted| core time, cycles, for the prediction `each` (NULL:
 * the present one), and all core time of instructions without a prediction, which is not explained.
 * `scratch` has an element for each basic block.
 */
double compare_block_distance(const struct pesa_compare *compare, const double *each,
			      double *scratch);
/*
 * The same, and the sum over instructions as well: which of two instructions waits for a unit that the
 * other one has, or which load waits for a store, may not change how long their basic block takes.
 */
double compare_distance(const struct pesa_compare *compare, const double *each, double *scratch);
/* All core time of the code, cycles. */
double compare_core_time(const struct pesa_compare *compare);
/* Of the core time: by so much uneven directions, or units in order, have to be nearer. */
#define COMPARE_ORDER_LEAST 0.01
/* Choose the order of directions of branches on the paths (options->directions), and predict.  The
 * predictions in these orders differ, and so are uncertain (compare_node.uncertain). */
struct pesa_error *compare_choose_order(struct pesa_compare *compare,
					struct compare_path_options *options);
/* Choose whether units that are occupied for long are taken in program order, or by what is ready
 * (compare_predictor.ordered_cycles), and predict.  A model does not say it: a core has one queue for
 * a unit or several, which issue in order or not. */
struct pesa_error *compare_choose_units(struct pesa_compare *compare,
					const struct compare_path_options *options);
/*
 * The range of what was predicted in several ways for one node, cycles an execution; NaN: no
 * prediction.  A way that is far more distant from the measurement than the nearest one is refuted and
 * does not count.  `each`: predictions by way and node; `distance`: by way; `nearest`: of what was
 * chosen, which may be a mixture of ways.
 */
double compare_range_of_ways(double *const *each, const double *distance, unsigned int ways,
			     double nearest, uint32_t node);

#endif
