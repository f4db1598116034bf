/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Residuals between measured and predicted cycles: see search.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/compare/search/search.h"

#define SHIFT_LEAST 0.05
#define SHIFT_USUAL 0.1 /* in random programs */
/* In order it is no chance which instruction waits: in none of 99 unmodified programs was it more than
 * IN_ORDER_MOST.  What differs by more is wrong with the model. */
#define IN_ORDER_LEAST 0.02
#define IN_ORDER_MOST  0.05
#define EVENT_MISFIT   0.3 /* part of stalls with an event that may be core time */
/* Cycles per execution: which instructions retire together. */
#define PHASE_MISFIT   0.15
#define IN_ORDER_PHASE 0.1
#define REGION_MISFIT  0.03 /* relative misfit of a region, due to the engine */
#define LEFT_DEVIATIONS \
	2.0		/* standard deviations of sampling and misfit that explain a difference */
#define LEFT_LEAST 0.01 /* share of the core time: differences of all regions beyond that */
#define FAR_LEFT   0.05 /* the same, to search with other choices */
#define FAR	   2.0	/* times the misfit of other programs, likewise */
/* Cycles by which a shift of time makes an instruction longer: which one waits may be chance, and is no part
 * of a division beside it. */
#define SHIFT_MOST 5.0
#define CLIP	   3.0 /* deviations beyond which a value is clipped in the estimate of misfit */

static double predicted_of(const struct compare_node *node)
{
	return node->occurrences ? (node->retiring + node->stalled) / node->occurrences : 0;
}

static bool is_compared(const struct compare_node *node)
{
	return node->occurrences && node->measured;
}

static double phase_variance(const struct compare_search *search, uint32_t index)
{
	double phase =
		pesa_mca_model_is_out_of_order(search->original) ? PHASE_MISFIT : IN_ORDER_PHASE;

	phase *= search->compare->code.node[index].executions;
	return phase * phase;
}

/* The same of a basic block that begins with this node: time moves to another block, where another one is
 * before or behind it. */
static double phase_of_block(const struct compare_search *search, uint32_t first)
{
	const struct compare_node *node = &search->compare->code.node[first];
	double other = node->occurrences > 0 ? 1 - node->repeated / node->occurrences : 1;

	return other * other * phase_variance(search, first);
}

/* Cycles by which the ordering of instructions may change the prediction (order.h). */
static double uncertain_cycles(const struct compare_node *node)
{
	return node->uncertain * node->executions;
}

/* Variance of what is uncertain by so much.  A core in order may do anything within the range, as likely; one out of
 * order is beyond it at times. */
static double variance_of_range(const struct compare_search *search, double range)
{
	return pesa_mca_model_is_out_of_order(search->original) ? range * range : range * range / 3;
}

/* Variance of an instruction's measured time that is not due to sampling. */
static double events_and_ordering(const struct compare_search *search,
				  const struct compare_node *node)
{
	double event = EVENT_MISFIT * node->time.event;

	return event * event + variance_of_range(search, uncertain_cycles(node));
}

/* Variance of an instruction's measured time, due to sampling, events and ordering; cycles^2. */
double compare_own_variance(const struct compare_search *search, uint32_t index)
{
	const struct compare_node *node = &search->compare->code.node[index];

	return compare_sampling_variance(search->compare, node, predicted_of(node)) +
	       events_and_ordering(search, node);
}

/* The same, and due to steady states.  A difference is uncertain by these; what a finding has to explain is
 * all of it (compare_touch()). */
static double variance_of(const struct compare_search *search, uint32_t index)
{
	return compare_own_variance(search, index) + search->compare->stability.node[index];
}

/* Determine what sum_regions() needs of each node, unless it is known of this model. */
static void expect(struct compare_search *search)
{
	const struct compare_code *code = &search->compare->code;

	if (search->expected_of == 1 + search->generation)
		return;
	search->expected_of = 1 + search->generation;
	for (uint32_t i = 0; i < code->count; i++) {
		const struct compare_node *node = &code->node[i];
		struct compare_expected *one = &search->expected[i];

		*one = (struct compare_expected){.region = COMPARE_NONE};
		if (!node->occurrences)
			continue;
		one->region = node->region;
		one->measured = node->time.core;
		one->predicted = predicted_of(node) * node->executions;
		one->deviation = sqrt(variance_of(search, i) + phase_variance(search, i));
		one->uncertain = uncertain_cycles(node);
	}
}

void compare_use_stability(struct compare_search *search, const struct compare_stability *stability)
{
	search->compare->stability = *stability;
	search->expected_of = 0;
}

/* Sum up measured and predicted cycles of each region.  `part` of search->change is added to the
 * predictions; the difference of each instruction is clipped to `clip` standard deviations. */
static void sum_regions(struct compare_search *search, double part, double clip)
{
	const struct pesa_compare *compare = search->compare;

	expect(search);
	memset(search->sum, 0, compare->regions.count * sizeof(*search->sum));
	for (uint32_t i = 0; i < compare->code.count; i++) {
		const struct compare_expected *one = &search->expected[i];
		double predicted = one->predicted, limit = clip * one->deviation;
		struct compare_region_sum *sum;

		if (one->region == COMPARE_NONE)
			continue;
		if (part != 0)
			predicted += part * search->change[i];
		sum = &search->sum[one->region];
		sum->predicted += predicted;
		sum->measured += predicted + compare_clip(one->measured - predicted, limit);
		sum->uncertain += one->uncertain;
	}
	for (uint32_t i = 0; i < compare->regions.groups; i++)
		search->sum[search->residuals.block[i].region].variance +=
			search->residuals.block[i].sampling;
	for (uint32_t i = 0; i < compare->regions.count; i++)
		search->sum[i].variance += compare->stability.region[i];
}

static double misfit_of_regions(struct compare_search *search)
{
	const struct pesa_compare *compare = search->compare;
	uint32_t count = 0;

	for (uint32_t i = 0; i < compare->regions.count; i++) {
		const struct compare_region_sum *sum = &search->sum[i];

		if (!(sum->predicted > 0))
			continue;
		search->difference[count++] = (struct compare_difference){
			.relative = fabs(sum->measured - sum->predicted) / sum->predicted,
			.variance = (sum->variance + variance_of_range(search, sum->uncertain)) /
				    (sum->predicted * sum->predicted),
			.weight = sum->predicted,
		};
	}
	return compare_misfit_borrowed(search->difference, count);
}

/* While the search is trusting, a deviation is no larger than that of other programs. */
static double trusted(const struct compare_search *search, double own, double usual)
{
	return search->trusting && own > usual ? usual : own;
}

double compare_misfit_beside(struct compare_search *search,
			     const struct compare_candidate *candidate, double part)
{
	memset(search->change, 0, search->compare->code.count * sizeof(*search->change));
	for (uint32_t i = 0; i < candidate->effects; i++)
		search->change[candidate->effect[i].node] = candidate->effect[i].cycles;
	sum_regions(search, part, CLIP);
	return trusted(search, misfit_of_regions(search), COMPARE_MISFIT_USUAL);
}

/*
 * Compute the sums of basic blocks.  The `variance` of each instruction is set to a scale: the
 * square of its predicted cycles plus the mean square in its block.
 */
static void sum_blocks(struct compare_search *search)
{
	const struct compare_code *code = &search->compare->code;
	const struct compare_residuals *residuals = &search->residuals;
	struct compare_block_sum sum = {0};
	uint32_t first = 0, compared = 0;
	double squares = 0, uncertain = 0, squared = 0, most;

	for (uint32_t i = 0; i < code->count; i++) {
		const struct compare_node *node = &code->node[i];
		struct compare_block *block = &residuals->block[node->group];
		struct compare_residual *one = &residuals->node[i];
		double predicted = predicted_of(node) * node->executions;

		*one = (struct compare_residual){.block = node->group};
		if (!i || code->node[i - 1].group != node->group) {
			*block = (struct compare_block){.region = node->region};
			first = i;
			sum = (struct compare_block_sum){0};
			compared = 0;
			squares = uncertain = squared = 0;
		}
		if (is_compared(node)) {
			compared++;
			compare_block_add(&sum, node, predicted_of(node));
			one->value = node->time.core - predicted;
			one->variance = predicted * predicted;
			squares += one->variance;
			block->value += one->value;
			block->own += events_and_ordering(search, node);
			block->scale += predicted;
			uncertain += uncertain_cycles(node);
			squared += variance_of_range(search, uncertain_cycles(node));
		}
		if (i + 1 < code->count && code->node[i + 1].group == node->group)
			continue;
		if (!compared)
			continue;
		block->sampling = compare_block_variance(search->compare, &sum);
		block->own += block->sampling;
		most = SHIFT_MOST * node->executions;
		/* All instructions of a block are uncertain for the same reason. */
		block->variance = block->own + search->compare->stability.block[node->group] +
				  phase_of_block(search, first) +
				  variance_of_range(search, uncertain) - squared;
		for (uint32_t j = first; j <= i; j++)
			if (is_compared(&code->node[j])) {
				residuals->node[j].variance +=
					fmin(squares / compared, most * most);
				block->shift += residuals->node[j].variance;
			}
	}
}

/* Estimate compare_search.shift, in units of the scale of sum_blocks(). */
static double estimate_shift(struct compare_search *search)
{
	const struct compare_residuals *residuals = &search->residuals;
	uint32_t count = 0;

	for (uint32_t i = 0; i < search->compare->code.count; i++) {
		const struct compare_residual *one = &residuals->node[i];
		const struct compare_block *block = &residuals->block[one->block];
		double share;

		if (!(one->variance > 0))
			continue;
		share = one->variance / block->shift;
		if (share > 0.999)
			continue;
		search->difference[count++] = (struct compare_difference){
			.relative = fabs(one->value - share * block->value) / sqrt(one->variance),
			.variance = (variance_of(search, i) + phase_variance(search, i)) /
				    one->variance,
			.weight = predicted_of(&search->compare->code.node[i]) *
				  search->compare->code.node[i].executions,
		};
	}
	return compare_misfit(search->difference, count);
}

/* ---- What an effect touches ------------------------------------------------------------------ */

double compare_beyond(double value, double variance)
{
	double left = fabs(value) - sqrt(variance > 0 ? variance : 0);

	return left > 0 ? left : 0;
}

static void add_block(const struct compare_search *search, uint32_t block, double change,
		      struct compare_touched *touched)
{
	double value = search->residuals.block[block].value;
	double noise = search->residuals.block[block].own;

	touched->block[0] += compare_beyond(value, noise);
	touched->block[1] += compare_beyond(value - change, noise);
	touched->size += fabs(change);
	touched->squares += change * change;
	touched->sum += change;
}

struct compare_touched compare_touch(const struct compare_search *search,
				     const struct compare_candidate *candidate)
{
	struct compare_touched touched = {0};
	double change = 0;

	for (uint32_t i = 0; i < candidate->effects; i++) {
		const struct compare_effect *effect = &candidate->effect[i];
		const struct compare_residual *one = &search->residuals.node[effect->node];

		if (one->variance > 0) {
			double variance = compare_own_variance(search, effect->node);

			touched.node[0] += compare_beyond(one->value, variance);
			touched.node[1] += compare_beyond(one->value - effect->cycles, variance);
			change += effect->cycles;
		}
		if (i + 1 < candidate->effects &&
		    search->residuals.node[candidate->effect[i + 1].node].block == one->block)
			continue;
		add_block(search, one->block, change, &touched);
		change = 0;
	}
	return touched;
}

bool compare_is_in_blocks(const struct compare_touched *touched, double least)
{
	return touched->size * touched->size >= least * touched->squares;
}

double compare_part_explained(double before, double after)
{
	return before > 0 ? 1 - after / before : 0;
}

/* ---- Misfit ---------------------------------------------------------------------------------- */

/* Whether regions, and instructions within blocks, differ by at most so many times what is usual. */
static bool is_misfit_within(struct compare_search *search, double times)
{
	sum_blocks(search);
	sum_regions(search, 0, CLIP);
	return misfit_of_regions(search) <= times * COMPARE_MISFIT_USUAL &&
	       estimate_shift(search) <= times * SHIFT_USUAL;
}

bool compare_misfit_is_usual(struct compare_search *search)
{
	return is_misfit_within(search, 1);
}

/* Differences of regions beyond sampling and the engine, cycles. */
static double unexplained_cycles(struct compare_search *search)
{
	double left = 0;

	sum_regions(search, 0, INFINITY);
	for (uint32_t i = 0; i < search->compare->regions.count; i++) {
		const struct compare_region_sum *sum = &search->sum[i];
		double off = REGION_MISFIT * sum->predicted;
		double beyond = fabs(sum->measured - sum->predicted) -
				LEFT_DEVIATIONS * sqrt(sum->variance + off * off);

		left += beyond > 0 ? beyond : 0;
	}
	return left;
}

/* Differences of basic blocks, and of instructions within these, beyond sampling and the engine: the
 * larger one, in cycles.  They may cancel out in a region. */
static double unexplained_in_regions(struct compare_search *search)
{
	const struct compare_residuals *residuals = &search->residuals;
	double blocks = 0, nodes = 0;

	compare_make_residuals(search);
	for (uint32_t i = 0; i < search->compare->regions.groups; i++) {
		const struct compare_block *block = &residuals->block[i];
		double off = REGION_MISFIT * block->scale;

		if (block->variance > 0)
			blocks += fmax(0,
				       fabs(block->value) -
					       LEFT_DEVIATIONS * sqrt(block->variance + off * off));
	}
	for (uint32_t i = 0; i < search->compare->code.count; i++) {
		const struct compare_residual *one = &residuals->node[i];
		const struct compare_block *block = &residuals->block[one->block];

		if (one->variance > 0)
			nodes += fmax(
				0, fabs(one->value - one->variance / block->shift * block->value) -
					   LEFT_DEVIATIONS * sqrt(one->variance));
	}
	return fmax(blocks, nodes);
}

/* By how much the program differs as a whole, beyond sampling and the engine: where all regions differ in one
 * direction, each by less than that says something, all of them together do. */
static double unexplained_as_a_whole(struct compare_search *search)
{
	double difference = 0, variance = 0, uncertain = 0;

	sum_regions(search, 0, INFINITY);
	for (uint32_t i = 0; i < search->compare->regions.count; i++) {
		const struct compare_region_sum *sum = &search->sum[i];
		double off = REGION_MISFIT * sum->predicted;

		difference += sum->measured - sum->predicted;
		variance += sum->variance + off * off;
		uncertain += sum->uncertain;
	}
	return fmax(0, fabs(difference) - uncertain - LEFT_DEVIATIONS * sqrt(variance));
}

bool compare_has_unexplained_code(struct compare_search *search)
{
	/* Out of order, where much else is wrong, code that differs says nothing. */
	return unexplained_cycles(search) >= LEFT_LEAST * search->core ||
	       unexplained_as_a_whole(search) >= LEFT_LEAST * search->core ||
	       ((!pesa_mca_model_is_out_of_order(search->original) ||
		 compare_misfit_is_usual(search)) &&
		unexplained_in_regions(search) >= COMPARE_SHARE_LEAST * search->core);
}

bool compare_has_unexplained_regions(struct compare_search *search)
{
	return unexplained_cycles(search) >= LEFT_LEAST * search->core;
}

bool compare_is_far(struct compare_search *search)
{
	return unexplained_cycles(search) >= FAR_LEFT * search->core ||
	       !is_misfit_within(search, FAR);
}

void compare_make_residuals(struct compare_search *search)
{
	const struct compare_residuals *residuals = &search->residuals;
	bool out_of_order = pesa_mca_model_is_out_of_order(search->original);
	double shift;

	sum_blocks(search);
	sum_regions(search, 0, CLIP);
	search->misfit = trusted(search, misfit_of_regions(search), COMPARE_MISFIT_USUAL);
	search->residuals.misfit = search->misfit;
	shift = trusted(search, estimate_shift(search), SHIFT_USUAL);
	search->shift = out_of_order ? fmax(shift, SHIFT_LEAST)
				     : fmin(fmax(shift, IN_ORDER_LEAST), IN_ORDER_MOST);
	for (uint32_t i = 0; i < search->compare->regions.groups; i++)
		residuals->block[i].shift = 0;
	for (uint32_t i = 0; i < search->compare->code.count; i++) {
		struct compare_residual *one = &residuals->node[i];

		if (!is_compared(&search->compare->code.node[i]))
			continue;
		one->variance = search->shift * search->shift * one->variance +
				variance_of(search, i) + phase_variance(search, i);
		residuals->block[one->block].shift += one->variance;
	}
}

double compare_all_that_is_left(const struct compare_search *search)
{
	double sum = 0;

	for (uint32_t i = 0; i < search->compare->regions.groups; i++) {
		const struct compare_block *block = &search->residuals.block[i];

		if (block->variance > 0)
			sum += compare_beyond(block->value, block->variance);
	}
	return sum;
}

double compare_instructions_left(const struct compare_search *search)
{
	double sum = 0;

	for (uint32_t i = 0; i < search->compare->code.count; i++)
		if (search->residuals.node[i].variance > 0)
			sum += compare_beyond(search->residuals.node[i].value,
					      compare_own_variance(search, i));
	return sum;
}
