/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Extra cycles of an in-order core after a mispredicted branch, beyond the engine's.
 *
 * In the engine the first instruction of the right path issues in the cycle in which it arrives,
 * and retires in the cycle in which it is complete.  A core may have stages in between.  For other
 * instructions they overlap with those of older ones; this instruction they stall.  The profile
 * shows for how many cycles: the excess over the prediction, per mispredict, of instructions that
 * often follow one.
 */
#include <math.h>
#include <stdlib.h>

#include "decoder/compare/inside.h"

#define SHARE_LEAST 0.25 /* minimum share of an instruction's executions that follow a mispredict */
#define STALL_MAX   16.0 /* cycles */

/* The excess of one instruction. */
struct shown {
	double stall;  /* cycles per mispredict */
	double weight; /* mispredicts */
};

static int by_stall(const void *left, const void *right)
{
	const struct shown *a = left, *b = right;

	return a->stall < b->stall ? -1 : a->stall > b->stall;
}

/* Count how often each node is the first one after a mispredict on the paths. */
static void count_flushed(const struct pesa_compare *compare, double *flushed)
{
	for (size_t i = 0; i < compare->paths.count; i++) {
		const struct compare_path *path = &compare->paths.path[i];

		for (unsigned int j = path->warm; j < path->count; j++)
			if (compare_is_flushed_before(&compare->predictor, path, j))
				flushed[compare->paths.step[path->first + j].node] += path->weight;
	}
}

/* The weighted median, because some instructions have another excess: the model is wrong about
 * them, or they wait for a result. */
static double median(struct shown *shown, size_t count)
{
	double total = 0, sum = 0;

	qsort(shown, count, sizeof(*shown), by_stall);
	for (size_t i = 0; i < count; i++)
		total += shown[i].weight;
	for (size_t i = 0; i < count; i++) {
		sum += shown[i].weight;
		if (2 * sum >= total)
			return shown[i].stall;
	}
	return 0;
}

static void add_stall(struct pesa_compare *compare, double stall)
{
	for (size_t i = 0; i < compare->paths.count; i++) {
		const struct compare_path *path = &compare->paths.path[i];

		for (unsigned int j = 0; j < path->count; j++) {
			size_t at = path->first + j;

			if (!compare_is_flushed_before(&compare->predictor, path, j))
				continue;
			compare->predicted[at].stalled += (float)stall;
			if (j >= path->warm)
				compare->code.node[compare->paths.step[at].node].stalled +=
					path->weight * stall;
		}
	}
}

struct pesa_error *compare_learn_redirect_stall(struct pesa_compare *compare)
{
	uint32_t nodes = compare->code.count;
	double *flushed = calloc(nodes + 1, sizeof(*flushed)), stall;
	struct shown *shown = calloc(nodes + 1, sizeof(*shown));
	size_t count = 0;

	if (!flushed || !shown) {
		free(flushed);
		free(shown);
		return pesa_error_no_memory();
	}
	count_flushed(compare, flushed);
	for (uint32_t i = 0; i < nodes; i++) {
		const struct compare_node *node = &compare->code.node[i];
		double share = node->occurrences > 0 ? flushed[i] / node->occurrences : 0;

		if (share < SHARE_LEAST || !(node->executions > 0) || node->class < 0)
			continue;
		shown[count].stall = (node->time.core / node->executions -
				      (node->retiring + node->stalled) / node->occurrences) /
				     share;
		shown[count++].weight = share * node->executions;
	}
	stall = round(median(shown, count));
	free(flushed);
	free(shown);
	stall = stall > 0 ? stall : 0;
	compare->predictor.redirect_stall = stall < STALL_MAX ? stall : STALL_MAX;
	add_stall(compare, compare->predictor.redirect_stall);
	return NULL;
}
