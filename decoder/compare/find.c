/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Findings: which entries of the model are wrong.
 *
 * Each class and resource that the walks use gives candidates: the model with one number changed.
 * A candidate's effect is what the walks take with it that they did not take without.  The one that
 * explains most of the differences is taken, its number chosen by further runs, and the search goes
 * on from the corrected model, until nothing significant is left.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/compare/search.h"

#define FINDINGS_MAX 12
#define ROUNDS_MAX   24	   /* findings, and better values of them */
#define TRIALS_MAX   16	   /* values of one candidate */
#define SHARE_LEAST  0.004 /* of the core time: smaller effects are not looked at */
#define TIE_GAIN     0.9   /* of the gain of the best one, which another one reaches */
#define CHOICE_GAIN  0.3   /* likewise of a step, so that its whole value is looked at */
#define CHOICES_MAX  5
#define DIRECT_LEAST 0.25 /* of what an effect makes slower: the rest may be for another reason */

/* ---- One candidate ------------------------------------------------------------------------- */

/* The value to look at first: latencies show little steps, a resource only what saturates it. */
static int probe(const struct compare_candidate *candidate)
{
	int value = candidate->model_value;

	switch (candidate->kind) {
	case PESA_COMPARE_LATENCY:
		return value + (value >= 8 ? value / 4 : 1);
	case PESA_COMPARE_CYCLES:
		return value + (value >= 8 ? value / 2 : 2);
	case PESA_COMPARE_ADVANCE:
		return 0;
	default:
		return value - 1;
	}
}

/* Whether the differences show some of the effect. */
static bool is_visible(const struct compare_search *search,
		       const struct compare_candidate *candidate)
{
	return candidate->error > 0 && candidate->gain > 0 &&
	       candidate->theta / candidate->error > search->deviations &&
	       candidate->shifted * fabs(candidate->theta) >= SHARE_LEAST * search->core;
}

/*
 * Whether they show it whole: numbers of a model are whole ones, and part of a step is misfit. That
 * all of the effect explains more than nothing of it means that it is nearer to all.
 */
bool compare_is_significant(const struct compare_search *search,
			    const struct compare_candidate *candidate)
{
	return is_visible(search, candidate) && candidate->theta > 0.5 &&
	       candidate->direct > DIRECT_LEAST &&
	       candidate->whole > search->deviations * search->deviations &&
	       candidate->shifted >= SHARE_LEAST * search->core;
}

static bool look(struct compare_search *search, struct compare_candidate *candidate, int value,
		 int *tried, unsigned int *trials, struct pesa_error **error)
{
	if (value < 0 || value > PESA_MCA_LATENCY_MAX || value == candidate->model_value)
		return false;
	for (unsigned int i = 0; i < *trials; i++)
		if (tried[i] == value)
			return false;
	if (*trials == TRIALS_MAX)
		return false;
	tried[(*trials)++] = value;
	*error = compare_try(search, candidate, value);
	return !*error;
}

/*
 * The value whose effect explains most when it is taken whole: from the one it has in steps that
 * double until it is too much, then between the neighbours of the best one.  The candidate is left
 * at it.
 */
static struct pesa_error *refine(struct compare_search *search, struct compare_candidate *candidate)
{
	int base = candidate->model_value, best = candidate->value, step = best - base;
	int tried[TRIALS_MAX] = {best};
	struct pesa_error *error = NULL;
	double most = candidate->whole;
	unsigned int trials = 1;

	if (candidate->kind == PESA_COMPARE_ADVANCE || candidate->kind == PESA_COMPARE_UNITS)
		return NULL;
	for (step *= 2; look(search, candidate, base + step, tried, &trials, &error); step *= 2) {
		bool better = candidate->whole > most;

		if (better) {
			most = candidate->whole;
			best = candidate->value;
		}
		if (!better && !(candidate->ratio > 1))
			break;
	}
	for (step = (best - base) / 2 + 1; step && !error; step /= 2)
		for (int sign = -1; sign <= 1 && !error; sign += 2)
			if (look(search, candidate, best + sign * step, tried, &trials, &error) &&
			    candidate->whole > most) {
				most = candidate->whole;
				best = candidate->value;
			}
	return error || candidate->value == best ? error : compare_try(search, candidate, best);
}

/* ---- Findings ------------------------------------------------------------------------------ */

struct mnemonic {
	const char *name;
	double executions;
};

static int more_often_first(const void *left, const void *right)
{
	double a = ((const struct mnemonic *)left)->executions;
	double b = ((const struct mnemonic *)right)->executions;

	return a > b ? -1 : a < b;
}

static void name_instructions(const struct compare_search *search,
			      const struct compare_candidate *candidate,
			      struct pesa_compare_finding *finding)
{
	const struct compare_code *code = &search->compare->code;
	struct mnemonic found[64];
	unsigned int count = 0;
	size_t used = 0;

	for (uint32_t i = 0; i < code->count; i++) {
		const char *name;
		unsigned int at;

		if (!compare_touches(search->original, candidate, code->node[i].class))
			continue;
		finding->executions += search->executions[i];
		name = pesa_opcode_get(code->node[i].insn.opcode)->mnemonic;
		for (at = 0; at < count && found[at].name != name; at++)
			;
		if (at == count && count < sizeof(found) / sizeof(found[0]))
			found[count++] = (struct mnemonic){.name = name};
		if (at < count)
			found[at].executions += search->executions[i];
	}
	qsort(found, count, sizeof(*found), more_often_first);
	for (unsigned int i = 0;
	     i < count && used + strlen(found[i].name) + 2 < sizeof(finding->mnemonics); i++)
		used += (size_t)snprintf(finding->mnemonics + used,
					 sizeof(finding->mnemonics) - used, "%s%s", i ? " " : "",
					 found[i].name);
}

static void name_equivalents(const struct compare_search *search,
			     const struct compare_candidate *candidate,
			     struct pesa_compare_finding *finding)
{
	struct compare_candidate other = *candidate;

	if (candidate->kind != PESA_COMPARE_UNITS)
		return;
	for (unsigned int i = 0;
	     i < search->original->resource_count && finding->equivalents < PESA_COMPARE_TIES;
	     i++) {
		other.resource = i;
		if (i != candidate->resource &&
		    compare_is_interchangeable(search->original, candidate->resource, i))
			compare_describe(search->original, &other, candidate->value,
					 finding->equivalent[finding->equivalents++],
					 sizeof(finding->equivalent[0]));
	}
}

static void fill_finding(const struct compare_search *search, struct compare_candidate *candidate,
			 struct pesa_compare_finding *finding)
{
	const struct pesa_compare *compare = search->compare;
	int step = candidate->value - candidate->model_value;
	double half = pesa_estimate_deviations(compare->options.confidence) * abs(step) *
		      candidate->error;

	*finding = (struct pesa_compare_finding){
		.kind = candidate->kind,
		.model = candidate->base_value,
		.measured = candidate->value,
		.deviations = candidate->theta / candidate->error,
		.cycles = finding->cycles + candidate->moved,
		.estimate =
			{
				.value = candidate->value,
				.low = candidate->value - half,
				.high = candidate->value + half,
				.enough = true,
			},
	};
	if (candidate->kind != PESA_COMPARE_UNITS)
		finding->class = compare->base->class_names[candidate->class];
	if (candidate->kind == PESA_COMPARE_UNITS || candidate->kind == PESA_COMPARE_CYCLES)
		finding->resource = compare->base->resources[candidate->resource].name;
	compare_describe(compare->model, candidate, candidate->value, finding->change,
			 sizeof(finding->change));
	name_equivalents(search, candidate, finding);
	name_instructions(search, candidate, finding);
	for (unsigned int i = 0; i < candidate->examples; i++) {
		const struct compare_node *node = &compare->code.node[candidate->example[i]];

		finding->example[finding->examples].dso = node->dso;
		finding->example[finding->examples++].address = node->address;
	}
}

static void add_tie(struct compare_search *search, struct pesa_compare_finding *finding,
		    const struct compare_candidate *candidate)
{
	if (finding->ties < PESA_COMPARE_TIES)
		compare_describe(search->compare->model, candidate, candidate->value,
				 finding->tie[finding->ties++], sizeof(finding->tie[0]));
}

/*
 * A small step shows what is exposed already.  Where that shows nothing, a large one may: most of a
 * latency is hidden until it is long.
 */
struct pesa_error *compare_try_first(struct compare_search *search,
				     struct compare_candidate *candidate)
{
	struct pesa_error *error = compare_try(search, candidate, probe(candidate));

	if (error || candidate->kind != PESA_COMPARE_LATENCY || is_visible(search, candidate))
		return error;
	return compare_try(search, candidate, 2 * candidate->model_value + 1);
}

/* Effects that were not looked at yet, and those of earlier models, on the present differences. */
static struct pesa_error *try_all(struct compare_search *search)
{
	struct pesa_error *error = NULL;

	for (unsigned int i = 0; i < search->candidates && !error; i++) {
		struct compare_candidate *candidate = &search->candidate[i];

		candidate->refused = candidate->closed;
		if (candidate->closed)
			continue;
		if (!candidate->effect)
			error = compare_try_first(search, candidate);
		else
			error = compare_fit_effect(search, candidate);
	}
	return error;
}

/*
 * The effects that were determined on an earlier model: what was found since hides some of them and
 * exposes others.  `any` tells whether there were such.
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

static struct compare_candidate *best_of(struct compare_search *search)
{
	struct compare_candidate *best = NULL;

	for (unsigned int i = 0; i < search->candidates; i++) {
		struct compare_candidate *candidate = &search->candidate[i];

		if (!candidate->refused && is_visible(search, candidate) &&
		    (!best || candidate->gain > best->gain))
			best = candidate;
	}
	return best;
}

/* The model has another value now: what else this class and resource do depends on it. */
void compare_has_value(struct compare_search *search, struct compare_candidate *changed, int value)
{
	changed->model_value = value;
	changed->closed = value != changed->base_value && (changed->kind == PESA_COMPARE_ADVANCE ||
							   changed->kind == PESA_COMPARE_UNITS);
	for (unsigned int i = 0; i < search->candidates; i++) {
		struct compare_candidate *other = &search->candidate[i];

		if (other == changed ||
		    (other->kind != PESA_COMPARE_UNITS && changed->kind != PESA_COMPARE_UNITS &&
		     other->class == changed->class)) {
			free(other->effect);
			other->effect = NULL;
		}
	}
}

struct pesa_error *compare_accept(struct compare_search *search, struct compare_candidate *best)
{
	struct pesa_compare *compare = search->compare;
	struct pesa_compare_finding *finding;
	struct pesa_error *error;

	/* One that was found before has another value now. */
	if (best->finding == COMPARE_NONE)
		best->finding = compare->findings++;
	finding = &compare->finding[best->finding];
	fill_finding(search, best, finding);
	for (unsigned int i = 0; i < search->candidates; i++) {
		const struct compare_candidate *other = &search->candidate[i];

		/* What was not looked at now has the gain that it had on another model. */
		if (other != best && !other->refused && is_visible(search, other) &&
		    other->gain > TIE_GAIN * best->gain)
			add_tie(search, finding, other);
	}
	error = compare_adopt(search, best);
	if (!error)
		compare_has_value(search, best, best->value);
	return error;
}

/* Give a candidate its value, on the model as it is now. */
struct pesa_error *compare_settle(struct compare_search *search,
				  struct compare_candidate *candidate)
{
	struct pesa_error *error = NULL;

	/* Its effect may be that on an earlier model. */
	if (candidate->generation != search->generation)
		error = compare_try(search, candidate, candidate->value);
	return error || !is_visible(search, candidate) ? error : refine(search, candidate);
}

/* Of those that are visible and were not settled yet, the one that explains most. */
static struct compare_candidate *next_to_settle(struct compare_search *search, double least)
{
	struct compare_candidate *next = NULL;

	for (unsigned int i = 0; i < search->candidates; i++) {
		struct compare_candidate *candidate = &search->candidate[i];

		if (!candidate->refused && !candidate->settled && candidate->gain >= least &&
		    is_visible(search, candidate) && (!next || candidate->gain > next->gain))
			next = candidate;
	}
	return next;
}

/*
 * What is looked at first is a step in the direction of each candidate; of those that explain much
 * that way the one is right whose whole value does.
 */
static struct pesa_error *choose(struct compare_search *search, struct compare_candidate **best)
{
	double least = CHOICE_GAIN * (*best)->gain;
	struct compare_candidate *other;
	struct pesa_error *error = NULL;

	for (unsigned int i = 0; i < CHOICES_MAX && !error; i++) {
		other = next_to_settle(search, least);
		if (!other)
			break;
		other->settled = true;
		error = compare_settle(search, other);
	}
	for (unsigned int i = 0; i < search->candidates && !error; i++) {
		other = &search->candidate[i];
		if (other->settled && !other->refused && compare_is_significant(search, other) &&
		    (!compare_is_significant(search, *best) || other->whole > (*best)->whole))
			*best = other;
	}
	return error;
}

struct pesa_error *compare_find_among(struct compare_search *search, bool *found)
{
	struct compare_candidate *best;
	struct pesa_error *error = NULL;

	*found = false;
	for (unsigned int i = 0; i < search->candidates; i++)
		search->candidate[i].settled = false;
	while (!error && !*found && (best = best_of(search))) {
		error = choose(search, &best);
		if (error)
			break;
		if (compare_is_significant(search, best)) {
			error = compare_accept(search, best);
			*found = true;
		} else {
			best->refused = true;
		}
	}
	return error;
}

struct pesa_error *compare_find_all(struct compare_search *search)
{
	struct pesa_error *error = NULL;
	bool found = true, outdated;

	for (unsigned int i = 0;
	     i < ROUNDS_MAX && !error && found && search->compare->findings < FINDINGS_MAX; i++) {
		compare_make_residuals(search);
		error = try_all(search);
		if (!error)
			error = compare_find_among(search, &found);
		if (error || found)
			continue;
		/* What is not significant as it was on an earlier model may be on this one. */
		error = try_outdated(search, &outdated);
		if (!error && outdated)
			error = compare_find_among(search, &found);
	}
	return error;
}

static void search_free(struct compare_search *search)
{
	for (unsigned int i = 0; i < search->candidates; i++)
		free(search->candidate[i].effect);
	free(search->candidate);
	pesa_mca_model_free(search->original);
	free(search->residuals.node);
	free(search->residuals.piece);
	free(search->executions);
	free(search->change);
	free(search->touched);
	free(search->trial);
	free(search->affected);
	free(search->class_used);
	free(search->sum);
	free(search->difference);
}

struct pesa_error *compare_find(struct pesa_compare *compare)
{
	uint32_t nodes = compare->code.count, pieces = compare->regions.groups;
	struct compare_search search = {
		.compare = compare,
		.residuals = {.node = calloc(nodes + 1, sizeof(*search.residuals.node)),
			      .piece = calloc(pieces + 1, sizeof(*search.residuals.piece)),
			      .regions = compare->regions.count},
		.executions = calloc(nodes + 1, sizeof(*search.executions)),
		.change = calloc(nodes + 1, sizeof(*search.change)),
		.touched = calloc(pieces + 1, sizeof(*search.touched)),
		.trial = calloc(compare->walks.steps + 1, sizeof(*search.trial)),
		.affected = calloc(compare->walks.count + 1, sizeof(*search.affected)),
		.class_used = calloc(compare->model->class_count + 1, sizeof(*search.class_used)),
		.sum = calloc(compare->regions.count + 1, sizeof(*search.sum)),
		.difference = calloc(nodes + 1, sizeof(*search.difference)),
		.core = compare->totals.time.core,
	};
	struct pesa_error *error = NULL;

	compare->finding = calloc(FINDINGS_MAX, sizeof(*compare->finding));
	if (!search.residuals.node || !search.residuals.piece || !search.touched ||
	    !search.executions || !search.change || !search.trial || !search.affected ||
	    !search.class_used || !compare->finding || !search.sum || !search.difference ||
	    !compare_pool_executions(&search))
		error = pesa_error_no_memory();
	if (!error)
		error = pesa_mca_model_vary(compare->model, &search.original);
	if (!error)
		error = compare_list_candidates(&search);
	/* One-sided, of the best of all candidates. */
	if (search.candidates)
		search.deviations = pesa_estimate_deviations(
			1 - 2 * (1 - compare->options.confidence) / search.candidates);
	if (!error)
		error = compare_find_all(&search);
	if (!error)
		error = compare_find_again(&search);
	search_free(&search);
	return error;
}

unsigned int pesa_compare_finding_count(const struct pesa_compare *compare)
{
	return compare->findings;
}

const struct pesa_compare_finding *pesa_compare_finding(const struct pesa_compare *compare,
							unsigned int index)
{
	return &compare->finding[index];
}

const char *pesa_compare_change_name(enum pesa_compare_change kind)
{
	static const char *const names[PESA_COMPARE_CHANGES] = {
		[PESA_COMPARE_LATENCY] = "latency",
		[PESA_COMPARE_CYCLES] = "resource",
		[PESA_COMPARE_ADVANCE] = "advance",
		[PESA_COMPARE_UNITS] = "units",
	};

	return names[kind];
}
