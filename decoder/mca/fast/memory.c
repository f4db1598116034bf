/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory groups on the fast path: the rules of engine/memory.c.
 *
 * Either all dependencies between groups are of data (loads alias stores), or all are of order only
 * (between stores, and of stores on older loads), so that need not be noted of each.
 */
#include "decoder/mca/fast/fast.h"

/* All its instructions have issued, not all have executed. */
static bool is_executing(const struct mca_fast_group *group)
{
	return group->live && !group->unissued;
}

static uint32_t create_group(struct mca_fast *quick, const struct mca_fast_inflight *flight)
{
	*mca_fast_group(quick, quick->next_group) = (struct mca_fast_group){
		.unissued = 1,
		.unexecuted = 1,
		.first = flight->number & quick->mask,
		.live = true,
	};
	return quick->next_group++;
}

static void add_predecessor(struct mca_fast *quick, uint32_t number, unsigned int which,
			    uint32_t from)
{
	struct mca_fast_group *group = mca_fast_group(quick, number);
	struct mca_fast_group *predecessor = mca_fast_group(quick, from);
	bool issued = is_executing(predecessor);

	if (issued && !quick->aliasing)
		return;
	group->predecessor[which] = from;
	group->waits_issue += !issued;
	group->waits_end++;
	predecessor->successors++;
	predecessor->last_successor = number;
}

void mca_fast_memory_dispatch(struct mca_fast *quick, struct mca_fast_inflight *flight)
{
	const struct mca_fast_instruction *plan = &quick->plan[flight->position];
	uint32_t number = quick->load_group;

	quick->loads += plan->load;
	quick->stores += plan->store;
	flight->next_in_group = MCA_FAST_NONE;
	if (plan->store) {
		number = create_group(quick, flight);
		if (quick->load_group)
			add_predecessor(quick, number, 0, quick->load_group);
		if (quick->store_group)
			add_predecessor(quick, number, 1, quick->store_group);
		quick->store_group = number;
		if (plan->load)
			quick->load_group = number;
	} else if (number && number > quick->store_group &&
		   !is_executing(mca_fast_group(quick, number))) {
		struct mca_fast_group *group = mca_fast_group(quick, number);

		group->unissued++;
		group->unexecuted++;
		flight->next_in_group = group->first;
		group->first = flight->number & quick->mask;
	} else {
		number = create_group(quick, flight);
		if (quick->aliasing && quick->store_group)
			add_predecessor(quick, number, 1, quick->store_group);
		quick->load_group = number;
	}
	flight->group = number;
}

/* As long as a group waits for others, none of its instructions has issued: its list is valid. */
static void wake(struct mca_fast *quick, const struct mca_fast_group *group)
{
	if (group->waits_issue)
		return;
	for (uint32_t place = group->first; place != MCA_FAST_NONE;
	     place = quick->ring[place].next_in_group)
		mca_fast_wake(quick, &quick->ring[place]);
}

void mca_fast_memory_issued(struct mca_fast *quick, struct mca_fast_inflight *flight)
{
	uint32_t number = flight->group;
	struct mca_fast_group *group = mca_fast_group(quick, number);

	if (--group->unissued || !group->successors)
		return;
	for (uint32_t i = number + 1; i <= group->last_successor; i++) {
		struct mca_fast_group *successor = mca_fast_group(quick, i);

		for (unsigned int which = 0; which < 2; which++) {
			if (successor->predecessor[which] != number)
				continue;
			successor->waits_issue--;
			if (!quick->aliasing) {
				successor->waits_end--;
				successor->predecessor[which] = 0;
			}
			wake(quick, successor);
		}
	}
}

void mca_fast_memory_executed(struct mca_fast *quick, struct mca_fast_inflight *flight)
{
	uint32_t number = flight->group;
	struct mca_fast_group *group = mca_fast_group(quick, number);

	if (--group->unexecuted)
		return;
	for (uint32_t i = number + 1; quick->aliasing && i <= group->last_successor; i++) {
		struct mca_fast_group *successor = mca_fast_group(quick, i);

		for (unsigned int which = 0; which < 2; which++) {
			if (successor->predecessor[which] != number)
				continue;
			successor->waits_end--;
			successor->predecessor[which] = 0;
			wake(quick, successor);
		}
	}
	group->live = false;
	if (quick->load_group == number)
		quick->load_group = 0;
	if (quick->store_group == number)
		quick->store_group = 0;
	while (quick->oldest_group != quick->next_group &&
	       !mca_fast_group(quick, quick->oldest_group)->live)
		quick->oldest_group++;
}
