/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Snapshots on the fast path, for the search of a steady state (engine/steady.h).
 *
 * A snapshot consists of words for the machine, and of a record for each in-flight instruction,
 * oldest first.  Numbers, times and groups are relative, so
 * that equal states give equal snapshots at any time.  Data that follows from the rest (lists,
 * entries in use, and the plan's dependencies) is omitted.
 *
 * Two outcomes are useful:
 *
 * 1.  The snapshots are equal.  Then the run repeats the period, and whole periods are skipped.
 *
 * 2.  They are equal except for more in-flight instructions (growth.c).
 */
#include <string.h>

#include "decoder/mca/engine/use.h"
#include "decoder/mca/fast/fast.h"

#define WORDS_MAX (16 + 4 * MCA_RESOURCES_MAX)

static bool has(const struct mca_fast *fast, enum mca_snapshot_part part)
{
	return !(fast->snapshots.ignored_parts >> part & 1);
}

static void put(struct mca_fast_snapshot *snapshot, uint64_t value)
{
	snapshot->words[snapshot->word_count++] = value;
}

/* ---- Records --------------------------------------------------------------------------------- */

/* Append a field of `bits` bits to a word of a record; clears *valid if the value does not fit. */
static uint64_t add(uint64_t word, unsigned int bits, uint64_t value, bool *valid)
{
	*valid &= !(value >> bits);
	return word << bits | value;
}

/*
 * A time, reduced to what has an effect: for operands that have arrived nothing, and for an
 * instruction that has executed the last cycles in which this delays a reader.
 */
static uint64_t relative_time(const struct mca_fast *fast, const struct mca_fast_inflight *flight)
{
	int64_t time = flight->time - fast->now;
	int64_t least = flight->stage == MCA_ISSUED ? -1 - (int64_t)fast->latest : 0;

	return (time > least ? time : least) - least;
}

static uint64_t place_record(const struct mca_fast *fast, const struct mca_fast_inflight *flight,
			     bool *valid)
{
	uint64_t word = 0;

	if (has(fast, MCA_SNAPSHOT_FLIGHTS)) {
		word = add(word, 3, flight->stage, valid);
		word = add(word, 13, flight->producers, valid);
	}
	if (has(fast, MCA_SNAPSHOT_USERS))
		word = add(word, 16,
			   flight->stage == MCA_ISSUED ? 0 : (int32_t)flight->number - flight->rank,
			   valid);
	if (has(fast, MCA_SNAPSHOT_TIMES))
		word = add(word, 32, relative_time(fast, flight), valid);
	return word;
}

static uint64_t group_record(const struct mca_fast *fast, const struct mca_fast_inflight *flight,
			     uint32_t *last_group, bool *valid)
{
	const struct mca_fast_group *group;
	uint64_t word = 1;

	if (!flight->group)
		return 0;
	group = mca_fast_group(fast, flight->group);
	if (flight->group < fast->oldest_group || !group->live)
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

static void put_records(struct mca_fast *fast, uint32_t *last_group)
{
	struct mca_fast_record *record = fast->snapshots.now.records;
	bool memory = has(fast, MCA_SNAPSHOT_MEMORY), valid = true;

	for (uint32_t number = fast->head; number != fast->tail; number++, record++) {
		const struct mca_fast_inflight *flight = mca_fast_inflight(fast, number);

		record->place = place_record(fast, flight, &valid);
		record->group = memory ? group_record(fast, flight, last_group, &valid) : 0;
	}
	fast->snapshots.now.valid = valid;
	fast->snapshots.now.count = fast->tail - fast->head;
}

/* ---- Words ----------------------------------------------------------------------------------- */

/* Write-back cycles of results of retired instructions that can still delay a reader. */
static void put_retired(struct mca_fast *fast)
{
	struct mca_fast_snapshot *now = &fast->snapshots.now;
	uint32_t count = fast->block->count < fast->head ? fast->block->count : fast->head;

	for (uint32_t number = fast->head - count; fast->latest && number != fast->head; number++)
		put(now, relative_time(fast, mca_fast_inflight(fast, number)));
}

void mca_fast_snapshot_write(struct mca_fast *fast)
{
	struct mca_fast_snapshot *now = &fast->snapshots.now;
	uint32_t last_group = 0;

	now->head = fast->head;
	now->tail = fast->tail;
	now->now = fast->now;
	now->word_count = 0;
	put_records(fast, &last_group);
	if (has(fast, MCA_SNAPSHOT_POSITION))
		put(now, fast->position);
	if (has(fast, MCA_SNAPSHOT_CARRY_OVER))
		put(now, fast->carry_over);
	if (has(fast, MCA_SNAPSHOT_MEMORY)) {
		put(now, last_group ? fast->next_group - last_group : 0);
		put(now, fast->load_group ? fast->next_group - fast->load_group : 0);
		put(now, fast->store_group ? fast->next_group - fast->store_group : 0);
	}
	if (has(fast, MCA_SNAPSHOT_COMMITTED))
		put_retired(fast);
	/* in order no instruction waits for a buffer */
	if (has(fast, MCA_SNAPSHOT_UNITS))
		put(now, fast->resources.reserved_buffers);
	if (fast->units.plain)
		now->word_count += mca_units_snapshot(&fast->units, fast->snapshots.ignored_parts,
						      fast->now, now->words + now->word_count);
	else
		now->word_count += mca_resources_snapshot(&fast->resources, fast->block,
							  fast->snapshots.ignored_parts, fast->now,
							  now->words + now->word_count);
}

/* ---- The search ------------------------------------------------------------------------------ */

static size_t words_at_most(const struct mca_fast *fast)
{
	return WORDS_MAX + 3 * mca_resources_units(fast->model) +
	       (fast->latest ? fast->block->count : 0);
}

size_t mca_fast_snapshot_size(const struct mca_fast *fast)
{
	return 2 * (words_at_most(fast) * sizeof(uint64_t) +
		    ((size_t)fast->mask + 1) * sizeof(struct mca_fast_record));
}

void mca_fast_snapshot_init(struct mca_fast *fast, bool wanted, void *memory)
{
	struct mca_fast_snapshot *both[] = {&fast->snapshots.now, &fast->snapshots.then};
	uint64_t *words = memory;

	for (unsigned int i = 0; i < 2; i++) {
		both[i]->words = words;
		words += words_at_most(fast);
		both[i]->records = (struct mca_fast_record *)words;
		words += (fast->mask + 1) * sizeof(struct mca_fast_record) / sizeof(*words);
	}
	fast->steady.searching = wanted;
	fast->steady.next = fast->block->count;
}

static uint64_t fingerprint(struct mca_fast *fast)
{
	uint64_t print = mca_steady_fingerprint(&fast->steady, fast->now);

	print = mca_mix(print, (uint64_t)fast->carry_over << 32 | fast->position);
	return fast->units.plain ? mca_units_mix(&fast->units, print)
				 : mca_resources_mix(&fast->resources, fast->block, print);
}

static void start_levels(struct mca_fast *fast)
{
	struct mca_fast_snapshots *snapshots = &fast->snapshots;

	snapshots->reorder = (struct mca_fast_level){fast->slots_free, fast->slots_free};
	for (unsigned int i = 0; i < fast->limits; i++) {
		int32_t free = fast->registers[fast->limited[i]].free;

		snapshots->registers[i] = (struct mca_fast_level){free, free};
	}
	snapshots->loads.least = snapshots->loads.then = fast->load_queue - fast->loads;
	snapshots->stores.least = snapshots->stores.then = fast->store_queue - fast->stores;
	for (unsigned int i = 0; i < fast->block->unit_count; i++) {
		unsigned int index = fast->block->unit[i];

		snapshots->buffers[index].least = snapshots->buffers[index].then =
			fast->resources.state[index].slots;
	}
	snapshots->most_users = 0;
	for (uint32_t number = fast->head; number != fast->tail; number++) {
		const struct mca_fast_inflight *flight = mca_fast_inflight(fast, number);

		if ((int32_t)number - flight->rank > snapshots->most_users)
			snapshots->most_users = (int32_t)number - flight->rank;
	}
}

/* The state equals that of a period ago: skip as many periods as remain. */
static void skip_periods(struct mca_fast *fast)
{
	const struct mca_fast_snapshot *then = &fast->snapshots.then;
	uint32_t period = fast->tail - then->tail;
	uint32_t times = (fast->last - fast->tail - 1) / period;

	fast->steady.period = (struct mca_period){
		.begin = then->now + fast->steady.cycles,
		.cycles = fast->now - then->now,
		.instructions = period,
	};
	fast->steady.searching = false;
	fast->steady.cycles += times * fast->steady.period.cycles;
	fast->last -= times * period;
	mca_use_repeat(&fast->use, times);
}

static bool same_machine(const struct mca_fast_snapshot *now, const struct mca_fast_snapshot *then)
{
	return now->valid && then->valid && now->word_count == then->word_count &&
	       !memcmp(now->words, then->words, now->word_count * sizeof(*now->words));
}

/* Compare with the snapshot of one period ago. */
static void compare(struct mca_fast *fast)
{
	const struct mca_fast_snapshot *now = &fast->snapshots.now, *then = &fast->snapshots.then;

	fast->steady.confirming = false;
	if (fast->tail == fast->steady.until) {
		mca_fast_snapshot_write(fast);
		if (same_machine(now, then)) {
			if (now->count == then->count &&
			    !memcmp(now->records, then->records,
				    now->count * sizeof(*now->records))) {
				skip_periods(fast);
				return;
			}
			if (mca_fast_grow(fast)) {
				memset(fast->steady.seen, 0, sizeof(fast->steady.seen));
				return;
			}
		}
	}
	mca_steady_pause(&fast->steady, fast->tail);
}

void mca_fast_snapshot_cycle(struct mca_fast *fast)
{
	struct mca_fast_snapshots *snapshots = &fast->snapshots;
	struct mca_steady *steady = &fast->steady;
	uint64_t print = fingerprint(fast), seen, period;
	uint32_t number = fast->tail;

	mca_steady_set_next(steady, number, fast->position, fast->block->count);
	if (number >= fast->last) {
		steady->searching = false;
		return;
	}
	seen = mca_steady_remember(steady, print, number);
	if (mca_steady_is_due(steady, number)) {
		compare(fast);
		/* The comparison may have changed the numbers. */
		if (fast->tail != number) {
			mca_steady_set_next(steady, fast->tail, fast->position, fast->block->count);
			return;
		}
	}
	period = mca_steady_period(steady, seen, number, fast->last);
	if (!period)
		return;
	mca_fast_snapshot_write(fast);
	if (snapshots->now.valid) {
		struct mca_fast_snapshot swap = snapshots->then;

		snapshots->then = snapshots->now;
		snapshots->now = swap;
		mca_steady_confirm(steady, number, period);
		start_levels(fast);
		mca_use_mark(&fast->use);
	}
}
