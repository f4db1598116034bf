/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One search, with what has been chosen for the paths: see search.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/compare/alternatives.h"
#include "decoder/compare/search/search.h"

/* Of what all findings explain of basic blocks, by those for which there is evidence. */
#define EXPLAINED_LEAST 0.9
#define LIKELIER_LEAST	5.0 /* what findings have to make the measurement together, less penalties */
#define BEGINNINGS_MAX	4   /* findings that are selected last in another search */

struct pesa_error *compare_distance_left(const struct pesa_compare *compare, double *distance)
{
	double *scratch = calloc(compare->regions.groups + 1, sizeof(*scratch));

	if (!scratch)
		return pesa_error_no_memory();
	*distance = compare_block_distance(compare, NULL, scratch);
	free(scratch);
	return NULL;
}

static struct pesa_error *select_without_evidence(struct compare_search *search)
{
	struct pesa_error *error = compare_select_all_forward(search);

	if (!error)
		error = compare_exchange(search);
	return error ? error : compare_search_nearby(search);
}

/* Take back the findings that lack evidence.  The model with all of them becomes the tentative one. */
static struct pesa_error *ask_for_evidence(struct compare_search *search)
{
	struct pesa_compare *compare = search->compare;
	struct pesa_mca_model *tentative = NULL;
	unsigned int found = compare->findings;
	struct pesa_error *error = pesa_mca_model_vary(compare->model, &tentative);

	if (!error)
		error = compare_weigh_evidence(search);
	search->lacking = compare->findings < found;
	/* Those of whole classes come first, and are more likely than those of single opcodes. */
	if (!error && search->lacking && !compare->tentative)
		compare->tentative = tentative;
	else
		pesa_mca_model_free(tentative);
	return error;
}

static struct pesa_error *select_findings(struct compare_search *search)
{
	struct pesa_error *error = select_without_evidence(search);

	return error ? error : ask_for_evidence(search);
}

/*
 * Several wrong entries make all regions differ, so that the misfit that is estimated from these hides
 * them.  Search as if the misfit were that of other programs: if what is left with the findings is no
 * more than that, or if they make nearly all differences vanish, they explain it, and the search goes on
 * like that.  Otherwise take them back.
 *
 * Findings that lack evidence may leave more than that when they are taken back: they moved time within
 * blocks, too little to be certain.  That says nothing against the others, as long as these explain
 * nearly all that was explained of basic blocks.
 */
static struct pesa_error *select_trusting(struct compare_search *search)
{
	struct pesa_compare *compare = search->compare;
	double with_all = 0, left = 0;
	struct compare_state *state;
	struct pesa_error *error = compare_state_keep(search, &state);
	bool usual = false, kept = false;

	if (!error) {
		search->trusting = true;
		error = select_without_evidence(search);
	}
	if (!error)
		error = compare_distance_left(compare, &with_all);
	if (!error) {
		usual = compare_misfit_is_usual(search);
		error = ask_for_evidence(search);
	}
	if (!error)
		error = compare_distance_left(compare, &left);
	if (!error) {
		usual &= search->at_first - left >= EXPLAINED_LEAST * (search->at_first - with_all);
		compare_make_residuals(search);
		kept = usual || compare_are_right_together(search) ||
		       compare_misfit_is_usual(search);
	}
	if (!error && !kept) {
		search->trusting = false;
		memset(&compare->unexplained, 0, sizeof(compare->unexplained));
		error = compare_state_restore(search, state);
	}
	compare_state_free(state);
	return error;
}

/* Take back what was found since, if that is less likely. */
static struct pesa_error *keep_likelier(struct compare_search *search,
					const struct compare_kept *before)
{
	if (compare_score(search) >= before->score)
		return NULL;
	search->lacking = before->lacking;
	return compare_state_restore(search, before->state);
}

/* Search with candidates of single opcodes as well.  What was found without them is kept if it is more
 * likely: among more candidates the search may go astray. */
static struct pesa_error *select_with_opcodes(struct compare_search *search)
{
	struct compare_kept before;
	struct pesa_error *error = compare_keep(search, &before);

	if (!error)
		error = compare_list_opcodes(search);
	if (!error)
		error = select_findings(search);
	if (!error)
		error = keep_likelier(search, &before);
	compare_state_free(before.state);
	return error;
}

/*
 * Restrict findings that opcodes contradict to the others of their opcodes, and search on.  They stay as
 * they were if that is more likely: which instruction waits is chance out of order, and a finding without
 * some of its opcodes may explain nothing.
 */
static struct pesa_error *narrow_findings(struct compare_search *search, bool opcodes_listed)
{
	struct compare_kept before;
	bool narrowed = false;
	struct pesa_error *error = compare_keep(search, &before);

	if (!error)
		error = compare_weigh_opcodes(search, &narrowed);
	if (!error && narrowed && !opcodes_listed)
		error = compare_list_opcodes(search);
	if (!error && narrowed)
		error = select_findings(search);
	if (!error && narrowed)
		error = keep_likelier(search, &before);
	if (!error && narrowed)
		error = compare_weigh_opcodes(search, NULL);
	compare_state_free(before.state);
	return error;
}

/* Most wrong entries of a model are wrong for all their opcodes.  If such changes do not explain
 * the measurement, or opcodes contradict a finding, changes of single opcodes are tried too. */
static struct pesa_error *select_all(struct compare_search *search)
{
	struct pesa_error *error = NULL;
	bool single = false;

	if (!compare_misfit_is_usual(search))
		error = select_trusting(search);
	if (!error)
		error = select_findings(search);
	if (!error)
		single = compare_has_unexplained_code(search);
	if (!error && single)
		error = select_with_opcodes(search);
	return error ? error : narrow_findings(search, single);
}

/* Settle the values of findings that leave much, and select what is visible with these.  What was found
 * before is kept if less is likely with what has evidence then. */
static struct pesa_error *settle_values(struct compare_search *search)
{
	struct compare_kept before;
	bool any = false;
	struct pesa_error *error = compare_keep(search, &before);

	if (!error)
		error = compare_settle_values(search, &any);
	if (!error && any)
		error = compare_select_forward(search);
	if (!error && any)
		error = compare_weigh_evidence(search);
	if (!error && any)
		error = keep_likelier(search, &before);
	if (!error && any)
		error = compare_weigh_opcodes(search, NULL);
	compare_state_free(before.state);
	return error;
}

/* ---- Other beginnings ------------------------------------------------------------------------ */

/* Search from the model as it is, and select this candidate last.  `complete`: with exchanges before it, too. */
static struct pesa_error *select_last(struct compare_search *search,
				      const struct compare_state *first,
				      const struct compare_candidate *candidate, bool complete)
{
	struct pesa_error *error = compare_state_restore(search, first);

	compare_postpone(search, candidate, true);
	if (!error)
		error = complete ? select_without_evidence(search)
				 : compare_select_all_forward(search);
	compare_postpone(search, candidate, false);
	return error ? error : select_findings(search);
}

/*
 * The first finding is selected on a model that lacks all others, and may make up for several of these:
 * nothing is left then that would show them.  So search again and select each finding last, first
 * quickly, and completely if that finds nothing better.  What is found is kept if it is likelier.
 */
static struct pesa_error *begin_otherwise(struct compare_search *search,
					  const struct compare_state *first)
{
	unsigned int finding[BEGINNINGS_MAX], count = 0;
	struct compare_kept best;
	bool better = false, likelier = false;
	struct pesa_error *error = compare_keep(search, &best);

	for (unsigned int i = 0; i < search->candidates && count < BEGINNINGS_MAX; i++)
		if (search->candidate[i].finding != COMPARE_NONE)
			finding[count++] = i;
	for (unsigned int i = 0; i < 2 * count && !error; i++) {
		if ((i == count && better) || compare_is_nearly_exhausted(search->compare))
			break;
		error = select_last(search, first, &search->candidate[finding[i % count]],
				    i >= count);
		if (!error)
			error = compare_keep_if_likelier(search, &best, &likelier);
		better |= likelier;
	}
	if (!error)
		error = compare_state_restore(search, best.state);
	search->lacking = best.lacking;
	compare_state_free(best.state);
	return error ? error : compare_weigh_opcodes(search, NULL);
}

/* Out of order, what makes the measurement hardly likelier than the model as it is is chance. */
static struct pesa_error *refuse_unlikely(struct compare_search *search,
					  const struct compare_state *first)
{
	struct pesa_compare *compare = search->compare;
	struct pesa_compare_unexplained *nearest = &compare->unexplained;

	if (!pesa_mca_model_is_out_of_order(search->original) ||
	    compare_score(search) >= search->score_at_first + LIKELIER_LEAST ||
	    compare_any_explains_nearly_all(search))
		return NULL;
	if (!*nearest->change) {
		snprintf(nearest->change, sizeof(nearest->change), "%s",
			 compare->finding[0].change);
		nearest->refusal = PESA_COMPARE_UNLIKELY;
	}
	return compare_state_restore(search, first);
}

struct pesa_error *compare_find_all(struct compare_search *search)
{
	struct pesa_compare *compare = search->compare;
	struct compare_state *first;
	struct pesa_error *error = compare_state_keep(search, &first);
	bool explained;

	if (!error)
		error = select_all(search);
	if (!error && compare->findings && compare_has_unexplained_regions(search))
		error = settle_values(search);
	if (!error && compare->findings)
		error = begin_otherwise(search, first);
	if (!error && compare->findings)
		error = refuse_unlikely(search, first);
	compare_state_free(first);
	/* No finding lacks evidence, and no region is off beside the findings. */
	explained = !error && !search->lacking && !compare_has_unexplained_regions(search) &&
		    compare_misfit_is_usual(search);
	compare->far = !error && !explained && compare_is_far(search);
	if (explained) {
		pesa_mca_model_free(compare->tentative);
		compare->tentative = NULL;
	}
	if (error)
		return error;
	/* Before ties, which explain what the findings do, and not what is left beside these. */
	compare_name_nearest(search);
	error = compare_list_hypotheses(search);
	return error ? error : compare_tie_opcodes(search);
}

struct pesa_error *compare_find_plainly(struct compare_search *search)
{
	search->plain = true;
	return compare_find_all(search);
}

struct pesa_error *compare_find_tentatively(struct compare_search *search)
{
	struct pesa_compare *compare = search->compare;
	struct pesa_error *error;

	search->trusting = true;
	error = compare_select_all_forward(search);
	if (!error && compare_has_unexplained_code(search)) {
		error = compare_list_opcodes(search);
		if (!error)
			error = compare_select_all_forward(search);
	}
	if (!error && compare->findings)
		error = pesa_mca_model_vary(compare->model, &compare->tentative);
	return error;
}
