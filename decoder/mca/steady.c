/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Steady state: a run whose machine is where it was some iterations ago goes on as it did then.
 *
 * Once per iteration a fingerprint of what has issued since the last one, and of how much is in
 * flight, is looked up among those seen.  One that was seen before is only a hint: it gives a
 * period.  Then everything that decides what happens next is written down, with instructions,
 * cycles and memory groups relative to the next ones, and again one period later.  If both are
 * equal, whole periods are taken out of what is left to fetch, and their cycles are added; the rest
 * of the run is executed.
 *
 * A snapshot holds no more than what decides about later cycles, and that in one form:
 *
 * - What only listeners are told is left out: what was critical, in which order things happened
 *   within a cycle (and so the order of lists, except in order, where it is that of retirement).
 * - Times are relative; one that has passed and cannot matter any more is 0.
 * Some of it follows from the rest (free entries of queues from the instructions in flight, say);
 * it is written down all the same, because that costs little.
 *
 * tests/unit/test_mca_steady.c leaves parts out and sees runs go wrong.
 */
#include <stdlib.h>
#include <string.h>

#include "decoder/mca/engine.h"

static void put(struct mca_run *run, uint64_t value)
{
	struct mca_snapshot *now = &run->steady.now;

	if (now->count == now->size) {
		unsigned int size = now->size ? 2 * now->size : 1024;
		uint64_t *larger = realloc(now->words, size * sizeof(*larger));

		if (!larger) {
			run->out_of_memory = true;
			return;
		}
		now->words = larger;
		now->size = size;
	}
	now->words[now->count++] = value;
}

static void put_pair(struct mca_run *run, int high, int low)
{
	put(run, (uint64_t)(uint32_t)high << 32 | (uint32_t)low);
}

/* 0: none. */
static uint64_t relative(const struct mca_run *run, const struct mca_flight *flight)
{
	return flight ? run->next_number - flight->instruction : 0;
}

static uint64_t relative_group(const struct mca_run *run, unsigned int group)
{
	return group ? run->memory.next - group : 0;
}

static bool has(const struct mca_run *run, enum mca_snapshot_part part)
{
	return !(run->steady.left_out >> part & 1);
}

static uint64_t from_now(const struct mca_run *run, uint64_t cycle)
{
	return cycle > run->now ? cycle - run->now : 0;
}

static void put_users(struct mca_run *run, const struct mca_result *result)
{
	for (const struct mca_user *user = result->users; user; user = user->next) {
		const struct mca_flight *reader = user->read->flight;

		put(run, relative(run, reader));
		put_pair(run, (int)(user->read - reader->reads), user->advance);
	}
	put(run, UINT64_MAX);
}

static void put_flight(struct mca_run *run, const struct mca_flight *flight)
{
	put(run, relative(run, flight));
	if (!flight)
		return;
	if (has(run, MCA_SNAPSHOT_FLIGHTS)) {
		put_pair(run, flight->place, (int)flight->producers);
		put_pair(run, (int)flight->users, (int)relative_group(run, flight->memory_group));
		put(run, from_now(run, flight->place == MCA_ISSUED ? flight->executed
								   : flight->arrival));
	}
	for (unsigned int i = 0; i < flight->lowered->writes; i++) {
		const struct mca_result *result = &flight->results[i];

		if (has(run, MCA_SNAPSHOT_RESULTS))
			put(run, (uint64_t)mca_cycles_left(run, result));
		if (has(run, MCA_SNAPSHOT_USERS))
			put_users(run, result);
	}
}

static void put_registers(struct mca_run *run)
{
	for (unsigned int i = 0; i < run->block->touched_count; i++) {
		unsigned int reg = run->block->touched[i];
		const struct mca_last_write *last = &run->registers.last[reg];
		const struct mca_lowered *lowered;

		if (!last->valid)
			continue;
		if (last->result && has(run, MCA_SNAPSHOT_REGISTERS)) {
			lowered = last->result->flight->lowered;
			put_pair(run, (int)reg, (int)(last->result->description - lowered->write));
			put(run, run->next_number - last->instruction);
		}
		/* How long ago an old one was written decides nothing. */
		if (has(run, MCA_SNAPSHOT_COMMITTED) && !last->result &&
		    run->now - last->cycle < run->steady.oldest) {
			put_pair(run, (int)reg, last->name);
			put(run, run->now - last->cycle);
		}
	}
}

static void put_busy(struct mca_run *run)
{
	struct mca_resources *resources = &run->resources;

	mca_resources_sort_busy(resources);
	put(run, resources->busy_count);
	for (unsigned int i = 0; i < resources->busy_count; i++) {
		put(run, resources->busy[i].resource);
		put(run, resources->busy[i].unit);
		put(run, from_now(run, resources->busy[i].until));
	}
}

static void put_resources(struct mca_run *run)
{
	const struct mca_resources *resources = &run->resources;

	for (unsigned int i = 0; i < run->block->unit_count; i++) {
		const struct mca_resource_state *state = &resources->state[run->block->unit[i]];

		if (has(run, MCA_SNAPSHOT_UNITS)) {
			put(run, state->ready_mask);
			put_pair(run, (int)state->slots, state->reserved);
		}
		if (has(run, MCA_SNAPSHOT_NEXT_UNITS)) {
			put(run, state->next);
			put(run, state->removed);
		}
	}
	if (!has(run, MCA_SNAPSHOT_UNITS))
		return;
	put(run, resources->reserved_groups);
	/* In order, buffers are not looked at. */
	if (run->reorder) {
		put(run, resources->available_buffers);
		put(run, resources->reserved_buffers);
	}
	put_busy(run);
}

static void put_memory(struct mca_run *run)
{
	const struct mca_memory *memory = &run->memory;

	put_pair(run, (int)relative_group(run, memory->load),
		 (int)relative_group(run, memory->store));
	put_pair(run, (int)memory->loads, (int)memory->stores);
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

static void put_flights(struct mca_run *run)
{
	unsigned int place = run->reorder_current;
	unsigned int used = run->reorder_entries - run->reorder_available;

	if (!run->reorder) {
		put(run, run->issued.count);
		for (unsigned int i = 0; i < run->issued.count; i++)
			put_flight(run, run->issued.list[i]);
		return;
	}
	put(run, used);
	while (used) {
		const struct mca_reorder_entry *entry = &run->reorder[place];

		put_flight(run, entry->flight);
		if (has(run, MCA_SNAPSHOT_FLIGHTS))
			put(run, entry->executed);
		used -= entry->slots;
		place = (place + entry->slots) % run->reorder_size;
	}
}

static void write_down(struct mca_run *run)
{
	run->steady.now.count = 0;
	if (has(run, MCA_SNAPSHOT_POSITION)) {
		put(run, run->next_in_block);
		put(run, run->next_number - run->retired);
		put_flight(run, run->current);
	}
	if (has(run, MCA_SNAPSHOT_DISPATCH)) {
		put_pair(run, (int)run->dispatch_available, (int)run->carry_over);
		put(run, run->carried_over ? 1 : 0);
		if (!run->reorder)
			put_flight(run, run->carried_over);
	}
	if (has(run, MCA_SNAPSHOT_STALL)) {
		put_pair(run, (int)run->stall_cycles, (int)run->stall_reason);
		put_flight(run, run->stalled);
	}
	if (has(run, MCA_SNAPSHOT_WRITE_BACK))
		put(run, run->last_write_back);
	put(run, run->registers.used);
	put_flights(run);
	put_registers(run);
	put_resources(run);
	if (has(run, MCA_SNAPSHOT_MEMORY))
		put_memory(run);
}

/* ---- The search ---------------------------------------------------------------------------- */

void mca_steady_init(struct mca_run *run, uint64_t left_out)
{
	struct mca_steady *steady = &run->steady;
	bool possible =
		!run->options->every_iteration && !run->options->given && !run->options->pressure;

	for (unsigned int i = 0; i < run->listener_count; i++)
		if (run->listeners[i].kinds && !(run->listeners[i].kinds & 1u << PESA_MCA_REPEATED))
			possible = false;
	steady->searching = possible;
	steady->left_out = left_out;
	steady->next = run->block->count;
	for (unsigned int i = 0; i < run->block->count && possible; i++) {
		const struct mca_lowered *lowered = &run->block->lowered[i];

		for (unsigned int j = 0; j < lowered->reads; j++)
			for (unsigned int k = 0; k < lowered->read[j].advances; k++)
				if (-lowered->read[j].advance[k].cycles > (int)steady->oldest)
					steady->oldest = -lowered->read[j].advance[k].cycles;
	}
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 29;
}

static uint64_t fingerprint(struct mca_run *run)
{
	struct mca_steady *steady = &run->steady;
	uint64_t print = mix(steady->print, run->now - steady->since);

	print = mix(print, run->next_in_block);
	print = mix(print, run->next_number - run->retired);
	print = mix(print, (uint64_t)run->dispatch_available << 32 | run->carry_over);
	print = mix(print, (uint64_t)run->stall_cycles << 32 | run->last_write_back);
	print = mix(print, (uint64_t)run->memory.next - run->memory.oldest);
	for (unsigned int i = 0; i < run->block->unit_count; i++) {
		const struct mca_resource_state *state = &run->resources.state[run->block->unit[i]];

		print = mix(print, state->next ^ state->removed << 32 ^ state->ready_mask << 16);
	}
	if (run->reorder)
		print = mix(print, run->resources.reserved_buffers);
	steady->print = 0;
	steady->since = run->now;
	/* Where only snapshots shall decide, each iteration may repeat the one before. */
	return steady->left_out ? 1 : print;
}

static void take_out(struct mca_run *run)
{
	struct mca_steady *steady = &run->steady;
	uint64_t period = run->next_number - steady->then_number;
	uint64_t times = (run->last_number - run->next_number - 1) / period;

	steady->searching = false;
	steady->instructions = times * period;
	steady->cycles = times * (run->now - steady->then_cycle);
	run->last_number -= steady->instructions;
}

/* The snapshot of one period ago is there to be compared with. */
static void confirm(struct mca_run *run)
{
	struct mca_steady *steady = &run->steady;
	const struct mca_snapshot *now = &steady->now, *then = &steady->then;

	steady->confirming = false;
	if (run->next_number == steady->until) {
		write_down(run);
		if (run->out_of_memory)
			return;
		if (now->count == then->count &&
		    !memcmp(now->words, then->words, now->count * sizeof(*now->words))) {
			take_out(run);
			return;
		}
	}
	/* Something drifts: wait for a while that grows with the run. */
	if (!steady->left_out)
		steady->patience = run->next_number + run->next_number / 8;
}

void mca_steady_cycle(struct mca_run *run)
{
	struct mca_steady *steady = &run->steady;
	uint64_t print = fingerprint(run), seen = 0, number = run->next_number, period;
	unsigned int slot = print % MCA_SEEN;

	steady->next = number - run->next_in_block + run->block->count;
	if (number >= run->last_number) {
		steady->searching = false;
		return;
	}
	if (steady->seen[slot].print == print)
		seen = steady->seen[slot].number;
	steady->seen[slot].print = print;
	steady->seen[slot].number = number;
	if (steady->confirming && number >= steady->until)
		confirm(run);
	if (!steady->searching || steady->confirming || !seen || number < steady->patience)
		return;
	period = number - seen;
	if (number + period >= run->last_number)
		return;
	write_down(run);
	if (!run->out_of_memory) {
		struct mca_snapshot swap = steady->then;

		steady->then = steady->now;
		steady->now = swap;
		steady->then_number = number;
		steady->then_cycle = run->now;
		steady->until = number + period;
		steady->confirming = true;
	}
}
