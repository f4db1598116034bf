/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What would be won: trials (trial.h) with one thing changed at one place.
 *
 * How long a miss takes is known as far as it stalled.  Of a load that misses in the shadow of
 * another one it is not: it may wait for the same line, and hit with it, or for another line, whose
 * miss is exposed then.  So a load that hits is tried in both ways.  The interval includes both, and
 * the estimate is in the middle.
 */
#include <math.h>
#include <stdlib.h>

#include "decoder/why/trial.h"
#include "pesa/record.h"

#define LEAST 0.0005 /* share of all cycles: shorter waits are not worth a try */
/* See struct why_change.  The misfit of model and measurement says little: a path that the model
 * predicts well may change in another way than it predicts.  With these, 95 % of the places of random
 * programs are in the interval (Documentation/why.md). */
#define MISFIT_LEAST  0.3
#define OCCUPIED_MOST 1.2 /* of the model's cycles: more than a unit is occupied */

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

struct change {
	struct pesa_why *why;
	const struct candidate *candidate;
	enum shadow shadow;
};

/* Change an instruction of a path; returns whether it is another one now. */
static bool change(const struct candidate *candidate, uint32_t node,
		   struct pesa_mca_instruction *instruction)
{
	bool changed = true;

	if (candidate->node != node)
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
static void change_shadow(const struct change *trial, const struct compare_path *path,
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

static size_t change_path(void *context, const struct compare_path *path,
			  struct pesa_mca_instruction *instruction, bool *removed)
{
	const struct change *trial = context;
	size_t changes = 0;

	(void)removed;
	for (unsigned int i = 0; i < path->count; i++)
		changes += change(trial->candidate,
				  trial->why->compare->paths.step[path->first + i].node,
				  &instruction[i]);
	if (changes && trial->candidate->change == PESA_WHY_HIT)
		change_shadow(trial, path, instruction);
	return changes;
}

/* ---- The estimate ---------------------------------------------------------------------------- */

/* Cycles for which the executions of an instruction occupy its busiest unit, at most. */
static double occupied_cycles(const struct pesa_why *why, const struct compare_node *node)
{
	const struct pesa_mca_model *model = why->compare->model;
	double longest = 0;

	for (unsigned int i = 0; node->class >= 0 && i < model->classes[node->class].uses; i++) {
		const struct pesa_mca_use *use = &model->uses[model->classes[node->class].use + i];
		double cycles = (double)(use->release - use->acquire) /
				fmax(model->resources[use->resource].units, 1);

		longest = fmax(longest, cycles);
	}
	return OCCUPIED_MOST * longest * node->executions;
}

/* Estimate a candidate, in both ways where there are two. */
static struct pesa_error *estimate(struct change *trial, struct pesa_why_gain *gain, bool *tried)
{
	const enum pesa_why_change kind = trial->candidate->change;
	const struct why_change changed = {
		.changer = change_path,
		.context = trial,
		.misfit = MISFIT_LEAST,
		.waits = gain->waits,
		.removes_events = kind == PESA_WHY_HIT || kind == PESA_WHY_PREDICT,
	};
	struct why_saved saved, other;
	struct pesa_error *error = why_trial(trial->why, &changed, &saved);

	if (!error && kind == PESA_WHY_HIT) {
		trial->shadow = SHADOW_EXPOSED;
		error = why_trial(trial->why, &changed, &other);
		trial->shadow = SHADOW_HITS;
		saved.exposed = (saved.exposed + other.exposed) / 2;
		saved.saved.value = (saved.saved.value + other.saved.value) / 2;
		saved.saved.low = fmin(saved.saved.low, other.saved.low);
		saved.saved.high = fmax(saved.saved.high, other.saved.high);
	}
	/* Who gets a unit first is not known where instructions wait for it out of order: if it is always
	 * busy, all of that may be saved. */
	if (kind == PESA_WHY_FREE_UNIT &&
	    pesa_mca_model_is_out_of_order(trial->why->compare->model))
		saved.saved.high =
			fmax(saved.saved.high,
			     fmin(occupied_cycles(
					  trial->why,
					  &trial->why->compare->code.node[trial->candidate->node]),
				  trial->why->compare->totals.cycles));
	gain->saved = saved.saved;
	gain->exposed = saved.exposed;
	*tried = saved.changes;
	return error;
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
	struct change trial = {.why = why};
	struct pesa_error *error = NULL;

	for (unsigned int i = 0; i < count && !error; i++) {
		const struct compare_node *node = &why->compare->code.node[candidates[i].node];
		struct pesa_why_gain *gain = &why->gain[why->gains];
		bool tried;

		*gain = (struct pesa_why_gain){
			.change = candidates[i].change,
			.place = {.dso = node->dso, .address = node->address},
			.waits = candidates[i].waits,
		};
		trial.candidate = &candidates[i];
		error = estimate(&trial, gain, &tried);
		/* What happens on no path, because it is rare, cannot be estimated. */
		why->gains += tried;
	}
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
