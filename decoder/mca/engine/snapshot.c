/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Snapshots of an in-order processor, for the search of a steady state (steady.h).  Out-of-order
 * runs without listeners use fast.h.
 *
 * The snapshot omits data used only for events (critical dependencies, causes of issue stalls, the
 * order within a cycle), and data that follows from the rest:
 *
 * - Instructions fetched but not issued are the next one or two at that position of the block;
 *   whether an instruction is stalled determines which.
 * - Instructions issue in program order with their operands available: no operand waits for a
 *   result, and the last writer of a register is the last one before the position, in flight or
 *   not.  The completion of its results follows from when it has executed, by its latencies.
 * - Write-backs are in order, so the cycle of the last one is that of the youngest in-flight
 *   instruction that takes part in the order.
 *
 * tests/unit/test_mca_steady.c changes one part of the machine at a time: either the snapshot
 * differs, or the run ends as before.  For each part there is a case that only this part detects.
 */
#include <stdlib.h>
#include <string.h>

#include "decoder/mca/engine/use.h"

/* Make room for `words` more words. */
static struct pesa_error *reserve(struct mca_run *run, unsigned int words)
{
	struct mca_snapshot *now = &run->snapshots.now;
	unsigned int size = now->size ? now->size : 1024;
	uint64_t *larger;

	while (size - now->count < words)
		size *= 2;
	if (size == now->size)
		return NULL;
	larger = mca_arena_grow(&run->arena, now->words, now->count * sizeof(*larger),
				size * sizeof(*larger));
	if (!larger)
		return pesa_error_no_memory();
	now->words = larger;
	now->size = size;
	return NULL;
}

static void put(struct mca_run *run, uint64_t value)
{
	struct pesa_error *error = reserve(run, 1);

	if (error)
		mca_fail(run, error);
	else
		run->snapshots.now.words[run->snapshots.now.count++] = value;
}

static void put_pair(struct mca_run *run, int high, int low)
{
	put(run, (uint64_t)(uint32_t)high << 32 | (uint32_t)low);
}

/* 0: none */
static uint64_t relative(const struct mca_run *run, const struct mca_inflight *flight)
{
	return flight ? run->next_number - flight->instruction : 0;
}

static uint64_t relative_group(const struct mca_run *run, unsigned int group)
{
	return group ? run->memory.next - group : 0;
}

static bool has(const struct mca_run *run, enum mca_snapshot_part part)
{
	return !(run->snapshots.ignored_parts >> part & 1);
}

static uint64_t from_now(const struct mca_run *run, uint64_t cycle)
{
	return cycle > run->now ? cycle - run->now : 0;
}

/* Sort by program order: the list order affects only the order of events. */
static void sort_issued(struct mca_run *run)
{
	struct mca_inflight **list = run->issued.list;

	for (unsigned int i = 1; i < run->issued.count; i++) {
		struct mca_inflight *flight = list[i];
		unsigned int j = i;

		for (; j && list[j - 1]->instruction > flight->instruction; j--)
			list[j] = list[j - 1];
		list[j] = flight;
	}
}

static void put_flights(struct mca_run *run)
{
	sort_issued(run);
	put(run, run->issued.count);
	for (unsigned int i = 0; i < run->issued.count; i++) {
		const struct mca_inflight *flight = run->issued.list[i];
		unsigned int group = mca_is_memory(flight) ? flight->memory_group : 0;

		put_pair(run, (int)relative(run, flight), (int)relative_group(run, group));
		put(run, from_now(run, flight->executed));
	}
}

/* Write-back cycles of results that can still delay a reader. */
static void put_committed(struct mca_run *run)
{
	for (unsigned int i = 0; i < run->block->touched_count; i++) {
		unsigned int reg = run->block->touched[i];
		const struct mca_last_write *last = &run->registers.last[reg];
		uint64_t oldest = last->after + run->snapshots.oldest;

		if (last->valid && !last->result && run->now - last->cycle < oldest)
			put_pair(run, (int)reg, (int)(run->now - last->cycle));
	}
}

static void put_resources(struct mca_run *run)
{
	struct mca_snapshot *now = &run->snapshots.now;
	struct pesa_error *error = reserve(run, mca_resources_words(run->block, &run->resources));

	if (error)
		mca_fail(run, error);
	else
		now->count += mca_resources_snapshot(&run->resources, run->block,
						     run->snapshots.ignored_parts, run->now,
						     now->words + now->count);
}

static void put_memory(struct mca_run *run)
{
	const struct mca_memory *memory = &run->memory;

	put_pair(run, (int)relative_group(run, memory->load),
		 (int)relative_group(run, memory->store));
	if (run->block->barriers)
		put(run, relative_group(run, memory->barrier));
	put(run, memory->next - memory->oldest);
	for (unsigned int i = memory->oldest; i != memory->next; i++) {
		const struct mca_memory_group *group = &memory->groups[i & (memory->size - 1)];

		put(run, group->live);
		if (!group->live)
			continue;
		put_pair(run, (int)group->predecessors, (int)group->executing_predecessors);
		put_pair(run, (int)group->executed_predecessors, (int)group->instructions);
		put_pair(run, (int)group->executing, (int)group->executed);
		put(run, group->successor_count);
		for (unsigned int j = 0; j < group->successor_count; j++) {
			unsigned int to = group->successors[j] & ~0x80000000u;

			put_pair(run, (int)(group->successors[j] >> 31),
				 (int)relative_group(run, to));
		}
	}
}

void mca_snapshot_write(struct mca_run *run)
{
	run->snapshots.now.count = 0;
	if (has(run, MCA_SNAPSHOT_POSITION))
		put(run, run->next_in_block);
	if (has(run, MCA_SNAPSHOT_CARRY_OVER))
		put(run, run->carry_over);
	if (has(run, MCA_SNAPSHOT_STALL))
		put_pair(run, run->stalled != NULL, (int)run->stall_cycles);
	if (has(run, MCA_SNAPSHOT_FLIGHTS))
		put_flights(run);
	if (has(run, MCA_SNAPSHOT_COMMITTED))
		put_committed(run);
	put_resources(run);
	if (has(run, MCA_SNAPSHOT_MEMORY))
		put_memory(run);
}

/* ---- The search ------------------------------------------------------------------------------ */

void mca_snapshot_init(struct mca_run *run)
{
	struct mca_snapshots *snapshots = &run->snapshots;

	run->steady.searching = !pesa_mca_model_is_out_of_order(run->model) &&
				!run->options->every_iteration && !run->options->stimuli &&
				!(run->wanted & ~MCA_COUNTED);
	run->steady.next = run->block->count;
	for (unsigned int i = 0; i < run->block->count && !run->options->stimuli; i++) {
		const struct mca_lowered *lowered = &run->block->lowered[i];

		for (unsigned int j = 0; j < lowered->reads; j++)
			for (unsigned int k = 0; k < lowered->read[j].advances; k++)
				if (-lowered->read[j].advance[k].cycles > (int)snapshots->oldest)
					snapshots->oldest = -lowered->read[j].advance[k].cycles;
	}
}

static uint64_t fingerprint(struct mca_run *run)
{
	uint64_t print = mca_steady_fingerprint(&run->steady, run->now);

	print = mca_mix(print, run->next_in_block);
	print = mca_mix(print, run->next_number - run->retired);
	print = mca_mix(print, run->carry_over);
	print = mca_mix(print, (uint64_t)run->stall_cycles << 32 | run->last_write_back);
	print = mca_mix(print, (uint64_t)run->memory.next - run->memory.oldest);
	return mca_resources_mix(&run->resources, run->block, print);
}

static void skip_periods(struct mca_run *run)
{
	uint64_t period = run->next_number - run->snapshots.then_number;
	uint64_t times = (run->last_number - run->next_number - 1) / period;

	run->steady.period = (struct mca_period){
		.begin = run->snapshots.then_cycle,
		.cycles = run->now - run->snapshots.then_cycle,
		.instructions = period,
	};
	run->steady.searching = false;
	run->steady.cycles = times * run->steady.period.cycles;
	run->last_number -= times * period;
	mca_use_repeat(&run->use, times);
}

/* Compare with the snapshot of one period ago. */
static void compare(struct mca_run *run)
{
	const struct mca_snapshot *now = &run->snapshots.now, *then = &run->snapshots.then;

	run->steady.confirming = false;
	if (run->next_number == run->steady.until) {
		mca_snapshot_write(run);
		if (run->error)
			return;
		if (now->count == then->count &&
		    !memcmp(now->words, then->words, now->count * sizeof(*now->words))) {
			skip_periods(run);
			return;
		}
	}
	mca_steady_pause(&run->steady, run->next_number);
}

void mca_snapshot_cycle(struct mca_run *run)
{
	struct mca_snapshots *snapshots = &run->snapshots;
	struct mca_steady *steady = &run->steady;
	uint64_t print = fingerprint(run), number = run->next_number, seen, period;

	mca_steady_set_next(steady, number, run->next_in_block, run->block->count);
	if (number >= run->last_number) {
		steady->searching = false;
		return;
	}
	seen = mca_steady_remember(steady, print, number);
	if (mca_steady_is_due(steady, number))
		compare(run);
	period = mca_steady_period(steady, seen, number, run->last_number);
	if (!period)
		return;
	mca_snapshot_write(run);
	if (!run->error) {
		struct mca_snapshot swap = snapshots->then;

		snapshots->then = snapshots->now;
		snapshots->now = swap;
		snapshots->then_number = number;
		snapshots->then_cycle = run->now;
		mca_steady_confirm(steady, number, period);
		mca_use_mark(&run->use);
	}
}
