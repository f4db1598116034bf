/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A backlog that grows while everything else repeats.
 *
 * As long as dispatch is ahead of execution and no buffer is full, a run may repeat itself except
 * for one thing: after each period there are more in-flight instructions than before, and the
 * additional ones are copies of instructions that already wait there.  Such periods are skipped
 * too, by inserting the copies.  This gives the same cycles, for the following reasons.
 *
 * Let A be the records of the in-flight instructions at the start of the observed period, and B
 * those at its end. n is the number of instructions that retired in the period, and q the number of
 * records by which B is longer.  The words of the machine are equal.  Let p and s be the lengths of
 * the longest common prefix and suffix of A and B.  Then B[i] = A[i] for i < p, and B[i + q] = A[i]
 * for i >= a - s (a is the length of A).  So A repeats itself every q records in [a - s, p), and B
 * in [a - s, p + q): B is A with q more records in that stretch.  Because the place of a copy
 * within a stretch of copies does not matter, "A with k more copies" is well defined; write A(k).
 * B = A(1).
 *
 * Records A[x..y) are untouched in the period if B[i - n] = A[i] there: these are the same
 * instructions.  Every field of a record changes in one direction only while its instruction is in
 * flight (or returns to a value only through such a field), so equal records did not change in
 * between.  Let z be a place with x + q <= z, far enough from both ends of [x, y) as required
 * below.  Claim: the period that starts in A(k) executes as the one that starts in A, and ends in B
 * with k more copies, which is A(k + 1).  By induction this holds for all further periods.  For the
 * proof, compare the two runs, with the k copies at z, cycle by cycle:
 *
 * - Retirement reads the oldest instruction only: n of them, before x.
 * - An issuing instruction updates readers at most one block away.  In the observed period these
 *   were touched, so they and their writer are on the same side of [x, y).  The same holds for
 *   memory groups, whose records contain what they wait for. z is at least a block away from the
 *   youngest instruction, so that a dispatched instruction finds its writers, and the youngest
 *   groups, after z.
 * - Issue selects, for each kind, the first ready instruction with free units.  A ready copy is
 *   never selected: the original, q or more before z, is ready throughout, is of the same kind, and
 *   has priority.  Among other instructions the order could change only if a younger one after z
 *   has priority over an older one before z, because its rank is lowered by its users.  The rank is
 *   lowered by `most_users` at most.  Two such instructions, unless both are untouched (and do not
 *   issue), are further apart than that: z is more than most_users away from x and from y.
 * - Dispatch stops if slots of the reorder buffer, registers or queue entries are missing.  The
 *   entries of the copies are subtracted from the minimum that was free in the observed period.
 *   Only as many periods are skipped as leave enough for any instruction.  What does not grow is
 *   equally free in each period.
 * - No other stage reads in-flight instructions.
 */
#include <string.h>

#include "decoder/mca/engine/use.h"
#include "decoder/mca/fast/fast.h"

/* The place of the copies. */
struct growth {
	uint32_t period; /* q: number of records by which the backlog grew */
	uint32_t place;	 /* z, relative to the oldest instruction now */
	uint32_t groups; /* number of memory groups in q records */
	uint32_t group;	 /* group of the youngest memory instruction before z, 0: none */
	uint32_t times;
};

static bool same(const struct mca_fast_record *a, const struct mca_fast_record *b)
{
	return a->place == b->place && a->group == b->group;
}

/* ---- The repeating stretch ------------------------------------------------------------------- */

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
static bool find_place(const struct mca_fast *fast, struct growth *growth)
{
	const struct mca_fast_snapshot *now = &fast->snapshots.now, *then = &fast->snapshots.then;
	uint32_t retired = now->head - then->head, users = fast->snapshots.most_users + 1;
	uint32_t prefix = common_prefix(then, now), suffix = common_suffix(then, now);
	uint32_t margin = growth->period > users ? growth->period : users, first, last, start;

	/* The part of the stretch whose instructions can be untouched, with a block remaining after
	 * it. */
	first = then->count - suffix + retired;
	last = prefix;
	if (last < first + margin + users || then->count < fast->block->count)
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
		if (place > then->count - fast->block->count)
			return false;
		growth->place = place - retired;
		return true;
	}
	return false;
}

/* The group of the youngest memory instruction before a place, if the group is live. */
static uint32_t group_before(const struct mca_fast *fast, uint32_t place)
{
	while (place--)
		if (fast->snapshots.now.records[place].group)
			return mca_fast_inflight(fast, fast->head + place)->group;
	return 0;
}

static bool find_groups(const struct mca_fast *fast, struct growth *growth)
{
	uint32_t before = group_before(fast, growth->place - growth->period);

	growth->group = group_before(fast, growth->place);
	if (!growth->group)
		return true;
	growth->groups = growth->group - before;
	/* Groups of copied instructions are copied as a whole. */
	return before && growth->group - growth->groups + 1 >= fast->oldest_group;
}

/* ---- The number of copies -------------------------------------------------------------------- */

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

static void find_times(const struct mca_fast *fast, struct growth *growth)
{
	const struct mca_fast_snapshots *snapshots = &fast->snapshots;

	growth->times = (fast->last - fast->tail - 1) / (fast->tail - snapshots->then.tail);
	limit(growth, &snapshots->reorder, fast->slots_free, fast->most_slots);
	for (unsigned int i = 0; i < fast->limits; i++) {
		const struct mca_fast_registers *registers = &fast->registers[fast->limited[i]];

		limit(growth, &snapshots->registers[i], registers->free, registers->most);
	}
	if (fast->load_queue)
		limit(growth, &snapshots->loads, fast->load_queue - fast->loads, 1);
	if (fast->store_queue)
		limit(growth, &snapshots->stores, fast->store_queue - fast->stores, 1);
	for (unsigned int i = 0; i < fast->block->unit_count; i++) {
		unsigned int index = fast->block->unit[i];

		if (fast->resources.state[index].buffer > 0)
			limit(growth, &snapshots->buffers[index],
			      fast->resources.state[index].slots, 1);
	}
}

/* ---- Making the copies ----------------------------------------------------------------------- */

/* Copy a group to the one `distance` groups later. */
static void copy_group(struct mca_fast *fast, uint32_t from, uint32_t distance)
{
	struct mca_fast_group copy = *mca_fast_group(fast, from);

	for (unsigned int i = 0; i < 2; i++)
		if (copy.predecessor[i])
			copy.predecessor[i] += distance;
	if (copy.successors)
		copy.last_successor += distance;
	*mca_fast_group(fast, from + distance) = copy;
}

static void copy_groups(struct mca_fast *fast, const struct growth *growth)
{
	uint32_t distance = growth->times * growth->groups;

	for (uint32_t group = fast->next_group - 1; group > growth->group; group--)
		copy_group(fast, group, distance);
	for (uint32_t i = 1; i <= growth->times; i++)
		for (uint32_t j = 0; j < growth->groups; j++)
			copy_group(fast, growth->group - j, i * growth->groups);
	fast->next_group += distance;
	if (fast->load_group)
		fast->load_group += distance;
	if (fast->store_group)
		fast->store_group += distance;
}

static void copy_flight(struct mca_fast *fast, uint32_t from, uint32_t distance, uint32_t groups)
{
	struct mca_fast_inflight copy = *mca_fast_inflight(fast, from);

	copy.number += distance;
	copy.rank += distance;
	if (copy.group)
		copy.group += groups;
	*mca_fast_inflight(fast, from + distance) = copy;
}

static void copy_flights(struct mca_fast *fast, const struct growth *growth)
{
	uint32_t place = fast->head + growth->place, distance = growth->times * growth->period;

	for (uint32_t number = fast->tail; number-- > place;)
		copy_flight(fast, number, distance, growth->times * growth->groups);
	for (uint32_t i = 1; i <= growth->times; i++)
		for (uint32_t number = place - growth->period; number < place; number++)
			copy_flight(fast, number, i * growth->period, i * growth->groups);
	fast->tail += distance;
}

/* Link the instructions of each group, youngest first. */
static void list_groups(struct mca_fast *fast)
{
	for (uint32_t group = fast->oldest_group; group != fast->next_group; group++)
		mca_fast_group(fast, group)->first = MCA_FAST_NONE;
	for (uint32_t number = fast->head; number != fast->tail; number++) {
		struct mca_fast_inflight *flight = mca_fast_inflight(fast, number);
		struct mca_fast_group *group;

		if (flight->group < fast->oldest_group)
			continue;
		group = mca_fast_group(fast, flight->group);
		flight->next_in_group = group->first;
		group->first = number & fast->mask;
	}
}

/* Subtract the entries that the copies occupy. */
static void take_entries(struct mca_fast *fast, uint32_t times)
{
	const struct mca_fast_snapshots *snapshots = &fast->snapshots;

	fast->slots_free -= times * (snapshots->reorder.then - fast->slots_free);
	for (unsigned int i = 0; i < fast->limits; i++) {
		struct mca_fast_registers *registers = &fast->registers[fast->limited[i]];

		registers->free -= times * (snapshots->registers[i].then - registers->free);
	}
	fast->loads += times * (snapshots->loads.then - (int32_t)(fast->load_queue - fast->loads));
	fast->stores +=
		times * (snapshots->stores.then - (int32_t)(fast->store_queue - fast->stores));
	for (unsigned int i = 0; i < fast->block->unit_count; i++) {
		unsigned int index = fast->block->unit[i];
		struct mca_resource_state *state = &fast->resources.state[index];

		if (state->buffer > 0)
			state->slots -=
				times * (snapshots->buffers[index].then - (int32_t)state->slots);
	}
}

bool mca_fast_grow(struct mca_fast *fast)
{
	struct mca_fast_snapshots *snapshots = &fast->snapshots;
	const struct mca_fast_snapshot *now = &snapshots->now, *then = &snapshots->then;
	struct growth growth = {.period = now->count - then->count};
	uint32_t retired = now->head - then->head;

	if (now->count <= then->count || retired % fast->block->count)
		return false;
	find_times(fast, &growth);
	if (!growth.times || !find_place(fast, &growth) || !find_groups(fast, &growth))
		return false;
	copy_groups(fast, &growth);
	copy_flights(fast, &growth);
	list_groups(fast);
	take_entries(fast, growth.times);
	mca_fast_list_again(fast);
	fast->last -= growth.times * retired;
	mca_use_repeat(&fast->use, growth.times);
	fast->steady.cycles += growth.times * (now->now - then->now);
	return true;
}
