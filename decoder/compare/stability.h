/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stability: whether a small disturbance changes the prediction of code that follows much later.
 *
 * A loop may have several steady states: which instruction gets a unit, how full the reorder buffer
 * is, or, in order, which instructions issue together, repeats itself with the iterations.  What ran
 * before the loop decides which state it enters; one cycle is enough to change that.
 *
 * An engine that is right about every number of the model may predict another state than that of the
 * core, and then any change of the model may lead to the right one by accident.  So all paths are
 * predicted again with one instruction, far before the counted part, taking a few cycles more.  By how
 * much the counted part changes is uncertain in its prediction.
 */
#ifndef DECODER_COMPARE_STABILITY_H
#define DECODER_COMPARE_STABILITY_H

#include "pesa/error.h"

struct pesa_compare;

/* Variances of the predicted time of all executions, by node, basic block and region; cycles^2. */
struct compare_stability {
	double *node, *block, *region;
};

/* Predict the present paths with disturbances, on the present model.  Free with compare_stability_free(). */
struct pesa_error *compare_learn_stability(struct pesa_compare *compare,
					   struct compare_stability *stability);
/* Take the larger variance of both. */
void compare_stability_join(const struct pesa_compare *compare, struct compare_stability *stability,
			    const struct compare_stability *other);
void compare_stability_free(struct compare_stability *stability);

#endif
