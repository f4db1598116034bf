/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What would be won: the paths once more, with one thing changed at one place.
 *
 * The saving is summed over all instructions of the paths that contain the place, by state of the
 * retire stage.  Where a state becomes shorter, the measured cycles become shorter by the same
 * share: so no more can be saved than was measured.  Where it becomes longer, the predicted cycles
 * are what else becomes exposed, and are subtracted.
 *
 * A second estimate takes the predicted cycles in both cases.  The two differ where the model is off;
 * the interval includes both, the error of sampling, and the residual error of the model.
 *
 * How long a miss takes is known as far as it stalled.  Of a load that misses in the shadow of
 * another one it is not: it may wait for the same line, and hit with it, or for another line, whose
 * miss is exposed then.  So a load that hits is tried in both ways.  The interval includes both, and
 * the estimate is in the middle.
 */
#include <math.h>
#include <stdlib.h>

#include "decoder/why/inside.h"
#include "pesa/record.h"

#define LEAST 0.0005 /* share of all cycles: shorter waits are not worth a try */
/* Least standard deviations: of the model, relative, and of what a change of time does to the rest
 * of the program (what else misses, is mispredicted, is fetched together), of all cycles. */
#define MISFIT_LEAST 0.1
#define REST_LEAST   0.0005

const char *pesa_why_change_name(enum pesa_why_change change)
{
	static const char *const names[PESA_WHY_CHANGES] = {
		[PESA_WHY_HIT] = "hit",
		[PESA_WHY_PREDICT] = "predict",
		[PESA_WHY_LATENCY_1] = "latency",
		[PESA_WHY_FREE_UNIT] = "unit",
	};

	return names[change];
}

/* ---- Candidates ------------------------------------------------------------------------------ */

struct candidate {
	uint32_t node;
	enum pesa_why_change change;
	double waits; /* cycles */
};

static double mispredict_cycles(const struct compare_node *node)
{
	double cycles = 0;

	for (unsigned int i = 0; node->measured && i < node->measured->buckets; i++) {
		const struct pesa_bucket *bucket = &node->measured->bucket[i];

		if (bucket->state == PESA_STATE_FLUSHED &&
		    bucket->cause & PESA_CAUSE_BRANCH_MISPREDICT)
			cycles += (double)bucket->weight / PESA_CYCLE;
	}
	return cycles;
}

/* The change that would end a wait; false: none would. */
static bool change_for(const struct pesa_why *why, const struct pesa_why_cause *cause,
		       struct candidate *candidate)
{
	const struct compare_code *code = &why->compare->code;
	const struct compare_node *root;

	candidate->node = compare_code_find(code, cause->root.dso, cause->root.address);
	if (candidate->node == COMPARE_NONE)
		return false;
	root = &code->node[candidate->node];
	switch (cause->kind) {
	case PESA_WHY_MISS:
		candidate->change = PESA_WHY_HIT;
		return root->misses > 0;
	case PESA_WHY_UNIT:
		candidate->change = PESA_WHY_FREE_UNIT;
		return true;
	case PESA_WHY_CHAIN:
	case PESA_WHY_LATENCY:
		candidate->change = PESA_WHY_LATENCY_1;
		return root->class >= 0 &&
		       compare_latency_of(why->compare->model, (unsigned int)root->class) > 1;
	default:
		return false;
	}
}

static int longer_first(const void *left, const void *right)
{
	const struct candidate *a = left, *b = right;

	if (a->waits != b->waits)
		return a->waits > b->waits ? -1 : 1;
	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	return (int)a->change - (int)b->change;
}

/* Sum the waits by what would end them; `sums` has an element for each node and change. */
static void sum_waits(const struct pesa_why *why, uint32_t wanted, double *sums)
{
	const struct compare_code *code = &why->compare->code;

	for (size_t i = 0; i < why->waits; i++) {
		const struct pesa_why_wait *wait = &why->wait[i];

		for (unsigned int j = 0; j < wait->causes; j++) {
			struct candidate candidate;

			if (change_for(why, &wait->cause[j], &candidate) &&
			    wanted >> candidate.change & 1)
				sums[candidate.node * PESA_WHY_CHANGES + candidate.change] +=
					wait->cause[j].share * wait->cycles;
		}
	}
	for (uint32_t i = 0; wanted >> PESA_WHY_PREDICT & 1 && i < code->count; i++)
		sums[i * PESA_WHY_CHANGES + PESA_WHY_PREDICT] = mispredict_cycles(&code->node[i]);
}

/* The candidates with the longest waits; the caller frees *result. */
static struct pesa_error *list_candidates(const struct pesa_why *why, uint32_t wanted,
					  struct candidate **result, unsigned int *count)
{
	size_t room = (size_t)why->compare->code.count * PESA_WHY_CHANGES;
	double *sums = calloc(room + 1, sizeof(*sums));
	struct candidate *candidates = calloc(room + 1, sizeof(*candidates));
	unsigned int most = *count;

	*count = 0;
	*result = candidates;
	if (!sums || !candidates) {
		free(sums);
		return pesa_error_no_memory();
	}
	sum_waits(why, wanted, sums);
	for (size_t i = 0; i < room; i++)
		if (sums[i] > LEAST * why->compare->totals.cycles &&
		    why->compare->code.node[i / PESA_WHY_CHANGES].occurrences > 0)
			candidates[(*count)++] = (struct candidate){
				.node = (uint32_t)(i / PESA_WHY_CHANGES),
				.change = (enum pesa_why_change)(i % PESA_WHY_CHANGES),
				.waits = sums[i]};
	qsort(candidates, *count, sizeof(*candidates), longer_first);
	if (*count > most)
		*count = most;
	free(sums);
	return NULL;
}

/* ---- Paths with a change --------------------------------------------------------------------- */

/* What becomes of loads that miss in the shadow of one that is made to hit. */
enum shadow {
	SHADOW_HITS,	/* they wait for the same line */
	SHADOW_EXPOSED, /* they wait for another one, as long as that one did */
};

struct trial {
	const struct pesa_why *why;
	const struct candidate *candidate; /* NULL: no change */
	enum shadow shadow;
	size_t changes;		   /* instructions that were changed */
	struct why_cycles *cycles; /* by step of all paths */
};

/* Change an instruction of a path; returns whether it is another one now. */
static bool change(const struct candidate *candidate, uint32_t node,
		   struct pesa_mca_instruction *instruction)
{
	bool changed = true;

	if (!candidate || candidate->node != node)
		return false;
	switch (candidate->change) {
	case PESA_WHY_HIT:
		changed = instruction->late;
		instruction->late = 0;
		break;
	case PESA_WHY_PREDICT:
		changed = instruction->mispredicted;
		instruction->mispredicted = false;
		break;
	case PESA_WHY_LATENCY_1:
		instruction->latency = 1;
		break;
	default:
		instruction->no_units = true;
	}
	return changed;
}

/* Change the loads that miss while the candidate's miss is under way. */
static void change_shadow(const struct trial *trial, const struct compare_path *path,
			  struct pesa_mca_instruction *instruction)
{
	const struct pesa_compare *compare = trial->why->compare;
	const struct compare_step *step = compare->paths.step + path->first;
	const struct compare_node *candidate = &compare->code.node[trial->candidate->node];
	unsigned int window = compare->model->reorder_buffer, late;

	late = (unsigned int)lround(candidate->late);
	for (unsigned int i = 0; i < path->count; i++) {
		unsigned int end = i + window < path->count ? i + window : path->count;

		if (step[i].node != trial->candidate->node ||
		    !(step[i].flags & COMPARE_PATH_MISSED))
			continue;
		for (unsigned int j = i + 1; j < end; j++)
			if (step[j].flags & COMPARE_PATH_MISSED &&
			    step[j].node != trial->candidate->node)
				instruction[j].late = trial->shadow == SHADOW_HITS ? 0
						      : instruction[j].late < late
							      ? late
							      : instruction[j].late;
	}
}

static struct pesa_error *execute(const struct trial *trial, const struct compare_path *path,
				  const struct pesa_mca_block *block)
{
	struct why_cycles *cycles = trial->cycles + path->first;
	struct pesa_mca_cycle_stack *stack;
	struct pesa_mca_listener listener;
	struct pesa_error *error = pesa_mca_cycle_stack_create(block, &stack);

	if (error)
		return error;
	listener = pesa_mca_cycle_stack_listener(stack);
	error = compare_path_run(&trial->why->compare->predictor, block, &listener, 1, false);
	for (unsigned int i = 0; i < path->count; i++)
		cycles[i] = (struct why_cycles){{0}};
	for (unsigned int i = 0; i < block->count && !error; i++)
		cycles[block->lowered[i].source] = why_read_stack(stack, i);
	pesa_mca_cycle_stack_free(stack);
	return error;
}

static struct pesa_error *try_path(struct trial *trial, const struct compare_path *path)
{
	const struct pesa_compare *compare = trial->why->compare;
	struct pesa_mca_instruction *instruction = calloc(path->count + 1, sizeof(*instruction));
	struct pesa_mca_block *block = NULL;
	struct pesa_error *error;

	if (!instruction)
		return pesa_error_no_memory();
	for (unsigned int i = 0; i < path->count; i++) {
		instruction[i] = compare_path_instruction(&compare->predictor, path, i);
		trial->changes +=
			change(trial->candidate, compare->paths.step[path->first + i].node,
			       &instruction[i]);
	}
	if (trial->candidate && trial->candidate->change == PESA_WHY_HIT)
		change_shadow(trial, path, instruction);
	error = compare_path_bind(&compare->predictor, compare->model, instruction, path->count,
				  &block);
	if (!error && block->count)
		error = execute(trial, path, block);
	pesa_mca_block_free(block);
	free(instruction);
	return error;
}

static bool contains(const struct pesa_compare *compare, const struct compare_path *path,
		     uint32_t node)
{
	for (unsigned int i = 0; i < path->count; i++)
		if (compare->paths.step[path->first + i].node == node)
			return true;
	return false;
}

/* ---- The estimate ---------------------------------------------------------------------------- */

/* Predicted cycles of a node over its counted occurrences, before and after. */
struct effect {
	double before[WHY_STATES], after[WHY_STATES];
};

/* Measured cycles of a node by state, as struct why_cycles. */
static void measured_cycles(const struct compare_node *node, double cycles[WHY_STATES])
{
	cycles[WHY_RETIRING] = node->time.retiring;
	cycles[WHY_STALLED] = node->time.core - node->time.retiring;
	cycles[WHY_EVENT] = node->time.event;
	cycles[WHY_FLUSHED] = node->time.flushed;
	cycles[WHY_DRAINED] = node->time.drained;
}

struct sums {
	double scaled, predicted; /* the two estimates: cycles saved */
	double gross, exposed;	  /* cycles that vanish and that appear, by the first one */
	double variance;	  /* of sampling, cycles^2 */
	double allowed;		  /* measured cycles without retirement of what becomes shorter */
};

static void add_node(const struct pesa_why *why, const struct compare_node *node,
		     const struct effect *effect, struct sums *sums)
{
	double measured[WHY_STATES], vanished = 0, all = 0, shorter = 0;

	measured_cycles(node, measured);
	for (enum why_state state = 0; state < WHY_STATES; state++) {
		double before = effect->before[state], after = effect->after[state];
		double predicted = (before - after) / node->occurrences * node->executions;

		all += measured[state];
		sums->predicted += predicted;
		if (after >= before) {
			sums->exposed -= predicted;
			continue;
		}
		vanished += measured[state] * (before - after) / before;
		shorter += before - after;
	}
	if (shorter > 0)
		sums->allowed += all - measured[WHY_RETIRING];
	sums->gross += vanished;
	if (all > 0 && node->measured && !pesa_profile_totals(why->profile)->exact)
		sums->variance +=
			node->measured->weight_squared * (vanished / all) * (vanished / all);
}

static struct pesa_estimate estimate_of(const struct pesa_why *why, const struct sums *sums)
{
	const struct pesa_compare_totals *totals = &why->compare->totals;
	double deviations = pesa_estimate_deviations(why->compare->options.confidence);
	double misfit = fmax(MISFIT_LEAST, totals->misfit_region);
	double rest = REST_LEAST * totals->cycles;
	double half =
		deviations *
		sqrt(sums->variance + rest * rest +
		     misfit * misfit * (sums->gross * sums->gross + sums->exposed * sums->exposed));
	double low = fmin(sums->scaled, sums->predicted) - half;
	double high = fmax(sums->scaled, sums->predicted) + half;

	return (struct pesa_estimate){
		/* What is ideal costs nothing. */
		.value = fmax(sums->scaled, 0),
		.low = fmax(low, -deviations * rest),
		.high = fmax(fmin(high, sums->allowed), fmax(sums->scaled, 0)),
		.enough = true,
	};
}

static void sum_effects(const struct pesa_why *why, const struct effect *effects,
			struct pesa_why_gain *gain)
{
	const struct compare_code *code = &why->compare->code;
	struct sums sums = {0};

	for (uint32_t i = 0; i < code->count; i++)
		if (code->node[i].occurrences > 0)
			add_node(why, &code->node[i], &effects[i], &sums);
	sums.scaled = sums.gross - sums.exposed;
	gain->exposed = sums.exposed;
	gain->saved = estimate_of(why, &sums);
}

/* Execute what a candidate changes, and sum up by node. */
static struct pesa_error *estimate(struct trial *trial, const struct why_cycles *before,
				   struct effect *effects, struct pesa_why_gain *gain)
{
	const struct pesa_compare *compare = trial->why->compare;
	const struct compare_paths *paths = &compare->paths;
	struct pesa_error *error = NULL;

	trial->changes = 0;
	for (uint32_t i = 0; i < compare->code.count; i++)
		effects[i] = (struct effect){0};
	for (size_t i = 0; i < paths->count && !error; i++) {
		const struct compare_path *path = &paths->path[i];
		bool changed = contains(compare, path, trial->candidate->node);

		if (changed)
			error = try_path(trial, path);
		for (size_t at = path->first + path->warm; at < path->first + path->count; at++) {
			struct effect *effect = &effects[paths->step[at].node];
			const struct why_cycles *now = changed ? &trial->cycles[at] : &before[at];

			for (enum why_state state = 0; state < WHY_STATES; state++) {
				effect->before[state] += path->weight * before[at].in[state];
				effect->after[state] += path->weight * now->in[state];
			}
		}
	}
	if (!error)
		sum_effects(trial->why, effects, gain);
	return error;
}

/* Estimate a candidate, in both ways where there are two. */
static struct pesa_error *estimate_both(struct trial *trial, const struct why_cycles *before,
					struct effect *effects, struct pesa_why_gain *gain)
{
	struct pesa_error *error = estimate(trial, before, effects, gain);
	struct pesa_why_gain other = *gain;

	if (error || trial->candidate->change != PESA_WHY_HIT)
		return error;
	trial->shadow = SHADOW_EXPOSED;
	error = estimate(trial, before, effects, &other);
	trial->shadow = SHADOW_HITS;
	if (error)
		return error;
	gain->exposed = (gain->exposed + other.exposed) / 2;
	gain->saved.value = (gain->saved.value + other.saved.value) / 2;
	gain->saved.low = fmin(gain->saved.low, other.saved.low);
	gain->saved.high = fmax(gain->saved.high, other.saved.high);
	return NULL;
}

static int larger_first(const void *left, const void *right)
{
	const struct pesa_why_gain *a = left, *b = right;

	if (a->saved.value != b->saved.value)
		return a->saved.value > b->saved.value ? -1 : 1;
	return a->place.address < b->place.address ? -1 : a->place.address > b->place.address;
}

static struct pesa_error *estimate_all(struct pesa_why *why, const struct candidate *candidates,
				       unsigned int count)
{
	const struct compare_paths *paths = &why->compare->paths;
	struct why_cycles *before = calloc(paths->steps + 1, sizeof(*before));
	struct why_cycles *after = calloc(paths->steps + 1, sizeof(*after));
	struct effect *effects = calloc(why->compare->code.count + 1, sizeof(*effects));
	struct trial trial = {.why = why, .cycles = before};
	struct pesa_error *error = NULL;

	if (!before || !after || !effects)
		error = pesa_error_no_memory();
	for (size_t i = 0; i < paths->count && !error; i++)
		error = try_path(&trial, &paths->path[i]);
	trial.cycles = after;
	for (unsigned int i = 0; i < count && !error; i++) {
		const struct compare_node *node = &why->compare->code.node[candidates[i].node];
		struct pesa_why_gain *gain = &why->gain[why->gains++];

		*gain = (struct pesa_why_gain){
			.change = candidates[i].change,
			.place = {.dso = node->dso, .address = node->address},
			.waits = candidates[i].waits,
		};
		trial.candidate = &candidates[i];
		error = estimate_both(&trial, before, effects, gain);
		/* What happens on no path, because it is rare, cannot be estimated. */
		if (!trial.changes)
			why->gains--;
	}
	free(before);
	free(after);
	free(effects);
	return error;
}

struct pesa_error *pesa_why_estimate_gains(struct pesa_why *why, uint32_t wanted,
					   unsigned int count)
{
	struct candidate *candidates;
	struct pesa_error *error = list_candidates(why, wanted, &candidates, &count);

	if (!error) {
		why->gain = calloc(count + 1, sizeof(*why->gain));
		error = why->gain ? estimate_all(why, candidates, count) : pesa_error_no_memory();
	}
	free(candidates);
	if (!error)
		qsort(why->gain, why->gains, sizeof(*why->gain), larger_first);
	return error;
}

unsigned int pesa_why_gain_count(const struct pesa_why *why)
{
	return why->gains;
}

const struct pesa_why_gain *pesa_why_gain(const struct pesa_why *why, unsigned int index)
{
	return &why->gain[index];
}
