/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Models that may be right although the search did not find them.  See search.h.
 *
 * What is chosen for the paths (who gets a unit, what a fence orders, in which order branches go, which
 * loads wait) makes up for what is wrong with the model that it was chosen with, so that the wrong number is
 * no likelier than others then.  What comes nearest is listed here; find.c chooses again with each.
 */
#include <stdio.h>

#include "decoder/compare/search/search.h"

#define NEAREST_MAX 6 /* candidates that are listed */

/* The candidates that explain most of what is left, the first one most. */
struct nearest {
	struct compare_candidate *one[NEAREST_MAX];
	unsigned int count;
};

void compare_hypotheses_free(struct compare_hypotheses *hypotheses)
{
	for (unsigned int i = 0; i < hypotheses->count; i++)
		pesa_mca_model_free(hypotheses->one[i].model);
	hypotheses->count = 0;
}

/* Add the model with these changes, unless there is no room. */
static struct pesa_error *add(struct compare_search *search, const struct pesa_mca_model *model,
			      const char *changes, double penalties)
{
	struct compare_hypotheses *hypotheses = &search->compare->hypotheses;
	struct compare_hypothesis *one = &hypotheses->one[hypotheses->count];
	struct pesa_error *error;

	if (hypotheses->count == COMPARE_HYPOTHESES)
		return NULL;
	*one = (struct compare_hypothesis){.penalties = penalties};
	error = pesa_mca_model_vary(model, &one->model);
	if (error)
		return error;
	hypotheses->count++;
	return mca_model_change_each(one->model, changes);
}

/* Each of several findings alone: the others may make up for what was chosen. */
static struct pesa_error *add_findings(struct compare_search *search)
{
	const struct pesa_compare *compare = search->compare;
	struct pesa_error *error = NULL;

	for (unsigned int i = 0; i < search->candidates && compare->findings > 1 && !error; i++) {
		const struct compare_candidate *one = &search->candidate[i];

		if (one->finding != COMPARE_NONE)
			error = add(search, search->original, compare->finding[one->finding].change,
				    compare_penalty(search, one, one->model_value));
	}
	return error;
}

static void rank(struct nearest *nearest, struct compare_candidate *candidate)
{
	unsigned int at = nearest->count;

	if (nearest->count < NEAREST_MAX)
		nearest->count++;
	else if (candidate->gain <= nearest->one[--at]->gain)
		return;
	for (; at && nearest->one[at - 1]->gain < candidate->gain; at--)
		nearest->one[at] = nearest->one[at - 1];
	nearest->one[at] = candidate;
}

static struct pesa_error *find_nearest(struct compare_search *search, struct nearest *nearest)
{
	struct pesa_error *error = NULL;

	compare_make_residuals(search);
	for (unsigned int i = 0; i < search->candidates && !error; i++) {
		struct compare_candidate *one = &search->candidate[i];

		if (one->finding != COMPARE_NONE || one->closed)
			continue;
		error = one->effect && one->generation == search->generation
				? compare_fit_effect(search, one)
				: compare_try_first(search, one);
		if (!error && !one->screened && one->theta > 0 && one->gain > 0 &&
		    !compare_is_taken(search, one))
			rank(nearest, one);
	}
	return error;
}

struct pesa_error *compare_list_hypotheses(struct compare_search *search)
{
	const struct pesa_compare *compare = search->compare;
	struct nearest nearest = {0};
	double penalties = compare_penalties(search);
	struct pesa_error *error;

	compare_hypotheses_free(&search->compare->hypotheses);
	if (!search->lacking && !compare_has_unexplained_code(search))
		return NULL;
	error = add_findings(search);
	if (!error)
		error = find_nearest(search, &nearest);
	for (unsigned int i = 0; i < nearest.count && !error; i++) {
		char change[PESA_COMPARE_CHANGE_SIZE];
		struct compare_candidate *one = nearest.one[i];

		error = compare_choose_value(search, one);
		if (error)
			break;
		if (compare_net_gain(search, one) <= 0)
			continue;
		compare_describe(compare->model, one, one->value, change, sizeof(change));
		error = add(search, compare->model, change,
			    penalties + compare_penalty(search, one, one->value));
	}
	return error;
}
