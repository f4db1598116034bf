/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sampling variance of measured and predicted cycles. */
#include <math.h>
#include <stdlib.h>

#include "decoder/compare/inside.h"
#include "pesa/record.h"

/*
 * The estimate of misfit assumes that samples have noise.  Without noise a difference close to 0
 * would be significant, so an exact profile gets the noise of this number of samples.
 */
#define EXACT_SAMPLES 100000.0

/* Cycles from one sample to the next. */
static double period_of(const struct pesa_compare *compare)
{
	const struct pesa_profile_totals *totals = pesa_profile_totals(compare->profile);

	return totals->exact ? compare->totals.cycles / EXACT_SAMPLES : totals->period;
}

struct pesa_error *compare_pool_executions(struct pesa_compare *compare)
{
	struct compare_code *code = &compare->code;
	struct pool {
		double executions, retiring;
		uint32_t count;
	} *pools = calloc(compare->regions.groups + 1, sizeof(*pools));

	if (!pools)
		return pesa_error_no_memory();
	for (uint32_t i = 0; i < code->count; i++) {
		struct pool *pool = &pools[code->node[i].group];

		pool->executions += code->node[i].executions;
		pool->retiring += code->node[i].time.retiring;
		pool->count++;
	}
	for (uint32_t i = 0; i < code->count; i++) {
		struct compare_node *node = &code->node[i];
		const struct pool *pool = &pools[node->group];

		node->executions = pool->executions / pool->count;
		node->retires = 1;
		if (pool->retiring > node->executions && node->executions > 0)
			node->retires = pool->retiring / node->executions;
	}
	free(pools);
	return NULL;
}

/*
 * A sample in one of the `retires` cycles of an execution counts as that part of it.  So the
 * estimate of executions has the variance period * executions / retires, and it varies together
 * with the retiring cycles of the same samples: their covariance is period * retiring / retires.
 */
double compare_sampling_variance(const struct pesa_compare *compare,
				 const struct compare_node *node, double predicted)
{
	const struct pesa_instruction *measured = node->measured;
	double period = period_of(compare), weight, variance, least = period * period;

	if (!measured)
		return 0;
	weight = (double)measured->weight / PESA_CYCLE;
	variance = period * node->time.core;
	if (!pesa_profile_totals(compare->profile)->exact)
		variance = weight > 0 ? node->time.core / weight * measured->weight_squared : 0;
	variance += period * predicted / node->retires *
		    (predicted * node->executions - 2 * node->time.retiring);
	/* One sample is added: a stall may be too rare to have been sampled. */
	return least + (variance > 0 ? variance : 0);
}

void compare_block_add(struct compare_block_sum *sum, const struct compare_node *node,
		       double predicted)
{
	sum->stalled += node->time.core - node->time.retiring;
	sum->off += node->time.retiring - predicted * node->executions;
	sum->retired = node->executions * node->retires;
}

/*
 * Stalled cycles vary by themselves.  Retiring cycles and executions are from the same samples: only
 * as far as the prediction of an execution is longer than its retiring cycles does their number
 * matter.
 */
double compare_block_variance(const struct pesa_compare *compare,
			      const struct compare_block_sum *sum)
{
	double period = period_of(compare);
	double variance = sum->stalled + period;

	if (sum->retired > 0)
		variance += sum->off * sum->off / sum->retired;
	return period * variance;
}
