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

#include "decoder/compare_search.h"

#define FINDINGS_MAX 12
#define ROUNDS_MAX   24	   /* findings, and better values of them */
#define TRIALS_MAX   16	   /* values of one candidate */
#define SHARE_LEAST  0.004 /* of the core time: smaller effects are not looked at */
#define TIE_GAIN     0.9   /* of the gain of the best one, which another one reaches */
#define PROMISING    1.0   /* deviations */

/* ---- Candidates ---------------------------------------------------------------------------- */

static bool add_candidate(struct compare_search *search, struct compare_candidate candidate)
{
	if (search->candidates == search->room) {
		unsigned int room = search->room ? 2 * search->room : 64;
		struct compare_candidate *larger =
			realloc(search->candidate, room * sizeof(*larger));

		if (!larger)
			return false;
		search->candidate = larger;
		search->room = room;
	}
	candidate.base_value = candidate.model_value;
	candidate.finding = COMPARE_NONE;
	search->candidate[search->candidates++] = candidate;
	return true;
}

static int latency_of(const struct pesa_mca_model *model, unsigned int class)
{
	int longest = -1;

	for (unsigned int i = 0; i < model->classes[class].writes; i++)
		if (model->writes[model->classes[class].write + i].latency > longest)
			longest = model->writes[model->classes[class].write + i].latency;
	return longest;
}

static bool add_class(struct compare_search *search, unsigned int class)
{
	const struct pesa_mca_model *model = search->compare->model;
	const struct mca_class *costs = &model->classes[class];
	struct compare_candidate candidate = {.class = class};
	bool done = true, advances = false;

	candidate.model_value = latency_of(model, class);
	if (candidate.model_value >= 0)
		done = add_candidate(search, candidate);
	for (unsigned int i = 0; i < costs->uses && done; i++) {
		const struct pesa_mca_use *use = &model->uses[costs->use + i];

		candidate.kind = PESA_COMPARE_CYCLES;
		candidate.resource = use->resource;
		candidate.model_value = (int)use->release;
		if (use->release > use->acquire)
			done = add_candidate(search, candidate);
	}
	for (unsigned int i = 0; i < costs->advances; i++)
		advances |= model->advances[costs->advance + i].cycles > 0;
	candidate.kind = PESA_COMPARE_ADVANCE;
	candidate.resource = 0;
	candidate.model_value = costs->advances ? model->advances[costs->advance].cycles : 0;
	if (advances && done)
		done = add_candidate(search, candidate);
	return done;
}

static bool is_used_directly(const struct compare_search *search, unsigned int resource)
{
	const struct pesa_mca_model *model = search->compare->model;

	for (unsigned int i = 0; i < model->use_count; i++)
		if (model->uses[i].resource == resource)
			return true;
	return false;
}

static bool add_resource(struct compare_search *search, unsigned int resource)
{
	const struct pesa_mca_model *model = search->compare->model;
	const struct compare_candidate candidate = {
		.kind = PESA_COMPARE_UNITS,
		.resource = resource,
		.model_value = (int)model->resources[resource].units,
	};

	if (model->resources[resource].group ||
	    (candidate.model_value == 1 && is_used_directly(search, resource)))
		return true;
	return add_candidate(search, candidate);
}

static struct pesa_error *list_candidates(struct compare_search *search)
{
	const struct pesa_compare *compare = search->compare;
	bool done = true;

	for (uint32_t i = 0; i < compare->code.count; i++)
		if (compare->code.node[i].class >= 0)
			search->class_used[compare->code.node[i].class] = true;
	for (unsigned int i = 0; i < compare->model->class_count && done; i++)
		if (search->class_used[i])
			done = add_class(search, i);
	for (unsigned int i = 0; i < compare->model->resource_count && done; i++)
		done = add_resource(search, i);
	return done ? NULL : pesa_error_no_memory();
}

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
static bool is_significant(const struct compare_search *search,
			   const struct compare_candidate *candidate)
{
	return is_visible(search, candidate) && candidate->theta > 0.5 &&
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
 * The value whose effect is nearest to what is shown: in steps that double until it is more, then
 * between the neighbours of the best one.  The candidate is left at it.
 */
static struct pesa_error *refine(struct compare_search *search, struct compare_candidate *candidate)
{
	int tried[TRIALS_MAX], base = candidate->model_value, best = base + 1, step;
	struct pesa_error *error = NULL;
	double off = INFINITY;
	unsigned int trials = 0;

	if (candidate->kind == PESA_COMPARE_ADVANCE || candidate->kind == PESA_COMPARE_UNITS)
		return NULL;
	for (step = 1 + base / 16; look(search, candidate, base + step, tried, &trials, &error);
	     step *= 2) {
		if (fabs(candidate->ratio - 1) < off) {
			off = fabs(candidate->ratio - 1);
			best = candidate->value;
		}
		if (!(candidate->ratio > 1))
			break;
	}
	for (step = (best - base) / 2 + 1; step && !error; step /= 2)
		for (int sign = -1; sign <= 1 && !error; sign += 2)
			if (look(search, candidate, best + sign * step, tried, &trials, &error) &&
			    fabs(candidate->ratio - 1) < off) {
				off = fabs(candidate->ratio - 1);
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

		if (!compare_touches(search->compare->model, candidate, code->node[i].class))
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
	name_instructions(search, candidate, finding);
	for (unsigned int i = 0; i < candidate->examples; i++) {
		const struct compare_node *node = &compare->code.node[candidate->example[i]];

		finding->example[finding->examples].dso = node->dso;
		finding->example[finding->examples++].address = node->address;
	}
}

/* The model, and all predictions, with the candidate's change. */
static struct pesa_error *adopt(struct compare_search *search,
				const struct compare_candidate *candidate)
{
	struct pesa_compare *compare = search->compare;
	const struct compare_walks *walks = &compare->walks;
	struct pesa_error *error = compare_simulate(search, candidate, candidate->value);
	char text[256];

	if (error)
		return error;
	compare_describe(compare->model, candidate, candidate->value, text, sizeof(text));
	error = pesa_mca_model_change(compare->model, text, NULL);
	for (size_t i = 0; i < walks->count && !error; i++) {
		const struct compare_walk *walk = &walks->walk[i];

		for (unsigned int j = 0; search->affected[i] && j < walk->count; j++) {
			size_t at = walk->first + j;
			struct compare_node *node = &compare->code.node[walks->step[at].node];
			struct compare_predicted *then = &compare->predicted[at];

			if (j >= walk->warm) {
				node->retiring += walk->weight *
						  (search->trial[at].retiring - then->retiring);
				node->stalled +=
					walk->weight * (search->trial[at].stalled - then->stalled);
			}
			*then = search->trial[at];
		}
	}
	return error;
}

static void add_tie(struct compare_search *search, struct pesa_compare_finding *finding,
		    const struct compare_candidate *candidate)
{
	if (finding->ties < PESA_COMPARE_TIES)
		compare_describe(search->compare->model, candidate, candidate->value,
				 finding->tie[finding->ties++], sizeof(finding->tie[0]));
}

/*
 * A small step shows what is exposed already.  Where it shows something, but not enough, a large
 * one may: most of a latency is hidden until it is long.
 */
static struct pesa_error *try_first(struct compare_search *search,
				    struct compare_candidate *candidate)
{
	struct pesa_error *error = compare_try(search, candidate, probe(candidate));

	if (error || candidate->kind != PESA_COMPARE_LATENCY || is_visible(search, candidate) ||
	    !(candidate->theta > PROMISING * candidate->error))
		return error;
	return compare_try(search, candidate, 2 * candidate->model_value + 1);
}

/* Effects that were not looked at yet, on the differences as they are now. */
static struct pesa_error *try_all(struct compare_search *search)
{
	struct pesa_error *error = NULL;

	for (unsigned int i = 0; i < search->candidates && !error; i++) {
		struct compare_candidate *candidate = &search->candidate[i];

		candidate->refused = candidate->closed;
		if (candidate->closed)
			continue;
		if (!candidate->effect)
			error = try_first(search, candidate);
		else
			error = compare_fit_effect(search, candidate);
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

static struct pesa_error *accept(struct compare_search *search, struct compare_candidate *best)
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

		if (other != best && is_visible(search, other) &&
		    other->gain > TIE_GAIN * best->gain)
			add_tie(search, finding, other);
	}
	error = adopt(search, best);
	if (error)
		return error;
	search->generation++;
	search->simulated = NULL;
	best->model_value = best->value;
	best->closed = best->kind == PESA_COMPARE_ADVANCE || best->kind == PESA_COMPARE_UNITS;
	/* What else this class and resource do depends on it. */
	for (unsigned int i = 0; i < search->candidates; i++) {
		struct compare_candidate *other = &search->candidate[i];

		if (other == best ||
		    (other->kind != PESA_COMPARE_UNITS && best->kind != PESA_COMPARE_UNITS &&
		     other->class == best->class)) {
			free(other->effect);
			other->effect = NULL;
		}
	}
	return NULL;
}

/* Give a candidate its value, on the model as it is now. */
static struct pesa_error *settle(struct compare_search *search, struct compare_candidate *candidate)
{
	struct pesa_error *error = NULL;

	/* Its effect may be that on an earlier model. */
	if (candidate->generation != search->generation)
		error = compare_try(search, candidate, candidate->value);
	return error || !is_visible(search, candidate) ? error : refine(search, candidate);
}

/*
 * What is looked at first is a step in the direction of each candidate; of those that explain about
 * as much that way the one is right whose whole value does.
 */
static struct pesa_error *choose(struct compare_search *search, struct compare_candidate **best)
{
	double least = TIE_GAIN * (*best)->gain;
	struct pesa_error *error = settle(search, *best);

	for (unsigned int i = 0; i < search->candidates && !error; i++) {
		struct compare_candidate *other = &search->candidate[i];

		if (other == *best || other->refused || !is_visible(search, other) ||
		    other->gain <= least)
			continue;
		error = settle(search, other);
		if (!error && is_significant(search, other) &&
		    (!is_significant(search, *best) || other->whole > (*best)->whole))
			*best = other;
	}
	return error;
}

static struct pesa_error *find_one(struct compare_search *search, bool *found)
{
	struct compare_candidate *best;
	struct pesa_error *error;

	*found = false;
	compare_make_residuals(search);
	error = try_all(search);
	while (!error && !*found && (best = best_of(search))) {
		error = choose(search, &best);
		if (error)
			break;
		if (is_significant(search, best)) {
			error = accept(search, best);
			*found = true;
		} else {
			best->refused = true;
		}
	}
	return error;
}

static void search_free(struct compare_search *search)
{
	for (unsigned int i = 0; i < search->candidates; i++)
		free(search->candidate[i].effect);
	free(search->candidate);
	free(search->residual);
	free(search->executions);
	free(search->change);
	free(search->trial);
	free(search->affected);
	free(search->class_used);
	free(search->sum);
	free(search->difference);
}

struct pesa_error *compare_find(struct pesa_compare *compare)
{
	uint32_t nodes = compare->code.count;
	struct compare_search search = {
		.compare = compare,
		.residual = calloc(nodes + 1, sizeof(*search.residual)),
		.executions = calloc(nodes + 1, sizeof(*search.executions)),
		.change = calloc(nodes + 1, sizeof(*search.change)),
		.trial = calloc(compare->walks.steps + 1, sizeof(*search.trial)),
		.affected = calloc(compare->walks.count + 1, sizeof(*search.affected)),
		.class_used = calloc(compare->model->class_count + 1, sizeof(*search.class_used)),
		.sum = calloc(compare->regions.count + 1, sizeof(*search.sum)),
		.difference = calloc(compare->regions.count + 1, sizeof(*search.difference)),
		.core = compare->totals.time.core,
	};
	struct pesa_error *error = NULL;
	bool found = true;

	compare->finding = calloc(FINDINGS_MAX, sizeof(*compare->finding));
	if (!search.residual || !search.executions || !search.change || !search.trial ||
	    !search.affected || !search.class_used || !compare->finding || !search.sum ||
	    !search.difference || !compare_pool_executions(&search))
		error = pesa_error_no_memory();
	if (!error)
		error = list_candidates(&search);
	/* One-sided, of the best of all candidates. */
	if (search.candidates)
		search.deviations = pesa_estimate_deviations(
			1 - 2 * (1 - compare->options.confidence) / search.candidates);
	for (unsigned int i = 0;
	     i < ROUNDS_MAX && !error && found && compare->findings < FINDINGS_MAX; i++)
		error = find_one(&search, &found);
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
