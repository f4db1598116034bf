/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stalls on the paths, divided among producers and roots.
 *
 * A stall of S cycles is divided in the order in which one would look for its reason: of what the
 * instruction was late because it missed, then because its unit was busy, then because it was
 * ordered behind others, then because its last operand came late, each as far as S goes; what is
 * left is its own latency, which nothing older hides.
 *
 * The part for an operand is followed back: to a producer that missed, waited for a unit or for a
 * fence during at least half of it; to a producer that waited for its own operand no longer than
 * half of it (the chain begins there, and its latency is what counts); or round a recurrence.
 */
#include <math.h>
#include <stdlib.h>

#include "decoder/why/inside.h"

#define CHAIN_MAX 64 /* instructions */

struct walk {
	struct pesa_why *why;
	const struct compare_path *path;
	struct why_timeline timeline;
	double weight; /* of the path */
};

static uint32_t node_of(const struct walk *walk, uint32_t flight)
{
	const struct compare_paths *paths = &walk->why->compare->paths;

	return paths->step[walk->path->first + walk->timeline.flight[flight].step].node;
}

static bool is_same(const struct why_part *a, const struct why_part *b)
{
	return a->kind == b->kind && a->missed == b->missed && a->reg == b->reg &&
	       a->resource == b->resource && a->producer == b->producer && a->root == b->root &&
	       a->recurrence == b->recurrence;
}

static struct pesa_error *add(struct why_parts *parts, const struct why_part *part)
{
	struct why_part *sum;

	for (unsigned int i = 0; i < parts->count; i++) {
		sum = &parts->part[i];
		if (!is_same(sum, part))
			continue;
		sum->cycles += part->cycles;
		sum->steps += part->steps;
		sum->length += part->length;
		sum->round += part->round;
		return NULL;
	}
	if (parts->count == parts->room) {
		unsigned int room = parts->room ? 2 * parts->room : 4;
		struct why_part *larger = realloc(parts->part, room * sizeof(*larger));

		if (!larger)
			return pesa_error_no_memory();
		parts->part = larger;
		parts->room = room;
	}
	parts->part[parts->count++] = *part;
	return NULL;
}

/* ---- Chains ---------------------------------------------------------------------------------- */

/* The instruction of a recurrence with the longest latency; `visited` has its rounds in order. */
static uint32_t longest_of(const struct walk *walk, const uint32_t *visited, unsigned int from,
			   unsigned int to)
{
	uint32_t longest = visited[from];
	uint32_t most = 0;

	for (unsigned int i = from; i < to; i++) {
		const struct why_flight *flight = &walk->timeline.flight[visited[i]];

		if (flight->done - flight->issued < most)
			continue;
		most = flight->done - flight->issued;
		longest = visited[i];
	}
	return longest;
}

/* An earlier visit of the node of visited[last]; `last`: none. */
static unsigned int earlier_visit(const struct walk *walk, const uint32_t *visited,
				  unsigned int last)
{
	uint32_t node = node_of(walk, visited[last]);

	for (unsigned int i = 0; i < last; i++)
		if (node_of(walk, visited[i]) == node)
			return i;
	return last;
}

/* Follow the operand of a stalled instruction, which was late by `cycles`, to the root. */
static void follow(const struct walk *walk, uint32_t stalled, double cycles, struct why_part *part)
{
	const struct why_flight *flight = walk->timeline.flight;
	uint32_t visited[CHAIN_MAX + 1] = {stalled};
	unsigned int last = 0, first;
	double half = cycles / 2;
	uint32_t at = stalled;

	part->kind = PESA_WHY_CHAIN;
	do {
		at = flight[at].producer;
		visited[++last] = at;
		first = earlier_visit(walk, visited, last);
		if (flight[at].late >= half && flight[at].late) {
			part->kind = PESA_WHY_MISS;
			break;
		}
		if (flight[at].unit >= half && flight[at].unit) {
			part->kind = PESA_WHY_UNIT;
			part->resource = flight[at].resource;
			break;
		}
		if (flight[at].order >= half && flight[at].order) {
			part->kind = PESA_WHY_FENCE;
			break;
		}
		if (first < last) {
			part->recurrence = true;
			part->length = last - first;
			part->round = (double)flight[visited[first]].done - flight[at].done;
			at = longest_of(walk, visited, first, last);
			break;
		}
	} while (flight[at].producer != WHY_NOBODY && flight[at].operands >= half &&
		 last < CHAIN_MAX);
	part->root = node_of(walk, at);
	part->steps = last;
}

/* ---- One stall ------------------------------------------------------------------------------- */

/* Take up to `most` cycles of what is left of a stall. */
static double take(double *left, double most)
{
	double cycles = fmin(*left, most);

	*left -= cycles;
	return cycles;
}

static struct pesa_error *give(const struct walk *walk, uint32_t index, double cycles,
			       struct why_part part)
{
	struct pesa_why *why = walk->why;
	double weighted = cycles * walk->weight;

	if (!(cycles > 0))
		return NULL;
	part.missed = walk->timeline.flight[index].late > 0;
	part.cycles = weighted;
	part.steps *= weighted;
	part.length *= weighted;
	part.round *= weighted;
	return add(&why->parts[node_of(walk, index)], &part);
}

static struct pesa_error *divide(const struct walk *walk, uint32_t index)
{
	const struct why_flight *flight = &walk->timeline.flight[index];
	uint32_t own = node_of(walk, index);
	const struct why_part itself = {.producer = own, .root = own, .resource = -1};
	struct why_part part;
	struct pesa_error *error;
	double left = flight->stalled;

	part = itself;
	part.kind = PESA_WHY_MISS;
	error = give(walk, index, take(&left, flight->late), part);
	part = itself;
	part.kind = PESA_WHY_UNIT;
	part.resource = flight->resource;
	if (flight->holder != WHY_NOBODY)
		part.producer = node_of(walk, flight->holder);
	if (!error)
		error = give(walk, index, take(&left, flight->unit), part);
	part = itself;
	part.kind = PESA_WHY_FENCE;
	if (flight->fence != WHY_NOBODY)
		part.producer = part.root = node_of(walk, flight->fence);
	part.steps = flight->fence != WHY_NOBODY && flight->fence != index;
	if (!error)
		error = give(walk, index, take(&left, flight->order), part);
	part = itself;
	if (flight->producer != WHY_NOBODY) {
		double cycles = take(&left, flight->operands);

		part.producer = node_of(walk, flight->producer);
		part.reg = flight->reg;
		if (cycles > 0)
			follow(walk, index, cycles, &part);
		if (flight->reg >= MCA_REGISTER_MEMORY)
			part.kind = PESA_WHY_STORE;
		if (!error)
			error = give(walk, index, cycles, part);
	}
	part = itself;
	part.kind = PESA_WHY_LATENCY;
	return error ? error : give(walk, index, left, part);
}

/* ---- All paths ------------------------------------------------------------------------------- */

static struct pesa_error *add_path(struct walk *walk)
{
	struct pesa_compare *compare = walk->why->compare;
	struct pesa_error *error =
		why_timeline_make(&compare->predictor, compare->model, walk->path, &walk->timeline);

	for (uint32_t i = 0; i < walk->timeline.count && !error; i++) {
		const struct why_flight *flight = &walk->timeline.flight[i];
		struct why_parts *parts = &walk->why->parts[node_of(walk, i)];

		if (flight->step < walk->path->warm)
			continue;
		parts->occurrences += walk->weight;
		parts->stalled += walk->weight * flight->stalled;
		if (flight->stalled > 0)
			error = divide(walk, i);
	}
	why_timeline_free(&walk->timeline);
	return error;
}

struct pesa_error *why_find_producers(struct pesa_why *why)
{
	const struct compare_paths *paths = &why->compare->paths;
	struct pesa_error *error = NULL;

	why->parts = calloc(why->compare->code.count + 1, sizeof(*why->parts));
	if (!why->parts)
		return pesa_error_no_memory();
	for (size_t i = 0; i < paths->count && !error; i++) {
		struct walk walk = {
			.why = why, .path = &paths->path[i], .weight = paths->path[i].weight};

		error = add_path(&walk);
	}
	return error;
}
