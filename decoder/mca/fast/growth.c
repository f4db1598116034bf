/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A backlog that grows while everything else repeats.
 *
 * As long as dispatch is ahead of execution and no buffer is full, a run may repeat itself in all
 * but one thing: after each period there are more instructions in flight than before, and what is
 * added are further copies of what already waits there.  Such periods are left out too, by putting
 * the copies in.  Why that is the same:
 *
 * Let A be the records of the instructions in flight at the beginning of the observed period, B
 * those at its end, n the instructions that retired in it, q those by which B is longer.  The
 * machine's words are equal.  Let p and s be the lengths of the longest common prefix and suffix of
 * A and B. Then B[i] = A[i] for i < p, and B[i + q] = A[i] for i >= a - s (a the length of A), so
 * that A repeats itself every q records in [a - s, p), and B in [a - s, p + q): B is A with q
 * records more in that stretch.  Because a copy may be put in anywhere in a stretch of copies, "A
 * with k copies more" has one meaning; write A(k).  B = A(1).
 *
 * Records A[x..y) are untouched in the period if B[i - n] = A[i] there: these are the same
 * instructions.  Every field of a record changes in one direction only as long as its instruction
 * is in flight (or has to come back by way of one that does), so nothing happened to them in
 * between. Let z be a place with x + q <= z, far enough from both ends of [x, y) as said below.
 * Claim: the period that begins in A(k) does what that beginning in A did, and ends in B with k
 * copies more, which is A(k + 1).  By induction, so go all that follow.  For it, compare the two
 * runs, with the k copies at z, cycle by cycle:
 *
 * - Retirement looks at the oldest instruction only: n of them, before x.
 * - An instruction that issues tells readers at most one block away.  In the observed period these
 *   were touched, so they and their writer are on the same side of [x, y); the same holds for
 * memory groups, whose records hold what they wait for.  z is at least a block away from the
 * youngest, so that what is dispatched finds its writers, and the youngest groups, behind z.
 * - Choosing who issues: of each kind the first ready one whose units are free.  Copies that are
 *   ready are never it: the instruction that they copy, q or more before z, is ready throughout, of
 *   the same kind, and goes before them.  Between others the order could change only where a
 * younger one behind z goes before an older one in front of z, because its rank is lowered by those
 * who wait for it.  It is lowered by `most_users` at most, and such two, unless both are untouched
 * (and do not issue), are further apart than that: z is more than most_users from x and from y.
 * - Dispatch stops where slots of the reorder buffer, registers or entries of queues are missing.
 *   What the copies take of them is taken off the least that was free in the observed period; as
 * many periods are left out as leave enough for any instruction.  Of what does not grow, just as
 * much is free in each period.
 * - Nothing else looks at instructions in flight.
 */
#include <string.h>

#include "decoder/mca/fast/fast.h"

/* Where copies go. */
struct growth {
	uint32_t period; /* q: records by which the backlog grew */
	uint32_t place;	 /* z, counted from the oldest instruction now */
	uint32_t groups; /* memory groups in q records */
	uint32_t group;	 /* of the youngest memory instruction in front of z, 0: none */
	uint32_t times;
};

static bool same(const struct mca_fast_record *a, const struct mca_fast_record *b)
{
	return a->place == b->place && a->group == b->group;
}

/* ---- The stretch ----------------------------------------------------------------------------- */

static uint32_t common_prefix(const struct mca_fast_snapshot *then,
			      const struct mca_fast_snapshot *now)
{
	uint32_t length = 0;

	while (length < then->count && same(&then->records[length], &now->records[length]))
		length++;
	return length;
}

static uint32_t common_suffix(const struct mca_fast_snapshot *then,
			      const struct mca_fast_snapshot *now)
{
	uint32_t length = 0;

	while (length < then->count && same(&then->records[then->count - 1 - length],
					    &now->records[now->count - 1 - length]))
		length++;
	return length;
}

/* Find z; false if there is none. */
static bool find_place(const struct mca_fast *quick, struct growth *growth)
{
	const struct mca_fast_snapshot *now = &quick->steady.now, *then = &quick->steady.then;
	uint32_t retired = now->head - then->head, users = quick->steady.most_users + 1;
	uint32_t prefix = common_prefix(then, now), suffix = common_suffix(then, now);
	uint32_t margin = growth->period > users ? growth->period : users, first, last, start;

	/* The stretch as far as its instructions can be untouched and a block remains behind it. */
	first = then->count - suffix + retired;
	last = prefix;
	if (last < first + margin + users || then->count < quick->block->count)
		return false;
	for (uint32_t end = start = first; end < last; end++) {
		uint32_t place;

		if (!same(&then->records[end], &now->records[end - retired])) {
			start = end + 1;
			continue;
		}
		if (end + 1 < start + margin + users)
			continue;
		place = start + margin;
		if (place > then->count - quick->block->count)
			return false;
		growth->place = place - retired;
		return true;
	}
	return false;
}

/* The youngest memory instruction in front of a place that belongs to a live group: its group. */
static uint32_t group_before(const struct mca_fast *quick, uint32_t place)
{
	while (place--)
		if (quick->steady.now.records[place].group)
			return mca_fast_inflight(quick, quick->head + place)->group;
	return 0;
}

static bool find_groups(const struct mca_fast *quick, struct growth *growth)
{
	uint32_t before = group_before(quick, growth->place - growth->period);

	growth->group = group_before(quick, growth->place);
	if (!growth->group)
		return true;
	growth->groups = growth->group - before;
	/* Groups of the copied instructions are copied, all of them. */
	return before && growth->group - growth->groups + 1 >= quick->oldest_group;
}

/* ---- How often ------------------------------------------------------------------------------- */

static void limit(struct growth *growth, const struct mca_fast_level *level, int32_t now,
		  int32_t needed)
{
	int32_t taken = level->then - now, room = level->least - needed;
	uint32_t times;

	if (taken == 0)
		return;
	times = taken > 0 && room > 0 ? room / taken : 0;
	if (times < growth->times)
		growth->times = times;
}

static void find_times(const struct mca_fast *quick, struct growth *growth)
{
	const struct mca_fast_steady *steady = &quick->steady;

	growth->times = (quick->last - quick->tail - 1) / (quick->tail - steady->then.tail);
	limit(growth, &steady->reorder, quick->slots_free, quick->most_slots);
	if (quick->register_file_size)
		limit(growth, &steady->registers, quick->registers_free, quick->most_writes);
	if (quick->load_queue)
		limit(growth, &steady->loads, quick->load_queue - quick->loads, 1);
	if (quick->store_queue)
		limit(growth, &steady->stores, quick->store_queue - quick->stores, 1);
	for (unsigned int i = 0; i < quick->block->unit_count; i++) {
		unsigned int index = quick->block->unit[i];

		if (quick->resources.state[index].buffer > 0)
			limit(growth, &steady->buffers[index], quick->resources.state[index].slots,
			      1);
	}
}

/* ---- The copies ------------------------------------------------------------------------------ */

/* A group as the one that is `distance` groups later. */
static void copy_group(struct mca_fast *quick, uint32_t from, uint32_t distance)
{
	struct mca_fast_group copy = *mca_fast_group(quick, from);

	for (unsigned int i = 0; i < 2; i++)
		if (copy.predecessor[i])
			copy.predecessor[i] += distance;
	if (copy.successors)
		copy.last_successor += distance;
	*mca_fast_group(quick, from + distance) = copy;
}

static void copy_groups(struct mca_fast *quick, const struct growth *growth)
{
	uint32_t distance = growth->times * growth->groups;

	for (uint32_t group = quick->next_group - 1; group > growth->group; group--)
		copy_group(quick, group, distance);
	for (uint32_t i = 1; i <= growth->times; i++)
		for (uint32_t j = 0; j < growth->groups; j++)
			copy_group(quick, growth->group - j, i * growth->groups);
	quick->next_group += distance;
	if (quick->load_group)
		quick->load_group += distance;
	if (quick->store_group)
		quick->store_group += distance;
}

static void copy_flight(struct mca_fast *quick, uint32_t from, uint32_t distance, uint32_t groups)
{
	struct mca_fast_inflight copy = *mca_fast_inflight(quick, from);

	copy.number += distance;
	copy.rank += distance;
	if (copy.group)
		copy.group += groups;
	*mca_fast_inflight(quick, from + distance) = copy;
}

static void copy_flights(struct mca_fast *quick, const struct growth *growth)
{
	uint32_t place = quick->head + growth->place, distance = growth->times * growth->period;

	for (uint32_t number = quick->tail; number-- > place;)
		copy_flight(quick, number, distance, growth->times * growth->groups);
	for (uint32_t i = 1; i <= growth->times; i++)
		for (uint32_t number = place - growth->period; number < place; number++)
			copy_flight(quick, number, i * growth->period, i * growth->groups);
	quick->tail += distance;
}

/* Which instructions are in a group; the youngest first. */
static void list_groups(struct mca_fast *quick)
{
	for (uint32_t group = quick->oldest_group; group != quick->next_group; group++)
		mca_fast_group(quick, group)->first = MCA_FAST_NONE;
	for (uint32_t number = quick->head; number != quick->tail; number++) {
		struct mca_fast_inflight *flight = mca_fast_inflight(quick, number);
		struct mca_fast_group *group;

		if (flight->group < quick->oldest_group)
			continue;
		group = mca_fast_group(quick, flight->group);
		flight->next_in_group = group->first;
		group->first = number & quick->mask;
	}
}

/* What the copies take. */
static void take_entries(struct mca_fast *quick, uint32_t times)
{
	const struct mca_fast_steady *steady = &quick->steady;

	quick->slots_free -= times * (steady->reorder.then - quick->slots_free);
	quick->registers_free -= times * (steady->registers.then - quick->registers_free);
	quick->loads += times * (steady->loads.then - (int32_t)(quick->load_queue - quick->loads));
	quick->stores +=
		times * (steady->stores.then - (int32_t)(quick->store_queue - quick->stores));
	for (unsigned int i = 0; i < quick->block->unit_count; i++) {
		unsigned int index = quick->block->unit[i];
		struct mca_resource_state *state = &quick->resources.state[index];

		if (state->buffer > 0)
			state->slots -=
				times * (steady->buffers[index].then - (int32_t)state->slots);
	}
}

bool mca_fast_grow(struct mca_fast *quick)
{
	struct mca_fast_steady *steady = &quick->steady;
	const struct mca_fast_snapshot *now = &steady->now, *then = &steady->then;
	struct growth growth = {.period = now->count - then->count};
	uint32_t retired = now->head - then->head;

	if (now->count <= then->count || retired % quick->block->count)
		return false;
	find_times(quick, &growth);
	if (!growth.times || !find_place(quick, &growth) || !find_groups(quick, &growth))
		return false;
	copy_groups(quick, &growth);
	copy_flights(quick, &growth);
	list_groups(quick);
	take_entries(quick, growth.times);
	mca_fast_list_again(quick);
	quick->last -= growth.times * retired;
	steady->cycles += growth.times * (now->now - then->now);
	return true;
}
