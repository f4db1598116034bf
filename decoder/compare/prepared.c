/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What predictions of the same paths have in common, see prepared.h. */
#include "decoder/compare/prepared.h"

#include <stdlib.h>

struct preparer {
	const struct compare_paths *paths;
	const struct compare_code *code;
	struct compare_prepared *prepared;
	uint32_t cost_room;
	uint32_t *of_opcode; /* the last cost that was added; COMPARE_NONE: none yet */
	size_t *seen_in;     /* by cost: 1 + the last path that has it */
	uint64_t *words;     /* of the steps of one path */
	size_t costs_in, missed_in;
};

/* Make room for another cost. */
static bool grow(struct preparer *preparer)
{
	struct compare_prepared *prepared = preparer->prepared;
	uint32_t room = preparer->cost_room ? 2 * preparer->cost_room : 256;
	struct compare_cost *cost;
	size_t *seen_in;

	if (prepared->costs < preparer->cost_room)
		return true;
	cost = realloc(prepared->cost, room * sizeof(*cost));
	if (!cost)
		return false;
	prepared->cost = cost;
	seen_in = realloc(preparer->seen_in, room * sizeof(*seen_in));
	if (!seen_in)
		return false;
	preparer->seen_in = seen_in;
	preparer->cost_room = room;
	return true;
}

/* The index of what a step costs; COMPARE_NONE: out of memory. */
static uint32_t cost_of(struct preparer *preparer, const struct compare_step *step)
{
	struct compare_prepared *prepared = preparer->prepared;
	uint32_t *last = &preparer->of_opcode[preparer->code->node[step->node].insn.opcode];
	uint32_t one = *last;

	while (one != COMPARE_NONE &&
	       (prepared->cost[one].lmul != step->lmul || prepared->cost[one].sew != step->sew))
		one = prepared->cost[one].next;
	if (one != COMPARE_NONE)
		return one;
	if (!grow(preparer))
		return COMPARE_NONE;
	prepared->cost[prepared->costs] = (struct compare_cost){
		.node = step->node, .lmul = step->lmul, .sew = step->sew, .next = *last};
	preparer->seen_in[prepared->costs] = 0;
	return *last = prepared->costs++;
}

static bool prepare_path(struct preparer *preparer, size_t index)
{
	struct compare_prepared *prepared = preparer->prepared;
	const struct compare_path *path = &preparer->paths->path[index];
	struct compare_prepared_path *one = &prepared->path[index];

	*one = (struct compare_prepared_path){.first_cost = preparer->costs_in,
					      .first_missed = preparer->missed_in};
	for (unsigned int i = 0; i < path->count; i++) {
		const struct compare_step *step = &preparer->paths->step[path->first + i];
		uint32_t cost = cost_of(preparer, step);

		if (cost == COMPARE_NONE)
			return false;
		prepared->cost_of[path->first + i] = cost;
		if (preparer->seen_in[cost] != 1 + index) {
			preparer->seen_in[cost] = 1 + index;
			prepared->cost_in[preparer->costs_in++] = cost;
			one->costs++;
		}
		if (step->flags & COMPARE_PATH_MISSED) {
			prepared->missed_in[preparer->missed_in++] = i;
			one->missed++;
		}
		preparer->words[i] = (uint64_t)step->node << 32 | (uint64_t)step->flags << 24 |
				     (uint64_t)step->lmul << 16 | (uint64_t)step->sew << 8 |
				     step->forwarded;
	}
	if (one->costs + one->missed > prepared->most)
		prepared->most = one->costs + one->missed;
	pesa_digest_bytes(&one->steps, preparer->words, path->count * sizeof(*preparer->words));
	pesa_digest_word(&one->steps, !path->warm);
	return true;
}

static unsigned int longest(const struct compare_paths *paths)
{
	unsigned int most = 0;

	for (size_t i = 0; i < paths->count; i++)
		if (paths->path[i].count > most)
			most = paths->path[i].count;
	return most;
}

static bool prepare(struct preparer *preparer)
{
	const struct compare_paths *paths = preparer->paths;
	struct compare_prepared *prepared = preparer->prepared;
	unsigned int opcodes = pesa_opcode_count();

	prepared->path = malloc((paths->count + 1) * sizeof(*prepared->path));
	prepared->cost_of = malloc((paths->steps + 1) * sizeof(*prepared->cost_of));
	prepared->cost_in = malloc((paths->steps + 1) * sizeof(*prepared->cost_in));
	prepared->missed_in = malloc((paths->steps + 1) * sizeof(*prepared->missed_in));
	preparer->of_opcode = malloc(opcodes * sizeof(*preparer->of_opcode));
	preparer->words = malloc((longest(paths) + 1) * sizeof(*preparer->words));
	if (!prepared->path || !prepared->cost_of || !prepared->cost_in || !prepared->missed_in ||
	    !preparer->of_opcode || !preparer->words)
		return false;
	for (unsigned int i = 0; i < opcodes; i++)
		preparer->of_opcode[i] = COMPARE_NONE;
	for (size_t i = 0; i < paths->count; i++)
		if (!prepare_path(preparer, i))
			return false;
	return true;
}

struct compare_prepared *compare_prepare(const struct compare_paths *paths,
					 const struct compare_code *code)
{
	struct compare_prepared *prepared = calloc(1, sizeof(*prepared));
	struct preparer preparer = {.paths = paths, .code = code, .prepared = prepared};

	if (prepared && !prepare(&preparer)) {
		compare_prepared_free(prepared);
		prepared = NULL;
	}
	free(preparer.of_opcode);
	free(preparer.seen_in);
	free(preparer.words);
	return prepared;
}

void compare_prepared_free(struct compare_prepared *prepared)
{
	if (!prepared)
		return;
	free(prepared->cost);
	free(prepared->cost_of);
	free(prepared->path);
	free(prepared->cost_in);
	free(prepared->missed_in);
	free(prepared);
}
