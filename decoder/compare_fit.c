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
#include <string.h>

#include "decoder/compare_fit.h"

#define ROUNDS	     6
#define HUBER	     2.0 /* deviations beyond which an instruction counts less */
#define HUBER_REGION 2.0
#define OUTLIER	     3.0 /* deviations and sizes of the effect */

/*
 * How far off a predicted effect is, relative: of a piece of code, of one instruction beside its
 * piece.  An engine is right to the instruction about waiting in order, and less so about who waits
 * for a pipe out of order: what makes the differences more likely is taken.
 */
struct quality {
	double piece, instruction;
};
static const struct quality qualities[] = {{0.03, 0.1}, {0.15, 0.5}};

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

/* The instructions of one piece, as the candidate changes them. */
struct span {
	const struct compare_effect *effect;
	uint32_t count;
	const struct compare_piece *piece;
	double sum; /* of the effect */
};

/* The next piece from effect *at on, and *at behind it. */
static struct span next_span(const struct compare_residuals *residuals,
			     const struct compare_candidate *candidate, uint32_t *at)
{
	uint32_t piece = residuals->node[candidate->effect[*at].node].piece;
	struct span span = {.effect = &candidate->effect[*at], .piece = &residuals->piece[piece]};

	for (; *at < candidate->effects &&
	       residuals->node[candidate->effect[*at].node].piece == piece;
	     ++*at, span.count++)
		if (residuals->node[candidate->effect[*at].node].variance > 0)
			span.sum += candidate->effect[*at].cycles;
	return span;
}

/* One observation of the effect: of the sum of a piece, or of an instruction beside its part in it.
 */
struct observation {
	double y, x; /* what is left of the difference, and the effect */
	double variance;
	double off; /* variance of the effect, which is there only when the effect is */
};

static struct observation of_sum(const struct span *span, const struct quality *quality)
{
	double off = quality->piece * span->sum;

	return (struct observation){span->piece->value, span->sum, span->piece->variance,
				    off * off};
}

/* Its variance is 0 where the instruction is not compared. */
static struct observation of_instruction(const struct compare_residuals *residuals,
					 const struct quality *quality, const struct span *span,
					 uint32_t index)
{
	const struct compare_residual *one = &residuals->node[span->effect[index].node];
	struct observation observation = {0};
	double share, off;

	if (!(one->variance > 0))
		return observation;
	share = one->variance / span->piece->shift;
	observation.y = one->value - share * span->piece->value;
	observation.x = span->effect[index].cycles - share * span->sum;
	observation.variance = one->variance;
	off = quality->instruction * observation.x;
	observation.off = off * off;
	return observation;
}

static double weight_of(const struct observation *one, double theta, bool robust)
{
	double weight = 1 / (one->variance + one->off);

	return robust ? weight * huber_weight((one->y - theta * one->x) * sqrt(weight), HUBER)
		      : weight;
}

static void sum_regions(const struct compare_residuals *residuals,
			const struct compare_candidate *candidate, const struct quality *quality,
			struct region_sum *sum, bool robust)
{
	memset(sum, 0, residuals->regions * sizeof(*sum));
	for (uint32_t at = 0; at < candidate->effects;) {
		struct span span = next_span(residuals, candidate, &at);
		struct region_sum *region = &sum[span.piece->region];
		struct observation one = of_sum(&span, quality);
		double weight;

		if (!(one.variance > 0))
			continue;
		weight = weight_of(&one, candidate->theta, robust);
		region->xy += weight * one.x * one.y;
		region->xx += weight * one.x * one.x;
		region->misfit += weight * one.x * span.piece->scale;
		for (uint32_t i = 0; i < span.count; i++) {
			one = of_instruction(residuals, quality, &span, i);
			if (!(one.variance > 0))
				continue;
			weight = weight_of(&one, candidate->theta, robust);
			region->xy += weight * one.x * one.y;
			region->xx += weight * one.x * one.x;
		}
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
 * How much of the effect the differences show, over all pieces: what single predictions are off by,
 * by chance or because paths depend on each other, cancels out.
 */
static double ratio_of_sums(const struct compare_residuals *residuals,
			    const struct compare_candidate *candidate)
{
	double shown = 0, predicted = 0;

	for (uint32_t at = 0; at < candidate->effects;) {
		struct span span = next_span(residuals, candidate, &at);
		double size = fabs(span.sum), limit, y;

		if (!(span.piece->variance > 0))
			continue;
		limit = OUTLIER * (size + sqrt(span.piece->variance));
		y = span.sum > 0 ? span.piece->value : -span.piece->value;
		shown += y > limit ? limit : y < -limit ? -limit : y;
		predicted += size;
	}
	return predicted > 0 ? shown / predicted : 0;
}

/* By how much more likely (twice the logarithm) an observation is with part of the effect. */
static double likelier(const struct observation *one, double part)
{
	double off = part * part * one->off;

	return huber_loss(one->y / sqrt(one->variance), HUBER) -
	       huber_loss((one->y - part * one->x) / sqrt(one->variance + off), HUBER) -
	       log1p(off / one->variance);
}

static double explained(const struct compare_residuals *residuals,
			const struct compare_candidate *candidate, const struct quality *quality,
			double part)
{
	double sum = 0;

	for (uint32_t at = 0; at < candidate->effects;) {
		struct span span = next_span(residuals, candidate, &at);
		struct observation one = of_sum(&span, quality);

		if (!(one.variance > 0))
			continue;
		sum += likelier(&one, part);
		for (uint32_t i = 0; i < span.count; i++) {
			one = of_instruction(residuals, quality, &span, i);
			if (one.variance > 0)
				sum += likelier(&one, part);
		}
	}
	return sum;
}

static void fit(const struct compare_residuals *residuals, const struct quality *quality,
		struct region_sum *sum, struct compare_candidate *candidate)
{
	candidate->theta = 0;
	/* At first without taking the weight off what does not fit: it may be the effect. */
	for (int round = 0; round < ROUNDS; round++) {
		sum_regions(residuals, candidate, quality, sum, round > 0);
		combine(sum, residuals->regions, candidate, round > 0);
	}
	candidate->gain = explained(residuals, candidate, quality, candidate->theta);
	candidate->whole = explained(residuals, candidate, quality, 1);
}

bool compare_fit(const struct compare_residuals *residuals, struct compare_candidate *candidate)
{
	struct region_sum *sum = calloc(residuals->regions + 1, sizeof(*sum));

	if (!sum)
		return false;
	candidate->ratio = ratio_of_sums(residuals, candidate);
	for (size_t i = 0; i < sizeof(qualities) / sizeof(*qualities); i++) {
		struct compare_candidate other = *candidate;

		fit(residuals, &qualities[i], sum, &other);
		if (!i || other.gain > candidate->gain)
			*candidate = other;
	}
	free(sum);
	return true;
}
