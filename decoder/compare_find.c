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

#include "decoder/compare_fit.h"
#include "decoder/compare_misfit.h"

#define FINDINGS_MAX	   12
#define TRIALS_MAX	   16 /* values of one candidate */
#define MISFIT_LEAST	   0.03
#define EVENT_MISFIT	   0.3	 /* of stalls with an event that may be core time, or hide some */
#define PHASE_MISFIT	   0.15	 /* cycles an execution: with whom an instruction retires is luck */
#define SHARE_LEAST	   0.004 /* of the core time: smaller effects are not looked at */
#define PIECE_IN_ORDER	   4	 /* instructions */
#define PIECE_OUT_OF_ORDER 8
#define TOUCHED		   0.05 /* of a region, from where on it is touched */
#define UNTOUCHED_MIN	   8	/* regions */
#define UNTOUCHED_SHARE	   0.2
#define TIE_GAIN	   0.9 /* of the gain of the best one, which another one reaches */
#define PROMISING	   1.0 /* deviations */

struct region_sum {
	double predicted, measured, variance;
	double touched; /* by the candidate at hand, cycles */
};

struct search {
	struct pesa_compare *compare;
	struct compare_residual *residual; /* by piece */
	uint32_t *piece;		   /* by node */
	uint32_t pieces;
	double *executions; /* by node: those of its straight piece of code */
	double *change;	    /* by node: scratch */
	struct compare_candidate *candidate;
	unsigned int candidates, room;
	struct compare_predicted *trial; /* by step */
	uint8_t *affected;		 /* by walk, of the change at hand */
	bool *class_used;
	struct region_sum *sum; /* by region */
	struct compare_difference *difference;
	double misfit, core;
	/* What search->trial holds: nothing is executed twice. */
	const struct compare_candidate *simulated;
	int simulated_value;
	unsigned int generation; /* of the model: how often it was corrected */
	double deviations;	 /* that are significant, over all candidates */
};

/* ---- Residuals ----------------------------------------------------------------------------- */

/* Instructions of a straight piece of code were executed as often as each other. */
static bool pool_executions(struct search *search)
{
	const struct compare_code *code = &search->compare->code;
	uint32_t groups = search->compare->regions.groups;
	double *sum = calloc(groups + 1, sizeof(*sum));
	uint32_t *count = calloc(groups + 1, sizeof(*count));

	for (uint32_t i = 0; sum && count && i < code->count; i++) {
		sum[code->node[i].group] += code->node[i].executions;
		count[code->node[i].group]++;
	}
	for (uint32_t i = 0; sum && count && i < code->count; i++)
		search->executions[i] = sum[code->node[i].group] / count[code->node[i].group];
	free(sum);
	free(count);
	return sum && count;
}

static double predicted_of(const struct compare_node *node)
{
	return node->occurrences ? (node->retiring + node->stalled) / node->occurrences : 0;
}

/* What regions measure and what is predicted for them. */
static void sum_regions(struct search *search)
{
	const struct pesa_compare *compare = search->compare;

	memset(search->sum, 0, compare->regions.count * sizeof(*search->sum));
	for (uint32_t i = 0; i < compare->code.count; i++) {
		const struct compare_node *node = &compare->code.node[i];
		struct region_sum *sum = &search->sum[node->region];

		if (!node->occurrences)
			continue;
		sum->predicted += predicted_of(node) * search->executions[i];
		sum->measured += node->time.core;
		sum->variance += compare_sampling_variance(compare, node, 0);
	}
}

/* The misfit of the regions that a candidate (NULL: none) does not touch. */
static double misfit_without(struct search *search, const struct compare_candidate *candidate)
{
	const struct pesa_compare *compare = search->compare;
	double all = 0, used = 0, misfit;
	uint32_t count = 0;

	for (uint32_t i = 0; i < compare->regions.count; i++)
		search->sum[i].touched = 0;
	for (uint32_t i = 0; candidate && i < candidate->effects; i++) {
		const struct compare_effect *effect = &candidate->effect[i];

		search->sum[search->residual[effect->piece].region].touched += fabs(effect->cycles);
	}
	for (uint32_t i = 0; i < compare->regions.count; i++) {
		const struct region_sum *sum = &search->sum[i];

		if (!(sum->predicted > 0))
			continue;
		all += sum->predicted;
		if (sum->touched > TOUCHED * sum->predicted)
			continue;
		used += sum->predicted;
		search->difference[count++] = (struct compare_difference){
			.relative = fabs(sum->measured - sum->predicted) / sum->predicted,
			.variance = sum->variance / (sum->predicted * sum->predicted),
			.weight = sum->predicted,
		};
	}
	if (candidate && (count < UNTOUCHED_MIN || used < UNTOUCHED_SHARE * all))
		return search->misfit;
	misfit = compare_misfit(search->difference, count);
	return misfit > MISFIT_LEAST ? misfit : MISFIT_LEAST;
}

static void make_residuals(struct search *search)
{
	const struct pesa_compare *compare = search->compare;

	sum_regions(search);
	search->misfit = misfit_without(search, NULL);
	memset(search->residual, 0, search->pieces * sizeof(*search->residual));
	for (uint32_t i = 0; i < compare->code.count; i++) {
		const struct compare_node *node = &compare->code.node[i];
		struct compare_residual *residual = &search->residual[search->piece[i]];
		double each = predicted_of(node), phase = PHASE_MISFIT * search->executions[i];

		residual->region = node->region;
		if (!node->occurrences || !node->measured)
			continue;
		residual->value += node->time.core - each * search->executions[i];
		residual->scale += each * search->executions[i];
		/* The variance until all are added up. */
		residual->weight +=
			compare_sampling_variance(compare, node, each) + phase * phase +
			EVENT_MISFIT * EVENT_MISFIT * node->time.event * node->time.event;
	}
	for (uint32_t i = 0; i < search->pieces; i++) {
		struct compare_residual *residual = &search->residual[i];
		double misfit = search->misfit * residual->scale;

		residual->weight += misfit * misfit;
		residual->weight = residual->weight > 0 ? 1 / residual->weight : 0;
	}
}

/*
 * Pieces: in which of a few neighbours a stall shows is as much luck as not, so that they are
 * looked at together.
 */
static void make_pieces(struct search *search)
{
	const struct compare_code *code = &search->compare->code;
	uint32_t length = 0, limit;

	limit = pesa_mca_model_is_out_of_order(search->compare->model) ? PIECE_OUT_OF_ORDER
								       : PIECE_IN_ORDER;

	for (uint32_t i = 0; i < code->count; i++) {
		if (i && (code->node[i].group != code->node[i - 1].group || length == limit)) {
			search->pieces++;
			length = 0;
		}
		search->piece[i] = search->pieces;
		length++;
	}
	search->pieces += code->count > 0;
}

/* ---- Effects ------------------------------------------------------------------------------- */

/* Whether the walk has an instruction that the change touches. */
static bool is_affected(const struct search *search, const struct compare_walk *walk,
			const struct compare_candidate *candidate)
{
	const struct pesa_compare *compare = search->compare;
	const struct pesa_mca_model *model = compare->model;

	for (unsigned int i = 0; i < walk->count; i++) {
		int class = compare->code.node[compare->walks.step[walk->first + i].node].class;

		if (class < 0)
			continue;
		if (candidate->kind != PESA_COMPARE_UNITS) {
			if ((unsigned int)class == candidate->class)
				return true;
			continue;
		}
		for (unsigned int j = 0; j < model->classes[class].uses; j++)
			if (model->masks[model->uses[model->classes[class].use + j].resource] &
			    model->masks[candidate->resource])
				return true;
	}
	return false;
}

/* The text of a change. */
static void describe(const struct pesa_mca_model *model, const struct compare_candidate *candidate,
		     int value, char *text, size_t size)
{
	const char *class = model->class_names[candidate->class];

	switch (candidate->kind) {
	case PESA_COMPARE_LATENCY:
		snprintf(text, size, "%s.latency=%d", class, value);
		break;
	case PESA_COMPARE_CYCLES:
		snprintf(text, size, "%s.%s=%d", class, model->resources[candidate->resource].name,
			 value);
		break;
	case PESA_COMPARE_ADVANCE:
		snprintf(text, size, "%s.advance=%d", class, value);
		break;
	default:
		snprintf(text, size, "%s.units=%d", model->resources[candidate->resource].name,
			 value);
		break;
	}
}

/* Execute all walks that a changed model affects; their steps are in search->trial. */
static struct pesa_error *simulate(struct search *search, const struct compare_candidate *candidate,
				   int value)
{
	struct pesa_compare *compare = search->compare;
	struct pesa_mca_model *model;
	struct pesa_error *error;
	char text[256];

	if (search->simulated == candidate && search->simulated_value == value)
		return NULL;
	search->simulated = NULL;
	error = pesa_mca_model_vary(compare->model, &model);
	if (error)
		return error;
	describe(model, candidate, value, text, sizeof(text));
	error = pesa_mca_model_change(model, text, NULL);
	for (size_t i = 0; i < compare->walks.count && !error; i++) {
		const struct compare_walk *walk = &compare->walks.walk[i];

		search->affected[i] = is_affected(search, walk, candidate);
		if (search->affected[i])
			error = compare_predict_walk(&compare->predictor, model, walk,
						     search->trial + walk->first, NULL);
	}
	pesa_mca_model_free(model);
	if (!error) {
		search->simulated = candidate;
		search->simulated_value = value;
	}
	return error;
}

static void keep_example(struct search *search, struct compare_candidate *candidate, uint32_t node)
{
	unsigned int at = candidate->examples;

	while (at && fabs(search->change[candidate->example[at - 1]]) < fabs(search->change[node]))
		at--;
	if (at == PESA_COMPARE_EXAMPLES)
		return;
	if (candidate->examples < PESA_COMPARE_EXAMPLES)
		candidate->examples++;
	for (unsigned int i = candidate->examples - 1; i > at; i--)
		candidate->example[i] = candidate->example[i - 1];
	candidate->example[at] = node;
}

/* The change of each node's predicted cycles, over all its executions. */
static void sum_changes(struct search *search)
{
	const struct pesa_compare *compare = search->compare;
	const struct compare_walks *walks = &compare->walks;

	memset(search->change, 0, compare->code.count * sizeof(*search->change));
	for (size_t i = 0; i < walks->count; i++) {
		const struct compare_walk *walk = &walks->walk[i];

		for (unsigned int j = walk->warm; search->affected[i] && j < walk->count; j++) {
			size_t at = walk->first + j;
			const struct compare_predicted *now = &search->trial[at];
			const struct compare_predicted *then = &compare->predicted[at];

			search->change[walks->step[at].node] +=
				walk->weight *
				(now->retiring + now->stalled - then->retiring - then->stalled);
		}
	}
	for (uint32_t i = 0; i < compare->code.count; i++)
		if (compare->code.node[i].occurrences)
			search->change[i] *=
				search->executions[i] / compare->code.node[i].occurrences;
}

/* The effect of the last simulation. */
static struct pesa_error *collect(struct search *search, struct compare_candidate *candidate)
{
	uint32_t count = 0, last = COMPARE_NONE, nodes = search->compare->code.count;

	sum_changes(search);
	for (uint32_t i = 0; i < nodes; i++)
		if (search->change[i] != 0 && search->piece[i] != last) {
			last = search->piece[i];
			count++;
		}
	free(candidate->effect);
	candidate->effect = calloc(count + 1, sizeof(*candidate->effect));
	if (!candidate->effect)
		return pesa_error_no_memory();
	candidate->effects = candidate->examples = 0;
	candidate->moved = 0;
	last = COMPARE_NONE;
	for (uint32_t i = 0; i < nodes; i++) {
		if (search->change[i] == 0)
			continue;
		if (search->piece[i] != last)
			candidate->effect[candidate->effects++].piece = last = search->piece[i];
		candidate->effect[candidate->effects - 1].cycles += search->change[i];
		candidate->moved += search->change[i];
		keep_example(search, candidate, i);
	}
	return NULL;
}

static struct pesa_error *fit(struct search *search, struct compare_candidate *candidate)
{
	candidate->misfit = misfit_without(search, candidate);
	if (compare_fit(search->residual, search->compare->regions.count, candidate))
		return NULL;
	return pesa_error_no_memory();
}

static struct pesa_error *try(struct search *search, struct compare_candidate *candidate, int value)
{
	struct pesa_error *error = simulate(search, candidate, value);

	candidate->value = value;
	candidate->generation = search->generation;
	if (!error)
		error = collect(search, candidate);
	if (!error)
		error = fit(search, candidate);
	search->compare->totals.candidates++;
	return error;
}

/* ---- Candidates ---------------------------------------------------------------------------- */

static bool add_candidate(struct search *search, struct compare_candidate candidate)
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

static bool add_class(struct search *search, unsigned int class)
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

static bool is_used_directly(const struct search *search, unsigned int resource)
{
	const struct pesa_mca_model *model = search->compare->model;

	for (unsigned int i = 0; i < model->use_count; i++)
		if (model->uses[i].resource == resource)
			return true;
	return false;
}

static bool add_resource(struct search *search, unsigned int resource)
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

static struct pesa_error *list_candidates(struct search *search)
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
static bool is_visible(const struct search *search, const struct compare_candidate *candidate)
{
	return candidate->error > 0 && candidate->gain > 0 &&
	       candidate->theta / candidate->error > search->deviations &&
	       fabs(candidate->moved * candidate->theta) >= SHARE_LEAST * search->core;
}

/*
 * Whether they show it whole: numbers of a model are whole ones, and part of a step is misfit. That
 * all of the effect explains more than nothing of it means that it is nearer to all.
 */
static bool is_significant(const struct search *search, const struct compare_candidate *candidate)
{
	return is_visible(search, candidate) && candidate->theta > 0.5 &&
	       candidate->whole > search->deviations * search->deviations &&
	       fabs(candidate->moved) >= SHARE_LEAST * search->core;
}

static bool look(struct search *search, struct compare_candidate *candidate, int value, int *tried,
		 unsigned int *trials, struct pesa_error **error)
{
	if (value < 0 || value > PESA_MCA_LATENCY_MAX || value == candidate->model_value)
		return false;
	for (unsigned int i = 0; i < *trials; i++)
		if (tried[i] == value)
			return false;
	if (*trials == TRIALS_MAX)
		return false;
	tried[(*trials)++] = value;
	*error = try(search, candidate, value);
	return !*error;
}

/*
 * The value whose effect explains most: in steps that double as long as that is more, then between
 * the neighbours of the best one.  The candidate is left at it.
 */
static struct pesa_error *refine(struct search *search, struct compare_candidate *candidate)
{
	int tried[TRIALS_MAX], base = candidate->model_value, best = base + 1, step;
	struct pesa_error *error = NULL;
	double whole = -INFINITY;
	unsigned int trials = 0;

	if (candidate->kind == PESA_COMPARE_ADVANCE || candidate->kind == PESA_COMPARE_UNITS)
		return NULL;
	for (step = 1 + base / 16; look(search, candidate, base + step, tried, &trials, &error);
	     step *= 2) {
		if (candidate->whole <= whole)
			break;
		whole = candidate->whole;
		best = candidate->value;
	}
	for (step = (best - base) / 2; step && !error; step /= 2)
		for (int sign = -1; sign <= 1 && !error; sign += 2)
			if (look(search, candidate, best + sign * step, tried, &trials, &error) &&
			    candidate->whole > whole) {
				whole = candidate->whole;
				best = candidate->value;
			}
	return error || candidate->value == best ? error : try(search, candidate, best);
}

/* ---- Findings ------------------------------------------------------------------------------ */

static bool touches(const struct pesa_mca_model *model, const struct compare_candidate *candidate,
		    int class)
{
	if (class < 0)
		return false;
	if (candidate->kind != PESA_COMPARE_UNITS)
		return (unsigned int)class == candidate->class;
	for (unsigned int i = 0; i < model->classes[class].uses; i++)
		if (model->masks[model->uses[model->classes[class].use + i].resource] &
		    model->masks[candidate->resource])
			return true;
	return false;
}

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

static void name_instructions(const struct search *search,
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

		if (!touches(search->compare->model, candidate, code->node[i].class))
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

static void fill_finding(const struct search *search, struct compare_candidate *candidate,
			 struct pesa_compare_finding *finding)
{
	const struct pesa_compare *compare = search->compare;
	int step = candidate->value - candidate->model_value;
	double half = pesa_estimate_deviations(compare->options.confidence) * abs(step) *
		      candidate->error;

	*finding = (struct pesa_compare_finding){
		.kind = candidate->kind,
		.model = candidate->model_value,
		.measured = candidate->value,
		.deviations = candidate->theta / candidate->error,
		.cycles = candidate->moved,
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
	describe(compare->model, candidate, candidate->value, finding->change,
		 sizeof(finding->change));
	name_instructions(search, candidate, finding);
	for (unsigned int i = 0; i < candidate->examples; i++) {
		const struct compare_node *node = &compare->code.node[candidate->example[i]];

		finding->example[finding->examples].dso = node->dso;
		finding->example[finding->examples++].address = node->address;
	}
}

/* The model, and all predictions, with the candidate's change. */
static struct pesa_error *adopt(struct search *search, const struct compare_candidate *candidate)
{
	struct pesa_compare *compare = search->compare;
	const struct compare_walks *walks = &compare->walks;
	struct pesa_error *error = simulate(search, candidate, candidate->value);
	char text[256];

	if (error)
		return error;
	describe(compare->model, candidate, candidate->value, text, sizeof(text));
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

static void add_tie(struct search *search, struct pesa_compare_finding *finding,
		    const struct compare_candidate *candidate)
{
	if (finding->ties < PESA_COMPARE_TIES)
		describe(search->compare->model, candidate, candidate->value,
			 finding->tie[finding->ties++], sizeof(finding->tie[0]));
}

/*
 * A small step shows what is exposed already.  Where it shows something, but not enough, a large
 * one may: most of a latency is hidden until it is long.
 */
static struct pesa_error *try_first(struct search *search, struct compare_candidate *candidate)
{
	struct pesa_error *error = try(search, candidate, probe(candidate));

	if (error || candidate->kind != PESA_COMPARE_LATENCY || is_visible(search, candidate) ||
	    !(candidate->theta > PROMISING * candidate->error))
		return error;
	return try(search, candidate, 2 * candidate->model_value + 1);
}

/* Effects that were not looked at yet, on the differences as they are now. */
static struct pesa_error *try_all(struct search *search)
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
			error = fit(search, candidate);
	}
	return error;
}

static struct compare_candidate *best_of(struct search *search)
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

static struct pesa_error *accept(struct search *search, struct compare_candidate *best)
{
	struct pesa_compare *compare = search->compare;
	struct pesa_compare_finding *finding = &compare->finding[compare->findings];
	struct pesa_error *error;

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
	compare->findings++;
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

static struct pesa_error *find_one(struct search *search, bool *found)
{
	struct compare_candidate *best;
	struct pesa_error *error;

	*found = false;
	make_residuals(search);
	error = try_all(search);
	while (!error && !*found && (best = best_of(search))) {
		/* Its effect may be that on an earlier model. */
		if (best->generation != search->generation)
			error = try(search, best, best->value);
		if (!error && is_visible(search, best))
			error = refine(search, best);
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

static void search_free(struct search *search)
{
	for (unsigned int i = 0; i < search->candidates; i++)
		free(search->candidate[i].effect);
	free(search->candidate);
	free(search->residual);
	free(search->executions);
	free(search->change);
	free(search->piece);
	free(search->trial);
	free(search->affected);
	free(search->class_used);
	free(search->sum);
	free(search->difference);
}

struct pesa_error *compare_find(struct pesa_compare *compare)
{
	uint32_t nodes = compare->code.count;
	struct search search = {
		.compare = compare,
		.residual = calloc(nodes + 1, sizeof(*search.residual)),
		.executions = calloc(nodes + 1, sizeof(*search.executions)),
		.change = calloc(nodes + 1, sizeof(*search.change)),
		.piece = calloc(nodes + 1, sizeof(*search.piece)),
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
	if (!search.residual || !search.piece || !search.executions || !search.change ||
	    !search.trial || !search.affected || !search.class_used || !compare->finding ||
	    !search.sum || !search.difference || !pool_executions(&search))
		error = pesa_error_no_memory();
	if (!error) {
		make_pieces(&search);
		error = list_candidates(&search);
	}
	/* One-sided, of the best of all candidates. */
	if (search.candidates)
		search.deviations = pesa_estimate_deviations(
			1 - 2 * (1 - compare->options.confidence) / search.candidates);
	while (!error && found && compare->findings < FINDINGS_MAX)
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
