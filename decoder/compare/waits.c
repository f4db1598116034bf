/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which loads wait for stores, by the measurement: see waits.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/compare/alternatives.h"
#include "decoder/compare/waits.h"

#define LOADS_MAX    12
#define HOLD_UPS_MAX 3	   /* loads that do not stall themselves */
#define EXCESS_LEAST 0.7   /* cycles an execution by which a load stalls for longer */
#define SHARE_LEAST  0.003 /* of all cycles, over all its executions */
#define EXPLAINED    0.5   /* part of the excess by which waiting brings the prediction nearer */
#define REMAINS	     0.5   /* part of the explained excess that may remain at other loads */
#define AMBIGUOUS    0.25  /* part of the excess by which a longer latency may explain less */
#define ELSEWHERE    1.4   /* of the excess: what explains more is not about this load alone */
#define SOMETIMES    0.3   /* part of the executions in which a load has to wait */
#define PARTS_MAX    5	   /* parts of its executions that are tried */
#define EXACTLY	     0.03  /* part of the excess that remains, or is exceeded by, at most */
#define CLEARER	     0.25 /* of the differences of instructions: so few are left by one explanation */
/* The same for a load that does not stall itself, of what its basic block takes longer. */
#define BLOCK_LEAST	0.01
#define BLOCK_EXPLAINED 0.7

/* That loads wait for the newest stores of their sets. */
#define SETS_LEAST   0.05 /* of all cycles: the differences for which it is tried */
#define SETS_REMAINS 0.5  /* part of them that may remain; a wrong model may take off some, too, */
#define SETS_MORE    0.8  /* so more of them may only if what remains is little: */
#define SETS_SMALL   0.1  /* of all cycles */

struct waits {
	struct pesa_compare *compare;
	const struct compare_path_options *options;
	double *each, *scratch;
	double *block; /* by basic block: core time beyond the predicted one, cycles */
	bool *stores;  /* by region: whether it has a store */
	bool *exact;   /* by node: a load whose excess is just what it waits */
};

/* Core time of a load beyond the predicted one, cycles. */
static double excess_of(const struct compare_node *node)
{
	if (!(node->occurrences > 0) || !(node->executions > 0))
		return 0;
	return node->time.core -
	       (node->retiring + node->stalled) / node->occurrences * node->executions;
}

static bool is_predicted(const struct compare_node *node, uint32_t property)
{
	return node->decoded && node->class >= 0 &&
	       pesa_opcode_get(node->insn.opcode)->properties & property;
}

static bool may_wait(const struct waits *waits, const struct compare_node *node)
{
	double excess = excess_of(node);

	return is_predicted(node, PESA_OPCODE_LOAD) &&
	       excess >= SHARE_LEAST * waits->compare->totals.cycles &&
	       excess >= EXCESS_LEAST * node->executions;
}

/*
 * A load that waits for the store of the iteration before it does not stall if the store stalls for
 * longer: all of the chain's time is at the store.  The store may be in another basic block of the loop.
 */
static bool may_hold_up(const struct waits *waits, const struct compare_node *node)
{
	double excess = waits->block[node->group];

	return is_predicted(node, PESA_OPCODE_LOAD) && waits->stores[node->region] &&
	       pesa_mca_model_is_out_of_order(waits->compare->model) &&
	       excess >= BLOCK_LEAST * waits->compare->totals.cycles &&
	       excess >= EXCESS_LEAST * node->executions;
}

static void sum_blocks(const struct waits *waits)
{
	const struct compare_code *code = &waits->compare->code;

	memset(waits->block, 0, waits->compare->regions.groups * sizeof(*waits->block));
	for (uint32_t i = 0; i < code->count; i++) {
		waits->block[code->node[i].group] += excess_of(&code->node[i]);
		waits->stores[code->node[i].region] |=
			is_predicted(&code->node[i], PESA_OPCODE_STORE);
	}
}

/* Cycles that waiting would explain, and the part of them by which it has to bring the prediction
 * nearer. */
static double expected_of(const struct waits *waits, const struct compare_node *node, double *part)
{
	bool stalls = may_wait(waits, node);

	*part = stalls ? EXPLAINED : BLOCK_EXPLAINED;
	return stalls ? excess_of(node) : waits->block[node->group];
}

static struct pesa_error *measure(struct waits *waits, double *distance)
{
	struct pesa_error *error =
		compare_predict_each(waits->compare, waits->options, waits->each);

	if (!error)
		*distance = compare_distance(waits->compare, waits->each, waits->scratch) / 2;
	return error;
}

/* Differences of the instructions of a basic block from the last prediction, cycles. */
static double distance_in_block(const struct waits *waits, const struct compare_node *node)
{
	const struct compare_code *code = &waits->compare->code;
	double sum = 0;

	for (uint32_t i = 0; i < code->count; i++) {
		const struct compare_node *one = &code->node[i];

		if (one->group == node->group && !isnan(waits->each[i]))
			sum += fabs(one->time.core - waits->each[i] * one->executions);
	}
	return sum;
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

/* Whether an instruction before it in its basic block has the same opcode. */
static bool is_before(const struct compare_code *code, const struct compare_node *node)
{
	for (const struct compare_node *one = node;
	     one > code->node && one[-1].group == node->group; one--)
		if (one[-1].decoded && one[-1].insn.opcode == node->insn.opcode)
			return true;
	return false;
}

/* The same, the least one of all opcodes of its basic block; *slow: which; *in_block: the
 * differences of the block's instructions then. */
static struct pesa_error *measure_latencies(struct waits *waits, struct compare_node *node,
					    double cycles, double *distance, double *in_block,
					    struct compare_node **slow)
{
	struct compare_code *code = &waits->compare->code;
	struct compare_node *one = node, *end = code->node + code->count;
	struct pesa_error *error = NULL;

	while (one > code->node && one[-1].group == node->group)
		one--;
	for (; one < end && one->group == node->group && !error; one++) {
		double now = INFINITY;

		if (is_predicted(one, UINT32_MAX) && !is_before(code, one))
			error = measure_latency(waits, one, cycles, &now);
		if (now < *distance) {
			*distance = now;
			*in_block = distance_in_block(waits, node);
			*slow = one;
		}
	}
	return error;
}

/*
 * A load may wait in a part of its executions: where a store that writes fewer bytes than it reads, and so
 * cannot forward to it, overlaps with it only sometimes, or where the core learns only in the course of the
 * program that it reads what a store wrote (a function that copies, called for other data before).  That
 * part is tried which gives the measured time.  `never`, `always`: the load's excess if it waits in no
 * execution, and in each.
 */
static struct pesa_error *try_sometimes(struct waits *waits, struct compare_node *node,
					enum compare_waits kind, double never, double always,
					double *distance)
{
	double low = 0, high = 1, excess = never, left = never;
	struct pesa_error *error = NULL;

	if (!(always < 0) || never < SOMETIMES * (never - always))
		return NULL;
	node->waits = (uint8_t)kind;
	for (unsigned int i = 0; i < PARTS_MAX && !error && fabs(left) > EXACTLY * excess; i++) {
		node->waits_part = low + (high - low) * never / (never - always);
		error = measure(waits, distance);
		sum_blocks(waits);
		left = excess_of(node);
		*(left > 0 ? &low : &high) = node->waits_part;
		*(left > 0 ? &never : &always) = left;
	}
	return error;
}

/* Find whether a load waits; `distance` is that of the present prediction. */
static struct pesa_error *try_load(struct waits *waits, struct compare_node *node, double *distance)
{
	enum compare_waits best = COMPARE_WAITS_AS_CODED;
	bool stalls = may_wait(waits, node);
	struct compare_node *slow = node;
	double part, excess = expected_of(waits, node, &part);
	double nearest = *distance - part * excess, longer = INFINITY;
	double waiting = 0, in_block = INFINITY; /* differences of instructions */
	double always[COMPARE_WAITS_KINDS] = {0}, part_waiting = 1;
	double remains = INFINITY, now = INFINITY;
	bool only_sometimes;
	struct pesa_error *error = NULL;

	for (enum compare_waits kind = COMPARE_WAITS_AS_CODED + 1;
	     kind < COMPARE_WAITS_KINDS && !error; kind++) {
		double left;

		node->waits = (uint8_t)kind;
		node->waits_part = 1;
		now = INFINITY;
		error = measure(waits, &now);
		sum_blocks(waits);
		left = stalls ? excess_of(node) : waits->block[node->group];
		/* It stalls itself, or its block, and not for much longer than measured. */
		if (now < nearest && left > -EXPLAINED * excess) {
			nearest = now;
			best = kind;
			remains = fabs(left);
			waiting = distance_in_block(waits, node);
		}
		always[kind] = left;
	}
	/* Nothing, or waiting takes longer than measured. */
	only_sometimes = best == COMPARE_WAITS_AS_CODED;
	if (!error && stalls && (only_sometimes || always[best] < -EXACTLY * excess)) {
		enum compare_waits kind = !only_sometimes ? best
					  : node->wide	  ? COMPARE_WAITS_CACHE
							  : COMPARE_WAITS_ISSUE;

		now = INFINITY;
		error = try_sometimes(waits, node, kind, excess, always[kind], &now);
		if (now < nearest) {
			nearest = now;
			best = kind;
			part_waiting = node->waits_part;
			waiting = distance_in_block(waits, node);
		}
	}
	node->waits = COMPARE_WAITS_AS_CODED;
	if (error || best == COMPARE_WAITS_AS_CODED)
		return error;
	if (stalls)
		error = measure_latency(waits, node, excess / node->executions, &longer);
	else
		error = measure_latencies(waits, node, excess / node->executions, &longer,
					  &in_block, &slow);
	if (error)
		return error;
	/* It is the opcode: a load that waits makes other instructions of the block stall. */
	if (longer <= nearest + AMBIGUOUS * excess && in_block < CLEARER * waiting)
		return NULL;
	if (longer <= nearest + AMBIGUOUS * excess) {
		/* The measurement does not tell whether the load waits or its opcode is slow, but
		 * where that explains other basic blocks too.  Some part of waiting explains any
		 * stall, so that one is no reason for doubt. */
		slow->ambiguous |=
			(!only_sometimes || node->wide) && *distance - longer <= ELSEWHERE * excess;
		return NULL;
	}
	node->waits = (uint8_t)best;
	node->waits_part = part_waiting;
	*distance = nearest;
	waits->exact[node - waits->compare->code.node] = stalls && remains <= EXACTLY * excess;
	return NULL;
}

/* The load with the largest excess that has not been tried; then those that do not stall. */
static struct compare_node *next_load(const struct waits *waits, const bool *tried)
{
	struct compare_code *code = &waits->compare->code;
	struct compare_node *most = NULL, *other = NULL;

	sum_blocks(waits);
	for (uint32_t i = 0; i < code->count; i++) {
		struct compare_node *node = &code->node[i];

		if (tried[i])
			continue;
		if (may_wait(waits, node) && (!most || excess_of(node) > excess_of(most)))
			most = node;
		if (may_hold_up(waits, node) &&
		    (!other || waits->block[node->group] > waits->block[other->group]))
			other = node;
	}
	return most ? most : other;
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

/* That a load stalls for just as long as it would wait is no chance, whatever others do. */
static void forget_others(struct waits *waits)
{
	struct compare_code *code = &waits->compare->code;

	for (uint32_t i = 0; i < code->count; i++)
		if (!waits->exact[i])
			code->node[i].waits = COMPARE_WAITS_AS_CODED;
}

/* Whether all loads wait for the newest store of their sets; `distance` is that of the present prediction. */
static struct pesa_error *try_sets(struct waits *waits, double *distance)
{
	struct pesa_compare *compare = waits->compare;
	struct pesa_error *error;
	double now = INFINITY;

	if (!pesa_mca_model_is_out_of_order(compare->model) ||
	    *distance < SETS_LEAST * compare->totals.cycles)
		return NULL;
	compare->code.in_sets = true;
	error = measure(waits, &now);
	if (error || now <= SETS_REMAINS * *distance ||
	    (now <= SETS_MORE * *distance && now <= SETS_SMALL * compare->totals.cycles)) {
		*distance = now;
		return error;
	}
	compare->code.in_sets = false;
	return measure(waits, distance);
}

bool compare_any_waits(const struct compare_code *code)
{
	for (uint32_t i = 0; i < code->count; i++)
		if (code->node[i].waits != COMPARE_WAITS_AS_CODED)
			return true;
	return code->in_sets;
}

void compare_forget_waits(struct compare_code *code)
{
	for (uint32_t i = 0; i < code->count; i++) {
		code->node[i].waits = COMPARE_WAITS_AS_CODED;
		code->node[i].ambiguous = false;
	}
	code->in_sets = false;
}

struct pesa_error *compare_learn_waits(struct pesa_compare *compare,
				       const struct compare_path_options *options)
{
	struct waits waits = {
		.compare = compare,
		.options = options,
		.each = calloc(compare->code.count + 1, sizeof(double)),
		.scratch = calloc(compare->regions.groups + 1, sizeof(double)),
		.block = calloc(compare->regions.groups + 1, sizeof(double)),
		.stores = calloc(compare->regions.count + 1, sizeof(bool)),
		.exact = calloc(compare->code.count + 1, sizeof(bool)),
	};
	bool *tried = calloc(compare->code.count + 1, sizeof(*tried));
	bool ready =
		waits.each && waits.scratch && waits.block && waits.stores && waits.exact && tried;
	struct pesa_error *error = ready ? NULL : pesa_error_no_memory();
	double distance = 0, explained = 0;

	if (!error)
		error = measure(&waits, &distance);
	if (!error)
		error = try_sets(&waits, &distance);
	for (unsigned int i = 0, hold_ups = 0; i < LOADS_MAX && !error; i++) {
		struct compare_node *node = next_load(&waits, tried);
		double excess, part;

		if (!node)
			break;
		hold_ups += !may_wait(&waits, node);
		if (hold_ups > HOLD_UPS_MAX)
			break;
		excess = expected_of(&waits, node, &part);
		tried[node - compare->code.node] = true;
		error = try_load(&waits, node, &distance);
		if (node->waits != COMPARE_WAITS_AS_CODED)
			explained += excess;
		/* The prediction of what has been chosen. */
		if (!error)
			error = compare_predict_all(compare, options);
	}
	if (!error && explained > 0 && stalls_remain(&waits, explained)) {
		forget_others(&waits);
		error = compare_predict_all(compare, options);
	}
	free(waits.each);
	free(waits.scratch);
	free(waits.block);
	free(waits.stores);
	free(waits.exact);
	free(tried);
	return error;
}
