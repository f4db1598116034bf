/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which loads wait for stores, by the measurement: see waits.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "decoder/compare/alternatives.h"
#include "decoder/compare/waits.h"

#define LOADS_MAX    12
#define EXCESS_LEAST 0.7   /* cycles an execution by which a load stalls for longer */
#define SHARE_LEAST  0.003 /* of all cycles, over all its executions */
#define EXPLAINED    0.5   /* part of the excess by which waiting brings the prediction nearer */
#define REMAINS	     0.5   /* part of the explained excess that may remain at other loads */
#define AMBIGUOUS    0.25  /* part of the excess by which a longer latency may explain less */

struct waits {
	struct pesa_compare *compare;
	const struct compare_path_options *options;
	double *each, *scratch;
};

/* Core time of a load beyond the predicted one, cycles. */
static double excess_of(const struct compare_node *node)
{
	if (!(node->occurrences > 0) || !(node->executions > 0))
		return 0;
	return node->time.core -
	       (node->retiring + node->stalled) / node->occurrences * node->executions;
}

static bool may_wait(const struct waits *waits, const struct compare_node *node)
{
	double excess = excess_of(node);

	return node->decoded && node->class >= 0 &&
	       pesa_opcode_get(node->insn.opcode)->properties & PESA_OPCODE_LOAD &&
	       excess >= SHARE_LEAST * waits->compare->totals.cycles &&
	       excess >= EXCESS_LEAST * node->executions;
}

static struct pesa_error *measure(struct waits *waits, double *distance)
{
	struct pesa_error *error =
		compare_predict_each(waits->compare, waits->options, waits->each);

	if (!error)
		*distance = compare_block_distance(waits->compare, waits->each, waits->scratch);
	return error;
}

/* The distance if the opcode of the load took so many cycles longer everywhere. */
static struct pesa_error *measure_latency(struct waits *waits, const struct compare_node *node,
					  double cycles, double *distance)
{
	struct pesa_compare *compare = waits->compare;
	struct pesa_mca_model *model = compare->model, *changed;
	struct pesa_error *error = pesa_mca_model_vary(model, &changed);
	char text[64];

	if (error)
		return error;
	snprintf(text, sizeof(text), "%s.latency=%d", pesa_opcode_get(node->insn.opcode)->name,
		 compare_latency_of(model, (unsigned int)node->class) + (int)ceil(cycles));
	error = pesa_mca_model_change(changed, text, NULL);
	compare->model = changed;
	if (!error)
		error = measure(waits, distance);
	compare->model = model;
	pesa_mca_model_free(changed);
	return error;
}

/* Find whether a load waits; `distance` is that of the present prediction. */
static struct pesa_error *try_load(struct waits *waits, struct compare_node *node, double excess,
				   double *distance)
{
	enum compare_waits best = COMPARE_WAITS_AS_CODED;
	double nearest = *distance - EXPLAINED * excess, longer = INFINITY;
	struct pesa_error *error = NULL;

	for (enum compare_waits kind = COMPARE_WAITS_FORWARD; kind < COMPARE_WAITS_KINDS && !error;
	     kind++) {
		double now = INFINITY;

		node->waits = (uint8_t)kind;
		error = measure(waits, &now);
		/* The load itself stalls, and not for much longer than measured. */
		if (now < nearest && excess_of(node) > -EXPLAINED * excess) {
			nearest = now;
			best = kind;
		}
	}
	node->waits = COMPARE_WAITS_AS_CODED;
	if (error || best == COMPARE_WAITS_AS_CODED)
		return error;
	error = measure_latency(waits, node, excess / node->executions, &longer);
	if (error)
		return error;
	/* The measurement does not tell whether the load waits or its opcode is slow. */
	if (longer <= nearest + AMBIGUOUS * excess) {
		node->uncertain += excess / node->executions;
		return NULL;
	}
	node->waits = (uint8_t)best;
	*distance = nearest;
	return NULL;
}

/* The load with the largest excess that has not been tried. */
static struct compare_node *next_load(const struct waits *waits, const bool *tried)
{
	struct compare_code *code = &waits->compare->code;
	struct compare_node *most = NULL;

	for (uint32_t i = 0; i < code->count; i++)
		if (!tried[i] && may_wait(waits, &code->node[i]) &&
		    (!most || excess_of(&code->node[i]) > excess_of(most)))
			most = &code->node[i];
	return most;
}

/*
 * Whether loads stall for longer than predicted elsewhere as well, by so much that they have another
 * reason in common: a wrong entry of the model.  `explained`: excess that waiting explained.
 */
static bool stalls_remain(const struct waits *waits, double explained)
{
	const struct compare_code *code = &waits->compare->code;
	double sum = 0;

	for (uint32_t i = 0; i < code->count; i++)
		if (code->node[i].waits == COMPARE_WAITS_AS_CODED &&
		    may_wait(waits, &code->node[i]))
			sum += excess_of(&code->node[i]);
	return sum > REMAINS * explained;
}

static void forget_all(struct compare_code *code)
{
	for (uint32_t i = 0; i < code->count; i++)
		code->node[i].waits = COMPARE_WAITS_AS_CODED;
}

struct pesa_error *compare_learn_waits(struct pesa_compare *compare,
				       const struct compare_path_options *options)
{
	struct waits waits = {
		.compare = compare,
		.options = options,
		.each = calloc(compare->code.count + 1, sizeof(double)),
		.scratch = calloc(compare->regions.groups + 1, sizeof(double)),
	};
	bool *tried = calloc(compare->code.count + 1, sizeof(*tried));
	bool ready = waits.each && waits.scratch && tried;
	struct pesa_error *error = ready ? NULL : pesa_error_no_memory();
	double distance = 0, explained = 0;

	if (!error)
		error = measure(&waits, &distance);
	for (unsigned int i = 0; i < LOADS_MAX && !error; i++) {
		struct compare_node *node = next_load(&waits, tried);
		double excess = node ? excess_of(node) : 0;

		if (!node)
			break;
		tried[node - compare->code.node] = true;
		error = try_load(&waits, node, excess, &distance);
		if (node->waits != COMPARE_WAITS_AS_CODED)
			explained += excess;
		/* The prediction of what has been chosen. */
		if (!error)
			error = compare_predict_all(compare, options);
	}
	if (!error && explained > 0 && stalls_remain(&waits, explained)) {
		forget_all(&compare->code);
		error = compare_predict_all(compare, options);
	}
	free(waits.each);
	free(waits.scratch);
	free(tried);
	return error;
}
