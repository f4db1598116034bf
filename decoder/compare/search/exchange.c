/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Backward elimination and exchange: the first findings were selected on a model that lacked the
 * later ones, so each is tested again, its value, and what of its entry it changes.  See search.h.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/compare/search/search.h"

#define PASSES_MAX    2	  /* over all findings, and over all exchanges */
#define STARTS_MAX    2	  /* selections tried without the same findings */
#define VALUES_MAX    12  /* tried for one finding */
#define LIKELIER      6.0 /* twice the log-likelihood, for another value of a finding */
#define RIVAL	      0.8 /* of what a finding explains beside the others, by another change of its entry */
#define OPCODE_BLOCKS 4.0 /* effective number, in which one opcode may be the reason as well */
#define LEFT_MORE     1.2 /* times what was left, by which a more likely change may leave more */

static void drop_finding(struct compare_search *search, unsigned int finding)
{
	struct pesa_compare *compare = search->compare;

	compare->findings--;
	memmove(&compare->finding[finding], &compare->finding[finding + 1],
		(compare->findings - finding) * sizeof(*compare->finding));
	compare->finding[compare->findings] = (struct pesa_compare_finding){0};
	for (unsigned int i = 0; i < search->candidates; i++) {
		struct compare_candidate *candidate = &search->candidate[i];

		if (candidate->finding != COMPARE_NONE && candidate->finding > finding)
			candidate->finding--;
	}
}

/* Move the newest finding to an earlier place in the list. */
static void move_finding(struct compare_search *search, struct compare_candidate *candidate,
			 unsigned int place)
{
	struct pesa_compare *compare = search->compare;
	const struct pesa_compare_finding moved = compare->finding[candidate->finding];

	memmove(&compare->finding[place + 1], &compare->finding[place],
		(candidate->finding - place) * sizeof(*compare->finding));
	compare->finding[place] = moved;
	for (unsigned int i = 0; i < search->candidates; i++) {
		struct compare_candidate *other = &search->candidate[i];

		if (other->finding != COMPARE_NONE && other->finding >= place)
			other->finding++;
	}
	candidate->finding = place;
}

/* Whether both change the prediction of a common instruction. */
static bool overlaps(const struct compare_candidate *one, const struct compare_candidate *other)
{
	if (!one->effect || !other->effect)
		return true;
	/* Effects are sorted by node. */
	for (uint32_t i = 0, j = 0; i < one->effects && j < other->effects;) {
		if (one->effect[i].node == other->effect[j].node)
			return true;
		if (one->effect[i].node < other->effect[j].node)
			i++;
		else
			j++;
	}
	return false;
}

/* Remove a finding from the model, and update everything that depends on it. */
struct pesa_error *compare_eliminate(struct compare_search *search,
				     struct compare_candidate *candidate)
{
	struct pesa_error *error = compare_remove_finding(search, candidate);

	if (error)
		return error;
	drop_finding(search, candidate->finding);
	candidate->finding = COMPARE_NONE;
	compare_value_changed(search, candidate, candidate->base_value);
	compare_make_residuals(search);
	return NULL;
}

struct pesa_error *compare_take_back(struct compare_search *search,
				     struct compare_candidate *candidate)
{
	struct pesa_error *error = compare_remove_finding(search, candidate);

	if (error)
		return error;
	for (unsigned int i = 0; i < search->candidates; i++)
		search->candidate[i].refused = true;
	candidate->model_value = candidate->base_value;
	search->compare->finding[candidate->finding].cycles = 0;
	compare_make_residuals(search);
	return NULL;
}

/*
 * Remove one finding, then select the candidate that explains most, among those of the same classes
 * and resources and those that change the prediction of the same instructions, on the model with
 * all other findings.
 */
static struct pesa_error *eliminate_and_select(struct compare_search *search,
					       struct compare_candidate *candidate, bool *changed)
{
	struct pesa_compare *compare = search->compare;
	struct pesa_compare_finding kept = compare->finding[candidate->finding];
	unsigned int place = candidate->finding;
	struct pesa_error *error = compare_eliminate(search, candidate);
	bool found = false;

	if (!error)
		error = compare_try_first(search, candidate);
	for (unsigned int i = 0; i < search->candidates && !error; i++) {
		struct compare_candidate *other = &search->candidate[i];

		other->refused = other->closed || (!compare_is_related(search, candidate, other) &&
						   !overlaps(candidate, other));
		if (!other->refused && other != candidate)
			error = compare_try_on_few(search, other);
	}
	if (!error)
		error = compare_select_one(search, &found);
	if (error)
		return error;
	*changed = candidate->finding == COMPARE_NONE ||
		   strcmp(compare->finding[candidate->finding].change, kept.change) != 0;
	/* If the same candidate was selected again, it keeps its place in the list. */
	if (found && candidate->finding == compare->findings - 1)
		move_finding(search, candidate, place);
	return NULL;
}

static struct compare_candidate *candidate_of(struct compare_search *search, unsigned int finding)
{
	for (unsigned int i = 0; i < search->candidates; i++)
		if (search->candidate[i].finding == finding)
			return &search->candidate[i];
	return NULL;
}

/*
 * A finding or its value may be wrong: each is removed once, and selected again or replaced by
 * another candidate.
 */
static struct pesa_error *eliminate_each(struct compare_search *search)
{
	struct pesa_error *error = NULL;
	bool any = true;

	for (unsigned int pass = 0; pass < PASSES_MAX && any && !error; pass++) {
		any = false;
		for (unsigned int i = 0; i < search->compare->findings && !error; i++) {
			struct compare_candidate *candidate = candidate_of(search, i);
			bool changed = false;

			if (compare_is_exhausted(search->compare))
				break;
			error = eliminate_and_select(search, candidate, &changed);
			any |= changed;
		}
		if (any && !error)
			error = compare_select_forward(search);
	}
	return error;
}

/* ---- Exchange -------------------------------------------------------------------------------- */

double compare_penalties(const struct compare_search *search)
{
	double penalties = 0;

	for (unsigned int i = 0; i < search->candidates; i++)
		if (search->candidate[i].finding != COMPARE_NONE)
			penalties += compare_penalty(search, &search->candidate[i],
						     search->candidate[i].model_value);
	return penalties;
}

double compare_score(struct compare_search *search)
{
	const struct pesa_compare *compare = search->compare;

	compare_make_residuals(search);
	return compare_likelihood(&search->residuals, compare->code.count, compare->regions.groups,
				  search->misfit) -
	       compare_penalties(search);
}

/* Bit mask of the findings that change the same instructions as a candidate. */
static uint32_t findings_beside(struct compare_search *search,
				const struct compare_candidate *candidate)
{
	uint32_t beside = 0;

	for (unsigned int i = 0; i < search->compare->findings; i++)
		if (compare_is_related(search, candidate, candidate_of(search, i)))
			beside |= 1u << i;
	return beside;
}

static bool is_not_selected(const struct compare_candidate *candidate)
{
	return candidate->finding == COMPARE_NONE && !candidate->closed;
}

/* The first candidate of a new selection, on the model without some findings. */
struct start {
	struct compare_candidate *candidate;
	int value;
	double whole; /* `whole` of the candidate on that model; 0: not significant, or tried */
};

static struct pesa_error *value_of_start(struct compare_search *search, struct start *one)
{
	struct compare_candidate *candidate = one->candidate;
	struct pesa_error *error = compare_try_first(search, candidate);

	if (!error)
		error = compare_choose_value(search, candidate);
	one->value = candidate->value;
	one->whole = compare_is_significant(search, candidate) ? candidate->whole : 0;
	return error;
}

static struct start *most_likely(struct start *one, unsigned int count)
{
	struct start *most = one;

	for (unsigned int i = 1; i < count; i++)
		if (one[i].whole > most->whole)
			most = &one[i];
	return most->whole > 0 ? most : NULL;
}

/* Make a start a finding; it is not tried again. */
static struct pesa_error *add_start(struct compare_search *search, struct start *from)
{
	struct pesa_error *error;

	from->whole = 0;
	/* Refused candidates are not listed as its ties. */
	for (unsigned int i = 0; i < search->candidates; i++)
		search->candidate[i].refused = true;
	error = compare_try(search, from->candidate, from->value);
	return error ? error : compare_add_finding(search, from->candidate);
}

/* Replace these findings by a selection that starts with another candidate, if it explains more. */
static struct pesa_error *exchange(struct compare_search *search, uint32_t findings,
				   struct start *start, unsigned int starts, bool *changed)
{
	struct compare_state *before = NULL, *without = NULL;
	double most = compare_score(search) + search->deviations * search->deviations;
	struct pesa_error *error = compare_state_keep(search, &before);

	for (unsigned int i = search->compare->findings; i-- > 0 && !error;)
		if (findings >> i & 1)
			error = compare_eliminate(search, candidate_of(search, i));
	if (!error)
		error = compare_state_keep(search, &without);
	for (unsigned int i = 0; i < starts && !error; i++)
		error = value_of_start(search, &start[i]);
	for (unsigned int i = 0; i < STARTS_MAX && !error && !*changed; i++) {
		struct start *from = most_likely(start, starts);

		if (!from)
			break;
		error = compare_state_restore(search, without);
		if (!error)
			error = add_start(search, from);
		if (!error)
			error = compare_select_forward(search);
		*changed = !error && compare_score(search) > most;
	}
	if (!error && !*changed)
		error = compare_state_restore(search, before);
	compare_state_free(without);
	compare_state_free(before);
	return error;
}

/*
 * Several findings together may imitate another one.  Each candidate that was not selected, and
 * that changes the same instructions as two or more findings, starts a selection without those
 * findings.
 */
static struct pesa_error *exchange_findings(struct compare_search *search, bool *any)
{
	struct start *start = calloc(search->candidates + 1, sizeof(*start));
	bool *tried = calloc(search->candidates + 1, sizeof(*tried));
	struct pesa_error *error = start && tried ? NULL : pesa_error_no_memory();

	*any = false;
	for (unsigned int i = 0; i < search->candidates && !error; i++) {
		uint32_t findings = findings_beside(search, &search->candidate[i]);
		unsigned int starts = 0;
		bool changed = false;

		if (tried[i] || !is_not_selected(&search->candidate[i]) ||
		    __builtin_popcount(findings) < 2)
			continue;
		if (compare_is_exhausted(search->compare))
			break;
		/* All candidates that would replace the same findings. */
		for (unsigned int j = i; j < search->candidates; j++) {
			struct compare_candidate *other = &search->candidate[j];

			if (tried[j] || !is_not_selected(other) ||
			    findings_beside(search, other) != findings)
				continue;
			tried[j] = true;
			start[starts++].candidate = other;
		}
		error = exchange(search, findings, start, starts, &changed);
		if (!error && changed)
			error = eliminate_each(search);
		*any |= changed;
	}
	free(start);
	free(tried);
	return error;
}

/* ---- Values ---------------------------------------------------------------------------------- */

bool compare_has_number(const struct compare_candidate *candidate)
{
	return candidate->finding != COMPARE_NONE &&
	       (candidate->kind == PESA_COMPARE_LATENCY || candidate->kind == PESA_COMPARE_CYCLES ||
		candidate->kind == PESA_COMPARE_ISSUE);
}

struct pesa_error *compare_change_value(struct compare_search *search,
					struct compare_candidate *candidate, int value)
{
	struct pesa_compare_finding *finding = &search->compare->finding[candidate->finding];
	const struct pesa_compare_finding kept = *finding;
	struct pesa_error *error = compare_take_back(search, candidate);

	if (!error)
		error = compare_try(search, candidate, value);
	if (!error)
		error = compare_add_finding(search, candidate);
	memcpy(finding->tie, kept.tie, sizeof(finding->tie));
	finding->ties = kept.ties;
	return error;
}

/* Try another value; it is kept if it is more likely. */
static struct pesa_error *try_value(struct compare_search *search,
				    struct compare_candidate *candidate, int value, double *most,
				    bool *moved)
{
	struct compare_state *before = NULL;
	struct pesa_error *error;
	double score = 0;

	*moved = false;
	if (!compare_is_possible(search, candidate, value) || value == candidate->base_value)
		return NULL;
	error = compare_state_keep(search, &before);
	if (!error)
		error = compare_change_value(search, candidate, value);
	if (!error)
		score = compare_score(search);
	*moved = !error && score > *most + LIKELIER;
	if (*moved)
		*most = score;
	else if (!error)
		error = compare_state_restore(search, before);
	compare_state_free(before);
	return error;
}

static struct pesa_error *settle(struct compare_search *search, struct compare_candidate *candidate,
				 bool *any)
{
	int step = abs(candidate->model_value - candidate->base_value) / 2 + 1;
	double most = compare_score(search);
	struct pesa_error *error = NULL;
	unsigned int trials = 0;

	while (step && !error && trials < VALUES_MAX) {
		bool moved = false;

		for (int sign = 1; sign >= -1 && !moved && !error; sign -= 2, trials++)
			error = try_value(search, candidate, candidate->model_value + sign * step,
					  &most, &moved);
		*any |= moved;
		if (!moved)
			step /= 2;
	}
	return error;
}

struct pesa_error *compare_settle_values(struct compare_search *search, bool *any)
{
	struct pesa_error *error = NULL;

	*any = false;
	for (unsigned int i = 0; i < search->candidates && !error; i++) {
		if (compare_is_exhausted(search->compare))
			break;
		if (compare_has_number(&search->candidate[i]) && !search->candidate[i].stays)
			error = settle(search, &search->candidate[i], any);
	}
	return error;
}

/* ---- Other changes of the same entry --------------------------------------------------------- */

/* Select another change of the same entry, and settle the values of the findings beside it.
 * `better`: whether that is more likely than `most`, and does not leave much more than `left`: in a loss
 * that is linear, much in one block may be less than little in many instructions. */
static struct pesa_error *select_rival(struct compare_search *search, struct start *rival,
				       double most, double left, bool *better)
{
	struct pesa_error *error = add_start(search, rival);
	bool any;

	if (!error)
		error = compare_settle_values(search, &any);
	*better = !error && compare_score(search) > most + LIKELIER &&
		  compare_all_that_is_left(search) <=
			  LEFT_MORE * left + COMPARE_SHARE_LEAST * search->core;
	return error;
}

/* Replace a finding by another change of its classes and resources, if that is more likely. */
static struct pesa_error *replace_finding(struct compare_search *search,
					  struct compare_candidate *candidate, struct start *start)
{
	struct compare_state *before = NULL, *without = NULL;
	double most = compare_score(search), left = compare_all_that_is_left(search);
	struct pesa_error *error = compare_state_keep(search, &before);
	struct start own = {.candidate = candidate};
	unsigned int starts = 0;
	bool better = false;

	if (!error)
		error = compare_eliminate(search, candidate);
	if (!error)
		error = compare_state_keep(search, &without);
	if (!error)
		error = value_of_start(search, &own);
	for (unsigned int i = 0; i < search->candidates && !error; i++) {
		struct compare_candidate *other = &search->candidate[i];

		if (!is_not_selected(other) || !compare_is_related(search, candidate, other) ||
		    (other->kind == candidate->kind && other->resource == candidate->resource))
			continue;
		start[starts].candidate = other;
		error = value_of_start(search, &start[starts++]);
	}
	for (unsigned int i = 0; i < STARTS_MAX && !error && !better; i++) {
		struct start *rival = starts ? most_likely(start, starts) : NULL;

		if (!rival || rival->whole < RIVAL * own.whole)
			break;
		error = compare_state_restore(search, without);
		if (!error)
			error = select_rival(search, rival, most, left, &better);
	}
	if (!error && !better)
		error = compare_state_restore(search, before);
	compare_state_free(without);
	compare_state_free(before);
	return error;
}

/*
 * Which number of an entry is wrong (its latency, its units, how long it holds these) is chosen before
 * the other findings are there, and their values make up for a wrong choice: so neither is more likely
 * by itself.
 */
static struct pesa_error *replace_each(struct compare_search *search)
{
	struct start *start = calloc(search->candidates + 1, sizeof(*start));
	struct pesa_error *error = start ? NULL : pesa_error_no_memory();

	for (unsigned int i = 0;
	     i < search->compare->findings && search->compare->findings > 1 && !error; i++) {
		if (compare_is_exhausted(search->compare))
			break;
		error = replace_finding(search, candidate_of(search, i), start);
	}
	free(start);
	return error;
}

/* ---- Single opcodes of other entries --------------------------------------------------------- */

/* Rank the single opcodes of other entries that explain about as much as a finding, on the model
 * without it. */
static struct pesa_error *rank_opcodes(struct compare_search *search,
				       struct compare_candidate *candidate,
				       struct compare_ties *ties)
{
	struct start own = {.candidate = candidate};
	struct pesa_error *error = compare_eliminate(search, candidate);
	double least = 0;

	if (!error)
		error = value_of_start(search, &own);
	if (!error)
		least = compare_net_gain(search, candidate) - LIKELIER;
	for (unsigned int i = 0; i < search->candidates && !error; i++) {
		struct compare_candidate *other = &search->candidate[i];
		struct start one = {.candidate = other};

		if (other->opcodes != 1 || !is_not_selected(other) ||
		    compare_is_related(search, candidate, other))
			continue;
		error = compare_try_first(search, other);
		if (error || !other->effect || !overlaps(candidate, other))
			continue;
		error = value_of_start(search, &one);
		if (!error && one.whole > 0 && compare_net_gain(search, other) >= least)
			compare_rank_tie(search, ties, other);
	}
	return error;
}

static struct pesa_error *tie_opcodes(struct compare_search *search,
				      struct compare_candidate *candidate)
{
	struct compare_ties ties = {.count = 0};
	struct compare_state *before = NULL;
	struct compare_touched touched;
	struct pesa_error *error = compare_try_without(search, candidate);

	if (error)
		return error;
	touched = compare_touch(search, candidate);
	if (compare_is_in_blocks(&touched, OPCODE_BLOCKS))
		return NULL;
	error = compare_state_keep(search, &before);
	if (!error)
		error = rank_opcodes(search, candidate, &ties);
	if (!error)
		error = compare_state_restore(search, before);
	compare_state_free(before);
	if (!error)
		compare_name_ties(search, &search->compare->finding[candidate->finding], &ties);
	return error;
}

struct pesa_error *compare_tie_opcodes(struct compare_search *search)
{
	struct pesa_error *error = NULL;

	if (!search->opcodes_tried && search->compare->findings)
		error = compare_list_opcodes(search);
	for (unsigned int i = 0; i < search->compare->findings && !error; i++) {
		struct compare_candidate *candidate = candidate_of(search, i);

		if (compare_is_exhausted(search->compare))
			break;
		if (!candidate->opcodes)
			error = tie_opcodes(search, candidate);
	}
	return error;
}

/* ---- All of it ------------------------------------------------------------------------------- */

struct pesa_error *compare_exchange(struct compare_search *search)
{
	struct pesa_error *error = eliminate_each(search);
	bool any = true;

	for (unsigned int pass = 0; pass < PASSES_MAX && any && !error; pass++)
		error = exchange_findings(search, &any);
	return error ? error : replace_each(search);
}
