/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Local search: small changes of what was found, of which the likelier ones are kept.  See search.h. */
#include <stdlib.h>

#include "decoder/compare/search/search.h"

#define STEPPED_MAX 4 /* findings that get other numbers */
#define LIKELY_MAX  3 /* candidates that are added for their likelihood */

enum change { ADD, HALVE, CYCLE_MORE, CYCLE_LESS, REPLACE };

/* A step from what is found: what becomes of a candidate. */
struct step {
	enum change change;
	unsigned int candidate; /* its number */
};

struct steps {
	struct step step[LIKELY_MAX + STEPPED_MAX * (REPLACE - ADD)];
	unsigned int count;
};

/* The other number of a finding. */
static int other_value(const struct compare_candidate *candidate, enum change change)
{
	int base = candidate->base_value, value = candidate->model_value;
	int more = value > base ? 1 : -1;

	if (change == HALVE)
		return base + (value - base) / 2;
	return change == CYCLE_MORE ? value + more : value - more;
}

/* By how much a candidate makes the differences likelier than the penalties of a finding. */
static double net_of_penalties(const struct compare_search *search,
			       const struct compare_candidate *candidate)
{
	return candidate->whole - compare_penalty(search, candidate, candidate->value);
}

/* List candidates that make the differences likelier, although regions contradict each other about how much of
 * them there is: something else is wrong there, too.  Not of single opcodes, of which there are so many.  The
 * likeliest first; their number. */
static unsigned int list_likely(struct compare_search *search, unsigned int *likely)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < search->candidates; i++) {
		const struct compare_candidate *one = &search->candidate[i];
		unsigned int at;

		if (one->finding != COMPARE_NONE || one->closed || one->screened || one->opcodes ||
		    !one->effect || !(one->theta > 0) ||
		    net_of_penalties(search, one) < COMPARE_LIKELIER ||
		    compare_is_taken(search, one))
			continue;
		for (at = count;
		     at && net_of_penalties(search, one) >
				   net_of_penalties(search, &search->candidate[likely[at - 1]]);
		     at--)
			if (at < LIKELY_MAX)
				likely[at] = likely[at - 1];
		if (at < LIKELY_MAX)
			likely[at] = i;
		count += count < LIKELY_MAX;
	}
	return count;
}

static struct pesa_error *settle_and_select(struct compare_search *search)
{
	bool any;
	struct pesa_error *error = compare_settle_values(search, &any);

	return error ? error : compare_select_all_forward(search);
}

/* Give a finding another number, select others beside it, and settle all values. */
static struct pesa_error *select_beside(struct compare_search *search,
					struct compare_candidate *candidate, int value)
{
	struct pesa_error *error = compare_change_value(search, candidate, value);

	compare_postpone(search, candidate, true);
	if (!error)
		error = compare_select_all_forward(search);
	compare_postpone(search, candidate, false);
	return error ? error : settle_and_select(search);
}

/* Add such a candidate, settle all values, and select others. */
static struct pesa_error *select_likely(struct compare_search *search,
					struct compare_candidate *candidate)
{
	struct pesa_error *error = compare_choose_value(search, candidate);

	if (error || net_of_penalties(search, candidate) < COMPARE_LIKELIER)
		return error;
	error = compare_add_finding(search, candidate);
	return error ? error : settle_and_select(search);
}

/* Take back a finding of all SchedWrites of a line, and select among each of these. */
static struct pesa_error *select_apart(struct compare_search *search,
				       struct compare_candidate *candidate)
{
	struct pesa_error *error = compare_eliminate(search, candidate);
	bool any;

	candidate->postponed = true;
	if (!error)
		error = compare_select_all_forward(search);
	candidate->postponed = false;
	return error ? error : compare_settle_values(search, &any);
}

/* Do a step; *none: there is nothing to do. */
static struct pesa_error *take(struct compare_search *search, const struct step *step, bool *none)
{
	struct compare_candidate *candidate = &search->candidate[step->candidate];
	int value;

	if (step->change == ADD) {
		*none = candidate->finding != COMPARE_NONE || compare_is_taken(search, candidate);
		return *none ? NULL : select_likely(search, candidate);
	}
	*none = !compare_has_number(candidate);
	if (step->change == REPLACE) {
		*none |= !candidate->several;
		return *none ? NULL : select_apart(search, candidate);
	}
	value = other_value(candidate, step->change);
	*none |= value == candidate->base_value || value == candidate->model_value ||
		 !compare_is_possible(search, candidate, value);
	return *none ? NULL : select_beside(search, candidate, value);
}

/* List all steps, those that are first to be taken first. */
static struct pesa_error *list_steps(struct compare_search *search, struct steps *steps)
{
	unsigned int finding[STEPPED_MAX], findings = 0, likely[LIKELY_MAX], count;
	struct pesa_error *error = NULL;

	for (unsigned int i = 0; i < search->candidates && findings < STEPPED_MAX; i++)
		if (compare_has_number(&search->candidate[i]))
			finding[findings++] = i;
	for (unsigned int i = 0; i < search->candidates && !error; i++)
		if (search->candidate[i].effect && !search->candidate[i].closed)
			error = compare_fit_effect(search, &search->candidate[i]);
	count = list_likely(search, likely);
	for (unsigned int i = 0; i < count; i++)
		steps->step[steps->count++] = (struct step){ADD, likely[i]};
	for (enum change change = HALVE; change <= REPLACE; change++)
		for (unsigned int i = 0; i < findings; i++)
			steps->step[steps->count++] = (struct step){change, finding[i]};
	return error;
}

/*
 * A number may stand for several: one instruction of a chain that takes 7 cycles for 3 explains the time of a
 * loop as well as one of 5 and another one of 3 for 1, and nothing is left that would show the second.  One
 * that is a cycle too small hides what else is slow beside it, and of the SchedWrites of a line each may be
 * wrong by another number.  So where instructions still differ, candidates are added that are likely and not
 * visible; each finding gets half of its change, a cycle more and a cycle less, with others selected
 * beside it; and one of a line is replaced by those of its SchedWrites.  What makes all that is measured
 * likelier is kept.
 */
struct pesa_error *compare_search_nearby(struct compare_search *search)
{
	struct steps steps = {0};
	struct compare_kept best;
	struct pesa_error *error;
	bool likelier, none;

	if (!search->compare->findings || !compare_has_unexplained_code(search))
		return NULL;
	error = compare_keep(search, &best);
	if (!error)
		error = list_steps(search, &steps);
	for (unsigned int i = 0; i < steps.count && !error; i++) {
		if (!compare_begin_apart(search->compare))
			break;
		error = take(search, &steps.step[i], &none);
		compare_end_apart(search->compare);
		if (!error && !none)
			error = compare_keep_if_likelier(search, &best, &likelier);
		if (!error && !none)
			error = compare_state_restore(search, best.state);
	}
	compare_state_free(best.state);
	return error;
}
