/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Predictions in several ways, and which is nearest: see alternatives.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/compare/alternatives.h"
#include "decoder/compare/prepared.h"

#define REFUTED 2.0 /* of the distance of the nearest way, from where another one is refuted */

/* Make the paths, unless they are those that follow from what is chosen. */
static struct pesa_error *make_paths(struct pesa_compare *compare,
				     const struct compare_path_options *options)
{
	const struct pesa_digest digest = compare_paths_digest(&compare->code, options);
	struct compare_paths *paths = &compare->paths;
	struct pesa_error *error;

	if (compare->predicted && paths->prepared && pesa_digest_equal(&paths->made_from, &digest))
		return NULL;
	compare_paths_free(paths);
	*paths = (struct compare_paths){0};
	free(compare->predicted);
	compare->predicted = NULL;
	error = compare_paths_make(&compare->code, options, paths);
	if (error)
		return error;
	compare->predicted = calloc(paths->steps + 1, sizeof(*compare->predicted));
	paths->prepared = compare_prepare(paths, &compare->code);
	paths->made_from = digest;
	return compare->predicted && paths->prepared ? NULL : pesa_error_no_memory();
}

static void reset(struct compare_code *code)
{
	for (uint32_t i = 0; i < code->count; i++) {
		struct compare_node *node = &code->node[i];

		node->occurrences = node->repeated = 0;
		node->retiring = node->stalled = node->event = 0;
		node->on_path = false;
		node->class = -1;
	}
}

/* Whether a step from one node to another one begins the same basic block again. */
static bool is_repeated(const struct compare_code *code, uint32_t from, uint32_t to)
{
	return to <= from && code->node[from].group == code->node[to].group;
}

struct pesa_error *compare_predict_all(struct pesa_compare *compare,
				       const struct compare_path_options *options)
{
	const struct compare_paths *paths = &compare->paths;
	struct pesa_error *error = make_paths(compare, options);
	int32_t *classes = NULL;

	reset(&compare->code);
	if (error)
		return error;
	classes = calloc(paths->steps + 1, sizeof(*classes));
	if (!classes)
		return pesa_error_no_memory();
	compare_report_progress(compare, 0);
	error = compare_predict_paths(&compare->predictor, compare->model, NULL, compare->predicted,
				      classes);
	for (size_t i = 0; i < paths->count && !error; i++) {
		const struct compare_path *path = &paths->path[i];

		for (unsigned int j = 0; j < path->count; j++) {
			size_t at = path->first + j;
			struct compare_node *node = &compare->code.node[paths->step[at].node];

			/* Findings of single opcodes have classes that the base lacks. */
			node->class = classes[at];
			if (node->class >= 0)
				node->class = (int)compare->model->identities[node->class].whole;
			node->on_path = true;
			if (j < path->warm)
				continue;
			node->occurrences += path->weight;
			if (j && is_repeated(&compare->code, paths->step[at - 1].node,
					     paths->step[at].node))
				node->repeated += path->weight;
			node->retiring += path->weight * compare->predicted[at].retiring;
			node->stalled += path->weight * compare->predicted[at].stalled;
			node->event += path->weight * compare->predicted[at].event;
		}
	}
	free(classes);
	return error;
}

/* Predicted cycles an execution; NaN: there is no prediction. */
static double predicted_each(const struct compare_node *node)
{
	return node->occurrences ? (node->retiring + node->stalled) / node->occurrences : NAN;
}

struct pesa_error *compare_predict_each(struct pesa_compare *compare,
					const struct compare_path_options *options, double *each)
{
	struct pesa_error *error = compare_predict_all(compare, options);

	for (uint32_t i = 0; i < compare->code.count && !error; i++)
		each[i] = predicted_each(&compare->code.node[i]);
	return error;
}

double compare_block_distance(const struct pesa_compare *compare, const double *each,
			      double *scratch)
{
	double sum = 0;

	memset(scratch, 0, compare->regions.groups * sizeof(*scratch));
	for (uint32_t i = 0; i < compare->code.count; i++) {
		const struct compare_node *node = &compare->code.node[i];
		double one = each ? each[i] : predicted_each(node);

		if (isnan(one))
			sum += node->time.core;
		else
			scratch[node->group] += node->time.core - one * node->executions;
	}
	for (uint32_t i = 0; i < compare->regions.groups; i++)
		sum += fabs(scratch[i]);
	return sum;
}

double compare_distance(const struct pesa_compare *compare, const double *each, double *scratch)
{
	double sum = compare_block_distance(compare, each, scratch);

	for (uint32_t i = 0; i < compare->code.count; i++) {
		const struct compare_node *node = &compare->code.node[i];
		double one = each ? each[i] : predicted_each(node);

		sum += isnan(one) ? node->time.core
				  : fabs(node->time.core - one * node->executions);
	}
	return sum;
}

double compare_range_of_ways(double *const *each, const double *distance, unsigned int ways,
			     double nearest, uint32_t node)
{
	double least = INFINITY, most = -INFINITY;

	for (unsigned int i = 0; i < ways; i++) {
		if (distance[i] > REFUTED * nearest)
			continue;
		least = fmin(least, each[i][node]);
		most = fmax(most, each[i][node]);
	}
	return most > least ? most - least : 0;
}

/* ---- Totals ----------------------------------------------------------------------------------- */

void compare_add_up(struct pesa_compare *compare)
{
	struct pesa_compare_totals *totals = &compare->totals;

	*totals = (struct pesa_compare_totals){.cycles = totals->cycles,
					       .candidates = totals->candidates};
	/* When unreadable code retires, only the first instruction is known. */
	totals->no_text = (double)pesa_profile_totals(compare->profile)
				  ->unattributed[PESA_UNATTRIBUTED_NO_TEXT] /
			  PESA_CYCLE;
	for (uint32_t i = 0; i < compare->code.count; i++) {
		const struct compare_node *node = &compare->code.node[i];

		compare_add_time(&totals->time, &node->time);
		if (!node->decoded)
			totals->no_text += compare_time_sum(&node->time);
		else if (node->on_path && node->class < 0)
			totals->unsupported += compare_time_sum(&node->time);
		if (!node->occurrences)
			continue;
		totals->covered += node->time.core;
		totals->measured += node->time.core;
		totals->predicted +=
			(node->retiring + node->stalled) / node->occurrences * node->executions;
	}
	totals->paths = compare->paths.count;
	totals->instructions = compare->predictor.instructions;
}

/* ---- Order of the paths ---------------------------------------------------------------------- */

/* What was predicted in each order, and how near that is. */
struct orders {
	double *each[COMPARE_DIRECTIONS]; /* by node: cycles an execution */
	double distance[COMPARE_DIRECTIONS];
	enum compare_directions best;
};

static void mark_uncertain(struct compare_code *code, const struct orders *orders)
{
	for (uint32_t i = 0; i < code->count; i++)
		code->node[i].uncertain +=
			compare_range_of_ways(orders->each, orders->distance, COMPARE_DIRECTIONS,
					      orders->distance[orders->best], i);
}

double compare_core_time(const struct pesa_compare *compare)
{
	double core = 0;

	for (uint32_t i = 0; i < compare->code.count; i++)
		core += compare->code.node[i].time.core;
	return core;
}

static struct pesa_error *predict_in_each_order(struct pesa_compare *compare,
						struct compare_path_options *options,
						double *scratch, struct orders *orders)
{
	double core = compare_core_time(compare), nearest = INFINITY;
	struct pesa_error *error = NULL;

	for (unsigned int k = 0; k < COMPARE_DIRECTIONS && !error; k++) {
		double distance;

		options->directions = k;
		error = compare_predict_each(compare, options, orders->each[k]);
		if (error)
			break;
		distance = compare_block_distance(compare, orders->each[k], scratch);
		orders->distance[k] = distance;
		if (k != COMPARE_EVENLY)
			distance += COMPARE_ORDER_LEAST * core;
		if (distance < nearest) {
			nearest = distance;
			orders->best = k;
		}
	}
	return error;
}

struct pesa_error *compare_choose_order(struct pesa_compare *compare,
					struct compare_path_options *options)
{
	double *scratch = calloc(compare->regions.groups + 1, sizeof(*scratch));
	struct orders orders = {.best = COMPARE_EVENLY};
	struct pesa_error *error = scratch ? NULL : pesa_error_no_memory();

	for (unsigned int k = 0; k < COMPARE_DIRECTIONS && !error; k++) {
		orders.each[k] = calloc(compare->code.count + 1, sizeof(*orders.each[k]));
		if (!orders.each[k])
			error = pesa_error_no_memory();
	}
	if (!error)
		error = predict_in_each_order(compare, options, scratch, &orders);
	if (!error && orders.best != options->directions) {
		options->directions = orders.best;
		error = compare_predict_all(compare, options);
	}
	if (!error)
		mark_uncertain(&compare->code, &orders);
	for (unsigned int k = 0; k < COMPARE_DIRECTIONS; k++)
		free(orders.each[k]);
	free(scratch);
	return error;
}

/* ---- Order of those that wait for a unit ----------------------------------------------------- */

#define ORDERED_CYCLES 4 /* of a unit; who gets one that is free again at once matters little */

/* Whether paths use units that are occupied for long. */
static bool any_is_long(const struct pesa_compare *compare)
{
	const struct pesa_mca_model *model = compare->model;

	for (uint32_t i = 0; i < compare->code.count; i++) {
		const struct compare_node *node = &compare->code.node[i];
		const struct mca_class *costs;

		if (node->class < 0)
			continue;
		costs = &model->classes[node->class];
		for (unsigned int k = 0; k < costs->uses; k++)
			if (model->uses[costs->use + k].release >= ORDERED_CYCLES)
				return true;
	}
	return false;
}

struct pesa_error *compare_choose_units(struct pesa_compare *compare,
					const struct compare_path_options *options)
{
	double *scratch = calloc(compare->regions.groups + 1, sizeof(*scratch));
	struct pesa_error *error = scratch ? NULL : pesa_error_no_memory();
	double by_readiness, in_order;

	if (error || !pesa_mca_model_is_out_of_order(compare->model) || !any_is_long(compare)) {
		free(scratch);
		return error;
	}
	by_readiness = compare_distance(compare, NULL, scratch);
	compare->predictor.ordered_cycles = ORDERED_CYCLES;
	error = compare_predict_all(compare, options);
	in_order = compare_distance(compare, NULL, scratch);
	free(scratch);
	if (error || in_order + COMPARE_ORDER_LEAST * compare_core_time(compare) < by_readiness)
		return error;
	compare->predictor.ordered_cycles = 0;
	return compare_predict_all(compare, options);
}
