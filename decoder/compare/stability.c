/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Predictions with disturbances, see stability.h. */
#include <math.h>
#include <stdlib.h>

#include "decoder/compare/inside.h"

/*
 * By how many cycles an instruction takes longer, and which one: the part of the warm-up before it.  The
 * cycles themselves are over before the counted part begins, so that only what they led to is left.
 */
static const struct {
	unsigned int cycles;
	double at;
} disturbances[] = {{1, 0.3}, {2, 0.5}, {3, 0.25}, {5, 0.1}, {7, 0.2}, {9, 0.05}};

/* What disturbances change in nodes, basic blocks or regions. */
struct changes {
	double *change;	 /* in the present path, cycles of all executions */
	uint32_t *steps; /* of the present path there */
	double *squares; /* sum over paths, weighted */
	double *weight;	 /* of these */
	uint32_t count;
};

struct disturbed {
	struct pesa_compare *compare;
	struct compare_predicted *predicted; /* by step */
	struct changes node, block, region;
};

static bool make_changes(struct changes *changes, uint32_t count)
{
	*changes = (struct changes){.change = calloc(count + 1, sizeof(*changes->change)),
				    .steps = calloc(count + 1, sizeof(*changes->steps)),
				    .squares = calloc(count + 1, sizeof(*changes->squares)),
				    .weight = calloc(count + 1, sizeof(*changes->weight)),
				    .count = count};
	return changes->change && changes->steps && changes->squares && changes->weight;
}

static void free_changes(struct changes *changes)
{
	free(changes->change);
	free(changes->steps);
	free(changes->squares);
	free(changes->weight);
}

static void add_change(struct changes *changes, uint32_t index, double cycles)
{
	changes->change[index] += cycles;
	changes->steps[index]++;
}

/* The present path ends there: add the square of what changed in it. */
static void end_change(struct changes *changes, uint32_t index, double weight)
{
	if (!changes->steps[index])
		return;
	changes->squares[index] += weight * changes->change[index] * changes->change[index];
	changes->weight[index] += weight;
	changes->change[index] = 0;
	changes->steps[index] = 0;
}

/* The number of steps of a node is that in the path, those of its block and region are nodes. */
static void add_path(struct disturbed *disturbed, const struct compare_path *path)
{
	struct pesa_compare *compare = disturbed->compare;
	const struct compare_step *step = &compare->paths.step[path->first];
	const struct compare_predicted *before = &compare->predicted[path->first];
	const struct compare_predicted *after = &disturbed->predicted[path->first];
	struct changes *nodes = &disturbed->node;

	for (unsigned int i = path->warm; i < path->count; i++)
		add_change(nodes, step[i].node,
			   (double)after[i].retiring + after[i].stalled - before[i].retiring -
				   before[i].stalled);
	for (unsigned int i = path->warm; i < path->count; i++) {
		const struct compare_node *node = &compare->code.node[step[i].node];
		uint32_t index = step[i].node;

		if (!nodes->steps[index])
			continue;
		nodes->change[index] *= node->executions / nodes->steps[index];
		add_change(&disturbed->block, node->group, nodes->change[index]);
		add_change(&disturbed->region, node->region, nodes->change[index]);
		end_change(nodes, index, path->weight);
	}
	for (unsigned int i = path->warm; i < path->count; i++) {
		const struct compare_node *node = &compare->code.node[step[i].node];

		/* A path that has more of a region tells more of it. */
		end_change(&disturbed->block, node->group, path->weight);
		end_change(&disturbed->region, node->region,
			   (double)path->weight * disturbed->region.steps[node->region]);
	}
}

static struct pesa_error *disturb(struct disturbed *disturbed)
{
	struct pesa_compare *compare = disturbed->compare;
	struct compare_predictor *predictor = &compare->predictor;
	struct pesa_error *error = NULL;

	for (size_t k = 0; k < sizeof(disturbances) / sizeof(disturbances[0]) && !error; k++) {
		predictor->disturbed = disturbances[k].cycles;
		predictor->disturbed_at = disturbances[k].at;
		error = compare_predict_paths(predictor, compare->model, NULL, disturbed->predicted,
					      NULL);
		for (size_t i = 0; i < compare->paths.count && !error; i++)
			if (compare->paths.path[i].warm)
				add_path(disturbed, &compare->paths.path[i]);
	}
	predictor->disturbed = 0;
	return error;
}

/* The mean squares, which become the caller's. */
static double *take_mean(struct changes *changes)
{
	double *mean = changes->squares;

	for (uint32_t i = 0; i < changes->count; i++)
		if (changes->weight[i] > 0)
			mean[i] /= changes->weight[i];
	changes->squares = NULL;
	return mean;
}

struct pesa_error *compare_learn_stability(struct pesa_compare *compare,
					   struct compare_stability *stability)
{
	struct disturbed disturbed = {
		.compare = compare,
		.predicted = calloc(compare->paths.steps + 1, sizeof(*disturbed.predicted))};
	bool done = make_changes(&disturbed.node, compare->code.count);
	struct pesa_error *error = NULL;

	*stability = (struct compare_stability){0};
	done = make_changes(&disturbed.block, compare->regions.groups) && done;
	done = make_changes(&disturbed.region, compare->regions.count) && done;
	if (!done || !disturbed.predicted)
		error = pesa_error_no_memory();
	else
		error = disturb(&disturbed);
	if (!error)
		*stability = (struct compare_stability){.node = take_mean(&disturbed.node),
							.block = take_mean(&disturbed.block),
							.region = take_mean(&disturbed.region)};
	free_changes(&disturbed.node);
	free_changes(&disturbed.block);
	free_changes(&disturbed.region);
	free(disturbed.predicted);
	return error;
}

static void take_larger(double *one, const double *other, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		one[i] = fmax(one[i], other[i]);
}

void compare_stability_join(const struct pesa_compare *compare, struct compare_stability *stability,
			    const struct compare_stability *other)
{
	take_larger(stability->node, other->node, compare->code.count);
	take_larger(stability->block, other->block, compare->regions.groups);
	take_larger(stability->region, other->region, compare->regions.count);
}

void compare_stability_free(struct compare_stability *stability)
{
	free(stability->node);
	free(stability->block);
	free(stability->region);
	*stability = (struct compare_stability){0};
}
