/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is left of the differences between measured and predicted, see compare_search.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/compare_search.h"

#define MISFIT_LEAST	   0.03
#define EVENT_MISFIT	   0.3	/* of stalls with an event that may be core time, or hide some */
#define PHASE_MISFIT	   0.15 /* cycles an execution: with whom an instruction retires is luck */
#define PIECE_IN_ORDER	   4	/* instructions */
#define PIECE_OUT_OF_ORDER 8
#define TOUCHED		   0.05 /* of a region, from where on it is touched */
#define UNTOUCHED_MIN	   8	/* regions */
#define UNTOUCHED_SHARE	   0.2

bool compare_pool_executions(struct compare_search *search)
{
	const struct compare_code *code = &search->compare->code;
	uint32_t groups = search->compare->regions.groups;
	double *sum = calloc(groups + 1, sizeof(*sum));
	uint32_t *count = calloc(groups + 1, sizeof(*count));

	for (uint32_t i = 0; sum && count && i < code->count; i++) {
		sum[code->node[i].group] += code->node[i].executions;
		count[code->node[i].group]++;
	}
	for (uint32_t i = 0; sum && count && i < code->count; i++)
		search->executions[i] = sum[code->node[i].group] / count[code->node[i].group];
	free(sum);
	free(count);
	return sum && count;
}

static double predicted_of(const struct compare_node *node)
{
	return node->occurrences ? (node->retiring + node->stalled) / node->occurrences : 0;
}

/* What regions measure and what is predicted for them. */
static void sum_regions(struct compare_search *search)
{
	const struct pesa_compare *compare = search->compare;

	memset(search->sum, 0, compare->regions.count * sizeof(*search->sum));
	for (uint32_t i = 0; i < compare->code.count; i++) {
		const struct compare_node *node = &compare->code.node[i];
		struct compare_region_sum *sum = &search->sum[node->region];

		if (!node->occurrences)
			continue;
		sum->predicted += predicted_of(node) * search->executions[i];
		sum->measured += node->time.core;
		sum->variance += compare_sampling_variance(compare, node, 0);
	}
}

double compare_misfit_without(struct compare_search *search,
			      const struct compare_candidate *candidate)
{
	const struct pesa_compare *compare = search->compare;
	double all = 0, used = 0, misfit;
	uint32_t count = 0;

	for (uint32_t i = 0; i < compare->regions.count; i++)
		search->sum[i].touched = 0;
	for (uint32_t i = 0; candidate && i < candidate->effects; i++) {
		const struct compare_effect *effect = &candidate->effect[i];

		search->sum[search->residual[effect->piece].region].touched += fabs(effect->cycles);
	}
	for (uint32_t i = 0; i < compare->regions.count; i++) {
		const struct compare_region_sum *sum = &search->sum[i];

		if (!(sum->predicted > 0))
			continue;
		all += sum->predicted;
		if (sum->touched > TOUCHED * sum->predicted)
			continue;
		used += sum->predicted;
		search->difference[count++] = (struct compare_difference){
			.relative = fabs(sum->measured - sum->predicted) / sum->predicted,
			.variance = sum->variance / (sum->predicted * sum->predicted),
			.weight = sum->predicted,
		};
	}
	if (candidate && (count < UNTOUCHED_MIN || used < UNTOUCHED_SHARE * all))
		return search->misfit;
	misfit = compare_misfit(search->difference, count);
	return misfit > MISFIT_LEAST ? misfit : MISFIT_LEAST;
}

void compare_make_residuals(struct compare_search *search)
{
	const struct pesa_compare *compare = search->compare;

	sum_regions(search);
	search->misfit = compare_misfit_without(search, NULL);
	memset(search->residual, 0, search->pieces * sizeof(*search->residual));
	for (uint32_t i = 0; i < compare->code.count; i++) {
		const struct compare_node *node = &compare->code.node[i];
		struct compare_residual *residual = &search->residual[search->piece[i]];
		double each = predicted_of(node), phase = PHASE_MISFIT * search->executions[i];

		residual->region = node->region;
		if (!node->occurrences || !node->measured)
			continue;
		residual->value += node->time.core - each * search->executions[i];
		residual->scale += each * search->executions[i];
		/* The variance until all are added up. */
		residual->weight +=
			compare_sampling_variance(compare, node, each) + phase * phase +
			EVENT_MISFIT * EVENT_MISFIT * node->time.event * node->time.event;
	}
	for (uint32_t i = 0; i < search->pieces; i++) {
		struct compare_residual *residual = &search->residual[i];
		double misfit = search->misfit * residual->scale;

		residual->weight += misfit * misfit;
		residual->weight = residual->weight > 0 ? 1 / residual->weight : 0;
	}
}

/*
 * Pieces: in which of a few neighbours a stall shows is as much luck as not, so that they are
 * looked at together.
 */
void compare_make_pieces(struct compare_search *search)
{
	const struct compare_code *code = &search->compare->code;
	uint32_t length = 0, limit;

	limit = pesa_mca_model_is_out_of_order(search->compare->model) ? PIECE_OUT_OF_ORDER
								       : PIECE_IN_ORDER;

	for (uint32_t i = 0; i < code->count; i++) {
		if (i && (code->node[i].group != code->node[i - 1].group || length == limit)) {
			search->pieces++;
			length = 0;
		}
		search->piece[i] = search->pieces;
		length++;
	}
	search->pieces += code->count > 0;
}
