/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The waits of a profile, see include/pesa/why.h. */
#include <math.h>
#include <stdlib.h>

#include "decoder/why/trial.h"

#define CAUSES_MAX 8 /* of a wait; smaller ones are added to the largest of their kind */

const char *pesa_why_kind_name(enum pesa_why_kind kind)
{
	static const char *const names[PESA_WHY_KINDS] = {
		[PESA_WHY_MISS] = "miss",	[PESA_WHY_CHAIN] = "chain",
		[PESA_WHY_LATENCY] = "latency", [PESA_WHY_UNIT] = "unit",
		[PESA_WHY_STORE] = "store",	[PESA_WHY_FENCE] = "fence",
		[PESA_WHY_UNKNOWN] = "unknown",
	};

	return names[kind];
}

/* ---- One wait -------------------------------------------------------------------------------- */

static struct pesa_compare_place place_of(const struct pesa_why *why, uint32_t node)
{
	const struct compare_node *at = &why->compare->code.node[node];

	return (struct pesa_compare_place){.dso = at->dso, .address = at->address};
}

static struct pesa_why_cause cause_of(const struct pesa_why *why, const struct why_part *part,
				      double cycles)
{
	const struct pesa_mca_model *model = why->compare->model;

	return (struct pesa_why_cause){
		.kind = part->kind,
		.cycles = cycles,
		.producer = place_of(why, part->producer),
		.reg = part->reg && part->reg < MCA_REGISTER_MEMORY
			       ? pesa_mca_register_name(part->reg)
			       : NULL,
		.resource =
			part->resource >= 0
				? pesa_mca_model_resource(model, (unsigned int)part->resource)->name
				: NULL,
		.root = place_of(why, part->root),
		.steps = (unsigned int)lround(part->steps / part->cycles),
		.recurrence = part->recurrence,
		.length = (unsigned int)lround(part->length / part->cycles),
		.round = part->round / part->cycles,
	};
}

static bool same_place(const struct pesa_compare_place *a, const struct pesa_compare_place *b)
{
	return a->dso == b->dso && a->address == b->address;
}

static bool same_cause(const struct pesa_why_cause *a, const struct pesa_why_cause *b)
{
	return a->kind == b->kind && a->reg == b->reg && a->resource == b->resource &&
	       a->recurrence == b->recurrence && same_place(&a->producer, &b->producer) &&
	       same_place(&a->root, &b->root);
}

/* The causes of a wait while they are collected; room for all parts of the node and two more. */
struct causes {
	struct pesa_why_cause *cause;
	unsigned int count;
};

static void add_cause(struct causes *causes, const struct pesa_why_cause *cause)
{
	for (unsigned int i = 0; i < causes->count; i++)
		if (same_cause(&causes->cause[i], cause)) {
			causes->cause[i].cycles += cause->cycles;
			return;
		}
	causes->cause[causes->count++] = *cause;
}

/* Divide measured cycles like the predicted ones of executions that missed, or of the others. */
static void share_out(const struct pesa_why *why, uint32_t node, bool missed, double measured,
		      struct causes *causes)
{
	const struct compare_node *at = &why->compare->code.node[node];
	const struct why_parts *parts = &why->parts[node];
	struct pesa_why_cause rest = {
		.kind = missed			      ? PESA_WHY_MISS
			: at->kind != COMPARE_NO_KIND ? PESA_WHY_FENCE
						      : PESA_WHY_UNKNOWN,
		.cycles = measured,
		.producer = place_of(why, node),
		.root = place_of(why, node),
	};
	double predicted = 0;

	if (!(measured > 0))
		return;
	for (unsigned int i = 0; i < parts->count; i++)
		if (parts->part[i].missed == missed)
			predicted += parts->part[i].cycles;
	if (!(predicted > 0)) {
		add_cause(causes, &rest);
		return;
	}
	for (unsigned int i = 0; i < parts->count; i++) {
		struct pesa_why_cause cause;

		if (parts->part[i].missed != missed)
			continue;
		cause = cause_of(why, &parts->part[i],
				 measured * parts->part[i].cycles / predicted);
		add_cause(causes, &cause);
	}
}

static int longer_first(const void *left, const void *right)
{
	const struct pesa_why_cause *a = left, *b = right;

	if (a->cycles != b->cycles)
		return a->cycles > b->cycles ? -1 : 1;
	return a->producer.address < b->producer.address
		       ? -1
		       : a->producer.address > b->producer.address;
}

/* Keep the longest causes; the others go to the first one of their kind, or to the last. */
static void keep_longest(struct causes *causes)
{
	qsort(causes->cause, causes->count, sizeof(*causes->cause), longer_first);
	for (unsigned int i = CAUSES_MAX; i < causes->count; i++) {
		unsigned int to = 0;

		while (to < CAUSES_MAX - 1 && causes->cause[to].kind != causes->cause[i].kind)
			to++;
		causes->cause[to].cycles += causes->cause[i].cycles;
	}
	if (causes->count > CAUSES_MAX)
		causes->count = CAUSES_MAX;
}

/* `causes`: where to put those of the wait. */
static struct pesa_why_wait make_wait(const struct pesa_why *why, uint32_t node,
				      struct causes *causes)
{
	const struct compare_node *at = &why->compare->code.node[node];
	const struct why_parts *parts = &why->parts[node];
	struct why_stalls stalls = why_measured_stalls(why->data_misses, at->measured);
	struct pesa_why_wait wait = {
		.place = place_of(why, node),
		.cycles = stalls.missed + stalls.other,
		.executions = at->executions,
		.predicted = parts->occurrences > 0 ? parts->stalled / parts->occurrences : NAN,
		.cause = causes->cause,
	};

	wait.each = wait.executions > 0 ? wait.cycles / wait.executions : 0;
	share_out(why, node, true, stalls.missed, causes);
	share_out(why, node, false, stalls.other, causes);
	keep_longest(causes);
	for (unsigned int i = 0; i < causes->count; i++) {
		struct pesa_why_cause *cause = &causes->cause[i];

		cause->share = cause->cycles / wait.cycles;
		cause->cycles = cause->share * wait.each;
	}
	wait.causes = causes->count;
	return wait;
}

/* ---- All waits ------------------------------------------------------------------------------- */

static bool has_stalled(const struct pesa_why *why, uint32_t node)
{
	const struct pesa_instruction *measured = why->compare->code.node[node].measured;
	struct why_stalls stalls;

	if (!measured)
		return false;
	stalls = why_measured_stalls(why->data_misses, measured);
	return stalls.missed + stalls.other > 0;
}

static int more_first(const void *left, const void *right)
{
	const struct pesa_why_wait *a = left, *b = right;

	if (a->cycles != b->cycles)
		return a->cycles > b->cycles ? -1 : 1;
	if (a->place.dso != b->place.dso)
		return a->place.dso < b->place.dso ? -1 : 1;
	return a->place.address < b->place.address ? -1 : a->place.address > b->place.address;
}

static struct pesa_error *make_waits(struct pesa_why *why)
{
	const struct compare_code *code = &why->compare->code;
	size_t waits = 0, room = 0;
	struct pesa_why_cause *next;

	for (uint32_t i = 0; i < code->count; i++)
		if (has_stalled(why, i)) {
			waits++;
			room += why->parts[i].count + 2;
		}
	why->wait = calloc(waits + 1, sizeof(*why->wait));
	why->causes = calloc(room + 1, sizeof(*why->causes));
	why->by_node = calloc(code->count + 1, sizeof(*why->by_node));
	if (!why->wait || !why->causes || !why->by_node)
		return pesa_error_no_memory();
	next = why->causes;
	for (uint32_t i = 0; i < code->count; i++) {
		struct causes causes = {.cause = next};

		if (!has_stalled(why, i))
			continue;
		why->wait[why->waits++] = make_wait(why, i, &causes);
		next += why->parts[i].count + 2;
	}
	qsort(why->wait, why->waits, sizeof(*why->wait), more_first);
	for (size_t i = 0; i < why->waits; i++) {
		const struct pesa_compare_place *place = &why->wait[i].place;

		why->by_node[compare_code_find(code, place->dso, place->address)] = (uint32_t)i + 1;
	}
	return NULL;
}

struct pesa_error *pesa_why_create(struct pesa_compare *compare, struct pesa_why **result)
{
	struct pesa_why *why = calloc(1, sizeof(*why));
	struct pesa_error *error;

	if (!why)
		return pesa_error_no_memory();
	why->compare = compare;
	why->profile = compare->profile;
	why->data_misses = why_data_misses(pesa_profile_capabilities(why->profile));
	error = why_find_producers(why);
	if (!error)
		error = make_waits(why);
	if (error) {
		pesa_why_free(why);
		return error;
	}
	*result = why;
	return NULL;
}

void pesa_why_free(struct pesa_why *why)
{
	if (!why)
		return;
	for (uint32_t i = 0; why->parts && i < why->compare->code.count; i++)
		free(why->parts[i].part);
	free(why->parts);
	free(why->wait);
	free(why->causes);
	free(why->by_node);
	free(why->gain);
	why_trials_free(why->trials);
	free(why);
}

size_t pesa_why_count(const struct pesa_why *why)
{
	return why->waits;
}

const struct pesa_why_wait *pesa_why_wait(const struct pesa_why *why, size_t index)
{
	return &why->wait[index];
}

const struct pesa_why_wait *pesa_why_find(const struct pesa_why *why, uint32_t dso,
					  uint64_t address)
{
	uint32_t node = compare_code_find(&why->compare->code, dso, address);

	if (node == COMPARE_NONE || !why->by_node[node])
		return NULL;
	return &why->wait[why->by_node[node] - 1];
}
