/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory groups on the fast path: the same rules as engine/memory.c.
 *
 * Either all dependencies between groups are data dependencies (loads alias stores), or all concern
 * only the order (between stores, and of stores on older loads), so the kind need not be stored.
 */
#include "decoder/mca/fast/fast.h"

/* All its instructions have issued; not all have executed. */
static bool is_executing(const struct mca_fast_group *group)
{
	return group->live && !group->unissued;
}

static uint32_t create_group(struct mca_fast *fast, const struct mca_fast_inflight *flight)
{
	*mca_fast_group(fast, fast->next_group) = (struct mca_fast_group){
		.unissued = 1,
		.unexecuted = 1,
		.first = flight->number & fast->mask,
		.live = true,
	};
	return fast->next_group++;
}

static void add_predecessor(struct mca_fast *fast, uint32_t number, unsigned int which,
			    uint32_t from)
{
	struct mca_fast_group *group = mca_fast_group(fast, number);
	struct mca_fast_group *predecessor = mca_fast_group(fast, from);
	bool issued = is_executing(predecessor);

	if (issued && !fast->aliasing)
		return;
	group->predecessor[which] = from;
	group->waits_issue += !issued;
	group->waits_end++;
	predecessor->successors++;
	predecessor->last_successor = number;
}

void mca_fast_memory_dispatch(struct mca_fast *fast, struct mca_fast_inflight *flight)
{
	const struct mca_fast_instruction *plan = &fast->plan[flight->position];
	uint32_t number = fast->load_group;

	fast->loads += plan->load;
	fast->stores += plan->store;
	if (fast->free) {
		if (fast->block->barriers)
			mca_fast_order_dispatch(fast, flight);
		return;
	}
	flight->next_in_group = MCA_FAST_NONE;
	if (plan->store) {
		number = create_group(fast, flight);
		if (fast->load_group)
			add_predecessor(fast, number, 0, fast->load_group);
		if (fast->store_group)
			add_predecessor(fast, number, 1, fast->store_group);
		fast->store_group = number;
		if (plan->load)
			fast->load_group = number;
	} else if (number && number > fast->store_group &&
		   !is_executing(mca_fast_group(fast, number))) {
		struct mca_fast_group *group = mca_fast_group(fast, number);

		group->unissued++;
		group->unexecuted++;
		flight->next_in_group = group->first;
		group->first = flight->number & fast->mask;
	} else {
		number = create_group(fast, flight);
		if (fast->aliasing && fast->store_group)
			add_predecessor(fast, number, 1, fast->store_group);
		fast->load_group = number;
	}
	flight->group = number;
}

/* As long as a group waits, none of its instructions has issued, so its list is valid. */
static void wake(struct mca_fast *fast, const struct mca_fast_group *group)
{
	if (group->waits_issue)
		return;
	for (uint32_t place = group->first; place != MCA_FAST_NONE;
	     place = fast->ring[place].next_in_group)
		mca_fast_wake(fast, &fast->ring[place]);
}

void mca_fast_memory_issued(struct mca_fast *fast, struct mca_fast_inflight *flight)
{
	uint32_t number = flight->group;
	struct mca_fast_group *group = mca_fast_group(fast, number);

	if (fast->free) {
		mca_fast_order_issued(fast, flight);
		return;
	}
	if (--group->unissued || !group->successors)
		return;
	for (uint32_t i = number + 1; i <= group->last_successor; i++) {
		struct mca_fast_group *successor = mca_fast_group(fast, i);

		for (unsigned int which = 0; which < 2; which++) {
			if (successor->predecessor[which] != number)
				continue;
			successor->waits_issue--;
			if (!fast->aliasing) {
				successor->waits_end--;
				successor->predecessor[which] = 0;
			}
			wake(fast, successor);
		}
	}
}

void mca_fast_memory_executed(struct mca_fast *fast, struct mca_fast_inflight *flight)
{
	uint32_t number = flight->group;
	struct mca_fast_group *group = mca_fast_group(fast, number);

	if (fast->free) {
		mca_fast_order_executed(fast, flight);
		return;
	}
	if (--group->unexecuted)
		return;
	for (uint32_t i = number + 1; fast->aliasing && i <= group->last_successor; i++) {
		struct mca_fast_group *successor = mca_fast_group(fast, i);

		for (unsigned int which = 0; which < 2; which++) {
			if (successor->predecessor[which] != number)
				continue;
			successor->waits_end--;
			successor->predecessor[which] = 0;
			wake(fast, successor);
		}
	}
	group->live = false;
	if (fast->load_group == number)
		fast->load_group = 0;
	if (fast->store_group == number)
		fast->store_group = 0;
	while (fast->oldest_group != fast->next_group &&
	       !mca_fast_group(fast, fast->oldest_group)->live)
		fast->oldest_group++;
}

/* ---- The store queue ------------------------------------------------------------------------- */

void mca_fast_store_retired(struct mca_fast *fast)
{
	struct mca_fast_leaving *leaving = &fast->leaving;
	uint32_t place;

	if (!leaving->free) {
		fast->stores--;
		return;
	}
	if (fast->now >= leaving->drain_cycle) {
		leaving->drain_cycle = fast->now + 1;
		leaving->drained = 0;
	} else if (leaving->drained == leaving->ports) {
		leaving->drain_cycle++;
		leaving->drained = 0;
	}
	leaving->drained++;
	place = leaving->first + leaving->count++;
	leaving->free[place % fast->store_queue] = leaving->drain_cycle + leaving->latency + 1;
}

void mca_fast_free_stores(struct mca_fast *fast)
{
	struct mca_fast_leaving *leaving = &fast->leaving;

	while (leaving->count && leaving->free[leaving->first] <= fast->now) {
		leaving->first = leaving->first + 1 == fast->store_queue ? 0 : leaving->first + 1;
		leaving->count--;
		fast->stores--;
	}
}
