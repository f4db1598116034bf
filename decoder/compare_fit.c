/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How much of a candidate's effect is in the differences, see Documentation/compare.md.
 *
 * Instructions of a region share what the engine does not model, so each region is one
 * observation of the effect's size, whose variance has a part of sampling and one of misfit, the
 * latter as if it were the same for all of its instructions.  Regions are then combined; where they
 * contradict each other by more than their variances say, the variance is that of the
 * contradiction.
 */
#include <math.h>
#include <stdlib.h>

#include "decoder/compare_fit.h"

#define ROUNDS	     6
#define HUBER	     2.0 /* deviations beyond which an instruction counts less */
#define HUBER_REGION 2.0
#define OUTLIER	     3.0 /* deviations and sizes of the effect */

struct region_sum {
	double xy, xx; /* weighted */
	double misfit; /* of xy, if it is the same for all instructions */
	double theta, variance, weight;
};

static double huber_weight(double deviations, double limit)
{
	double size = fabs(deviations);

	return size > limit ? limit / size : 1;
}

static double huber_loss(double deviations, double limit)
{
	double size = fabs(deviations);

	return size > limit ? limit * (2 * size - limit) : size * size;
}

static void sum_regions(const struct compare_residual *residual,
			const struct compare_candidate *candidate, struct region_sum *sum,
			uint32_t regions, bool robust)
{
	for (uint32_t i = 0; i < regions; i++)
		sum[i] = (struct region_sum){0};
	for (uint32_t i = 0; i < candidate->effects; i++) {
		const struct compare_residual *one = &residual[candidate->effect[i].node];
		struct region_sum *region = &sum[one->region];
		double x = candidate->effect[i].cycles, y = one->value, weight = one->weight;

		if (robust)
			weight *= huber_weight((y - candidate->theta * x) * sqrt(weight), HUBER);
		region->xy += weight * x * y;
		region->xx += weight * x * x;
		region->misfit += weight * x * one->scale;
	}
}

/* The mean of the regions, and its standard error. */
static void combine(struct region_sum *sum, uint32_t regions, struct compare_candidate *candidate,
		    bool robust)
{
	double weights = 0, thetas = 0, spread = 0, used = 0;

	for (uint32_t i = 0; i < regions; i++) {
		struct region_sum *region = &sum[i];

		if (!(region->xx > 0))
			continue;
		region->theta = region->xy / region->xx;
		region->variance = 1 / region->xx + candidate->misfit * candidate->misfit *
							    region->misfit * region->misfit /
							    (region->xx * region->xx);
		region->weight = 1 / region->variance;
		if (robust)
			region->weight *= huber_weight((region->theta - candidate->theta) /
							       sqrt(region->variance),
						       HUBER_REGION);
		weights += region->weight;
		thetas += region->weight * region->theta;
	}
	candidate->theta = weights > 0 ? thetas / weights : 0;
	for (uint32_t i = 0; i < regions; i++) {
		const struct region_sum *region = &sum[i];
		double off = region->theta - candidate->theta;

		if (!(region->xx > 0))
			continue;
		spread += region->weight * off * off;
		used += 1 - region->weight / weights;
	}
	/* Contradiction: the mean squared deviation over what it should be. */
	spread = used > 0.1 ? spread / used : 1;
	candidate->error = weights > 0 ? sqrt((spread > 1 ? spread : 1) / weights) : 0;
}

/*
 * How much of the effect the differences show, over all: what single predictions are off by, by
 * chance or because paths depend on each other, cancels out.
 */
static double ratio_of_sums(const struct compare_residual *residual,
			    const struct compare_candidate *candidate)
{
	double shown = 0, predicted = 0;

	for (uint32_t i = 0; i < candidate->effects; i++) {
		const struct compare_residual *one = &residual[candidate->effect[i].node];
		double size = fabs(candidate->effect[i].cycles), limit, y;

		if (!(one->weight > 0))
			continue;
		limit = OUTLIER * (size + 1 / sqrt(one->weight));
		y = candidate->effect[i].cycles > 0 ? one->value : -one->value;
		shown += y > limit ? limit : y < -limit ? -limit : y;
		predicted += size;
	}
	return predicted > 0 ? shown / predicted : 0;
}

bool compare_fit(const struct compare_residual *residual, uint32_t regions,
		 struct compare_candidate *candidate)
{
	struct region_sum *sum = calloc(regions + 1, sizeof(*sum));

	if (!sum)
		return false;
	candidate->theta = 0;
	/* At first without taking the weight off what does not fit: it may be the effect. */
	for (int round = 0; round < ROUNDS; round++) {
		sum_regions(residual, candidate, sum, regions, round > 0);
		combine(sum, regions, candidate, round > 0);
	}
	candidate->ratio = ratio_of_sums(residual, candidate);
	candidate->gain = candidate->whole = 0;
	for (uint32_t i = 0; i < candidate->effects; i++) {
		const struct compare_residual *one = &residual[candidate->effect[i].node];
		double root = sqrt(one->weight), before = huber_loss(one->value * root, HUBER);
		double x = candidate->effect[i].cycles;

		candidate->gain +=
			before - huber_loss((one->value - candidate->theta * x) * root, HUBER);
		candidate->whole += before - huber_loss((one->value - x) * root, HUBER);
	}
	free(sum);
	return true;
}
