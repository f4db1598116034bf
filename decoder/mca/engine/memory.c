/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory groups: dependencies between loads and stores.
 *
 * A store waits for older loads and stores (or only for their order, if they do not alias); a load
 * may pass older loads, and older stores unless it aliases them.  A barrier waits for all that are
 * older, and all that are younger wait for it.  Groups are numbered from 1.
 */
#include <string.h>

#include "decoder/mca/engine/engine.h"

#define ORDER_ONLY 0x80000000u

static struct mca_memory_group *group_of(const struct mca_memory *memory, unsigned int number)
{
	return &memory->groups[number & (memory->size - 1)];
}

struct pesa_error *mca_memory_init(struct mca_run *run)
{
	struct mca_memory *memory = &run->memory;
	const struct pesa_mca_run_options *options = run->options;

	memory->size = 64;
	memory->groups = mca_arena_take(&run->arena, memory->size * sizeof(*memory->groups));
	memory->oldest = memory->next = 1;
	memory->load_queue = options->load_queue ? options->load_queue : run->model->load_queue;
	memory->store_queue = options->store_queue ? options->store_queue : run->model->store_queue;
	memory->no_alias = !options->loads_alias_stores;
	if (!memory->groups)
		return pesa_error_no_memory();
	if (!options->store_ports || !memory->store_queue ||
	    !pesa_mca_model_is_out_of_order(run->model))
		return NULL;
	memory->leaving =
		mca_arena_take(&run->arena, memory->store_queue * sizeof(*memory->leaving));
	return memory->leaving ? NULL : pesa_error_no_memory();
}

static bool is_executing(const struct mca_memory_group *group)
{
	return group->executing && group->executing == group->instructions - group->executed;
}

static bool is_ready(const struct mca_memory_group *group)
{
	return group->executed_predecessors == group->predecessors;
}

static bool is_waiting(const struct mca_memory_group *group)
{
	return group->predecessors > group->executing_predecessors + group->executed_predecessors;
}

/* Number of a new group; 0: out of memory. */
static unsigned int create_group(struct mca_run *run)
{
	struct mca_memory *memory = &run->memory;
	struct mca_memory_group *group;
	unsigned int *successors, size;

	if (memory->next - memory->oldest == memory->size) {
		struct mca_memory_group *larger =
			mca_arena_take(&run->arena, 2 * memory->size * sizeof(*larger));

		if (!larger) {
			mca_fail(run, pesa_error_no_memory());
			return 0;
		}
		for (unsigned int i = memory->oldest; i != memory->next; i++)
			larger[i & (2 * memory->size - 1)] = *group_of(memory, i);
		memory->groups = larger;
		memory->size *= 2;
	}
	group = group_of(memory, memory->next);
	successors = group->successors;
	size = group->successor_size;
	*group = (struct mca_memory_group){
		.successors = successors,
		.successor_size = size,
		.instructions = 1,
		.live = true,
	};
	return memory->next++;
}

/* Likewise, with an instruction in it. */
static unsigned int create_group_of(struct mca_run *run, struct mca_inflight *flight)
{
	unsigned int group = create_group(run);

	flight->memory_group = group;
	if (group)
		group_of(&run->memory, group)->first = flight;
	return group;
}

/* The instructions of a group may proceed, unless they wait for something else. */
static void wake(struct mca_run *run, const struct mca_memory_group *group)
{
	if (is_waiting(group))
		return;
	for (struct mca_inflight *flight = group->first; flight; flight = flight->next_in_group)
		mca_scheduler_wake(run, flight);
}

/* All instructions of a predecessor have issued. */
static void predecessor_issued(struct mca_run *run, struct mca_memory_group *group,
			       const struct mca_inflight *critical, bool data)
{
	unsigned int left =
		critical && critical->executed > run->now ? critical->executed - run->now : 0;

	group->executing_predecessors++;
	if (data && group->critical.cycles < left)
		group->critical = (struct pesa_mca_critical){
			.instruction = critical->instruction,
			.cycles = left,
		};
	wake(run, group);
}

static void predecessor_executed(struct mca_run *run, struct mca_memory_group *group)
{
	group->executing_predecessors--;
	group->executed_predecessors++;
	wake(run, group);
}

static void add_successor(struct mca_run *run, unsigned int from, unsigned int to, bool data)
{
	struct mca_memory_group *group = group_of(&run->memory, from);
	struct mca_memory_group *successor = group_of(&run->memory, to);

	if (!data && is_executing(group))
		return;
	if (group->successor_count == group->successor_size) {
		unsigned int size = group->successor_size ? 2 * group->successor_size : 4;
		unsigned int *larger = mca_arena_grow(&run->arena, group->successors,
						      group->successor_count * sizeof(*larger),
						      size * sizeof(*larger));

		if (!larger) {
			mca_fail(run, pesa_error_no_memory());
			return;
		}
		group->successors = larger;
		group->successor_size = size;
	}
	successor->predecessors++;
	if (is_executing(group))
		predecessor_issued(run, successor, group->critical_instruction, data);
	group->successors[group->successor_count++] = to | (data ? 0 : ORDER_ONLY);
}

static void wait_for_barrier(struct mca_run *run, unsigned int group)
{
	if (run->memory.barrier)
		add_successor(run, run->memory.barrier, group, true);
}

static void dispatch_barrier(struct mca_run *run, struct mca_inflight *flight)
{
	struct mca_memory *memory = &run->memory;
	unsigned int group = create_group_of(run, flight);

	if (!group)
		return;
	for (unsigned int i = memory->oldest; i != group; i++)
		if (group_of(memory, i)->live)
			add_successor(run, i, group, true);
	memory->barrier = group;
	memory->load = memory->store = 0;
}

static void dispatch_store(struct mca_run *run, struct mca_inflight *flight)
{
	struct mca_memory *memory = &run->memory;
	unsigned int group = create_group_of(run, flight);

	if (!group)
		return;
	wait_for_barrier(run, group);
	if (memory->load && !run->options->free_order)
		add_successor(run, memory->load, group, !memory->no_alias);
	if (memory->store && !run->options->free_order)
		add_successor(run, memory->store, group, !memory->no_alias);
	memory->store = group;
	if (flight->description->load)
		memory->load = group;
}

static void dispatch_load(struct mca_run *run, struct mca_inflight *flight)
{
	struct mca_memory *memory = &run->memory;
	unsigned int group = memory->load;

	if (group && group > memory->store && !is_executing(group_of(memory, group))) {
		group_of(memory, group)->instructions++;
		flight->next_in_group = group_of(memory, group)->first;
		group_of(memory, group)->first = flight;
		flight->memory_group = group;
		return;
	}
	group = create_group_of(run, flight);
	if (!group)
		return;
	wait_for_barrier(run, group);
	if (!memory->no_alias && memory->store)
		add_successor(run, memory->store, group, true);
	memory->load = group;
}

void mca_memory_dispatch(struct mca_run *run, struct mca_inflight *flight)
{
	run->memory.loads += flight->description->load;
	run->memory.stores += flight->description->store;
	if (flight->lowered->barrier)
		dispatch_barrier(run, flight);
	else if (flight->description->store)
		dispatch_store(run, flight);
	else
		dispatch_load(run, flight);
}

void mca_memory_cycle(struct mca_memory *memory)
{
	for (unsigned int i = memory->oldest; i != memory->next; i++) {
		struct mca_memory_group *group = group_of(memory, i);

		if (group->live && group->critical.cycles && is_waiting(group))
			group->critical.cycles--;
	}
}

bool mca_memory_is_ready(const struct mca_memory *memory, const struct mca_inflight *flight)
{
	return is_ready(group_of(memory, flight->memory_group));
}

bool mca_memory_is_pending(const struct mca_memory *memory, const struct mca_inflight *flight)
{
	const struct mca_memory_group *group = group_of(memory, flight->memory_group);

	return group->executing_predecessors &&
	       group->executed_predecessors + group->executing_predecessors == group->predecessors;
}

bool mca_memory_is_waiting(const struct mca_memory *memory, const struct mca_inflight *flight)
{
	return is_waiting(group_of(memory, flight->memory_group));
}

bool mca_memory_has_users(const struct mca_memory *memory, const struct mca_inflight *flight)
{
	const struct mca_memory_group *group = group_of(memory, flight->memory_group);

	return group->instructions != group->executed && group->successor_count;
}

struct pesa_mca_critical mca_memory_critical(const struct mca_memory *memory,
					     const struct mca_inflight *flight)
{
	return group_of(memory, flight->memory_group)->critical;
}

void mca_memory_issued(struct mca_run *run, struct mca_inflight *flight)
{
	struct mca_memory_group *group = group_of(&run->memory, flight->memory_group);

	group->executing++;
	if (!group->critical_instruction ||
	    group->critical_instruction->executed < flight->executed)
		group->critical_instruction = flight;
	if (!is_executing(group))
		return;
	for (unsigned int i = 0; i < group->successor_count; i++) {
		bool data = !(group->successors[i] & ORDER_ONLY);
		struct mca_memory_group *successor =
			group_of(&run->memory, group->successors[i] & ~ORDER_ONLY);

		predecessor_issued(run, successor, group->critical_instruction, data);
		if (!data)
			predecessor_executed(run, successor);
	}
}

void mca_memory_executed(struct mca_run *run, struct mca_inflight *flight)
{
	struct mca_memory *memory = &run->memory;
	struct mca_memory_group *group;

	if (!mca_is_memory(flight))
		return;
	group = group_of(memory, flight->memory_group);
	group->executing--;
	group->executed++;
	if (group->critical_instruction == flight)
		group->critical_instruction = NULL;
	if (group->executed != group->instructions)
		return;
	for (unsigned int i = 0; i < group->successor_count; i++)
		if (!(group->successors[i] & ORDER_ONLY))
			predecessor_executed(run, group_of(memory, group->successors[i]));
	group->live = false;
	if (memory->load == flight->memory_group)
		memory->load = 0;
	if (memory->store == flight->memory_group)
		memory->store = 0;
	if (memory->barrier == flight->memory_group)
		memory->barrier = 0;
	while (memory->oldest != memory->next && !group_of(memory, memory->oldest)->live)
		memory->oldest++;
}

/* A retired store goes to the cache: in order, as many a cycle as there are ports. */
static void drain(struct mca_run *run)
{
	struct mca_memory *memory = &run->memory;
	unsigned int place = memory->first_leaving + memory->leaving_count++;

	if (run->now >= memory->drain_cycle) {
		memory->drain_cycle = run->now + 1;
		memory->drained = 0;
	} else if (memory->drained == run->options->store_ports) {
		memory->drain_cycle++;
		memory->drained = 0;
	}
	memory->drained++;
	memory->leaving[place % memory->store_queue] =
		memory->drain_cycle + run->options->store_latency + 1;
}

void mca_memory_retired(struct mca_run *run, const struct mca_inflight *flight)
{
	struct mca_memory *memory = &run->memory;

	memory->loads -= flight->description->load;
	if (flight->description->store && memory->leaving)
		drain(run);
	else
		memory->stores -= flight->description->store;
}

void mca_memory_free_stores(struct mca_run *run)
{
	struct mca_memory *memory = &run->memory;

	while (memory->leaving_count && memory->leaving[memory->first_leaving] <= run->now) {
		memory->first_leaving = (memory->first_leaving + 1) % memory->store_queue;
		memory->leaving_count--;
		memory->stores--;
	}
}
