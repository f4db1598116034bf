/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Variance by sampling of what is compared. */
#include "decoder/compare/inside.h"
#include "pesa/record.h"

/*
 * How far predictions are off was measured beside the noise of samples.  Without noise a difference
 * of nothing would be significant, so an exact profile has the noise of so many samples.
 */
#define EXACT_SAMPLES 100000.0

/*
 * Variance by sampling of the difference of an instruction's measured core time and the predicted
 * one of its executions, which come from the same samples, in cycles squared.
 */
double compare_sampling_variance(const struct pesa_compare *compare,
				 const struct compare_node *node, double predicted)
{
	const struct pesa_instruction *measured = node->measured;
	double period = pesa_profile_totals(compare->profile)->period;
	double share, weight;

	if (!measured)
		return 0;
	if (pesa_profile_totals(compare->profile)->exact) {
		period = compare->totals.cycles / EXACT_SAMPLES;
		return period *
		       (node->time.core + period + predicted * predicted * node->executions -
			2 * predicted * node->time.retiring);
	}
	weight = (double)measured->weight / PESA_CYCLE;
	share = weight > 0 ? node->time.core / weight : 0;
	/* One sample is added: a stall too rare to have been seen is possible. */
	return share * measured->weight_squared + period * period +
	       predicted * predicted * measured->retired_squared -
	       2 * predicted * share * measured->weight_times_retired;
}
