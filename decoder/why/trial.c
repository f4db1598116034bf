/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <math.h>
#include <stdlib.h>

#include "decoder/why/trial.h"

/* Least standard deviation of what a change of time does to the rest of the program (what else
 * misses, is mispredicted, is fetched together), of all cycles. */
#define REST_LEAST 0.0005
/* Of cycles that vanish at one instruction and appear at another, both are wrong in one direction: part
 * of their deviation that is left in the difference. */
#define MOVED 0.5
/* How much longer code may take than predicted for a prediction of less code to count. */
#define EXPLAINED_LEAST 1.5
/* Standard deviation of a predicted difference, of the predicted cycles of what changes. */
#define DIFFERENCE_LEAST 0.02

/* Predicted cycles of a node over its counted occurrences, before and after. */
struct effect {
	double before[WHY_STATES], after[WHY_STATES];
};

struct why_trials {
	struct why_cycles *before, *after; /* by step of all paths */
	struct effect *effects;		   /* by node */
};

/* ---- One path -------------------------------------------------------------------------------- */

/* `step`: of the path, by instruction of the block. */
static struct pesa_error *execute(const struct pesa_why *why, const struct compare_path *path,
				  const struct pesa_mca_block *block, const uint32_t *step,
				  struct why_cycles *cycles)
{
	struct pesa_mca_cycle_stack *stack;
	struct pesa_error *error = pesa_mca_cycle_stack_create(block, &stack);

	if (error)
		return error;
	error = compare_path_stack(&why->compare->predictor, block, stack);
	for (unsigned int i = 0; i < path->count; i++)
		cycles[i] = (struct why_cycles){{0}};
	for (unsigned int i = 0; i < block->count && !error; i++)
		cycles[step[block->lowered[i].source]] = why_read_stack(stack, i);
	pesa_mca_cycle_stack_free(stack);
	return error;
}

/* Whether the next instruction is another one than that behind it. */
static bool transfers(const struct pesa_mca_instruction *instruction)
{
	enum pesa_flow flow = pesa_insn_flow(&instruction->insn);

	return flow != PESA_FLOW_NEXT && (flow != PESA_FLOW_BRANCH || instruction->taken);
}

/* Leave out what was removed: `step` says where the others were.  Returns how many are left. */
static unsigned int compact(struct pesa_mca_instruction *instruction, const bool *removed,
			    uint32_t *step, unsigned int count)
{
	unsigned int left = 0;

	for (unsigned int i = 0; i < count; i++) {
		struct pesa_mca_instruction now = instruction[i];
		unsigned int store;

		if (removed[i]) {
			/* What control was transferred to follows directly now. */
			if (i + 1 < count)
				instruction[i + 1].begins_block =
					now.begins_block ||
					(instruction[i + 1].begins_block && !transfers(&now));
			continue;
		}
		/* The store may also have been executed before the path. */
		if (now.forwarded_by > i || removed[i - now.forwarded_by])
			now.forwarded_by = 0;
		store = i - now.forwarded_by;
		for (unsigned int j = store + 1; now.forwarded_by && j < i; j++)
			now.forwarded_by -= removed[j];
		step[left] = i;
		instruction[left++] = now;
	}
	return left;
}

/* Execute a path as it is changed.  Without a change *changed is 0, and it is not executed, unless
 * `changer` is NULL. */
static struct pesa_error *try_path(const struct pesa_why *why, const struct compare_path *path,
				   why_changer *changer, void *context, struct why_cycles *cycles,
				   size_t *changed)
{
	const struct pesa_compare *compare = why->compare;
	struct pesa_mca_instruction *instruction =
		calloc((size_t)path->count + 1, sizeof(*instruction));
	bool *removed = calloc((size_t)path->count + 1, sizeof(*removed));
	uint32_t *step = calloc((size_t)path->count + 1, sizeof(*step));
	struct pesa_mca_block *block = NULL;
	struct pesa_error *error = NULL;
	unsigned int left;

	if (!instruction || !removed || !step)
		error = pesa_error_no_memory();
	for (unsigned int i = 0; i < path->count && !error; i++)
		instruction[i] = compare_path_instruction(&compare->predictor, path, i);
	*changed = changer && !error ? changer(context, path, instruction, removed) : 0;
	if (!error && (*changed || !changer)) {
		left = compact(instruction, removed, step, path->count);
		error = compare_path_bind(&compare->predictor, compare->model, instruction, left,
					  &block);
		if (!error && block->count)
			error = execute(why, path, block, step, cycles);
		pesa_mca_block_free(block);
	}
	free(instruction);
	free(removed);
	free(step);
	return error;
}

/* ---- The estimate ---------------------------------------------------------------------------- */

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

static struct pesa_estimate estimate_of(const struct pesa_why *why, const struct why_change *change,
					const struct sums *sums)
{
	const struct pesa_compare_totals *totals = &why->compare->totals;
	double deviations = pesa_estimate_deviations(why->compare->options.confidence);
	double misfit = fmax(change->misfit, totals->misfit_region);
	double rest = REST_LEAST * totals->cycles;
	double net = sums->gross - sums->exposed, moved = MOVED * fmin(sums->gross, sums->exposed);
	double half = deviations * sqrt(sums->variance + rest * rest +
					misfit * misfit * (net * net + moved * moved));
	double low = fmin(sums->scaled, sums->predicted) - half;
	double high = fmax(sums->scaled, sums->predicted) + half;
	double allowed = fmax(sums->allowed, change->waits);

	return (struct pesa_estimate){
		.value = fmax(sums->scaled, 0),
		.low = change->removes_events ? fmax(low, -deviations * rest) : low,
		.high = fmax(fmin(high, allowed), fmax(sums->scaled, 0)),
		.enough = true,
	};
}

static void sum_effects(const struct pesa_why *why, const struct why_change *change,
			const struct effect *effects, struct why_saved *saved)
{
	const struct compare_code *code = &why->compare->code;
	struct sums sums = {0};

	for (uint32_t i = 0; i < code->count; i++)
		if (code->node[i].occurrences > 0)
			add_node(why, &code->node[i], &effects[i], &sums);
	sums.scaled = sums.gross - sums.exposed;
	saved->exposed = sums.exposed;
	saved->saved = estimate_of(why, change, &sums);
}

/* ---- The estimate where instructions are not there any more ---------------------------------- */

/* Cycles of what a change makes shorter or longer. */
struct totals {
	double measured, before, after; /* `before` and `after` are predicted */
	double squared;			/* of weights, for the variance of `measured` */
};

static void add_total(const struct compare_node *node, const struct effect *effect,
		      struct totals *totals)
{
	double measured[WHY_STATES], before = 0, after = 0;

	for (enum why_state state = 0; state < WHY_STATES; state++) {
		before += effect->before[state];
		after += effect->after[state];
	}
	if (before == after)
		return;
	measured_cycles(node, measured);
	for (enum why_state state = 0; state < WHY_STATES; state++)
		totals->measured += measured[state];
	totals->before += before / node->occurrences * node->executions;
	totals->after += after / node->occurrences * node->executions;
	totals->squared += node->measured ? node->measured->weight_squared : 0;
}

/*
 * Without some instructions cycles go over from one to another, so what counts is the sum.  It is
 * predicted, or the predicted share of what was measured; the less of both is taken.  Where the model
 * misses a large part of the measured cycles, what it knows may be hidden by the rest: it may be nothing.
 */
static void sum_totals(const struct pesa_why *why, const struct why_change *change,
		       const struct effect *effects, struct why_saved *saved)
{
	const struct pesa_compare_totals *compared = &why->compare->totals;
	const struct compare_code *code = &why->compare->code;
	const double deviations = pesa_estimate_deviations(why->compare->options.confidence);
	double misfit = fmax(change->misfit, compared->misfit_region);
	double rest = REST_LEAST * compared->cycles, predicted, scaled, half;
	struct totals totals = {0};

	for (uint32_t i = 0; i < code->count; i++)
		if (code->node[i].occurrences > 0)
			add_total(&code->node[i], &effects[i], &totals);
	predicted = totals.before - totals.after;
	scaled = totals.before > 0 ? predicted * totals.measured / totals.before : 0;
	half = totals.before > 0 && !pesa_profile_totals(why->profile)->exact
		       ? totals.squared * (predicted / totals.before) * (predicted / totals.before)
		       : 0;
	half += DIFFERENCE_LEAST * DIFFERENCE_LEAST * totals.before * totals.before;
	half = deviations * sqrt(half + rest * rest + misfit * misfit * predicted * predicted);
	saved->saved = (struct pesa_estimate){
		.value = fmax(fmin(predicted, scaled), 0),
		.low = fmin(predicted, scaled) - half,
		.high = fmax(predicted, scaled) + half,
		.enough = true,
	};
	if (totals.measured > EXPLAINED_LEAST * totals.before)
		saved->saved.low = fmin(saved->saved.low, 0);
}

/* Execute all paths without a change, unless that was done. */
static struct pesa_error *prepare(struct pesa_why *why)
{
	const struct compare_paths *paths = &why->compare->paths;
	struct pesa_error *error = NULL;
	struct why_trials *trials;
	size_t changed;

	if (why->trials)
		return NULL;
	trials = calloc(1, sizeof(*trials));
	if (!trials)
		return pesa_error_no_memory();
	trials->before = calloc(paths->steps + 1, sizeof(*trials->before));
	trials->after = calloc(paths->steps + 1, sizeof(*trials->after));
	trials->effects = calloc((size_t)why->compare->code.count + 1, sizeof(*trials->effects));
	if (!trials->before || !trials->after || !trials->effects)
		error = pesa_error_no_memory();
	for (size_t i = 0; i < paths->count && !error; i++)
		error = try_path(why, &paths->path[i], NULL, NULL,
				 trials->before + paths->path[i].first, &changed);
	if (error) {
		why_trials_free(trials);
		return error;
	}
	why->trials = trials;
	return NULL;
}

struct pesa_error *why_trial(struct pesa_why *why, const struct why_change *change,
			     struct why_saved *saved)
{
	const struct pesa_compare *compare = why->compare;
	const struct compare_paths *paths = &compare->paths;
	struct pesa_error *error = prepare(why);
	struct why_trials *trials = why->trials;

	*saved = (struct why_saved){0};
	for (uint32_t i = 0; i < compare->code.count && !error; i++)
		trials->effects[i] = (struct effect){0};
	for (size_t i = 0; i < paths->count && !error; i++) {
		const struct compare_path *path = &paths->path[i];
		size_t changed;

		error = try_path(why, path, change->changer, change->context,
				 trials->after + path->first, &changed);
		saved->changes += changed;
		for (size_t at = path->first + path->warm; at < path->first + path->count; at++) {
			struct effect *effect = &trials->effects[paths->step[at].node];
			const struct why_cycles *before = &trials->before[at];
			const struct why_cycles *now = changed ? &trials->after[at] : before;

			for (enum why_state state = 0; state < WHY_STATES; state++) {
				effect->before[state] += path->weight * before->in[state];
				effect->after[state] += path->weight * now->in[state];
			}
		}
	}
	if (!error)
		(change->fewer ? sum_totals : sum_effects)(why, change, trials->effects, saved);
	return error;
}

void why_trials_free(struct why_trials *trials)
{
	if (!trials)
		return;
	free(trials->before);
	free(trials->after);
	free(trials->effects);
	free(trials);
}
