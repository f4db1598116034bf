// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Loops of several blocks, as stacks show them: a branch or a jump goes back to a place, its head, and
 * does so again.  What runs between two such arrivals is a pass, with the calls and the inner loops in
 * it.  A pass in which the head is reached in another way, from above, is none: the loop was left.
 */
#include <stdlib.h>

#include "decoder/compare/timed/inside.h"

#define PASS_MOST 128u /* blocks of a pass */

bool timed_goes_back(const struct pesa_timed_compare *timed, const struct timed_item *from,
		     const struct timed_item *to)
{
	const struct timed_span *spans = timed->stacks.span, *before, *head;

	if (from->span == TIMED_NONE || to->span == TIMED_NONE)
		return false;
	before = &spans[from->span];
	head = &spans[to->span];
	return before->count && head->count && before->dso == head->dso &&
	       head->start <= before->last && before->last - head->start < PESA_TIMED_BLOCK_MOST &&
	       (before->flow == PESA_FLOW_BRANCH || before->flow == PESA_FLOW_JUMP);
}

static int by_place(const void *left, const void *right)
{
	const struct timed_loop *a = left, *b = right;

	if (a->dso != b->dso)
		return a->dso < b->dso ? -1 : 1;
	return a->start < b->start ? -1 : a->start > b->start;
}

static struct timed_loop *find(const struct pesa_timed_compare *timed, uint32_t dso, uint64_t start)
{
	const struct timed_loop key = {.dso = dso, .start = start};

	return timed->loops ? bsearch(&key, timed->loop, timed->loops, sizeof(key), by_place)
			    : NULL;
}

/* Each loop once, with its farthest jump. */
static void merge(struct pesa_timed_compare *timed, uint32_t count)
{
	if (count)
		qsort(timed->loop, count, sizeof(*timed->loop), by_place);
	for (uint32_t i = 0; i < count; i++) {
		struct timed_loop *last = timed->loops ? &timed->loop[timed->loops - 1] : NULL;

		if (!last || by_place(last, &timed->loop[i]))
			timed->loop[timed->loops++] = timed->loop[i];
		else if (timed->loop[i].last > last->last)
			last->last = timed->loop[i].last;
	}
}

struct pesa_error *timed_loops_find(struct pesa_timed_compare *timed)
{
	struct timed_stacks *stacks = &timed->stacks;
	uint32_t count = 0;

	timed->loop = calloc(stacks->items + 1, sizeof(*timed->loop));
	if (!timed->loop)
		return pesa_error_no_memory();
	for (uint32_t i = 0; i < stacks->count; i++) {
		const struct timed_item *item = &stacks->item[stacks->stack[i].first];

		for (uint32_t k = 1; k < stacks->stack[i].count; k++)
			if (timed_goes_back(timed, &item[k - 1], &item[k]))
				timed->loop[count++] = (struct timed_loop){
					.dso = stacks->span[item[k].span].dso,
					.start = stacks->span[item[k].span].start,
					.last = stacks->span[item[k - 1].span].last};
	}
	merge(timed, count);
	for (uint32_t i = 0; i < timed_spans(timed); i++) {
		const struct timed_loop *loop =
			find(timed, stacks->span[i].dso, stacks->span[i].start);

		stacks->span[i].head = loop ? (uint32_t)(loop - timed->loop) : TIMED_NONE;
	}
	for (size_t i = 0; i < pesa_timed_blocks_transfer_count(timed->blocks); i++) {
		const struct pesa_timed_transfer *one =
			pesa_timed_blocks_transfer(timed->blocks, i);
		struct timed_loop *loop = find(timed, one->target_dso, one->target);

		if (loop && one->dso == loop->dso && one->from >= loop->start &&
		    one->from <= loop->last)
			loop->program += one->executions;
	}
	return NULL;
}

uint32_t timed_loops_pass(const struct pesa_timed_compare *timed, const struct timed_item *item,
			  uint32_t count, uint32_t first)
{
	const struct timed_span *spans = timed->stacks.span;
	uint64_t head = spans[item[first].span].start;
	uint32_t dso = spans[item[first].span].dso;

	for (uint32_t i = first + 1; i < count && i - first <= PASS_MOST; i++) {
		const struct timed_span *span;

		if (item[i].span == TIMED_NONE)
			return 0;
		span = &spans[item[i].span];
		if (span->dso != dso || span->start > head || span->last < head)
			continue;
		return span->start == head && timed_goes_back(timed, &item[i - 1], &item[i]) ? i
											     : 0;
	}
	return 0;
}
