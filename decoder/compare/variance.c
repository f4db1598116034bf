/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sampling variance of measured and predicted cycles. */
#include "decoder/compare/inside.h"
#include "pesa/record.h"

/*
 * The estimate of misfit assumes that samples have noise.  Without noise a difference close to 0
 * would be significant, so an exact profile gets the noise of this number of samples.
 */
#define EXACT_SAMPLES 100000.0

/*
 * Sampling variance of the difference between an instruction's measured core time and the predicted
 * time of its executions, which are from the same samples; cycles squared.
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
	/* One sample is added: a stall may be too rare to have been sampled. */
	return share * measured->weight_squared + period * period +
	       predicted * predicted * measured->retired_squared -
	       2 * predicted * share * measured->weight_times_retired;
}
