/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether a candidate is visible, likely and significant, and why it is not.  See search.h. */
#include <math.h>

#include "decoder/compare/search/search.h"

#define SIZE_PENALTY 4.0  /* twice the log-likelihood, for a number that is doubled */
#define WIDER	     0.5  /* of that, for several SchedWrites or single opcodes */
#define CHOICE_LEAST 0.5  /* of what is visible, for a better value to be worth looking for */
#define RIVAL	     0.9  /* of what is visible, beside a candidate that is */
#define RIVAL_LEAST  0.5  /* of the standard errors of that candidate */
#define PROMISING    0.5  /* of what is visible, on a few paths */
#define DIRECT_LEAST 0.25 /* minimum part present in the instructions that become slower */
/* Parts of the differences that a candidate explains, in several basic blocks, if it is the reason for
 * them although another one is possible in each of them. */
#define SEVERAL_INSTRUCTIONS 0.5
#define SEVERAL_BLOCKS	     0.8
#define SLOWER_LEAST	     2.0 /* effective number of instructions that become slower */
#define SLOWER_EXPLAINED     0.7 /* of the instructions and basic blocks that it touches */
#define SLOWER_EXACTLY	     0.9 /* the same, out of order */

/* Whether a part of the effect is present in the residuals, to so many standard errors. */
static bool is_present(const struct compare_search *search,
		       const struct compare_candidate *candidate, double deviations)
{
	return !candidate->postponed && !candidate->screened && candidate->error > 0 &&
	       candidate->gain > 0 && candidate->theta / candidate->error > deviations &&
	       candidate->shifted * fabs(candidate->theta) >= COMPARE_SHARE_LEAST * search->core;
}

/* Standard errors that a candidate needs to be visible. */
static double needed(const struct compare_search *search, const struct compare_candidate *candidate)
{
	return candidate->opcodes ? search->deviations : search->entry_deviations;
}

bool compare_is_visible(const struct compare_search *search,
			const struct compare_candidate *candidate)
{
	return is_present(search, candidate, needed(search, candidate));
}

bool compare_is_promising(const struct compare_search *search,
			  const struct compare_candidate *candidate)
{
	return candidate->error > 0 &&
	       candidate->theta / candidate->error > PROMISING * needed(search, candidate) &&
	       candidate->shifted * candidate->theta >=
		       PROMISING * COMPARE_SHARE_LEAST * search->core;
}

bool compare_is_worth_a_choice(const struct compare_search *search,
			       const struct compare_candidate *candidate)
{
	return is_present(search, candidate, CHOICE_LEAST * needed(search, candidate));
}

/* How unlikely a number of the model is to be that wrong: the square of its doublings. */
static double surprise(int value, int model)
{
	double doublings = log2((value > 1 ? value : 1) / (double)(model > 1 ? model : 1));

	return doublings * doublings;
}

double compare_size_penalty(const struct compare_search *search,
			    const struct compare_candidate *candidate, int value)
{
	double sum = 1;

	/* With the cycle of issue: 1 and 3 cycles are less apart than 10 and 30. */
	if (candidate->kind == PESA_COMPARE_LATENCY)
		sum = surprise(value + 1, candidate->base_value + 1);
	if (candidate->kind == PESA_COMPARE_CYCLES)
		sum = surprise(value, candidate->base_value);
	if (candidate->kind == PESA_COMPARE_CYCLES) {
		int longest = compare_latency_of(search->compare->model, candidate->class);
		int latency = longest > 1 ? longest : 1;

		sum += value > latency ? surprise(value, latency) : 0;
	}
	if (candidate->several || candidate->opcodes)
		sum += WIDER;
	return SIZE_PENALTY * sum;
}

double compare_penalty(const struct compare_search *search,
		       const struct compare_candidate *candidate, int value)
{
	return search->deviations * search->deviations +
	       compare_size_penalty(search, candidate, value);
}

double compare_net_gain(const struct compare_search *search,
			const struct compare_candidate *candidate)
{
	return candidate->whole - compare_size_penalty(search, candidate, candidate->value);
}

bool compare_is_memory(const struct compare_node *node)
{
	return pesa_opcode_get(node->insn.opcode)->properties &
	       (PESA_OPCODE_LOAD | PESA_OPCODE_STORE);
}

/* Whether the parts of the differences of instructions and blocks that an effect explains are so large;
 * `back`: it is that of taking a change back. */
static bool explains(const struct compare_touched *touched, bool back, double instructions,
		     double blocks)
{
	return compare_part_explained(touched->node[back], touched->node[!back]) >= instructions &&
	       compare_part_explained(touched->block[back], touched->block[!back]) >= blocks;
}

/* Whether a candidate explains most of the differences that it touches, in several basic blocks: that is
 * no coincidence. */
static bool explains_several_blocks(const struct compare_touched *touched, bool back)
{
	return compare_is_in_blocks(touched, COMPARE_BLOCKS_SEVERAL) &&
	       explains(touched, back, SEVERAL_INSTRUCTIONS, SEVERAL_BLOCKS);
}

/*
 * Whether a candidate makes several instructions slower, and explains most of what it touches.  On an
 * in-order core the instruction that waits is the one that stalls, so that one load that waits for a store
 * makes one instruction slower.  Out of order it makes several slower, so that nearly all has to be
 * explained.
 */
static bool explains_several_instructions(const struct compare_search *search,
					  const struct compare_candidate *candidate,
					  const struct compare_touched *touched, bool back)
{
	double least = pesa_mca_model_is_out_of_order(search->original) ? SLOWER_EXACTLY
									: SLOWER_EXPLAINED;
	double sum = 0, squares = 0;

	for (uint32_t i = 0; i < candidate->effects; i++) {
		double cycles = candidate->effect[i].cycles,
		       slower = fmax(0, back ? -cycles : cycles);

		sum += slower;
		squares += slower * slower;
	}
	return sum * sum >= SLOWER_LEAST * squares && explains(touched, back, least, least);
}

bool compare_is_ambiguous(const struct compare_search *search,
			  const struct compare_candidate *candidate, bool back)
{
	const struct compare_node *node = search->compare->code.node;
	struct compare_touched touched;
	double sum = 0, ambiguous = 0;

	if (candidate->kind == PESA_COMPARE_UNITS)
		return false;
	for (uint32_t i = 0, end; i < candidate->effects; i = end) {
		uint32_t group = node[candidate->effect[i].node].group;
		bool any = false, of_any = false;
		double size = 0;

		for (end = i; end < candidate->effects; end++) {
			const struct compare_node *one = &node[candidate->effect[end].node];

			if (one->group != group)
				break;
			size += fabs(candidate->effect[end].cycles);
			any |= one->ambiguous;
			of_any |= (one->ambiguous || compare_is_memory(one)) &&
				  compare_touches_node(search->original, candidate, one);
		}
		sum += size;
		ambiguous += any && of_any ? size : 0;
	}
	if (2 * ambiguous <= sum)
		return false;
	touched = compare_touch(search, candidate);
	return !explains_several_blocks(&touched, back) &&
	       !explains_several_instructions(search, candidate, &touched, back);
}

/*
 * Whether the whole effect is present.  Values of a model are integers, so part of a step is
 * misfit.  The whole effect explains more than no effect exactly if the measured part is closer to
 * the whole.
 */
static bool is_whole(const struct compare_search *search, const struct compare_candidate *candidate)
{
	return candidate->theta > 0.5 && (search->trusting || candidate->direct > DIRECT_LEAST) &&
	       candidate->whole >
		       needed(search, candidate) * needed(search, candidate) +
			       compare_size_penalty(search, candidate, candidate->value) &&
	       candidate->shifted >= COMPARE_SHARE_LEAST * search->core &&
	       !compare_is_ambiguous(search, candidate, false);
}

bool compare_is_significant(const struct compare_search *search,
			    const struct compare_candidate *candidate)
{
	return compare_is_visible(search, candidate) && is_whole(search, candidate);
}

bool compare_is_rival(const struct compare_search *search,
		      const struct compare_candidate *candidate,
		      const struct compare_candidate *visible)
{
	return is_present(search, candidate, RIVAL * needed(search, candidate)) &&
	       candidate->theta / candidate->error >
		       RIVAL_LEAST * visible->theta / visible->error &&
	       is_whole(search, candidate);
}

bool compare_is_beside(const struct compare_candidate *one, const struct compare_candidate *other)
{
	return one != other && one->class == other->class && one->narrow == other->narrow &&
	       one->kind != PESA_COMPARE_UNITS && other->kind != PESA_COMPARE_UNITS &&
	       !one->opcodes && !other->opcodes;
}

/* Why a candidate is not a finding. */
static enum pesa_compare_refusal refusal_of(const struct compare_search *search,
					    const struct compare_candidate *candidate)
{
	double least = needed(search, candidate) * needed(search, candidate);

	if (candidate->shifted < COMPARE_SHARE_LEAST * search->core)
		return PESA_COMPARE_TOO_SMALL;
	if (!compare_is_visible(search, candidate))
		return PESA_COMPARE_UNCERTAIN;
	if (candidate->theta <= 0.5)
		return PESA_COMPARE_IN_PART;
	if (candidate->direct <= DIRECT_LEAST)
		return PESA_COMPARE_NOT_DIRECT;
	if (compare_is_ambiguous(search, candidate, false))
		return PESA_COMPARE_AMBIGUOUS;
	return candidate->whole > least ? PESA_COMPARE_UNLIKELY : PESA_COMPARE_UNCERTAIN;
}

void compare_name_nearest(struct compare_search *search)
{
	struct pesa_compare_unexplained *nearest = &search->compare->unexplained;
	const struct compare_candidate *best = NULL;

	if (*nearest->change)
		return;
	nearest->refusal = PESA_COMPARE_NO_CANDIDATE;
	for (unsigned int i = 0; i < search->candidates; i++) {
		const struct compare_candidate *one = &search->candidate[i];

		if (one->finding == COMPARE_NONE && one->effect && one->theta > 0 &&
		    one->gain > 0 && (!best || one->gain > best->gain))
			best = one;
	}
	if (!best)
		return;
	compare_describe(search->compare->model, best, best->value, nearest->change,
			 sizeof(nearest->change));
	nearest->refusal = refusal_of(search, best);
}
