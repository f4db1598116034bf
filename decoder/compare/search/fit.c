/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How much of a candidate's effect is present in the differences: see Documentation/compare.md.
 *
 * Instructions of a region share the same misfit of the engine, so each region is one observation
 * of the effect's size.  Its variance has a part from sampling and a part from misfit; the misfit
 * is assumed to be equal for all instructions of the region.  Regions are then combined.  If they
 * deviate from each other by more than their variances predict, the variance is increased
 * accordingly.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/compare/misfit.h"
#include "decoder/compare/search/fit.h"

#define ROUNDS	     6
#define HUBER	     2.0 /* deviations beyond which an observation gets less weight */
#define HUBER_REGION 2.0
#define OUTLIER	     3.0  /* limit, in standard deviations plus sizes of the effect */
#define SLOWER_LEAST 0.05 /* part of the effect, below which it makes nothing slower */

/*
 * Relative error of a predicted effect: for a basic block, and for one instruction within its
 * block.  In-order stalls are predicted correctly for each instruction; contention for a pipe out
 * of order is predicted less exactly.  The quality with the larger likelihood is used.
 */
struct quality {
	double block, instruction;
};
static const struct quality qualities[] = {{0.03, 0.1}, {0.15, 0.5}};
static const struct quality without_error = {0, 0};

struct region_sum {
	double xy, xx; /* weighted sums */
	double misfit; /* misfit of xy, if it is the same for all instructions */
	double theta, variance, weight;
};

static double huber_weight(double deviations, double limit)
{
	double size = fabs(deviations);

	return size > limit ? limit / size : 1;
}

/* The instructions of one basic block that the candidate changes. */
struct span {
	const struct compare_effect *effect;
	uint32_t count;
	const struct compare_block *block;
	double sum; /* sum of the effect */
};

/* The next basic block, from effect *at on; advances *at past it. */
static struct span next_span(const struct compare_residuals *residuals,
			     const struct compare_candidate *candidate, uint32_t *at)
{
	uint32_t block = residuals->node[candidate->effect[*at].node].block;
	struct span span = {.effect = &candidate->effect[*at], .block = &residuals->block[block]};

	for (; *at < candidate->effects &&
	       residuals->node[candidate->effect[*at].node].block == block;
	     ++*at, span.count++)
		if (residuals->node[candidate->effect[*at].node].variance > 0)
			span.sum += candidate->effect[*at].cycles;
	return span;
}

/* One observation of the effect: the sum of a basic block, or the deviation of an instruction from
 * its share of the block. */
struct observation {
	double y, x; /* residual, effect */
	double variance;
	double off;   /* variance of the effect, present only if the effect is */
	double scale; /* predicted cycles of a block; 0: an instruction within a block */
	uint32_t region;
};

struct observations {
	struct observation *one;
	uint32_t count;
};

static void observe(struct observations *observations, const struct span *span, double y, double x,
		    double variance, double quality, double scale)
{
	double off = quality * x;

	observations->one[observations->count++] = (struct observation){
		.y = y,
		.x = x,
		.variance = variance,
		.off = off * off,
		.scale = scale,
		.region = span->block->region,
	};
}

/* List all observations of a candidate: at most two for each of its effects. */
static void list_observations(const struct compare_residuals *residuals,
			      const struct compare_candidate *candidate, double relative_misfit,
			      const struct quality *quality, struct observations *observations)
{
	observations->count = 0;
	for (uint32_t at = 0; at < candidate->effects;) {
		struct span span = next_span(residuals, candidate, &at);
		const struct compare_block *block = span.block;
		double misfit = relative_misfit * block->scale;

		if (!(block->variance > 0))
			continue;
		observe(observations, &span, block->value, span.sum,
			block->variance + misfit * misfit, quality->block, block->scale);
		for (uint32_t i = 0; i < span.count; i++) {
			const struct compare_residual *one = &residuals->node[span.effect[i].node];
			double share = one->variance / block->shift;

			/* No measurement to compare with. */
			if (!(one->variance > 0))
				continue;
			observe(observations, &span, one->value - share * block->value,
				span.effect[i].cycles - share * span.sum, one->variance,
				quality->instruction, 0);
		}
	}
}

static void sum_regions(const struct observations *observations, double theta,
			struct region_sum *sum, bool robust)
{
	for (uint32_t i = 0; i < observations->count; i++) {
		const struct observation *one = &observations->one[i];
		struct region_sum *region = &sum[one->region];
		double weight = 1 / (one->variance + one->off);

		if (robust)
			weight *= huber_weight((one->y - theta * one->x) * sqrt(weight), HUBER);
		region->xy += weight * one->x * one->y;
		region->xx += weight * one->x * one->x;
		region->misfit += weight * one->x * one->scale;
	}
}

/* Combine the regions: their weighted mean, and its standard error. */
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
	/* Ratio of the mean squared deviation to its expectation. */
	spread = used > 0.1 ? spread / used : 1;
	candidate->error = weights > 0 ? sqrt((spread > 1 ? spread : 1) / weights) : 0;
}

/*
 * Part of the effect that is present in the differences, summed over all basic blocks.  Errors of
 * single predictions, random or due to the order of paths, cancel out.
 */
static double ratio_of_sums(const struct compare_residuals *residuals,
			    const struct compare_candidate *candidate)
{
	double shown = 0, predicted = 0;

	for (uint32_t at = 0; at < candidate->effects;) {
		struct span span = next_span(residuals, candidate, &at);
		double size = fabs(span.sum), limit, y;

		if (!(span.block->variance > 0))
			continue;
		limit = OUTLIER * (size + sqrt(span.block->variance));
		y = span.sum > 0 ? span.block->value : -span.block->value;
		shown += compare_clip(y, limit);
		predicted += size;
	}
	return predicted > 0 ? shown / predicted : 0;
}

/* Part of the effect that is present in the instructions which the effect makes slower.
 * Instructions that become faster, because they wait in the meantime, would do so for any earlier
 * stall. If a number becomes smaller: in the instructions which the effect makes faster. */
static double direct_ratio(const struct compare_residuals *residuals,
			   const struct compare_candidate *candidate)
{
	double shown = 0, predicted = 0, all = 0;
	double sign = compare_makes_faster(candidate) ? -1 : 1;

	for (uint32_t i = 0; i < candidate->effects; i++) {
		const struct compare_effect *effect = &candidate->effect[i];
		const struct compare_residual *one = &residuals->node[effect->node];
		double cycles = sign * effect->cycles;
		double limit = OUTLIER * (cycles + sqrt(one->variance));

		all += fabs(cycles);
		if (!(one->variance > 0) || !(cycles > 0))
			continue;
		shown += compare_clip(sign * one->value, limit);
		predicted += cycles;
	}
	/* On an in-order core a longer latency may make a loop faster, and no instruction slower. */
	if (predicted < SLOWER_LEAST * all)
		return candidate->ratio;
	return predicted > 0 ? shown / predicted : 0;
}

/* Twice the log-likelihood ratio of an observation, with part of the effect against without. */
static double log_likelihood_ratio(const struct observation *one, double part)
{
	double off = part * part * one->off;

	return compare_huber_loss(one->y / sqrt(one->variance), HUBER) -
	       compare_huber_loss((one->y - part * one->x) / sqrt(one->variance + off), HUBER) -
	       log1p(off / one->variance);
}

static double explained(const struct observations *observations, double part)
{
	double sum = 0;

	for (uint32_t i = 0; i < observations->count; i++)
		sum += log_likelihood_ratio(&observations->one[i], part);
	return sum;
}

static void fit(const struct observations *observations, struct region_sum *sum, uint32_t regions,
		struct compare_candidate *candidate)
{
	candidate->theta = 0;
	/* The first round uses full weights: an outlier may be the effect. */
	for (int round = 0; round < ROUNDS; round++) {
		memset(sum, 0, regions * sizeof(*sum));
		sum_regions(observations, candidate->theta, sum, round > 0);
		combine(sum, regions, candidate, round > 0);
	}
	candidate->gain = explained(observations, candidate->theta);
	candidate->whole = explained(observations, 1);
}

bool compare_fit(const struct compare_residuals *residuals, struct compare_candidate *candidate)
{
	struct region_sum *sum = calloc(residuals->regions + 1, sizeof(*sum));
	struct observations observations = {
		.one = calloc(2 * (size_t)candidate->effects + 1, sizeof(*observations.one))};
	bool done = sum && observations.one;

	candidate->ratio = ratio_of_sums(residuals, candidate);
	candidate->direct = direct_ratio(residuals, candidate);
	for (size_t i = 0; done && i < sizeof(qualities) / sizeof(*qualities); i++) {
		struct compare_candidate other = *candidate;

		list_observations(residuals, candidate, candidate->misfit, &qualities[i],
				  &observations);
		fit(&observations, sum, residuals->regions, &other);
		if (!i || other.gain > candidate->gain)
			*candidate = other;
	}
	if (done) {
		list_observations(residuals, candidate, residuals->misfit, &without_error,
				  &observations);
		candidate->exact = explained(&observations, 1);
	}
	free(observations.one);
	free(sum);
	return done;
}

static double logarithm_of(double value, double variance)
{
	return -compare_huber_loss(value / sqrt(variance), HUBER) - log(variance);
}

double compare_likelihood(const struct compare_residuals *residuals, uint32_t nodes,
			  uint32_t blocks, double misfit)
{
	double sum = 0;

	for (uint32_t i = 0; i < blocks; i++) {
		const struct compare_block *block = &residuals->block[i];
		double off = misfit * block->scale;

		if (block->variance > 0)
			sum += logarithm_of(block->value, block->variance + off * off);
	}
	for (uint32_t i = 0; i < nodes; i++) {
		const struct compare_residual *one = &residuals->node[i];
		const struct compare_block *block = &residuals->block[one->block];

		if (one->variance > 0)
			sum += logarithm_of(one->value -
						    one->variance / block->shift * block->value,
					    one->variance);
	}
	return sum;
}
