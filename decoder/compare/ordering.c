/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether this core drains at instructions that order others (order.h): the paths are predicted
 * with all kinds draining and with none, and then with each kind changed in turn.  What brings the
 * predicted time of basic blocks nearer to the measured one is chosen.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/compare/inside.h"

#define KIND_LEAST 0.001 /* share of all cycles of a kind, or of what it may change, that matters */

static void reset(struct pesa_compare *compare)
{
	compare_paths_free(&compare->paths);
	compare->paths = (struct compare_paths){0};
	free(compare->predicted);
	compare->predicted = NULL;
	for (uint32_t i = 0; i < compare->code.count; i++) {
		struct compare_node *node = &compare->code.node[i];

		node->occurrences = node->retiring = node->stalled = 0;
		node->mispredicts_due[0] = node->mispredicts_due[1] = 0;
		node->on_path = false;
		node->class = -1;
	}
}

struct pesa_error *compare_predict_all(struct pesa_compare *compare,
				       const struct compare_path_options *options)
{
	struct compare_paths *paths = &compare->paths;
	struct pesa_error *error;
	int32_t *classes = NULL;

	reset(compare);
	error = compare_paths_make(&compare->code, options, paths);
	if (error)
		return error;
	compare->predicted = calloc(paths->steps + 1, sizeof(*compare->predicted));
	classes = calloc(paths->steps + 1, sizeof(*classes));
	if (!compare->predicted || !classes)
		error = pesa_error_no_memory();
	for (size_t i = 0; i < paths->count && !error; i++) {
		const struct compare_path *path = &paths->path[i];

		error = compare_predict_path(&compare->predictor, compare->model, path,
					     compare->predicted + path->first,
					     classes + path->first);
		for (unsigned int j = 0; j < path->count && !error; j++) {
			size_t at = path->first + j;
			struct compare_node *node = &compare->code.node[paths->step[at].node];

			node->class = classes[at];
			node->on_path = true;
			if (j < path->warm)
				continue;
			node->occurrences += path->weight;
			node->retiring += path->weight * compare->predicted[at].retiring;
			node->stalled += path->weight * compare->predicted[at].stalled;
		}
		if (!error && compare->options.progress)
			compare->options.progress(compare->options.progress_context,
						  0.3 * (double)i / (double)paths->count);
	}
	free(classes);
	return error;
}

/* ---- The choice ------------------------------------------------------------------------------ */

struct choice {
	struct pesa_compare *compare;
	struct compare_path_options *options;
	double *none, *all, *now; /* by node: predicted cycles an execution; NaN: no prediction */
	double *difference;	  /* by basic block: scratch */
};

static struct pesa_error *predict(struct choice *choice, double *each)
{
	const struct compare_code *code = &choice->compare->code;
	struct pesa_error *error = compare_predict_all(choice->compare, choice->options);

	for (uint32_t i = 0; i < code->count && !error; i++) {
		const struct compare_node *node = &code->node[i];

		each[i] = node->occurrences ? (node->retiring + node->stalled) / node->occurrences
					    : NAN;
	}
	return error;
}

/* Sum over basic blocks of |measured - predicted| cycles, of what is predicted in both ways and
 * does not order itself. */
static double distance(const struct choice *choice, const double *each)
{
	const struct pesa_compare *compare = choice->compare;
	double sum = 0;

	memset(choice->difference, 0, compare->regions.groups * sizeof(*choice->difference));
	for (uint32_t i = 0; i < compare->code.count; i++) {
		const struct compare_node *node = &compare->code.node[i];

		if (node->kind == COMPARE_NO_KIND && !isnan(choice->none[i]) &&
		    !isnan(choice->all[i]) && !isnan(each[i]))
			choice->difference[node->group] +=
				node->time.core - each[i] * node->executions;
	}
	for (uint32_t i = 0; i < compare->regions.groups; i++)
		sum += fabs(choice->difference[i]);
	return sum;
}

static void set_all(struct compare_kinds *kinds, bool drains)
{
	for (unsigned int i = 0; i < kinds->count; i++)
		kinds->kind[i].drains = drains;
}

/* Change one kind after the other, and keep what is nearer to the measurement. */
static struct pesa_error *choose(struct choice *choice)
{
	struct pesa_compare *compare = choice->compare;
	double least = KIND_LEAST * compare->totals.cycles, nearest, now;
	struct pesa_error *error = NULL;

	nearest = distance(choice, choice->all);
	now = distance(choice, choice->none);
	if (now < nearest)
		nearest = now;
	else
		set_all(&compare->kinds, true);
	for (unsigned int i = 0; i < compare->kinds.count && compare->kinds.count > 1 && !error;
	     i++) {
		struct compare_kind *kind = &compare->kinds.kind[i];

		if (kind->cycles < least)
			continue;
		kind->drains = !kind->drains;
		error = predict(choice, choice->now);
		now = distance(choice, choice->now);
		if (now < nearest - least)
			nearest = now;
		else
			kind->drains = !kind->drains;
	}
	return error ? error : predict(choice, choice->now);
}

static void mark_uncertain(const struct choice *choice)
{
	struct compare_code *code = &choice->compare->code;

	for (uint32_t i = 0; i < code->count; i++) {
		double off = fabs(choice->none[i] - choice->all[i]);

		code->node[i].uncertain = isnan(off) ? 0 : off;
	}
}

static struct pesa_error *find_kinds(struct choice *choice)
{
	struct pesa_compare *compare = choice->compare;
	bool *supported = calloc(compare->code.count + 1, sizeof(*supported));

	if (!supported)
		return pesa_error_no_memory();
	for (uint32_t i = 0; i < compare->code.count; i++) {
		const struct compare_node *node = &compare->code.node[i];

		supported[i] = !node->on_path || node->class >= 0;
	}
	compare_kinds_find(&compare->code, supported, &compare->kinds);
	free(supported);
	return NULL;
}

struct pesa_error *compare_predict_ordered(struct pesa_compare *compare,
					   struct compare_path_options *options)
{
	uint32_t nodes = compare->code.count;
	struct choice choice = {
		.compare = compare,
		.options = options,
		.none = calloc(nodes + 1, sizeof(double)),
		.all = calloc(nodes + 1, sizeof(double)),
		.now = calloc(nodes + 1, sizeof(double)),
		.difference = calloc(compare->regions.groups + 1, sizeof(double)),
	};
	struct pesa_error *error = NULL;

	if (!choice.none || !choice.all || !choice.now || !choice.difference)
		error = pesa_error_no_memory();
	compare_kinds_find(&compare->code, NULL, &compare->kinds);
	set_all(&compare->kinds, false);
	if (!error)
		error = predict(&choice, choice.none);
	/* Now the classes are known. */
	if (!error)
		error = find_kinds(&choice);
	if (!error && compare->kinds.count) {
		set_all(&compare->kinds, true);
		error = predict(&choice, choice.all);
		set_all(&compare->kinds, false);
		if (!error)
			error = choose(&choice);
		if (!error)
			mark_uncertain(&choice);
	}
	free(choice.none);
	free(choice.all);
	free(choice.now);
	free(choice.difference);
	return error;
}
