/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What all findings explain together: see together.h. */
#include <math.h>

#include "decoder/compare/search/together.h"

/*
 * Findings that together make nearly all differences vanish, and these so much likelier, are right together:
 * next to no search in an unmodified program ends like that.  Then less evidence is enough for each beside
 * the others.
 */
#define TOGETHER_LEAST	      0.05 /* of the core time, by which blocks differed */
#define TOGETHER_BLOCKS	      0.75 /* parts explained */
#define TOGETHER_INSTRUCTIONS 0.55
#define TOGETHER_NEARLY	      0.85 /* of one of both at least */
#define TOGETHER_LIKELIER     45.0 /* twice the logarithm, less the penalties */
/* The same with less likelihood, if it is nearly all of instructions and of blocks: a program of one loop has
 * no more. */
#define TOGETHER_ALL	      0.95
#define TOGETHER_ALL_LIKELIER 30.0

/*
 * What moves the program by much, and explains nearly all that differs in it, is no chance, not even in a
 * program of one block: in 238 runs of unmodified programs one finding did that, and another one that made
 * the model worse and the program faster.
 */
#define NEARLY_ALL	      0.8 /* parts explained */
#define NEARLY_ALL_TRACES     0.8
#define NEARLY_ALL_TOGETHER   0.9 /* of blocks, by all findings */
#define NEARLY_ALL_DEVIATIONS 2.5

struct compare_together compare_weigh_together(struct compare_search *search)
{
	bool trusting = search->trusting;
	struct compare_together together = {0};

	if (!search->compare->findings)
		return together;
	together.large = search->at_first >= TOGETHER_LEAST * search->core;
	together.blocks =
		compare_part_explained(search->at_first, compare_all_that_is_left(search));
	together.instructions =
		compare_part_explained(search->nodes_at_first, compare_instructions_left(search));
	/* With the misfit that is estimated, as at first. */
	search->trusting = false;
	together.likelier = compare_score(search) - search->score_at_first;
	search->trusting = trusting;
	compare_make_residuals(search);
	return together;
}

bool compare_are_right(const struct compare_together *together)
{
	if (together->large && together->likelier >= TOGETHER_ALL_LIKELIER &&
	    together->blocks >= TOGETHER_ALL && together->instructions >= TOGETHER_ALL)
		return true;
	return together->large && together->blocks >= TOGETHER_BLOCKS &&
	       together->instructions >= (together->blocks >= TOGETHER_NEARLY
						  ? TOGETHER_INSTRUCTIONS
						  : TOGETHER_NEARLY) &&
	       together->likelier >= TOGETHER_LIKELIER;
}

bool compare_are_right_together(struct compare_search *search)
{
	struct compare_together together = compare_weigh_together(search);

	return compare_are_right(&together);
}

bool compare_explains_nearly_all(const struct pesa_compare_finding *finding,
				 const struct compare_together *together)
{
	return together->large && together->blocks >= NEARLY_ALL_TOGETHER &&
	       together->instructions >= NEARLY_ALL &&
	       fmin(finding->explained, finding->explained_blocks) >= NEARLY_ALL &&
	       finding->explained_traces >= NEARLY_ALL_TRACES &&
	       finding->deviations >= NEARLY_ALL_DEVIATIONS;
}

bool compare_any_explains_nearly_all(struct compare_search *search)
{
	struct compare_together together = compare_weigh_together(search);

	for (unsigned int i = 0; i < search->compare->findings; i++)
		if (compare_explains_nearly_all(&search->compare->finding[i], &together))
			return true;
	return false;
}
