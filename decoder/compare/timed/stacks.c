// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Branch stacks, kept while a profile is loaded.
 *
 * Of many samples every second, every fourth, ... stack is kept, so that there are never more than
 * PESA_TIMED_STACKS_MOST, and they are spread evenly over the recording.
 */
#include <stdlib.h>
#include <string.h>

#include "decoder/compare/timed/inside.h"

static struct pesa_branch_entry entry_of(const struct pesa_profile_branches *branches,
					 uint64_t number)
{
	struct pesa_branch_entry entry;

	memcpy(&entry, branches->entries + number * sizeof(entry), sizeof(entry));
	return entry;
}

/* The number of a span, which is added if it is new. */
static struct pesa_error *find_span(struct timed_stacks *stacks, struct pesa_place start,
				    uint64_t last, uint32_t *number)
{
	uint32_t hash = hash_numbers(start.address ^ (uint64_t)start.dso << 40, last);
	uint32_t room = stacks->index.room;
	struct pesa_error *error;

	for (uint32_t at = hash;
	     (*number = hash_index_next(&stacks->index, &at)) != HASH_INDEX_NONE;) {
		const struct timed_span *span = &stacks->span[*number];

		if (span->dso == start.dso && span->start == start.address && span->last == last)
			return NULL;
	}
	error = hash_index_reserve(&stacks->index);
	if (error)
		return error;
	if (stacks->index.room != room || !stacks->span) {
		void *grown = realloc(stacks->span, stacks->index.room * sizeof(*stacks->span));

		if (!grown)
			return pesa_error_no_memory();
		stacks->span = grown;
	}
	*number = hash_index_add(&stacks->index, hash);
	stacks->span[*number] =
		(struct timed_span){.dso = start.dso, .start = start.address, .last = last};
	return NULL;
}

static struct pesa_error *reserve_items(struct timed_stacks *stacks, size_t more)
{
	size_t room = stacks->item_room ? stacks->item_room : 4096;
	void *grown;

	while (room < stacks->items + more)
		room *= 2;
	if (room == stacks->item_room)
		return NULL;
	grown = realloc(stacks->item, room * sizeof(*stacks->item));
	if (!grown)
		return pesa_error_no_memory();
	stacks->item = grown;
	stacks->item_room = room;
	return NULL;
}

/* Keep every second one of those that were kept. */
static void thin(struct timed_stacks *stacks)
{
	size_t items = 0;

	for (uint32_t i = 0; i < stacks->count; i += 2) {
		struct timed_stack stack = stacks->stack[i];

		memmove(stacks->item + items, stacks->item + stack.first,
			stack.count * sizeof(*stacks->item));
		stack.first = (uint32_t)items;
		items += stack.count;
		stacks->stack[i / 2] = stack;
	}
	stacks->items = items;
	stacks->count = (stacks->count + 1) / 2;
	stacks->stride *= 2;
}

static struct pesa_error *add_item(struct timed_stacks *stacks,
				   const struct pesa_profile_branches *branches,
				   const struct pesa_branch_entry *older,
				   const struct pesa_branch_entry *newer)
{
	struct pesa_place start = branches->locate(branches->locator, older->to);
	struct pesa_place last = branches->locate(branches->locator, newer->from);
	struct timed_item item = {
		.span = TIMED_NONE,
		.cycles = (uint16_t)PESA_BRANCH_CYCLES(newer->flags),
		.mispredicted = older->flags & PESA_BRANCH_MISPREDICTED,
	};
	struct pesa_error *error = NULL;

	if (start.dso == last.dso && start.dso != UINT32_MAX && start.address <= last.address &&
	    last.address - start.address < PESA_TIMED_BLOCK_MOST)
		error = find_span(stacks, start, last.address, &item.span);
	if (!error)
		stacks->item[stacks->items++] = item;
	return error;
}

/* The cycles of the entries that have one before them. */
static uint64_t cycles_of(const struct pesa_profile_branches *branches)
{
	uint64_t cycles = 0;

	for (uint64_t i = 0; i + 1 < branches->count; i++)
		cycles += PESA_BRANCH_CYCLES(entry_of(branches, i).flags);
	return cycles;
}

struct pesa_error *timed_stacks_add(struct timed_stacks *stacks,
				    const struct pesa_profile_branches *branches)
{
	uint64_t cycles = cycles_of(branches), oldest = branches->count - 1;
	struct timed_stack *stack;
	struct pesa_error *error;

	if (!cycles)
		return NULL;
	if (!stacks->stack) {
		stacks->stack = calloc(PESA_TIMED_STACKS_MOST, sizeof(*stacks->stack));
		if (!stacks->stack)
			return pesa_error_no_memory();
		stacks->stride = 1;
	}
	if (stacks->seen++ % stacks->stride)
		return NULL;
	if (stacks->count == PESA_TIMED_STACKS_MOST)
		thin(stacks);
	/* The one after PESA_TIMED_STACKS_MOST was kept is again one to be kept. */
	if (oldest > TIMED_ITEMS_MOST)
		oldest = TIMED_ITEMS_MOST;
	error = reserve_items(stacks, oldest);
	if (error)
		return error;
	stack = &stacks->stack[stacks->count++];
	*stack = (struct timed_stack){
		.first = (uint32_t)stacks->items,
		.weight = (double)branches->period / (double)cycles,
	};
	for (uint64_t i = oldest; i-- > 0 && !error;) {
		struct pesa_branch_entry older = entry_of(branches, i + 1);
		struct pesa_branch_entry newer = entry_of(branches, i);

		error = add_item(stacks, branches, &older, &newer);
	}
	stack->count = (uint32_t)(stacks->items - stack->first);
	return error;
}

void timed_stacks_free(struct timed_stacks *stacks)
{
	hash_index_free(&stacks->index);
	free(stacks->span);
	free(stacks->item);
	free(stacks->stack);
}
