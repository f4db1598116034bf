/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What waits at instructions that order others on this core (order.h): the paths are predicted with
 * all kinds alike, in each way, then with all atomics changed, and with each kind changed in turn.  What
 * brings the predicted time of basic blocks nearest to the measured one is chosen.
 */
#include <math.h>
#include <stdlib.h>

#include "decoder/compare/alternatives.h"
#include "decoder/compare/chosen.h"
#include "decoder/compare/waits.h"

#define LONGER_LEAST 0.003 /* of all cycles by which longer misses have to be nearer */
#define KIND_LEAST   0.001 /* share of all cycles of a kind, or of what it may change, that matters */

/* ---- The choice ------------------------------------------------------------------------------ */

/* By node: predicted cycles an execution; NaN: no prediction. */
struct choice {
	struct pesa_compare *compare;
	struct compare_path_options *options;
	double *all[COMPARE_WAITS]; /* all kinds wait like this */
	double distance[COMPARE_WAITS];
	double nearest; /* distance of what has been chosen */
	double *now;
	double *difference; /* by basic block: scratch */
};

static struct pesa_error *predict(struct choice *choice, double *each)
{
	return compare_predict_each(choice->compare, choice->options, each);
}

static double distance(const struct choice *choice, const double *each)
{
	return compare_block_distance(choice->compare, each, choice->difference);
}

static void set(struct compare_kind *kind, enum compare_wait wait)
{
	kind->wait = wait == COMPARE_WAIT_MEMORY && !kind->memory ? COMPARE_WAIT_NOTHING : wait;
}

static void set_all(struct compare_kinds *kinds, enum compare_wait wait)
{
	for (unsigned int i = 0; i < kinds->count; i++)
		set(&kinds->kind[i], wait);
}

/* Whether a kind is of atomics; one that flushes always drains, and is not among those that are tried. */
static bool is_atomic(const struct compare_kind *kind)
{
	return pesa_opcode_get((uint16_t)kind->opcode)->properties & PESA_OPCODE_ATOMIC &&
	       !compare_kind_flushes(kind);
}

/* Set in which way one kind waits, or all atomics (`only`: NULL); false: that is how they do already. */
static bool change(struct compare_kinds *kinds, const struct compare_kind *only,
		   enum compare_wait wait)
{
	bool changed = false;

	for (unsigned int i = 0; i < kinds->count; i++) {
		struct compare_kind *kind = &kinds->kind[i];

		if ((only ? kind != only : !is_atomic(kind)) ||
		    (wait == COMPARE_WAIT_MEMORY && !kind->memory))
			continue;
		changed |= kind->wait != wait;
		kind->wait = wait;
	}
	return changed;
}

/* Try the other ways for one kind, or for all atomics together (`only`: NULL), and keep what is nearer to
 * the measurement. */
static struct pesa_error *choose_for(struct choice *choice, const struct compare_kind *only,
				     double least)
{
	struct compare_kinds *kinds = &choice->compare->kinds;
	const struct compare_kinds before = *kinds;
	struct compare_kinds best = *kinds;
	struct pesa_error *error = NULL;

	for (enum compare_wait wait = 0; wait < COMPARE_WAITS && !error; wait++) {
		double now;

		*kinds = before;
		if (!change(kinds, only, wait))
			continue;
		error = predict(choice, choice->now);
		now = distance(choice, choice->now);
		if (now >= choice->nearest - least)
			continue;
		choice->nearest = now;
		best = *kinds;
	}
	*kinds = best;
	return error;
}

/*
 * Whether atomics are to be tried together: a load-reserved and its conditional store wait for each other as
 * long as one of them orders the other, so that neither is right alone.  One atomic is tried by itself, and
 * where there is nothing else all have been.
 */
static bool has_several_atomics(const struct compare_kinds *kinds, double least)
{
	unsigned int atomics = 0;
	double cycles = 0;

	for (unsigned int i = 0; i < kinds->count; i++)
		if (is_atomic(&kinds->kind[i])) {
			atomics++;
			cycles += kinds->kind[i].cycles;
		}
	return cycles >= least && atomics > 1 && atomics < kinds->count;
}

/* The nearest of the ways in which all kinds wait alike, then all atomics, and then each kind.  The caller
 * predicts with what was chosen. */
static struct pesa_error *choose(struct choice *choice)
{
	struct pesa_compare *compare = choice->compare;
	double least = KIND_LEAST * compare->totals.cycles;
	enum compare_wait best = COMPARE_WAIT_ALL;
	struct pesa_error *error = NULL;

	for (enum compare_wait wait = 0; wait < COMPARE_WAITS; wait++)
		choice->distance[wait] = distance(choice, choice->all[wait]);
	for (enum compare_wait wait = 0; wait < COMPARE_WAITS; wait++)
		if (choice->distance[wait] < choice->distance[best])
			best = wait;
	choice->nearest = choice->distance[best];
	set_all(&compare->kinds, best);
	for (unsigned int i = 0; i < compare->kinds.count; i++)
		if (compare_kind_flushes(&compare->kinds.kind[i]))
			compare->kinds.kind[i].wait = COMPARE_WAIT_ALL;
	if (has_several_atomics(&compare->kinds, least))
		error = choose_for(choice, NULL, least);
	for (unsigned int i = 0; i < compare->kinds.count && !error; i++)
		if (compare->kinds.kind[i].cycles >= least &&
		    !compare_kind_flushes(&compare->kinds.kind[i]))
			error = choose_for(choice, &compare->kinds.kind[i], least);
	return error;
}

/* The range of the predictions that are not refuted; of what is not predicted where the core drains,
 * of the others. */
static void mark_uncertain(const struct choice *choice)
{
	struct compare_code *code = &choice->compare->code;

	for (uint32_t i = 0; i < code->count; i++)
		code->node[i].uncertain = compare_range_of_ways(choice->all, choice->distance,
								COMPARE_WAITS, choice->nearest, i);
}

static struct pesa_error *find_kinds(struct choice *choice)
{
	struct pesa_compare *compare = choice->compare;
	bool *supported = calloc(compare->code.count + 1, sizeof(*supported));

	if (!supported)
		return pesa_error_no_memory();
	for (uint32_t i = 0; i < compare->code.count; i++) {
		const struct compare_node *node = &compare->code.node[i];

		supported[i] = !node->on_path || node->class >= 0;
	}
	compare_kinds_find(&compare->code, supported, &compare->kinds);
	free(supported);
	return NULL;
}

/* All kinds there may be, none of which waits. */
static void forget_kinds(struct pesa_compare *compare)
{
	compare_kinds_find(&compare->code, NULL, &compare->kinds);
	set_all(&compare->kinds, COMPARE_WAIT_NOTHING);
}

/* Requires forget_kinds(). */
static struct pesa_error *predict_and_choose(struct choice *choice)
{
	struct compare_kinds *kinds = &choice->compare->kinds;
	struct pesa_error *error = predict(choice, choice->all[COMPARE_WAIT_NOTHING]);

	/* Now the classes are known. */
	if (!error)
		error = find_kinds(choice);
	if (error || !kinds->count)
		return error;
	for (enum compare_wait wait = COMPARE_WAIT_MEMORY; wait < COMPARE_WAITS && !error; wait++) {
		set_all(kinds, wait);
		error = predict(choice, choice->all[wait]);
	}
	if (!error)
		error = choose(choice);
	if (!error)
		mark_uncertain(choice);
	return error;
}

/* ---- All of it ------------------------------------------------------------------------------ */

static struct pesa_error *choose_units_and_waits(struct pesa_compare *compare,
						 const struct compare_path_options *options)
{
	struct pesa_error *error = compare_choose_units(compare, options);

	return error ? error : compare_learn_waits(compare, options);
}

/*
 * Choose in which order branches go, who gets a unit, and which loads wait.  The order is chosen while no
 * load waits, and may make up for that: in runs a loop has many iterations at times, so that its chain
 * through memory fills the reorder buffer.  So it is chosen again with the loads that wait, and these again
 * if it is another one.
 */
static struct pesa_error *choose_rest(struct pesa_compare *compare,
				      struct compare_path_options *options, const double *uncertain)
{
	struct compare_code *code = &compare->code;
	enum compare_directions first;
	struct pesa_error *error = compare_choose_order(compare, options);

	if (!error)
		error = choose_units_and_waits(compare, options);
	first = options->directions;
	if (!error && compare_any_waits(code)) {
		for (uint32_t i = 0; i < code->count; i++)
			code->node[i].uncertain = uncertain[i];
		error = compare_choose_order(compare, options);
	}
	if (error || options->directions == first)
		return error;
	compare_forget_waits(code);
	return compare_learn_waits(compare, options);
}

/* The distance of what is predicted now. */
static double distance_now(const struct choice *choice)
{
	return distance(choice, NULL);
}

/* Keep the present choices if they are nearer by this much than others were (negative: or farther by no more
 * than that), and predict. */
static struct pesa_error *keep_nearer(struct choice *choice, const struct compare_chosen *others,
				      double of_others, double least)
{
	if (distance_now(choice) + least < of_others)
		return NULL;
	compare_chosen_restore(choice->compare, choice->options, others);
	return compare_predict_all(choice->compare, choice->options);
}

/* Branches go evenly, unless they are nearer in another order with the best of the rest for each. */
static struct pesa_error *choose_evenly(struct choice *choice)
{
	struct pesa_compare *compare = choice->compare;
	struct compare_path_options *options = choice->options;
	struct compare_chosen unevenly;
	double before = distance_now(choice);
	struct pesa_error *error = compare_chosen_save(compare, options, &unevenly);

	compare_chosen_forget(compare, options);
	for (uint32_t i = 0; i < compare->code.count && !error; i++)
		compare->code.node[i].uncertain = unevenly.node[i].uncertain;
	if (!error)
		error = compare_predict_all(compare, options);
	if (!error)
		error = choose_units_and_waits(compare, options);
	if (!error)
		error = keep_nearer(choice, &unevenly, before,
				    -COMPARE_ORDER_LEAST * compare_core_time(compare));
	compare_chosen_free(&unevenly);
	return error;
}

static struct pesa_error *choose_order_and_rest(struct choice *choice)
{
	struct pesa_compare *compare = choice->compare;
	double *uncertain = calloc(compare->code.count + 1, sizeof(*uncertain));
	struct pesa_error *error;

	if (!uncertain)
		return pesa_error_no_memory();
	for (uint32_t i = 0; i < compare->code.count; i++)
		uncertain[i] = compare->code.node[i].uncertain;
	error = choose_rest(compare, choice->options, uncertain);
	if (!error && choice->options->directions != COMPARE_EVENLY)
		error = choose_evenly(choice);
	free(uncertain);
	return error;
}

static struct pesa_error *choose_all(struct choice *choice)
{
	struct pesa_error *error = predict_and_choose(choice);

	return error ? error : choose_order_and_rest(choice);
}

/* Choose all again with the longer misses, and keep that if it is nearer. */
static struct pesa_error *choose_longer(struct choice *choice, const double *longer)
{
	struct pesa_compare *compare = choice->compare;
	struct compare_chosen exposed;
	double before = distance_now(choice);
	struct pesa_error *error = compare_chosen_save(compare, choice->options, &exposed);

	compare_chosen_forget(compare, choice->options);
	forget_kinds(compare);
	for (uint32_t i = 0; i < compare->code.count; i++)
		compare->code.node[i].late = longer[i];
	if (!error)
		error = choose_all(choice);
	if (!error)
		error = keep_nearer(choice, &exposed, before,
				    LONGER_LEAST * compare->totals.cycles);
	compare_chosen_free(&exposed);
	return error;
}

/* Learn how long misses take, and choose all. */
static struct pesa_error *learn_and_choose(struct choice *choice)
{
	struct pesa_compare *compare = choice->compare;
	double *longer = calloc(compare->code.count + 1, sizeof(*longer));
	bool any = false;
	struct pesa_error *error;

	if (!longer)
		return pesa_error_no_memory();
	forget_kinds(compare);
	error = compare_learn_misses(compare, choice->options, longer, &any);
	if (!error)
		error = choose_all(choice);
	if (!error && any)
		error = choose_longer(choice, longer);
	free(longer);
	return error;
}

struct pesa_error *compare_predict_ordered(struct pesa_compare *compare,
					   struct compare_path_options *options)
{
	uint32_t nodes = compare->code.count;
	struct choice choice = {
		.compare = compare,
		.options = options,
		.now = calloc(nodes + 1, sizeof(double)),
		.difference = calloc(compare->regions.groups + 1, sizeof(double)),
	};
	bool done = choice.now && choice.difference;
	struct pesa_error *error;

	for (unsigned int i = 0; i < COMPARE_WAITS; i++) {
		choice.all[i] = calloc(nodes + 1, sizeof(double));
		done = done && choice.all[i];
	}
	error = done ? learn_and_choose(&choice) : pesa_error_no_memory();
	for (unsigned int i = 0; i < COMPARE_WAITS; i++)
		free(choice.all[i]);
	free(choice.now);
	free(choice.difference);
	return error;
}
