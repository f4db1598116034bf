/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Steady state: a run whose machine is where it was some iterations ago goes on as it did then.
 *
 * Once per iteration everything that decides what happens next is written down, with instructions,
 * cycles and memory groups relative to the next ones, and compared with one earlier iteration
 * (Brent's method: the one compared with moves on at powers of two).  What only events show (what
 * was critical) is left out.  When both are equal, whole periods are taken out of what is left to
 * fetch, and their cycles are added; the rest of the run is executed.
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

static void put_flight(struct mca_run *run, const struct mca_flight *flight)
{
	put(run, relative(run, flight));
	if (!flight)
		return;
	put_pair(run, flight->stage, flight->asleep);
	put_pair(run, flight->cycles_left, (int)relative_group(run, flight->memory_group));
	for (unsigned int i = 0; i < flight->lowered->reads; i++) {
		const struct mca_read *read = &flight->reads[i];

		put_pair(run, (int)read->producers, read->ready);
		put_pair(run, read->cycles_left, read->total_cycles);
	}
	for (unsigned int i = 0; i < flight->lowered->writes; i++) {
		const struct mca_result *result = &flight->results[i];

		put_pair(run, result->cycles_left, (int)result->user_count);
		for (const struct mca_user *user = result->users; user; user = user->next) {
			const struct mca_flight *reader = user->read->flight;

			put(run, relative(run, reader));
			put_pair(run, (int)(user->read - reader->reads), user->advance);
		}
		put(run, UINT64_MAX);
	}
}

static void put_list(struct mca_run *run, const struct mca_flight_list *list)
{
	put(run, list->count);
	for (unsigned int i = 0; i < list->count; i++)
		put(run, relative(run, list->list[i]));
}

static void put_registers(struct mca_run *run)
{
	const struct mca_register_file *registers = &run->registers;

	put(run, registers->used);
	for (unsigned int i = 0; i < MCA_REGISTER_COUNT; i++) {
		const struct mca_last_write *last = &registers->last[i];

		if (!last->valid)
			continue;
		put_pair(run, (int)i, last->result ? 1 : 0);
		if (last->result) {
			const struct mca_lowered *lowered =
				&run->block->lowered[last->instruction % run->block->count];

			put(run, run->next_number - last->instruction);
			put(run, (uint64_t)(last->result->description - lowered->write));
			/* 0: has not executed, which its flight tells. */
			put(run, last->cycle ? registers->cycle - last->cycle : UINT64_MAX);
		} else {
			put(run, last->name);
			put(run, registers->cycle - last->cycle);
		}
	}
}

static void put_resources(struct mca_run *run)
{
	const struct mca_resources *resources = &run->resources;

	for (unsigned int i = 0; i <= MCA_RESOURCES_MAX; i++) {
		const struct mca_resource_state *state = &resources->state[i];

		if (!state->mask)
			continue;
		put(run, state->ready_mask);
		put(run, state->next);
		put(run, state->removed);
		put_pair(run, (int)state->slots, state->reserved);
	}
	put(run, resources->reserved_groups);
	put(run, resources->available_buffers);
	put(run, resources->reserved_buffers);
	put(run, resources->busy_count);
	for (unsigned int i = 0; i < resources->busy_count; i++) {
		put(run, resources->busy[i].resource);
		put(run, resources->busy[i].unit);
		put(run, resources->busy[i].cycles);
	}
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

static void write_down(struct mca_run *run)
{
	bool out_of_order = run->reorder;

	run->steady.now.count = 0;
	put(run, run->next_number % run->block->count);
	put(run, run->next_number - run->retired);
	put_flight(run, run->current);
	put_pair(run, (int)run->dispatch_available, (int)run->carry_over);
	put_pair(run, (int)run->reorder_available, (int)run->last_write_back);
	put_pair(run, (int)run->stall_cycles, (int)run->stall_reason);
	put_flight(run, run->stalled);
	if (out_of_order) {
		unsigned int place = run->reorder_current;
		unsigned int used = run->reorder_entries - run->reorder_available;

		put(run, run->carried_over ? 1 : 0);
		while (used) {
			const struct mca_reorder_entry *entry = &run->reorder[place];

			put_pair(run, (int)entry->slots, entry->executed);
			put_flight(run, entry->flight);
			used -= entry->slots;
			place = (place + entry->slots) % run->reorder_size;
		}
	} else {
		put_flight(run, run->carried_over);
		for (unsigned int i = 0; i < run->issued.count; i++)
			put_flight(run, run->issued.list[i]);
	}
	put_list(run, &run->waiting);
	put_list(run, &run->pending);
	put_list(run, &run->ready);
	put_list(run, &run->issued);
	put_registers(run);
	put_resources(run);
	put_memory(run);
}

void mca_steady_init(struct mca_run *run)
{
	bool possible =
		!run->options->every_iteration && !run->options->given && !run->options->pressure;

	for (unsigned int i = 0; i < run->listener_count; i++)
		if (run->listeners[i].kinds && !(run->listeners[i].kinds & 1u << PESA_MCA_REPEATED))
			possible = false;
	run->steady.searching = possible;
	run->steady.next = run->block->count;
	run->steady.limit = 1;
}

void mca_steady_cycle(struct mca_run *run, uint64_t cycle)
{
	struct mca_steady *steady = &run->steady;
	struct mca_snapshot *now = &steady->now, *then = &steady->then, swap;

	steady->next = (run->next_number / run->block->count + 1) * run->block->count;
	if (run->next_number >= run->last_number) {
		steady->searching = false;
		return;
	}
	write_down(run);
	if (run->out_of_memory)
		return;
	if (now->count == then->count &&
	    !memcmp(now->words, then->words, now->count * sizeof(*now->words))) {
		uint64_t period = run->next_number - steady->then_number;
		uint64_t times = (run->last_number - run->next_number - 1) / period;

		steady->searching = false;
		steady->instructions = times * period;
		steady->cycles = times * (cycle - steady->then_cycle);
		run->last_number -= steady->instructions;
		return;
	}
	if (++steady->compared < steady->limit)
		return;
	steady->compared = 0;
	steady->limit *= 2;
	steady->then_number = run->next_number;
	steady->then_cycle = cycle;
	swap = *then;
	*then = *now;
	*now = swap;
}
