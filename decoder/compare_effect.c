/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The effect of a change of the model, see compare_search.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/compare_search.h"

bool compare_touches(const struct pesa_mca_model *model, const struct compare_candidate *candidate,
		     int class)
{
	if (class < 0)
		return false;
	if (candidate->kind != PESA_COMPARE_UNITS)
		return (unsigned int)class == candidate->class;
	for (unsigned int i = 0; i < model->classes[class].uses; i++)
		if (model->masks[model->uses[model->classes[class].use + i].resource] &
		    model->masks[candidate->resource])
			return true;
	return false;
}

/* Whether the walk has an instruction that the change touches. */
static bool is_affected(const struct compare_search *search, const struct compare_walk *walk,
			const struct compare_candidate *candidate)
{
	const struct pesa_compare *compare = search->compare;
	const struct compare_step *step = &compare->walks.step[walk->first];

	for (unsigned int i = 0; i < walk->count; i++)
		if (compare_touches(compare->model, candidate,
				    compare->code.node[step[i].node].class))
			return true;
	return false;
}

void compare_describe(const struct pesa_mca_model *model, const struct compare_candidate *candidate,
		      int value, char *text, size_t size)
{
	const char *class = model->class_names[candidate->class];

	switch (candidate->kind) {
	case PESA_COMPARE_LATENCY:
		snprintf(text, size, "%s.latency=%d", class, value);
		break;
	case PESA_COMPARE_CYCLES:
		snprintf(text, size, "%s.%s=%d", class, model->resources[candidate->resource].name,
			 value);
		break;
	case PESA_COMPARE_ADVANCE:
		snprintf(text, size, "%s.advance=%d", class, value);
		break;
	default:
		snprintf(text, size, "%s.units=%d", model->resources[candidate->resource].name,
			 value);
		break;
	}
}

struct pesa_error *compare_simulate(struct compare_search *search,
				    const struct compare_candidate *candidate, int value)
{
	struct pesa_compare *compare = search->compare;
	struct pesa_mca_model *model;
	struct pesa_error *error;
	char text[256];

	if (search->simulated == candidate && search->simulated_value == value)
		return NULL;
	search->simulated = NULL;
	error = pesa_mca_model_vary(compare->model, &model);
	if (error)
		return error;
	compare_describe(model, candidate, value, text, sizeof(text));
	error = pesa_mca_model_change(model, text, NULL);
	for (size_t i = 0; i < compare->walks.count && !error; i++) {
		const struct compare_walk *walk = &compare->walks.walk[i];

		search->affected[i] = is_affected(search, walk, candidate);
		if (search->affected[i])
			error = compare_predict_walk(&compare->predictor, model, walk,
						     search->trial + walk->first, NULL);
	}
	pesa_mca_model_free(model);
	if (!error) {
		search->simulated = candidate;
		search->simulated_value = value;
	}
	return error;
}

static void keep_example(struct compare_search *search, struct compare_candidate *candidate,
			 uint32_t node)
{
	unsigned int at = candidate->examples;

	while (at && fabs(search->change[candidate->example[at - 1]]) < fabs(search->change[node]))
		at--;
	if (at == PESA_COMPARE_EXAMPLES)
		return;
	if (candidate->examples < PESA_COMPARE_EXAMPLES)
		candidate->examples++;
	for (unsigned int i = candidate->examples - 1; i > at; i--)
		candidate->example[i] = candidate->example[i - 1];
	candidate->example[at] = node;
}

/* The change of each node's predicted cycles, over all its executions. */
static void sum_changes(struct compare_search *search)
{
	const struct pesa_compare *compare = search->compare;
	const struct compare_walks *walks = &compare->walks;

	memset(search->change, 0, compare->code.count * sizeof(*search->change));
	for (size_t i = 0; i < walks->count; i++) {
		const struct compare_walk *walk = &walks->walk[i];

		for (unsigned int j = walk->warm; search->affected[i] && j < walk->count; j++) {
			size_t at = walk->first + j;
			const struct compare_predicted *now = &search->trial[at];
			const struct compare_predicted *then = &compare->predicted[at];

			search->change[walks->step[at].node] +=
				walk->weight *
				(now->retiring + now->stalled - then->retiring - then->stalled);
		}
	}
	for (uint32_t i = 0; i < compare->code.count; i++)
		if (compare->code.node[i].occurrences)
			search->change[i] *=
				search->executions[i] / compare->code.node[i].occurrences;
}

/* The effect of the last simulation. */
static struct pesa_error *collect(struct compare_search *search,
				  struct compare_candidate *candidate)
{
	uint32_t count = 0, nodes = search->compare->code.count;

	sum_changes(search);
	for (uint32_t i = 0; i < nodes; i++)
		count += search->change[i] != 0;
	free(candidate->effect);
	candidate->effect = calloc(count + 1, sizeof(*candidate->effect));
	if (!candidate->effect)
		return pesa_error_no_memory();
	candidate->effects = candidate->examples = 0;
	candidate->moved = candidate->shifted = 0;
	for (uint32_t i = 0; i < nodes; i++) {
		if (search->change[i] == 0)
			continue;
		candidate->effect[candidate->effects++] =
			(struct compare_effect){.node = i, .cycles = search->change[i]};
		candidate->moved += search->change[i];
		candidate->shifted += fabs(search->change[i]);
		keep_example(search, candidate, i);
	}
	return NULL;
}

struct pesa_error *compare_fit_effect(struct compare_search *search,
				      struct compare_candidate *candidate)
{
	candidate->misfit = compare_misfit_without(search, candidate);
	if (compare_fit(search->residual, search->compare->regions.count, candidate))
		return NULL;
	return pesa_error_no_memory();
}

struct pesa_error *compare_try(struct compare_search *search, struct compare_candidate *candidate,
			       int value)
{
	struct pesa_error *error = compare_simulate(search, candidate, value);

	candidate->value = value;
	candidate->generation = search->generation;
	if (!error)
		error = collect(search, candidate);
	if (!error)
		error = compare_fit_effect(search, candidate);
	search->compare->totals.candidates++;
	return error;
}
