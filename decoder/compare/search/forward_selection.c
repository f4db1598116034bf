/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Forward selection: the candidate that explains most of the residuals is added to the model, with
 * the value that explains most, again and again until no candidate is significant.  See search.h.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "decoder/compare/search/search.h"

#define ROUNDS_MAX	24  /* findings, and improved values of findings */
#define TRIALS_MAX	16  /* values tried for one candidate */
#define CHOICE_GAIN	0.3 /* of what the best one explains by its first step, to choose a value */
#define PROMISING_LEAST 0.2 /* of what the best one explains, on a few paths, to be tried on all */
#define CHOICES_MAX	5
#define ABOUT		0.1 /* part of what one explains by which another one explains about as much */
#define CLEARLY		0.3 /* and then the part by which one of them explains more of what it touches */
#define FAR		1.4 /* steps that are measured, for a larger one to be tried */
#define REFUTED_BY	3.0 /* standard errors by which less than a step is measured */

/* The value to try first: small steps of a latency are visible; a resource matters once it is
 * saturated. */
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
	case PESA_COMPARE_ISSUE:
		return value + 1;
	default:
		return value - 1;
	}
}

/* The smallest value that the model can have. */
static int least_value(const struct compare_search *search,
		       const struct compare_candidate *candidate)
{
	const struct pesa_mca_model *model = search->original;
	const struct mca_class *costs = &model->classes[candidate->class];
	int least = candidate->kind != PESA_COMPARE_UNITS &&
		    candidate->kind != PESA_COMPARE_ADVANCE && candidate->model_value > 0;

	for (unsigned int i = 0; candidate->kind == PESA_COMPARE_CYCLES && i < costs->uses; i++) {
		const struct pesa_mca_use *use = &model->uses[costs->use + i];

		if (use->resource == candidate->resource && (int)use->acquire >= least)
			least = (int)use->acquire + 1;
	}
	return least;
}

/* The largest value that the model can have. */
static int most_value(const struct compare_search *search,
		      const struct compare_candidate *candidate)
{
	/* In micro-ops, see compare_describe(). */
	if (candidate->kind == PESA_COMPARE_ISSUE)
		return PESA_MCA_MICRO_OPS_MAX / (int)search->original->issue_width;
	return PESA_MCA_LATENCY_MAX;
}

bool compare_is_possible(const struct compare_search *search,
			 const struct compare_candidate *candidate, int value)
{
	return value >= least_value(search, candidate) && value <= most_value(search, candidate) &&
	       !(candidate->only_smaller && value > candidate->model_value);
}

/* Whether numbers below the model's are tried: their effects are exact on in-order cores only. */
static bool may_be_smaller(const struct compare_search *search,
			   const struct compare_candidate *candidate)
{
	return !pesa_mca_model_is_out_of_order(search->original) &&
	       (candidate->kind == PESA_COMPARE_LATENCY || candidate->kind == PESA_COMPARE_CYCLES ||
		candidate->kind == PESA_COMPARE_ISSUE) &&
	       candidate->model_value > 1 &&
	       candidate->model_value > least_value(search, candidate);
}

/* The search for the value of a candidate: those that were tried, and the best of them. */
struct choice {
	struct compare_search *search;
	struct compare_candidate *candidate;
	int tried[TRIALS_MAX];
	unsigned int trials;
	int best;
	double most; /* gain with it */
	struct pesa_error *error;
};

/*
 * The gain is the sum of two, with and without an error of the effect: with it alone, too large a value
 * would cost too little; without it alone, errors of the engine would decide.
 */
static double value_gain(const struct compare_candidate *candidate)
{
	return candidate->whole + candidate->exact;
}

/* Try a value, unless it was tried, or cannot be. */
static bool try_value(struct choice *choice, int value)
{
	const struct compare_candidate *candidate = choice->candidate;

	if (!compare_is_possible(choice->search, candidate, value) ||
	    value == candidate->model_value)
		return false;
	for (unsigned int i = 0; i < choice->trials; i++)
		if (choice->tried[i] == value)
			return false;
	if (choice->trials == TRIALS_MAX)
		return false;
	choice->tried[choice->trials++] = value;
	choice->error = compare_try(choice->search, choice->candidate, value);
	return !choice->error;
}

/* Try a value; whether it is the best one so far. */
static bool is_better(struct choice *choice, int value)
{
	if (!try_value(choice, value) || value_gain(choice->candidate) <= choice->most)
		return false;
	choice->most = value_gain(choice->candidate);
	choice->best = value;
	return true;
}

static void begin_choice(struct choice *choice, struct compare_search *search,
			 struct compare_candidate *candidate, int value)
{
	*choice = (struct choice){.search = search,
				  .candidate = candidate,
				  .tried = {value},
				  .trials = 1,
				  .best = value};
	choice->error = compare_try(search, candidate, value);
	choice->most = value_gain(candidate);
}

/* From the first value in steps that double until the effect is too large. */
static void choose_by_doubling(struct choice *choice)
{
	const struct compare_candidate *candidate = choice->candidate;
	int base = candidate->model_value, step = choice->best - base;
	unsigned int trials;

	do {
		step *= 2;
		trials = choice->trials;
	} while (!choice->error && (is_better(choice, base + step) || candidate->ratio > 1) &&
		 choice->trials > trials);
}

/* Between the neighbours of the best value; from a better one on, its neighbours are tried. */
static void choose_between(struct choice *choice, int step)
{
	while (step && !choice->error) {
		int middle = choice->best;

		for (int sign = -1; sign <= 1 && !choice->error; sign += 2)
			is_better(choice, middle + sign * step);
		if (choice->best == middle)
			step /= 2;
	}
}

/*
 * Find the value that explains most; the candidate keeps it.  A few paths tell where it is, all of them
 * which one it is.
 */
static struct pesa_error *refine_value(struct compare_search *search,
				       struct compare_candidate *candidate)
{
	int first = candidate->value;
	double gain = value_gain(candidate);
	struct choice choice;

	if (candidate->kind == PESA_COMPARE_ADVANCE || candidate->kind == PESA_COMPARE_UNITS)
		return NULL;
	search->screen.active = true;
	begin_choice(&choice, search, candidate, first);
	choose_by_doubling(&choice);
	choose_between(&choice, abs(choice.best - candidate->model_value) / 2 + 1);
	search->screen.active = false;
	if (!choice.error) {
		begin_choice(&choice, search, candidate, choice.best);
		choose_between(&choice, 1);
	}
	if (!choice.error && gain > choice.most) {
		begin_choice(&choice, search, candidate, first);
		choose_between(&choice, 1);
	}
	return choice.error || candidate->value == choice.best
		       ? choice.error
		       : compare_try(search, candidate, choice.best);
}

/* A large step, where a small one has no effect; 0: there is none. */
static int second_value(const struct compare_search *search,
			const struct compare_candidate *candidate)
{
	int latency;

	/* Most of a latency is hidden until it is long. */
	if (candidate->kind == PESA_COMPARE_LATENCY)
		return 2 * candidate->model_value + 1;
	/* A unit that is not pipelined is occupied for as long as its instruction takes. */
	latency = candidate->kind == PESA_COMPARE_CYCLES
			  ? compare_latency_of(search->compare->model, candidate->class)
			  : 0;
	return latency > first_value(candidate) ? latency : 0;
}

/* A step after which hardly a latency is hidden still, out of order; 0: there is none. */
static int third_value(const struct compare_search *search,
		       const struct compare_candidate *candidate)
{
	return candidate->kind == PESA_COMPARE_LATENCY &&
			       pesa_mca_model_is_out_of_order(search->original)
		       ? 2 * second_value(search, candidate)
		       : 0;
}

/* Whether so much less than the whole effect is measured that a larger step is none either. */
static bool is_refuted(const struct compare_candidate *candidate)
{
	return candidate->error > 0 && candidate->theta + REFUTED_BY * candidate->error < 1;
}

/* Try another first value, and keep the one that explains more; *refuted: it is. */
static struct pesa_error *try_another(struct compare_search *search,
				      struct compare_candidate *candidate, int value, bool *refuted)
{
	double gain = candidate->theta > 0 ? candidate->gain : 0;
	int first = candidate->value;
	struct pesa_error *error = compare_try(search, candidate, value);

	*refuted = is_refuted(candidate);
	return error || (candidate->theta > 0 && candidate->gain > gain)
		       ? error
		       : compare_try(search, candidate, first);
}

/* On a few paths. */
static struct pesa_error *try_steps(struct compare_search *search,
				    struct compare_candidate *candidate)
{
	int value = candidate->model_value, smaller = value - (value >= 8 ? value / 4 : 1);
	int larger = second_value(search, candidate), largest = third_value(search, candidate);
	struct pesa_error *error;
	bool refuted;

	if (candidate->only_smaller)
		return may_be_smaller(search, candidate) ? compare_try(search, candidate, smaller)
							 : NULL;
	error = compare_try(search, candidate, first_value(candidate));
	/* Measured is the opposite of the effect. */
	if (!error && candidate->theta < 0 && may_be_smaller(search, candidate))
		return compare_try(search, candidate, smaller);
	if (error || !larger)
		return error;
	/* The first step goes a small part of the way, and may be hidden for most of it. */
	if (compare_is_promising(search, candidate))
		return candidate->theta < FAR ? NULL
					      : try_another(search, candidate, larger, &refuted);
	error = try_another(search, candidate, larger, &refuted);
	if (!error && largest && !refuted && !compare_is_promising(search, candidate))
		error = try_another(search, candidate, largest, &refuted);
	/* What completes in order waits to issue if it takes less than what is before it. */
	if (!error && candidate->kind == PESA_COMPARE_LATENCY &&
	    may_be_smaller(search, candidate) && !compare_is_promising(search, candidate))
		error = try_another(search, candidate, value / 2, &refuted);
	return error;
}

/* On all paths, from the value that explains most on a few. */
static struct pesa_error *try_on_all(struct compare_search *search,
				     struct compare_candidate *candidate)
{
	const int larger[] = {second_value(search, candidate), third_value(search, candidate)};
	int first = candidate->value;
	struct pesa_error *error = compare_try(search, candidate, first);
	bool refuted;

	for (size_t i = 0; i < sizeof(larger) / sizeof(*larger) && !error; i++)
		if (larger[i] > first && first > candidate->model_value &&
		    !compare_is_visible(search, candidate))
			error = try_another(search, candidate, larger[i], &refuted);
	return error;
}

struct pesa_error *compare_try_on_few(struct compare_search *search,
				      struct compare_candidate *candidate)
{
	struct pesa_error *error;

	search->screen.active = true;
	error = try_steps(search, candidate);
	search->screen.active = false;
	return error;
}

struct pesa_error *compare_try_first(struct compare_search *search,
				     struct compare_candidate *candidate)
{
	struct pesa_error *error = compare_try_on_few(search, candidate);

	return error || !compare_is_promising(search, candidate) ? error
								 : try_on_all(search, candidate);
}

/* Determine effects not tried yet, and fit those of earlier models to the present residuals. */
static struct pesa_error *try_candidates(struct compare_search *search)
{
	struct pesa_error *error = NULL;

	for (unsigned int i = 0; i < search->candidates && !error; i++) {
		struct compare_candidate *candidate = &search->candidate[i];

		compare_report_progress(search->compare, 0.2 + 0.8 * i / search->candidates);
		candidate->refused = candidate->closed;
		if (candidate->closed)
			continue;
		if (!candidate->effect)
			error = compare_try_on_few(search, candidate);
		else
			error = compare_fit_effect(search, candidate);
	}
	return error;
}

/*
 * Determine again the effects that were determined on an earlier model: later findings hide some of
 * them and expose others.  Sets `any` if there were such effects.
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
		error = compare_try_on_few(search, candidate);
	}
	return error;
}

/* Whether one change covers another: they differ in scope (opcode, SchedWrite, line `class`), or
 * share an opcode. */
static bool overlap(const struct compare_candidate *one, const struct compare_candidate *other)
{
	if (one->narrow != other->narrow || !one->opcodes != !other->opcodes)
		return true;
	for (unsigned int i = 0; i < one->opcodes; i++)
		for (unsigned int j = 0; j < other->opcodes; j++)
			if (one->only[i] == other->only[j])
				return true;
	return false;
}

bool compare_is_taken(const struct compare_search *search,
		      const struct compare_candidate *candidate)
{
	for (unsigned int i = 0; i < search->candidates && search->compare->findings; i++) {
		const struct compare_candidate *other = &search->candidate[i];

		if (other != candidate && other->finding != COMPARE_NONE &&
		    other->kind == candidate->kind && other->resource == candidate->resource &&
		    candidate->kind != PESA_COMPARE_UNITS && overlap(candidate, other) &&
		    compare_is_related(search, candidate, other))
			return true;
	}
	return false;
}

static struct compare_candidate *best_candidate(struct compare_search *search)
{
	struct compare_candidate *best = NULL;

	for (unsigned int i = 0; i < search->candidates; i++) {
		struct compare_candidate *candidate = &search->candidate[i];

		if (!candidate->refused && compare_is_visible(search, candidate) &&
		    (!best || candidate->gain > best->gain) && !compare_is_taken(search, candidate))
			best = candidate;
	}
	return best;
}

/* The candidate that explains most on a few paths, of those that are promising there and were not tried on all. */
static struct compare_candidate *most_promising(struct compare_search *search)
{
	struct compare_candidate *most = NULL;

	for (unsigned int i = 0; i < search->candidates; i++) {
		struct compare_candidate *one = &search->candidate[i];

		if (one->screened && !one->refused && !one->postponed && one->effect &&
		    compare_is_promising(search, one) && (!most || one->gain > most->gain) &&
		    !compare_is_taken(search, one))
			most = one;
	}
	return most;
}

/* Try on all paths what is promising on a few, as long as it may explain as much as the best one, or get a value
 * beside it. */
static struct pesa_error *try_promising(struct compare_search *search)
{
	struct pesa_error *error = NULL;

	while (!error) {
		struct compare_candidate *next = most_promising(search);
		const struct compare_candidate *best = best_candidate(search);

		if (!next || (best && next->gain < PROMISING_LEAST * best->gain))
			break;
		error = try_on_all(search, next);
	}
	return error;
}

/* The model has a new value: candidates for the same class and resource are outdated. */
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
		     compare_is_related(search, other, changed))) {
			free(other->effect);
			other->effect = NULL;
		}
		/* An issue occupancy affects the same instructions as a latency: next to another
		 * change of the class it would only absorb a rounding error. */
		if (other != changed && other->kind == PESA_COMPARE_ISSUE &&
		    other->finding == COMPARE_NONE && changed->kind != PESA_COMPARE_UNITS &&
		    compare_is_related(search, other, changed))
			other->closed = value != changed->base_value;
	}
}

struct pesa_error *compare_add_finding(struct compare_search *search,
				       struct compare_candidate *best)
{
	struct pesa_compare *compare = search->compare;
	struct pesa_compare_finding *finding;
	struct pesa_error *error;

	/* A candidate that is a finding already gets a new value. */
	if (best->finding == COMPARE_NONE)
		best->finding = compare->findings++;
	finding = &compare->finding[best->finding];
	compare_describe_finding(search, best, finding);
	compare_add_ties(search, finding, best);
	error = compare_adopt(search, best);
	if (!error)
		compare_value_changed(search, best, best->value);
	return error;
}

/* Choose a candidate's value, on the present model. */
struct pesa_error *compare_choose_value(struct compare_search *search,
					struct compare_candidate *candidate)
{
	struct pesa_error *error = NULL;

	/* The effect may be from an earlier model. */
	if (candidate->generation != search->generation)
		error = compare_try(search, candidate, candidate->value);
	return error || !compare_is_worth_a_choice(search, candidate)
		       ? error
		       : refine_value(search, candidate);
}

/* The candidate without a chosen value that explains most.  One that is not visible by its first step
 * may be so by a better one. */
static struct compare_candidate *next_without_value(struct compare_search *search, double least)
{
	struct compare_candidate *next = NULL;

	for (unsigned int i = 0; i < search->candidates; i++) {
		struct compare_candidate *candidate = &search->candidate[i];

		if (!candidate->refused && !candidate->settled && candidate->gain >= least &&
		    compare_is_worth_a_choice(search, candidate) &&
		    (!next || candidate->gain > next->gain) && !compare_is_taken(search, candidate))
			next = candidate;
	}
	return next;
}

/* The parts of the differences of instructions and of blocks that the whole effect explains, together. */
static double parts_explained(const struct compare_search *search,
			      const struct compare_candidate *candidate)
{
	struct compare_touched touched = compare_touch(search, candidate);

	return compare_part_explained(touched.node[0], touched.node[1]) +
	       compare_part_explained(touched.block[0], touched.block[1]);
}

/* Whether a candidate explains more than another one.  Of two scopes of one number (a line of the model,
 * its SchedWrites, their opcodes) that do about as much, the one that explains clearly more of what it
 * touches does. */
static bool explains_more(const struct compare_search *search, const struct compare_candidate *one,
			  const struct compare_candidate *other)
{
	double gain = compare_net_gain(search, one), than = compare_net_gain(search, other), parts;

	if (one->kind == other->kind && compare_is_related(search, one, other) &&
	    fabs(gain - than) <= ABOUT * fmax(fabs(gain), fabs(than))) {
		parts = parts_explained(search, one) - parts_explained(search, other);
		if (fabs(parts) >= CLEARLY)
			return parts > 0;
	}
	return gain > than;
}

/* Choose the values of what may be in place of the best one, so that they can be ties. */
static struct pesa_error *choose_beside(struct compare_search *search,
					const struct compare_candidate *best)
{
	struct pesa_error *error = NULL;

	for (unsigned int i = 0; i < search->candidates && !error; i++) {
		struct compare_candidate *other = &search->candidate[i];

		if (compare_is_beside(other, best) && !other->settled && !other->refused &&
		    compare_is_worth_a_choice(search, other)) {
			other->settled = true;
			error = compare_choose_value(search, other);
		}
	}
	return error;
}

/* The candidate that explains most, of those whose values are chosen; *significant: whether any of them is.
 * If one is, something is wrong with the model; what that is, likelihood decides, also for candidates that
 * alone would not be visible. */
static struct compare_candidate *most_likely(struct compare_search *search,
					     struct compare_candidate *best, bool *significant)
{
	*significant = compare_is_significant(search, best);
	for (unsigned int i = 0; i < search->candidates; i++) {
		struct compare_candidate *other = &search->candidate[i];

		if (other->settled && !other->refused && compare_is_significant(search, other) &&
		    (!*significant || explains_more(search, other, best))) {
			best = other;
			*significant = true;
		}
	}
	for (unsigned int i = 0; i < search->candidates && *significant; i++) {
		struct compare_candidate *other = &search->candidate[i];

		if (other->settled && !other->refused && compare_is_rival(search, other, best) &&
		    explains_more(search, other, best))
			best = other;
	}
	return best;
}

/*
 * The first ranking is by a single step of each candidate.  Choose the values of the best, and then
 * the candidate whose value explains most.
 */
static struct pesa_error *choose_candidate(struct compare_search *search,
					   struct compare_candidate **best, bool *significant)
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
	if (error)
		return error;
	*best = most_likely(search, *best, significant);
	if (!*significant)
		return NULL;
	error = choose_beside(search, *best);
	if (!error)
		*best = most_likely(search, *best, significant);
	return error;
}

struct pesa_error *compare_select_one(struct compare_search *search, bool *found)
{
	struct compare_candidate *best;
	struct pesa_error *error = NULL;
	bool significant;

	*found = false;
	for (unsigned int i = 0; i < search->candidates; i++)
		search->candidate[i].settled = false;
	while (!error && !*found) {
		error = try_promising(search);
		best = best_candidate(search);
		if (error || !best)
			break;
		error = choose_candidate(search, &best, &significant);
		if (error)
			break;
		if (significant) {
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
		/* A candidate that was not significant on an earlier model may be significant
		 * now. */
		error = try_outdated(search, &outdated);
		if (!error && outdated)
			error = compare_select_one(search, &found);
	}
	return error;
}

struct pesa_error *compare_select_all_forward(struct compare_search *search)
{
	/* A one-sided test, corrected for the number of candidates.  Those of single opcodes, which are
	 * added later, do not make what was found before them less certain. */
	if (search->candidates)
		search->deviations = pesa_estimate_deviations(
			1 - 2 * (1 - search->compare->options.confidence) / search->candidates);
	if (!search->entry_deviations)
		search->entry_deviations = search->deviations;
	return compare_select_forward(search);
}

void compare_postpone(struct compare_search *search, const struct compare_candidate *candidate,
		      bool postponed)
{
	for (unsigned int i = 0; i < search->candidates; i++) {
		struct compare_candidate *other = &search->candidate[i];

		if (other == candidate ||
		    (other->kind == candidate->kind && other->resource == candidate->resource &&
		     compare_is_related(search, candidate, other)))
			other->postponed = postponed;
	}
}
