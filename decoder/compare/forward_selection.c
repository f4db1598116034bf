/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Forward selection: the candidate that explains most of the differences is added to the model,
 * with the value that explains most, again and again until none is significant.  See search.h.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "decoder/compare/search.h"

#define ROUNDS_MAX   24	   /* findings, and better values of them */
#define TRIALS_MAX   16	   /* values of one candidate */
#define SHARE_LEAST  0.004 /* of the core time: smaller effects are not considered */
#define TIE_GAIN     0.9   /* of the gain of the best one, which another one reaches */
#define CHOICE_GAIN  0.3   /* likewise of a step, so that its whole value is tried */
#define CHOICES_MAX  5
#define DIRECT_LEAST 0.25 /* of what an effect makes slower: the rest may be for another reason */

/* The value to try first: latencies show little steps, a resource only what saturates it. */
static int first_value(const struct compare_candidate *candidate)
{
	int value = candidate->model_value;

	switch (candidate->kind) {
	case PESA_COMPARE_LATENCY:
		return value + (value >= 8 ? value / 4 : 1);
	case PESA_COMPARE_CYCLES:
		return value + (value >= 8 ? value / 2 : 2);
	case PESA_COMPARE_ADVANCE:
		return 0;
	default:
		return value - 1;
	}
}

/* Whether the differences show some of the effect. */
static bool is_visible(const struct compare_search *search,
		       const struct compare_candidate *candidate)
{
	return candidate->error > 0 && candidate->gain > 0 &&
	       candidate->theta / candidate->error > search->deviations &&
	       candidate->shifted * fabs(candidate->theta) >= SHARE_LEAST * search->core;
}

/*
 * Whether they show it whole: numbers of a model are whole ones, and part of a step is misfit. That
 * all of the effect explains more than nothing of it means that it is nearer to all.
 */
bool compare_is_significant(const struct compare_search *search,
			    const struct compare_candidate *candidate)
{
	return is_visible(search, candidate) && candidate->theta > 0.5 &&
	       candidate->direct > DIRECT_LEAST &&
	       candidate->whole > search->deviations * search->deviations &&
	       candidate->shifted >= SHARE_LEAST * search->core;
}

static bool try_value(struct compare_search *search, struct compare_candidate *candidate, int value,
		      int *tried, unsigned int *trials, struct pesa_error **error)
{
	if (value < 0 || value > PESA_MCA_LATENCY_MAX || value == candidate->model_value)
		return false;
	for (unsigned int i = 0; i < *trials; i++)
		if (tried[i] == value)
			return false;
	if (*trials == TRIALS_MAX)
		return false;
	tried[(*trials)++] = value;
	*error = compare_try(search, candidate, value);
	return !*error;
}

/*
 * The value whose effect explains most when it is taken whole: from the one it has in steps that
 * double until it is too much, then between the neighbours of the best one.  The candidate is left
 * at it.
 */
static struct pesa_error *refine_value(struct compare_search *search,
				       struct compare_candidate *candidate)
{
	int base = candidate->model_value, best = candidate->value, step = best - base;
	int tried[TRIALS_MAX] = {best};
	struct pesa_error *error = NULL;
	double most = candidate->whole;
	unsigned int trials = 1;

	if (candidate->kind == PESA_COMPARE_ADVANCE || candidate->kind == PESA_COMPARE_UNITS)
		return NULL;
	for (step *= 2; try_value(search, candidate, base + step, tried, &trials, &error);
	     step *= 2) {
		bool better = candidate->whole > most;

		if (better) {
			most = candidate->whole;
			best = candidate->value;
		}
		if (!better && !(candidate->ratio > 1))
			break;
	}
	for (step = (best - base) / 2 + 1; step && !error; step /= 2)
		for (int sign = -1; sign <= 1 && !error; sign += 2)
			if (try_value(search, candidate, best + sign * step, tried, &trials,
				      &error) &&
			    candidate->whole > most) {
				most = candidate->whole;
				best = candidate->value;
			}
	return error || candidate->value == best ? error : compare_try(search, candidate, best);
}

/*
 * A small step shows what is exposed already.  Where that shows nothing, a large one may: most of a
 * latency is hidden until it is long.
 */
struct pesa_error *compare_try_first(struct compare_search *search,
				     struct compare_candidate *candidate)
{
	struct pesa_error *error = compare_try(search, candidate, first_value(candidate));

	if (error || candidate->kind != PESA_COMPARE_LATENCY || is_visible(search, candidate))
		return error;
	return compare_try(search, candidate, 2 * candidate->model_value + 1);
}

/* Effects that were not looked at yet, and those of earlier models, on the present differences. */
static struct pesa_error *try_candidates(struct compare_search *search)
{
	struct pesa_error *error = NULL;

	for (unsigned int i = 0; i < search->candidates && !error; i++) {
		struct compare_candidate *candidate = &search->candidate[i];

		candidate->refused = candidate->closed;
		if (candidate->closed)
			continue;
		if (!candidate->effect)
			error = compare_try_first(search, candidate);
		else
			error = compare_fit_effect(search, candidate);
	}
	return error;
}

/*
 * The effects that were determined on an earlier model: what was found since hides some of them and
 * exposes others.  `any` tells whether there were such.
 */
static struct pesa_error *try_outdated(struct compare_search *search, bool *any)
{
	struct pesa_error *error = NULL;

	*any = false;
	for (unsigned int i = 0; i < search->candidates && !error; i++) {
		struct compare_candidate *candidate = &search->candidate[i];

		candidate->refused = candidate->closed;
		if (candidate->closed || candidate->generation == search->generation)
			continue;
		*any = true;
		error = compare_try_first(search, candidate);
	}
	return error;
}

static struct compare_candidate *best_candidate(struct compare_search *search)
{
	struct compare_candidate *best = NULL;

	for (unsigned int i = 0; i < search->candidates; i++) {
		struct compare_candidate *candidate = &search->candidate[i];

		if (!candidate->refused && is_visible(search, candidate) &&
		    (!best || candidate->gain > best->gain))
			best = candidate;
	}
	return best;
}

/* The model has another value now: what else this class and resource do depends on it. */
void compare_value_changed(struct compare_search *search, struct compare_candidate *changed,
			   int value)
{
	changed->model_value = value;
	changed->closed = value != changed->base_value && (changed->kind == PESA_COMPARE_ADVANCE ||
							   changed->kind == PESA_COMPARE_UNITS);
	for (unsigned int i = 0; i < search->candidates; i++) {
		struct compare_candidate *other = &search->candidate[i];

		if (other == changed ||
		    (other->kind != PESA_COMPARE_UNITS && changed->kind != PESA_COMPARE_UNITS &&
		     other->class == changed->class)) {
			free(other->effect);
			other->effect = NULL;
		}
	}
}

struct pesa_error *compare_add_finding(struct compare_search *search,
				       struct compare_candidate *best)
{
	struct pesa_compare *compare = search->compare;
	struct pesa_compare_finding *finding;
	struct pesa_error *error;

	/* One that was found before has another value now. */
	if (best->finding == COMPARE_NONE)
		best->finding = compare->findings++;
	finding = &compare->finding[best->finding];
	compare_describe_finding(search, best, finding);
	for (unsigned int i = 0; i < search->candidates; i++) {
		const struct compare_candidate *other = &search->candidate[i];

		/* What was not looked at now has the gain that it had on another model. */
		if (other != best && !other->refused && is_visible(search, other) &&
		    other->gain > TIE_GAIN * best->gain)
			compare_add_tie(search, finding, other);
	}
	error = compare_adopt(search, best);
	if (!error)
		compare_value_changed(search, best, best->value);
	return error;
}

/* Give a candidate its value, on the model as it is now. */
struct pesa_error *compare_choose_value(struct compare_search *search,
					struct compare_candidate *candidate)
{
	struct pesa_error *error = NULL;

	/* Its effect may be that on an earlier model. */
	if (candidate->generation != search->generation)
		error = compare_try(search, candidate, candidate->value);
	return error || !is_visible(search, candidate) ? error : refine_value(search, candidate);
}

/* Of those that are visible and were not settled yet, the one that explains most. */
static struct compare_candidate *next_without_value(struct compare_search *search, double least)
{
	struct compare_candidate *next = NULL;

	for (unsigned int i = 0; i < search->candidates; i++) {
		struct compare_candidate *candidate = &search->candidate[i];

		if (!candidate->refused && !candidate->settled && candidate->gain >= least &&
		    is_visible(search, candidate) && (!next || candidate->gain > next->gain))
			next = candidate;
	}
	return next;
}

/*
 * What is looked at first is a step in the direction of each candidate; of those that explain much
 * that way the one is right whose whole value does.
 */
static struct pesa_error *choose_candidate(struct compare_search *search,
					   struct compare_candidate **best)
{
	double least = CHOICE_GAIN * (*best)->gain;
	struct compare_candidate *other;
	struct pesa_error *error = NULL;

	for (unsigned int i = 0; i < CHOICES_MAX && !error; i++) {
		other = next_without_value(search, least);
		if (!other)
			break;
		other->settled = true;
		error = compare_choose_value(search, other);
	}
	for (unsigned int i = 0; i < search->candidates && !error; i++) {
		other = &search->candidate[i];
		if (other->settled && !other->refused && compare_is_significant(search, other) &&
		    (!compare_is_significant(search, *best) || other->whole > (*best)->whole))
			*best = other;
	}
	return error;
}

struct pesa_error *compare_select_one(struct compare_search *search, bool *found)
{
	struct compare_candidate *best;
	struct pesa_error *error = NULL;

	*found = false;
	for (unsigned int i = 0; i < search->candidates; i++)
		search->candidate[i].settled = false;
	while (!error && !*found && (best = best_candidate(search))) {
		error = choose_candidate(search, &best);
		if (error)
			break;
		if (compare_is_significant(search, best)) {
			error = compare_add_finding(search, best);
			*found = true;
		} else {
			best->refused = true;
		}
	}
	return error;
}

struct pesa_error *compare_select_forward(struct compare_search *search)
{
	struct pesa_error *error = NULL;
	bool found = true, outdated;

	for (unsigned int i = 0;
	     i < ROUNDS_MAX && !error && found && search->compare->findings < FINDINGS_MAX; i++) {
		compare_make_residuals(search);
		error = try_candidates(search);
		if (!error)
			error = compare_select_one(search, &found);
		if (error || found)
			continue;
		/* What is not significant as it was on an earlier model may be on this one. */
		error = try_outdated(search, &outdated);
		if (!error && outdated)
			error = compare_select_one(search, &found);
	}
	return error;
}
