/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The effect of a change of the model, see search.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/compare/search/search.h"

#define FAR 2.0 /* times the effect of a step, from where the step is much too small */

bool compare_touches(const struct pesa_mca_model *model, const struct compare_candidate *candidate,
		     int class)
{
	if (class < 0)
		return false;
	if (candidate->kind != PESA_COMPARE_UNITS)
		return candidate->narrow ? model->identities[class].entry ==
						   model->identities[candidate->class].entry
					 : model->identities[class].costs == candidate->class;
	for (unsigned int i = 0; i < model->classes[class].uses; i++)
		if (model->masks[model->uses[model->classes[class].use + i].resource] &
		    model->masks[candidate->resource])
			return true;
	return false;
}

bool compare_touches_node(const struct pesa_mca_model *model,
			  const struct compare_candidate *candidate,
			  const struct compare_node *node)
{
	bool only = !candidate->opcodes;

	for (unsigned int i = 0; i < candidate->opcodes && !only; i++)
		only = candidate->only[i] == node->insn.opcode;
	return only && compare_touches(model, candidate, node->class);
}

bool compare_is_related(const struct compare_search *search, const struct compare_candidate *one,
			const struct compare_candidate *other)
{
	const struct pesa_mca_model *model = search->original;

	for (unsigned int i = 0; i < model->class_count; i++)
		if (search->class_used[i] && compare_touches(model, one, (int)i) &&
		    compare_touches(model, other, (int)i))
			return true;
	return false;
}

/* Whether the path contains an instruction that the change affects. */
static bool is_affected(const struct compare_search *search, const struct compare_path *path,
			const struct compare_candidate *candidate)
{
	const struct pesa_compare *compare = search->compare;
	const struct compare_step *step = &compare->paths.step[path->first];

	for (unsigned int i = 0; i < path->count; i++)
		if (compare_touches_node(search->original, candidate,
					 &compare->code.node[step[i].node]))
			return true;
	return false;
}

/* The change of what is called `name`: classes, or an opcode. */
static void describe_one(const struct pesa_mca_model *model,
			 const struct compare_candidate *candidate, const char *name, int value,
			 char *text, size_t size)
{
	switch (candidate->kind) {
	case PESA_COMPARE_LATENCY:
		if (candidate->unpipelined >= 0 && candidate->value < candidate->base_value &&
		    value > 0)
			snprintf(text, size, "%s.latency=%d %s.%s=%d", name, value, name,
				 model->resources[candidate->unpipelined].name, value);
		else
			snprintf(text, size, "%s.latency=%d", name, value);
		break;
	case PESA_COMPARE_CYCLES:
		snprintf(text, size, "%s.%s=%d", name, model->resources[candidate->resource].name,
			 value);
		break;
	case PESA_COMPARE_ADVANCE:
		snprintf(text, size, "%s.advance=%d", name, value);
		break;
	case PESA_COMPARE_ISSUE:
		/* Micro-ops beyond the issue width are carried over to the next cycles. */
		snprintf(text, size, "%s.uops=%d", name,
			 value > 1 ? value * (int)model->issue_width : 1);
		break;
	default:
		snprintf(text, size, "%s.units=%d", model->resources[candidate->resource].name,
			 value);
		break;
	}
}

void compare_describe(const struct pesa_mca_model *model, const struct compare_candidate *candidate,
		      int value, char *text, size_t size)
{
	const struct mca_identity *identity = &model->identities[candidate->class];
	size_t used = 0;

	if (!candidate->opcodes)
		describe_one(model, candidate, candidate->narrow ? identity->write : identity->name,
			     value, text, size);
	for (unsigned int i = 0; i < candidate->opcodes && used < size; i++) {
		used += (size_t)snprintf(text + used, size - used, "%s", i ? " " : "");
		if (used < size)
			describe_one(model, candidate, pesa_opcode_get(candidate->only[i])->name,
				     value, text + used, size - used);
		used += strnlen(text + used, size - used);
	}
}

/* Execute the paths that a candidate's change affects, on a model with that change. */
static struct pesa_error *run_affected(struct compare_search *search,
				       const struct compare_candidate *candidate,
				       const struct pesa_mca_model *model)
{
	struct pesa_compare *compare = search->compare;

	for (size_t i = 0; i < compare->paths.count; i++)
		search->affected[i] = (!search->screen.active || search->screen.path[i]) &&
				      is_affected(search, &compare->paths.path[i], candidate);
	return compare_predict_paths(&compare->predictor, model, search->affected, search->trial,
				     NULL);
}

struct pesa_error *compare_simulate(struct compare_search *search,
				    const struct compare_candidate *candidate, int value)
{
	struct pesa_mca_model *model;
	struct pesa_error *error;
	char text[PESA_COMPARE_CHANGE_SIZE];

	if (search->simulated == candidate && search->simulated_value == value &&
	    !search->screen.active)
		return NULL;
	search->simulated = NULL;
	error = pesa_mca_model_vary(search->compare->model, &model);
	if (error)
		return error;
	compare_describe(model, candidate, value, text, sizeof(text));
	error = mca_model_change_each(model, text);
	if (!error)
		error = run_affected(search, candidate, model);
	pesa_mca_model_free(model);
	if (!error && !search->screen.active) {
		search->simulated = candidate;
		search->simulated_value = value;
	}
	return error;
}

/* Replace the predictions by the results of the last simulation. */
static void apply_simulation(struct compare_search *search)
{
	struct pesa_compare *compare = search->compare;
	const struct compare_paths *paths = &compare->paths;

	for (size_t i = 0; i < paths->count; i++) {
		const struct compare_path *path = &paths->path[i];

		for (unsigned int j = 0; search->affected[i] && j < path->count; j++) {
			size_t at = path->first + j;
			struct compare_node *node = &compare->code.node[paths->step[at].node];
			struct compare_predicted *then = &compare->predicted[at];

			if (j >= path->warm) {
				node->retiring += path->weight *
						  (search->trial[at].retiring - then->retiring);
				node->stalled +=
					path->weight * (search->trial[at].stalled - then->stalled);
			}
			*then = search->trial[at];
		}
	}
	search->generation++;
	search->simulated = NULL;
}

struct pesa_error *compare_adopt(struct compare_search *search,
				 const struct compare_candidate *candidate)
{
	struct pesa_error *error = compare_simulate(search, candidate, candidate->value);
	char text[PESA_COMPARE_CHANGE_SIZE];

	if (error)
		return error;
	compare_describe(search->compare->model, candidate, candidate->value, text, sizeof(text));
	error = mca_model_change_each(search->compare->model, text);
	if (!error)
		apply_simulation(search);
	return error;
}

/* Execute the paths that a finding affects on the model with all the other findings; the caller
 * frees that model. */
static struct pesa_error *run_without(struct compare_search *search,
				      const struct compare_candidate *candidate,
				      struct pesa_mca_model **model)
{
	struct pesa_compare *compare = search->compare;
	struct pesa_error *error = pesa_mca_model_vary(search->original, model);

	if (error)
		return error;
	search->simulated = NULL;
	for (unsigned int i = 0; i < compare->findings && !error; i++)
		if (i != candidate->finding)
			error = mca_model_change_each(*model, compare->finding[i].change);
	if (!error)
		error = run_affected(search, candidate, *model);
	if (error)
		pesa_mca_model_free(*model);
	return error;
}

struct pesa_error *compare_remove_finding(struct compare_search *search,
					  const struct compare_candidate *candidate)
{
	struct pesa_compare *compare = search->compare;
	struct pesa_mca_model *model;
	struct pesa_error *error = run_without(search, candidate, &model);

	if (error)
		return error;
	pesa_mca_model_free(compare->model);
	compare->model = model;
	apply_simulation(search);
	return NULL;
}

static void keep_example(struct compare_search *search, struct compare_candidate *candidate,
			 uint32_t node)
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

/* Change of each node's predicted cycles, summed over all its executions. */
static void sum_changes(struct compare_search *search)
{
	const struct pesa_compare *compare = search->compare;
	const struct compare_paths *paths = &compare->paths;

	memset(search->change, 0, compare->code.count * sizeof(*search->change));
	for (size_t i = 0; i < paths->count; i++) {
		const struct compare_path *path = &paths->path[i];

		for (unsigned int j = path->warm; search->affected[i] && j < path->count; j++) {
			size_t at = path->first + j;
			const struct compare_predicted *now = &search->trial[at];
			const struct compare_predicted *then = &compare->predicted[at];

			search->change[paths->step[at].node] +=
				path->weight *
				(now->retiring + now->stalled - then->retiring - then->stalled);
		}
	}
	for (uint32_t i = 0; i < compare->code.count; i++) {
		const struct compare_node *node = &compare->code.node[i];
		double occurrences;

		if (search->change[i] == 0)
			continue;
		occurrences =
			search->screen.active ? search->screen.occurrences[i] : node->occurrences;
		search->change[i] *= node->executions / occurrences;
	}
}

/* Mark the basic blocks in which the last simulation changes an instruction. */
static void mark_blocks(struct compare_search *search)
{
	const struct compare_code *code = &search->compare->code;

	memset(search->touched, 0, search->compare->regions.groups * sizeof(*search->touched));
	for (uint32_t i = 0; i < code->count; i++)
		if (search->change[i] != 0)
			search->touched[search->residuals.node[i].block] = true;
}

/* Collect the effect of the last simulation. */
static struct pesa_error *collect(struct compare_search *search,
				  struct compare_candidate *candidate)
{
	const struct compare_code *code = &search->compare->code;
	uint32_t count = 0;

	sum_changes(search);
	mark_blocks(search);
	for (uint32_t i = 0; i < code->count; i++)
		count += search->touched[search->residuals.node[i].block];
	free(candidate->effect);
	candidate->effect = calloc(count + 1, sizeof(*candidate->effect));
	if (!candidate->effect)
		return pesa_error_no_memory();
	candidate->effects = candidate->examples = 0;
	candidate->moved = candidate->shifted = 0;
	for (uint32_t i = 0; i < code->count; i++) {
		if (!search->touched[search->residuals.node[i].block])
			continue;
		candidate->effect[candidate->effects++] =
			(struct compare_effect){.node = i, .cycles = search->change[i]};
		candidate->moved += search->change[i];
		candidate->shifted += fabs(search->change[i]);
		if (search->change[i] != 0)
			keep_example(search, candidate, i);
	}
	return NULL;
}

/*
 * The effect of a wrong entry of the model looks like misfit, for all other entries and for itself.
 * So the misfit of a candidate is estimated after the measured part of its effect is subtracted.
 */
struct pesa_error *compare_fit_effect(struct compare_search *search,
				      struct compare_candidate *candidate)
{
	double misfit, part;

	candidate->misfit = search->misfit;
	if (!compare_fit(&search->residuals, candidate))
		return pesa_error_no_memory();
	if (!(candidate->theta > 0))
		return NULL;
	/* A step that is much too small has a small part of the effect; there is no more of a
	 * resource than all of it. */
	part = candidate->theta;
	if (part > 1 && (part < FAR || candidate->kind == PESA_COMPARE_UNITS ||
			 candidate->kind == PESA_COMPARE_ADVANCE))
		part = 1;
	misfit = compare_misfit_beside(search, candidate, part);
	if (misfit >= candidate->misfit)
		return NULL;
	candidate->misfit = misfit;
	return compare_fit(&search->residuals, candidate) ? NULL : pesa_error_no_memory();
}

static struct pesa_error *simulate_and_remember(struct compare_search *search,
						struct compare_candidate *candidate, int value,
						const char *change)
{
	struct pesa_error *error = compare_simulate(search, candidate, value);

	if (!error)
		error = collect(search, candidate);
	if (!error)
		compare_tried_add(&search->tried, search->compare, change, candidate);
	return error;
}

struct pesa_error *compare_try(struct compare_search *search, struct compare_candidate *candidate,
			       int value)
{
	char text[PESA_COMPARE_CHANGE_SIZE];
	struct pesa_error *error;
	bool known;

	candidate->value = value;
	candidate->generation = search->generation;
	candidate->screened = search->screen.active;
	/* Findings since the candidate was listed may have made this the last unit. */
	if (candidate->kind == PESA_COMPARE_UNITS && !value &&
	    compare_is_needed(search->compare->model, candidate->resource)) {
		candidate->theta = candidate->error = candidate->gain = candidate->whole = 0;
		return NULL;
	}
	compare_describe(search->compare->model, candidate, value, text, sizeof(text));
	error = compare_tried_find(&search->tried, search->compare, text, candidate, &known);
	if (!error && !known)
		error = simulate_and_remember(search, candidate, value, text);
	if (!error)
		error = compare_fit_effect(search, candidate);
	search->compare->totals.candidates++;
	return error;
}

struct pesa_error *compare_try_without(struct compare_search *search,
				       struct compare_candidate *candidate)
{
	struct pesa_mca_model *model;
	struct pesa_error *error = run_without(search, candidate, &model);

	if (error)
		return error;
	pesa_mca_model_free(model);
	return collect(search, candidate);
}

struct pesa_error *compare_try_opcode(struct compare_search *search,
				      struct compare_candidate *candidate, bool back)
{
	struct pesa_mca_model *model;
	struct pesa_error *error = pesa_mca_model_vary(search->compare->model, &model);
	char text[PESA_COMPARE_CHANGE_SIZE];

	if (error)
		return error;
	search->simulated = NULL;
	compare_describe(model, candidate, back ? candidate->base_value : candidate->value, text,
			 sizeof(text));
	error = mca_model_change_each(model, text);
	if (!error)
		error = run_affected(search, candidate, model);
	pesa_mca_model_free(model);
	if (!error)
		error = collect(search, candidate);
	if (error)
		return error;
	for (uint32_t i = 0; i < candidate->effects && back; i++)
		candidate->effect[i].cycles = -candidate->effect[i].cycles;
	candidate->moved = back ? -candidate->moved : candidate->moved;
	return compare_fit_effect(search, candidate);
}

/* ---- Effort ---------------------------------------------------------------------------------- */

/* Instructions executed on models, after which nothing is begun that can be left out: so many take some 20 s on
 * two processors.  Other beginnings and other orders of branches, which seldom find more, are not begun after
 * fewer. */
#define EFFORT_MAX  96000000
#define EFFORT_MORE 64000000
/* The same of what is not counted for these. */
#define EFFORT_APART 16000000

bool compare_begin_apart(struct pesa_compare *compare)
{
	compare->apart_from = compare->predictor.instructions;
	return compare->apart < EFFORT_APART;
}

void compare_end_apart(struct pesa_compare *compare)
{
	compare->apart += compare->predictor.instructions - compare->apart_from;
}

static bool is_beyond(struct pesa_compare *compare, uint64_t most)
{
	bool beyond = compare->predictor.instructions - compare->apart > most;

	compare->ended_early |= beyond;
	return beyond;
}

bool compare_is_exhausted(struct pesa_compare *compare)
{
	return is_beyond(compare, EFFORT_MAX);
}

bool compare_is_nearly_exhausted(struct pesa_compare *compare)
{
	return is_beyond(compare, EFFORT_MORE);
}

/* ---- Screening ------------------------------------------------------------------------------- */

/*
 * Most changes of the model explain nothing.  To see that, a few paths are enough, on which all hot
 * code is executed twice.  Only candidates that explain something on these paths are tried on all
 * of them.
 */
#define TWICE	  2
#define NEW_LEAST 0.002 /* of the core time, in code that a chosen path adds */

/* Core time of the nodes that are not on enough chosen paths; these are marked with `mark`. */
static double new_time(const struct compare_search *search, const struct compare_path *path,
		       const uint8_t *covered, size_t *marked, size_t mark)
{
	const struct compare_step *step = &search->compare->paths.step[path->first];
	double sum = 0;

	for (unsigned int i = path->warm; i < path->count; i++) {
		uint32_t node = step[i].node;

		if (covered[node] == TWICE || marked[node] == mark)
			continue;
		marked[node] = mark;
		sum += search->compare->code.node[node].time.core;
	}
	return sum;
}

static void choose_path(struct compare_search *search, size_t index, uint8_t *covered,
			size_t *marked, size_t mark)
{
	const struct compare_path *path = &search->compare->paths.path[index];
	const struct compare_step *step = &search->compare->paths.step[path->first];

	search->screen.path[index] = 1;
	for (unsigned int i = path->warm; i < path->count; i++) {
		uint32_t node = step[i].node;

		search->screen.occurrences[node] += path->weight;
		covered[node] += marked[node] == mark;
		marked[node] = 0;
	}
}

struct pesa_error *compare_screen_choose(struct compare_search *search)
{
	size_t nodes = search->compare->code.count, paths = search->compare->paths.count;
	uint8_t *covered = calloc(nodes + 1, sizeof(*covered));
	size_t *marked = calloc(nodes + 1, sizeof(*marked));
	bool enough;

	search->screen.path = calloc(paths + 1, sizeof(*search->screen.path));
	search->screen.occurrences = calloc(nodes + 1, sizeof(*search->screen.occurrences));
	enough = covered && marked && search->screen.path && search->screen.occurrences;
	for (size_t i = 0; i < paths && enough; i++)
		if (new_time(search, &search->compare->paths.path[i], covered, marked, i + 1) >=
		    NEW_LEAST * search->core)
			choose_path(search, i, covered, marked, i + 1);
	free(covered);
	free(marked);
	return enough ? NULL : pesa_error_no_memory();
}

void compare_screen_free(struct compare_screen *screen)
{
	free(screen->path);
	free(screen->occurrences);
	*screen = (struct compare_screen){0};
}
