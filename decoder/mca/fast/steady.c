/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Steady state on the fast path.
 *
 * As in steady.c, a fingerprint of what has issued since the last iteration was dispatched gives
 * the hint of a period; a snapshot of everything that decides what happens next is compared with
 * that of one period before.  It consists of words for the machine, and of a record for each
 * instruction in flight, oldest first.  Numbers, times and groups are relative, so that equal
 * states give equal snapshots at any time; what follows from the rest (lists, entries in use, who
 * waits for whom: that is in the plan) is not in it.
 *
 * Two outcomes are of use:
 *
 * 1. The snapshots are equal.  Then the run goes on as it did in the period, and whole periods are
 *    taken out of it.
 *
 * 2. They are equal but for more instructions in flight (growth.c).
 */
#include <string.h>

#include "decoder/mca/fast/fast.h"

#define WORDS_MAX (16 + 4 * MCA_RESOURCES_MAX)

static bool has(const struct mca_fast *quick, enum mca_snapshot_part part)
{
	return !(quick->steady.left_out >> part & 1);
}

static void put(struct mca_fast_snapshot *snapshot, uint64_t value)
{
	snapshot->words[snapshot->word_count++] = value;
}

/* ---- Records --------------------------------------------------------------------------------- */

/* Add a field of `bits` bits to a word of a record, if it is one that fits. */
static uint64_t add(uint64_t word, unsigned int bits, uint64_t value, bool *valid)
{
	*valid &= !(value >> bits);
	return word << bits | value;
}

/*
 * A time as far as it matters: operands that have arrived have, and for an instruction that has
 * executed the last cycles in which that delays a reader count.
 */
static uint64_t relative_time(const struct mca_fast *quick, const struct mca_fast_inflight *flight)
{
	int64_t time = flight->time - quick->now;
	int64_t least = flight->stage == MCA_ISSUED ? -1 - (int64_t)quick->latest : 0;

	return (time > least ? time : least) - least;
}

static uint64_t place_record(const struct mca_fast *quick, const struct mca_fast_inflight *flight,
			     bool *valid)
{
	uint64_t word = 0;

	if (has(quick, MCA_SNAPSHOT_FLIGHTS)) {
		word = add(word, 3, flight->stage, valid);
		word = add(word, 13, flight->producers, valid);
	}
	if (has(quick, MCA_SNAPSHOT_USERS))
		word = add(word, 16,
			   flight->stage == MCA_ISSUED ? 0 : (int32_t)flight->number - flight->rank,
			   valid);
	if (has(quick, MCA_SNAPSHOT_TIMES))
		word = add(word, 32, relative_time(quick, flight), valid);
	return word;
}

static uint64_t group_record(const struct mca_fast *quick, const struct mca_fast_inflight *flight,
			     uint32_t *last_group, bool *valid)
{
	const struct mca_fast_group *group;
	uint64_t word = 1;

	if (!flight->group)
		return 0;
	group = mca_fast_group(quick, flight->group);
	if (flight->group < quick->oldest_group || !group->live)
		return 0;
	word = add(word, 2, group->waits_issue, valid);
	word = add(word, 2, group->waits_end, valid);
	word = add(word, 12, group->unissued, valid);
	word = add(word, 12, group->unexecuted, valid);
	for (unsigned int i = 0; i < 2; i++)
		word = add(word, 12,
			   group->predecessor[i] ? flight->group - group->predecessor[i] : 0,
			   valid);
	word = add(word, 10, *last_group ? flight->group - *last_group : 0, valid);
	*last_group = flight->group;
	return word;
}

static void put_records(struct mca_fast *quick, uint32_t *last_group)
{
	struct mca_fast_record *record = quick->steady.now.records;
	bool memory = has(quick, MCA_SNAPSHOT_MEMORY), valid = true;

	for (uint32_t number = quick->head; number != quick->tail; number++, record++) {
		const struct mca_fast_inflight *flight = mca_fast_inflight(quick, number);

		record->place = place_record(quick, flight, &valid);
		record->group = memory ? group_record(quick, flight, last_group, &valid) : 0;
	}
	quick->steady.now.valid = valid;
	quick->steady.now.count = quick->tail - quick->head;
}

/* ---- Words ----------------------------------------------------------------------------------- */

/* When results were written of which a reader may still have to wait, though they have retired. */
static void put_retired(struct mca_fast *quick)
{
	struct mca_fast_snapshot *now = &quick->steady.now;
	uint32_t count = quick->block->count < quick->head ? quick->block->count : quick->head;

	for (uint32_t number = quick->head - count; quick->latest && number != quick->head;
	     number++)
		put(now, relative_time(quick, mca_fast_inflight(quick, number)));
}

void mca_fast_write_down(struct mca_fast *quick)
{
	struct mca_fast_snapshot *now = &quick->steady.now;
	uint32_t last_group = 0;

	now->head = quick->head;
	now->tail = quick->tail;
	now->now = quick->now;
	now->word_count = 0;
	put_records(quick, &last_group);
	if (has(quick, MCA_SNAPSHOT_POSITION))
		put(now, quick->position);
	if (has(quick, MCA_SNAPSHOT_CARRY_OVER))
		put(now, quick->carry_over);
	if (has(quick, MCA_SNAPSHOT_MEMORY)) {
		put(now, last_group ? quick->next_group - last_group : 0);
		put(now, quick->load_group ? quick->next_group - quick->load_group : 0);
		put(now, quick->store_group ? quick->next_group - quick->store_group : 0);
	}
	if (has(quick, MCA_SNAPSHOT_COMMITTED))
		put_retired(quick);
	/* In order nothing waits for a buffer. */
	if (has(quick, MCA_SNAPSHOT_UNITS))
		put(now, quick->resources.reserved_buffers);
	if (quick->units.plain)
		now->word_count += mca_units_write_down(&quick->units, quick->steady.left_out,
							quick->now, now->words + now->word_count);
	else
		now->word_count += mca_resources_write_down(&quick->resources, quick->block,
							    quick->steady.left_out, quick->now,
							    now->words + now->word_count);
}

/* ---- The search ------------------------------------------------------------------------------ */

static size_t words_at_most(const struct mca_fast *quick)
{
	return WORDS_MAX + 3 * mca_resources_units(quick->model) +
	       (quick->latest ? quick->block->count : 0);
}

size_t mca_fast_steady_size(const struct mca_fast *quick)
{
	return 2 * (words_at_most(quick) * sizeof(uint64_t) +
		    ((size_t)quick->mask + 1) * sizeof(struct mca_fast_record));
}

void mca_fast_steady_init(struct mca_fast *quick, bool wanted, void *memory)
{
	struct mca_fast_steady *steady = &quick->steady;
	struct mca_fast_snapshot *snapshots[] = {&steady->now, &steady->then};
	uint64_t *words = memory;

	for (unsigned int i = 0; i < 2; i++) {
		snapshots[i]->words = words;
		words += words_at_most(quick);
		snapshots[i]->records = (struct mca_fast_record *)words;
		words += (quick->mask + 1) * sizeof(struct mca_fast_record) / sizeof(*words);
	}
	steady->searching = wanted;
	steady->next = quick->block->count;
}

static uint64_t fingerprint(struct mca_fast *quick)
{
	struct mca_fast_steady *steady = &quick->steady;
	uint64_t print = mca_mix(steady->print, quick->now - steady->since);

	print = mca_mix(print, (uint64_t)quick->carry_over << 32 | quick->position);
	print = quick->units.plain ? mca_units_mix(&quick->units, print)
				   : mca_resources_mix(&quick->resources, quick->block, print);
	steady->print = 0;
	steady->since = quick->now;
	return print;
}

static void start_levels(struct mca_fast *quick)
{
	struct mca_fast_steady *steady = &quick->steady;

	steady->reorder = (struct mca_fast_level){quick->slots_free, quick->slots_free};
	steady->registers = (struct mca_fast_level){quick->registers_free, quick->registers_free};
	steady->loads.least = steady->loads.then = quick->load_queue - quick->loads;
	steady->stores.least = steady->stores.then = quick->store_queue - quick->stores;
	for (unsigned int i = 0; i < quick->block->unit_count; i++) {
		unsigned int index = quick->block->unit[i];

		steady->buffers[index].least = steady->buffers[index].then =
			quick->resources.state[index].slots;
	}
	steady->most_users = 0;
	for (uint32_t number = quick->head; number != quick->tail; number++) {
		const struct mca_fast_inflight *flight = mca_fast_inflight(quick, number);

		if ((int32_t)number - flight->rank > steady->most_users)
			steady->most_users = (int32_t)number - flight->rank;
	}
}

/* The same state as a period ago: leave out as many periods as there still are. */
static void leave_out(struct mca_fast *quick)
{
	struct mca_fast_steady *steady = &quick->steady;
	uint32_t period = quick->tail - steady->then.tail;
	uint32_t times = (quick->last - quick->tail - 1) / period;

	steady->searching = false;
	steady->cycles += times * (quick->now - steady->then.now);
	quick->last -= times * period;
}

static bool same_machine(const struct mca_fast_snapshot *now, const struct mca_fast_snapshot *then)
{
	return now->valid && then->valid && now->word_count == then->word_count &&
	       !memcmp(now->words, then->words, now->word_count * sizeof(*now->words));
}

/* The snapshot of one period ago is there to be compared with. */
static void confirm(struct mca_fast *quick)
{
	struct mca_fast_steady *steady = &quick->steady;
	const struct mca_fast_snapshot *now = &steady->now, *then = &steady->then;

	steady->confirming = false;
	if (quick->tail == steady->until) {
		mca_fast_write_down(quick);
		if (same_machine(now, then)) {
			if (now->count == then->count &&
			    !memcmp(now->records, then->records,
				    now->count * sizeof(*now->records))) {
				leave_out(quick);
				return;
			}
			if (mca_fast_grow(quick)) {
				memset(steady->seen, 0, sizeof(steady->seen));
				return;
			}
		}
	}
	/* Something drifts: wait for a while that grows with the run. */
	steady->next_snapshot = quick->tail + quick->tail / 8;
}

void mca_fast_steady_cycle(struct mca_fast *quick)
{
	struct mca_fast_steady *steady = &quick->steady;
	uint64_t print = fingerprint(quick);
	uint32_t seen = 0, number = quick->tail, period;
	unsigned int slot = print % MCA_SEEN;

	steady->next = number - quick->position + quick->block->count;
	if (number >= quick->last) {
		steady->searching = false;
		return;
	}
	if (steady->seen[slot].print == print)
		seen = steady->seen[slot].number;
	steady->seen[slot].print = print;
	steady->seen[slot].number = number;
	if (steady->confirming && number >= steady->until) {
		confirm(quick);
		/* It may have changed the numbers. */
		if (quick->tail != number) {
			steady->next = quick->tail - quick->position + quick->block->count;
			return;
		}
	}
	if (!steady->searching || steady->confirming || !seen || number < steady->next_snapshot)
		return;
	period = number - seen;
	if (number + period >= quick->last)
		return;
	mca_fast_write_down(quick);
	if (steady->now.valid) {
		struct mca_fast_snapshot swap = steady->then;

		steady->then = steady->now;
		steady->now = swap;
		steady->until = number + period;
		steady->confirming = true;
		start_levels(quick);
	}
}
