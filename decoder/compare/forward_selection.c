/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Forward selection: the candidate that explains most of the residuals is added to the model, with
 * the value that explains most, again and again until no candidate is significant.  See search.h.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "decoder/compare/search.h"

#define ROUNDS_MAX   24	 /* findings, and improved values of findings */
#define TRIALS_MAX   16	 /* values tried for one candidate */
#define SIZE_PENALTY 4.0 /* twice the log-likelihood, for a number that is doubled */
#define WIDER	     0.5 /* of that, for several SchedWrites or single opcodes */
#define CHOICE_GAIN  0.3 /* likewise, of its first step, to choose its value */
#define CHOICE_LEAST 0.5 /* likewise, of the standard errors that are visible */
#define CHOICES_MAX  5
#define ABOUT	     0.1 /* part of what one explains by which another one explains about as much */
#define CLEARLY	     0.3 /* and then the part by which one of them explains more of what it touches */
#define FAR	     1.4  /* steps that are measured, for a larger one to be tried */
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

/* Whether a part of the effect is present in the residuals, to so many standard errors. */
static bool is_present(const struct compare_search *search,
		       const struct compare_candidate *candidate, double deviations)
{
	return !candidate->screened && candidate->error > 0 && candidate->gain > 0 &&
	       candidate->theta / candidate->error > deviations &&
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

/* Whether the candidate may be what another one, which is visible, only resembles. */
static bool is_rival(const struct compare_search *search, const struct compare_candidate *candidate,
		     const struct compare_candidate *visible)
{
	return is_present(search, candidate, RIVAL * needed(search, candidate)) &&
	       candidate->theta / candidate->error > RIVAL_LEAST * visible->theta / visible->error;
}

/* Whether the effect on a few paths is such that it may be visible on all. */
static bool is_promising(const struct compare_search *search,
			 const struct compare_candidate *candidate)
{
	return candidate->error > 0 &&
	       candidate->theta / candidate->error > PROMISING * needed(search, candidate) &&
	       candidate->shifted * candidate->theta >=
		       PROMISING * COMPARE_SHARE_LEAST * search->core;
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

static bool is_memory(const struct compare_node *node)
{
	return pesa_opcode_get(node->insn.opcode)->properties &
	       (PESA_OPCODE_LOAD | PESA_OPCODE_STORE);
}

/* Whether a candidate explains most of the differences that it touches, in several basic blocks: that is
 * no coincidence. */
static bool explains_several_blocks(const struct compare_search *search,
				    const struct compare_candidate *candidate)
{
	struct compare_touched touched = compare_touch(search, candidate);

	return compare_is_in_blocks(&touched, COMPARE_BLOCKS_SEVERAL) &&
	       compare_part_explained(touched.node[0], touched.node[1]) >= SEVERAL_INSTRUCTIONS &&
	       compare_part_explained(touched.block[0], touched.block[1]) >= SEVERAL_BLOCKS;
}

/*
 * Whether a candidate makes several instructions slower, and explains most of what it touches.  On an
 * in-order core the instruction that waits is the one that stalls, so that one load that waits for a store
 * makes one instruction slower.  Out of order it makes several slower, so that nearly all has to be
 * explained.
 */
static bool explains_several_instructions(const struct compare_search *search,
					  const struct compare_candidate *candidate)
{
	double least = pesa_mca_model_is_out_of_order(search->original) ? SLOWER_EXACTLY
									: SLOWER_EXPLAINED;
	struct compare_touched touched;
	double sum = 0, squares = 0;

	for (uint32_t i = 0; i < candidate->effects; i++) {
		double slower = fmax(0, candidate->effect[i].cycles);

		sum += slower;
		squares += slower * slower;
	}
	touched = compare_touch(search, candidate);
	return sum * sum >= SLOWER_LEAST * squares &&
	       compare_part_explained(touched.node[0], touched.node[1]) >= least &&
	       compare_part_explained(touched.block[0], touched.block[1]) >= least;
}

/* Whether most of the effect is in basic blocks where a load that waits for a store may be the reason
 * as well as an opcode that takes longer, and the candidate is about that opcode, or about a load or
 * store there.  Waiting takes another time in each block, so that one number which explains several
 * of them is no such wait. */
static bool is_ambiguous(const struct compare_search *search,
			 const struct compare_candidate *candidate)
{
	const struct compare_node *node = search->compare->code.node;
	double sum = 0, ambiguous = 0;

	for (uint32_t i = 0, end; i < candidate->effects; i = end) {
		uint32_t group = node[candidate->effect[i].node].group;
		bool any = false, touched = false;
		double size = 0;

		for (end = i; end < candidate->effects; end++) {
			const struct compare_node *one = &node[candidate->effect[end].node];

			if (one->group != group)
				break;
			size += fabs(candidate->effect[end].cycles);
			any |= one->ambiguous;
			touched |= (one->ambiguous || is_memory(one)) &&
				   compare_touches_node(search->original, candidate, one);
		}
		sum += size;
		ambiguous += any && touched ? size : 0;
	}
	return candidate->kind != PESA_COMPARE_UNITS && 2 * ambiguous > sum &&
	       !explains_several_blocks(search, candidate) &&
	       !explains_several_instructions(search, candidate);
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
	       !is_ambiguous(search, candidate);
}

bool compare_is_significant(const struct compare_search *search,
			    const struct compare_candidate *candidate)
{
	return compare_is_visible(search, candidate) && is_whole(search, candidate);
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

/* Try another first value, and keep the one that explains more. */
static struct pesa_error *try_another(struct compare_search *search,
				      struct compare_candidate *candidate, int value)
{
	double gain = candidate->theta > 0 ? candidate->gain : 0;
	int first = candidate->value;
	struct pesa_error *error = compare_try(search, candidate, value);

	return error || (candidate->theta > 0 && candidate->gain > gain)
		       ? error
		       : compare_try(search, candidate, first);
}

static struct pesa_error *try_steps(struct compare_search *search,
				    struct compare_candidate *candidate)
{
	bool (*is_seen)(const struct compare_search *, const struct compare_candidate *) =
		search->screen.active ? is_promising : compare_is_visible;
	int value = candidate->model_value, smaller = value - (value >= 8 ? value / 4 : 1);
	int larger = second_value(search, candidate);
	struct pesa_error *error;

	if (candidate->only_smaller)
		return may_be_smaller(search, candidate) ? compare_try(search, candidate, smaller)
							 : NULL;
	error = compare_try(search, candidate, first_value(candidate));
	/* Measured is the opposite of the effect. */
	if (!error && candidate->theta < 0 && may_be_smaller(search, candidate))
		return compare_try(search, candidate, smaller);
	if (error || !larger)
		return error;
	if (!is_seen(search, candidate)) {
		error = compare_try(search, candidate, larger);
		/* What completes in order waits to issue if it takes less than what is before it. */
		if (!error && candidate->kind == PESA_COMPARE_LATENCY &&
		    may_be_smaller(search, candidate) && !is_seen(search, candidate))
			error = try_another(search, candidate, value / 2);
		return error;
	}
	/* The first step goes a small part of the way, and may be hidden for most of it. */
	return candidate->theta < FAR ? NULL : try_another(search, candidate, larger);
}

struct pesa_error *compare_try_first(struct compare_search *search,
				     struct compare_candidate *candidate)
{
	struct pesa_error *error;

	search->screen.active = true;
	error = try_steps(search, candidate);
	search->screen.active = false;
	return error || !is_promising(search, candidate) ? error : try_steps(search, candidate);
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
			error = compare_try_first(search, candidate);
		else
			error = compare_fit_effect(search, candidate);
		if (!error && candidate->screened && is_promising(search, candidate))
			error = try_steps(search, candidate);
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
		error = compare_try_first(search, candidate);
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

/* Whether a finding already changes this number for some of its instructions. */
static bool is_taken(const struct compare_search *search, const struct compare_candidate *candidate)
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
		    (!best || candidate->gain > best->gain) && !is_taken(search, candidate))
			best = candidate;
	}
	return best;
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
	return error || !is_present(search, candidate, CHOICE_LEAST * needed(search, candidate))
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
		    is_present(search, candidate, CHOICE_LEAST * needed(search, candidate)) &&
		    (!next || candidate->gain > next->gain) && !is_taken(search, candidate))
			next = candidate;
	}
	return next;
}

double compare_net_gain(const struct compare_search *search,
			const struct compare_candidate *candidate)
{
	return candidate->whole - compare_size_penalty(search, candidate, candidate->value);
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

/*
 * The first ranking is by a single step of each candidate.  Choose the values of the best, and then
 * the candidate whose value explains most.  If one of them is significant, something is wrong with the
 * model; what that is, likelihood decides, also for candidates that alone would not be visible.
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
	*significant = compare_is_significant(search, *best);
	for (unsigned int i = 0; i < search->candidates && !error; i++) {
		other = &search->candidate[i];
		if (other->settled && !other->refused && compare_is_significant(search, other) &&
		    (!*significant || explains_more(search, other, *best))) {
			*best = other;
			*significant = true;
		}
	}
	for (unsigned int i = 0; i < search->candidates && *significant && !error; i++) {
		other = &search->candidate[i];
		if (other->settled && !other->refused && is_rival(search, other, *best) &&
		    is_whole(search, other) && explains_more(search, other, *best))
			*best = other;
	}
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
	while (!error && !*found && (best = best_candidate(search))) {
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
