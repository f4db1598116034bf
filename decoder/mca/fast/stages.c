/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The fast path: its stages, cycle by cycle.  See fast.h. */
#include <string.h>

#include "decoder/mca/engine/inflight.h"
#include "decoder/mca/fast/lists.h"

/* What a run takes of its arena, usually. */
#define BYTES 65536

static bool is_memory(const struct mca_fast_instruction *plan)
{
	return plan->load || plan->store;
}

/* ---- The timing wheel ---------------------------------------------------------------------------- */

/* Operands that arrive now, and memory instructions that have executed. */
static void advance_wheel(struct mca_fast *quick)
{
	unsigned int slot = quick->now % MCA_WHEEL;
	uint32_t place, next;

	if (!(quick->in_wheel >> slot & 1))
		return;
	place = quick->wheel[slot];
	quick->wheel[slot] = MCA_FAST_NONE;
	quick->in_wheel &= ~(UINT64_C(1) << slot);
	for (; place != MCA_FAST_NONE; place = next) {
		struct mca_fast_inflight *flight = &quick->ring[place];

		next = flight->next;
		if (flight->time != quick->now)
			mca_fast_add_to_wheel(quick, flight);
		else if (flight->stage == MCA_ISSUED)
			mca_fast_memory_executed(quick, flight);
		else
			mca_fast_wake(quick, flight);
	}
}

/* The next cycle in which the timing wheel may have something: `now` is looked up already. */
static uint64_t next_in_wheel(const struct mca_fast *quick)
{
	unsigned int slot = (quick->now + 1) % MCA_WHEEL;
	uint64_t turned =
		quick->in_wheel >> slot | (slot ? quick->in_wheel << (MCA_WHEEL - slot) : 0);

	return turned ? quick->now + 1 + __builtin_ctzll(turned) : UINT64_MAX;
}

/* ---- Ready ones ------------------------------------------------------------------------------ */

static void take_out(struct mca_fast *quick, struct mca_fast_kind *kind,
		     struct mca_fast_inflight *flight)
{
	if (flight->previous == MCA_FAST_NONE)
		kind->first = flight->next;
	else
		quick->ring[flight->previous].next = flight->next;
	if (flight->next == MCA_FAST_NONE)
		kind->last = flight->previous;
	else
		quick->ring[flight->next].previous = flight->previous;
}

/* An operand waits for it: it may go before others of its kind now. */
static void has_user(struct mca_fast *quick, struct mca_fast_inflight *flight)
{
	struct mca_fast_kind *kind;
	uint32_t previous = flight->previous;

	flight->rank--;
	if (flight->stage != MCA_READY)
		return;
	if (previous == MCA_FAST_NONE || !mca_fast_goes_before(flight, &quick->ring[previous]))
		return;
	kind = &quick->kinds[quick->plan[flight->position].kind];
	take_out(quick, kind, flight);
	mca_fast_insert(quick, kind, flight, previous);
}

/* ---- Who may go on --------------------------------------------------------------------------- */

static void become_pending(struct mca_fast *quick, struct mca_fast_inflight *flight)
{
	flight->stage = MCA_PENDING;
	if (flight->time > quick->now)
		mca_fast_add_to_wheel(quick, flight);
}

static bool waits_for_memory(const struct mca_fast *quick, const struct mca_fast_inflight *flight)
{
	return flight->group && mca_fast_group(quick, flight->group)->waits_issue;
}

static bool memory_is_ready(const struct mca_fast *quick, const struct mca_fast_inflight *flight)
{
	return !flight->group || !mca_fast_group(quick, flight->group)->waits_end;
}

/* Whether some have become pending. */
static bool promote_waiting(struct mca_fast *quick)
{
	bool promoted = false;

	for (uint32_t i = 0; i < quick->known_count; i++) {
		struct mca_fast_inflight *flight = &quick->ring[quick->known[i]];

		flight->woken = false;
		if (flight->producers || waits_for_memory(quick, flight))
			continue;
		become_pending(quick, flight);
		mca_fast_wake(quick, flight);
		promoted = true;
	}
	quick->known_count = 0;
	return promoted;
}

static void promote_pending(struct mca_fast *quick)
{
	for (uint32_t i = 0; i < quick->arrived_count; i++) {
		struct mca_fast_inflight *flight = &quick->ring[quick->arrived[i]];

		flight->woken = false;
		if (flight->time <= quick->now && memory_is_ready(quick, flight))
			mca_fast_become_ready(quick, flight);
	}
	quick->arrived_count = 0;
}

/* ---- Execute --------------------------------------------------------------------------------- */

/* The operands that wait for its results: they are those of instructions in flight. */
static void tell_users(struct mca_fast *quick, const struct mca_fast_inflight *flight)
{
	const struct mca_fast_instruction *plan = &quick->plan[flight->position];
	const struct mca_fast_edge *edge = &quick->users[plan->first_user];

	for (unsigned int i = 0; i < plan->users; i++, edge++) {
		struct mca_fast_inflight *reader;

		if (flight->number + edge->distance >= quick->tail)
			break;
		reader = mca_fast_inflight(quick, flight->number + edge->distance);
		if (edge->delay > 0 && quick->now + edge->delay > reader->time)
			reader->time = quick->now + edge->delay;
		if (!--reader->producers)
			mca_fast_wake(quick, reader);
	}
}

static void take_units(struct mca_fast *quick, const struct mca_fast_instruction *plan)
{
	const struct mca_fast_kind *kind = &quick->kinds[plan->kind];
	struct mca_pipe pipes[MCA_PIPES_MAX];

	if (quick->units.plain)
		mca_units_take(&quick->units, quick->now, kind->use, kind->uses);
	else
		mca_resources_issue(&quick->resources, quick->now, plan->description, pipes);
}

static void release_units(struct mca_fast *quick)
{
	if (quick->units.plain)
		mca_units_cycle(&quick->units, quick->now);
	else
		mca_resources_cycle(&quick->resources, quick->now);
}

static void issue(struct mca_fast *quick, struct mca_fast_inflight *flight)
{
	const struct mca_fast_instruction *plan = &quick->plan[flight->position];
	bool has_users = flight->rank != (int32_t)flight->number;

	if (flight->group) {
		const struct mca_fast_group *group = mca_fast_group(quick, flight->group);

		has_users |= group->live && group->successors;
	}
	if (plan->buffers)
		mca_buffers_release(&quick->resources, plan->buffers);
	take_units(quick, plan);
	if ((int32_t)flight->number - flight->rank > quick->steady.most_users)
		quick->steady.most_users = (int32_t)flight->number - flight->rank;
	flight->stage = MCA_ISSUED;
	flight->time = quick->now + plan->latency;
	quick->steady.print = (quick->steady.print ^ flight->position ^
			       (quick->now - quick->steady.since) << 32) *
			      UINT64_C(0x9e3779b97f4a7c15);
	quick->steady.print ^= quick->steady.print >> 29;
	tell_users(quick, flight);
	if (flight->group) {
		mca_fast_memory_issued(quick, flight);
		if (plan->latency)
			mca_fast_add_to_wheel(quick, flight);
		else
			mca_fast_memory_executed(quick, flight);
	}
	if (has_users && promote_waiting(quick))
		promote_pending(quick);
}

static bool can_issue(const struct mca_fast *quick, const struct mca_fast_kind *kind)
{
	if (quick->units.plain)
		return mca_units_are_free(&quick->units, kind->use, kind->uses);
	return !mca_resources_busy(&quick->resources, kind->description);
}

/* Issue what is ready and finds its units, the first to go first; whether there was any. */
static bool issue_all(struct mca_fast *quick)
{
	uint64_t busy = 0; /* kinds; units only become fewer within a cycle */
	bool any = false;

	for (;;) {
		struct mca_fast_inflight *flight = NULL;
		unsigned int best = 0;

		for (uint64_t rest = quick->active & ~busy; rest; rest &= rest - 1) {
			unsigned int number = __builtin_ctzll(rest);
			const struct mca_fast_kind *kind = &quick->kinds[number];
			struct mca_fast_inflight *first = &quick->ring[kind->first];

			if (flight && !mca_fast_goes_before(first, flight))
				continue;
			if (can_issue(quick, kind)) {
				best = number;
				flight = first;
			} else if (!kind->description->overlapping_groups) {
				busy |= rest & -rest;
			}
		}
		if (!flight)
			return any;
		take_out(quick, &quick->kinds[best], flight);
		if (quick->kinds[best].first == MCA_FAST_NONE)
			quick->active &= ~(UINT64_C(1) << best);
		issue(quick, flight);
		any = true;
	}
}

/* ---- Dispatch -------------------------------------------------------------------------------- */

/* Note the lowest level that something has had. */
static void lower(struct mca_fast_level *level, int32_t now)
{
	if (now < level->least)
		level->least = now;
}

/* The least of everything whose want stops dispatch: a period must not come near it. */
static void watch(struct mca_fast *quick, const struct mca_fast_instruction *plan)
{
	struct mca_fast_steady *steady = &quick->steady;

	lower(&steady->reorder, quick->slots_free);
	lower(&steady->registers, quick->registers_free);
	lower(&steady->loads, quick->load_queue - quick->loads);
	lower(&steady->stores, quick->store_queue - quick->stores);
	for (uint64_t rest = plan->buffers; rest; rest &= rest - 1) {
		unsigned int index = __builtin_ctzll(rest);

		lower(&steady->buffers[index], quick->resources.state[index].slots);
	}
}

static void find_sources(struct mca_fast *quick, struct mca_fast_inflight *flight,
			 const struct mca_fast_instruction *plan)
{
	const struct mca_fast_edge *edge = &quick->sources[plan->first_source];

	for (unsigned int i = 0; i < plan->sources; i++, edge++) {
		uint32_t number = flight->number - edge->distance;
		struct mca_fast_inflight *writer = mca_fast_inflight(quick, number);
		uint64_t arrival;

		if (edge->distance > flight->number)
			continue;
		if (number < quick->head) {
			arrival = edge->late ? writer->time + edge->late : 0;
		} else if (writer->stage != MCA_ISSUED) {
			flight->producers++;
			has_user(quick, writer);
			continue;
		} else {
			arrival = (writer->time > quick->now ? writer->time : quick->now) +
				  (int64_t)edge->rest;
		}
		if (arrival > quick->now && arrival > flight->time)
			flight->time = arrival;
	}
}

static void dispatch(struct mca_fast *quick, const struct mca_fast_instruction *plan)
{
	struct mca_fast_inflight *flight = mca_fast_inflight(quick, quick->tail);

	*flight = (struct mca_fast_inflight){
		.number = quick->tail,
		.rank = quick->tail,
		.position = quick->position,
		.stage = MCA_FETCHED,
	};
	find_sources(quick, flight, plan);
	quick->tail++;
	if (++quick->position == quick->block->count)
		quick->position = 0;
	quick->slots_free -= plan->slots;
	quick->registers_free -= plan->writes;
	if (plan->buffers)
		mca_buffers_reserve(&quick->resources, plan->buffers);
	if (is_memory(plan))
		mca_fast_memory_dispatch(quick, flight);
	if (quick->steady.confirming)
		watch(quick, plan);
	if (flight->producers || waits_for_memory(quick, flight))
		flight->stage = MCA_WAITING;
	else if (flight->time > quick->now || !memory_is_ready(quick, flight))
		become_pending(quick, flight);
	else if (plan->must_issue)
		issue(quick, flight);
	else
		mca_fast_become_ready(quick, flight);
}

static bool can_dispatch(const struct mca_fast *quick, const struct mca_fast_instruction *plan,
			 uint32_t available)
{
	uint32_t required =
		plan->micro_ops < quick->dispatch_width ? plan->micro_ops : quick->dispatch_width;

	if (!available || required > available ||
	    (plan->begin_group && available != quick->dispatch_width))
		return false;
	if (quick->slots_free < plan->slots)
		return false;
	if (plan->load && quick->load_queue && quick->loads == quick->load_queue)
		return false;
	if (plan->store && quick->store_queue && quick->stores == quick->store_queue)
		return false;
	if (quick->register_file_size && quick->registers_free < plan->writes &&
	    quick->registers_free < quick->register_file_size)
		return false;
	return !plan->buffers ||
	       mca_buffers_check(&quick->resources, plan->buffers) == MCA_BUFFERS_AVAILABLE;
}

/* Whether something was dispatched, or is still. */
static bool dispatch_cycle(struct mca_fast *quick)
{
	uint32_t available = quick->dispatch_width, first = quick->tail;
	bool carries = quick->carry_over;

	if (carries) {
		uint32_t taken = quick->carry_over < available ? quick->carry_over : available;

		available -= taken;
		quick->carry_over -= taken;
	}
	while (quick->tail < quick->last) {
		const struct mca_fast_instruction *plan = &quick->plan[quick->position];

		if (!can_dispatch(quick, plan, available))
			break;
		if (plan->micro_ops > quick->dispatch_width) {
			quick->carry_over = plan->micro_ops - quick->dispatch_width;
			available = 0;
		} else {
			available -= plan->micro_ops;
		}
		if (plan->end_group)
			available = 0;
		dispatch(quick, plan);
	}
	return carries || quick->tail != first;
}

/* ---- Retire ---------------------------------------------------------------------------------- */

static bool retire_cycle(struct mca_fast *quick)
{
	uint32_t first = quick->head, limit = quick->tail;

	if (quick->model->retire_width && limit - first > quick->model->retire_width)
		limit = first + quick->model->retire_width;
	while (quick->head < limit) {
		const struct mca_fast_inflight *flight = mca_fast_inflight(quick, quick->head);
		const struct mca_fast_instruction *plan = &quick->plan[flight->position];

		/* It may retire in the cycle after that in which it has executed. */
		if (flight->stage != MCA_ISSUED || flight->time >= quick->now)
			break;
		quick->slots_free += plan->slots;
		quick->registers_free += plan->writes;
		quick->loads -= plan->load;
		quick->stores -= plan->store;
		quick->head++;
	}
	return quick->head != first;
}

/* ---- The run --------------------------------------------------------------------------------- */

/* The next cycle in which something can happen, if nothing did in this one. */
static uint64_t next_cycle(const struct mca_fast *quick)
{
	uint64_t next = next_in_wheel(quick);
	const struct mca_fast_inflight *oldest = mca_fast_inflight(quick, quick->head);

	if (quick->head != quick->tail && oldest->stage == MCA_ISSUED && oldest->time + 1 < next)
		next = oldest->time + 1;
	if (quick->units.release < next)
		next = quick->units.release;
	if (quick->resources.busy_count && quick->resources.release < next)
		next = quick->resources.release;
	return next > quick->now ? next : quick->now + 1;
}

struct pesa_error *mca_fast_cycles(struct mca_fast *quick, uint64_t until)
{
	while ((quick->tail < quick->last || quick->head != quick->tail) && quick->now < until) {
		bool retired = retire_cycle(quick), dispatched, issued, woken;

		release_units(quick);
		advance_wheel(quick);
		woken = quick->known_count || quick->arrived_count;
		promote_waiting(quick);
		promote_pending(quick);
		issued = issue_all(quick);
		dispatched = dispatch_cycle(quick);
		if (retired || dispatched)
			quick->progress = quick->now;
		if (quick->steady.searching && quick->tail >= quick->steady.next) {
			quick->now++;
			mca_fast_steady_cycle(quick);
		} else if (retired || dispatched || issued || woken) {
			quick->now++;
		} else {
			quick->now = next_cycle(quick);
			if (quick->now - quick->progress > MCA_STUCK_CYCLES)
				return mca_stuck(quick->model, quick->head);
		}
	}
	return NULL;
}

static uint32_t ring_size(const struct mca_fast *quick)
{
	uint32_t needed = pesa_mca_model_reorder_buffer(quick->model) + 1, size = 64;

	/* When instructions executed that have retired is read there too. */
	if (quick->latest)
		needed += quick->block->count;
	while (size < needed)
		size *= 2;
	return size;
}

static void set_limits(struct mca_fast *quick, const struct pesa_mca_run_options *options)
{
	const struct pesa_mca_model *model = quick->model;

	quick->last = options->iterations * quick->block->count;
	quick->dispatch_width =
		options->dispatch_width ? options->dispatch_width : model->issue_width;
	quick->slots_free = pesa_mca_model_reorder_buffer(model);
	quick->register_file_size = options->register_file_size;
	quick->registers_free = options->register_file_size;
	quick->load_queue = options->load_queue ? options->load_queue : model->load_queue;
	quick->store_queue = options->store_queue ? options->store_queue : model->store_queue;
	quick->aliasing = options->loads_alias_stores;
	quick->next_group = quick->oldest_group = 1;
}

/* A piece of memory, of which all are measured first and then given out. */
static void *piece(char **memory, size_t size)
{
	void *start = *memory;

	*memory += (size + 7) / 8 * 8;
	return start;
}

struct pesa_error *mca_fast_start(struct mca_fast *quick, const struct pesa_mca_block *block,
				  const struct pesa_mca_run_options *options)
{
	size_t units = mca_resources_units(block->model), size = mca_fast_plan_size(block);
	size_t counted = mca_units_size(block);
	struct mca_busy *busy;
	uint32_t places;
	char *memory;

	*quick = (struct mca_fast){.block = block, .model = block->model};
	mca_arena_init(&quick->arena, BYTES);
	memory = mca_arena_take_raw(&quick->arena, counted + size);
	if (!memory)
		return pesa_error_no_memory();
	mca_units_init(&quick->units, block, memory);
	mca_fast_plan(quick, memory + counted);
	set_limits(quick, options);
	places = ring_size(quick);
	quick->mask = places - 1;
	size = places * (sizeof(*quick->ring) + sizeof(*quick->groups) + 2 * sizeof(uint32_t)) +
	       units * sizeof(*busy) + mca_fast_steady_size(quick);
	memory = mca_arena_take_raw(&quick->arena, size);
	if (!memory) {
		mca_fast_free(quick);
		return pesa_error_no_memory();
	}
	quick->ring = piece(&memory, places * sizeof(*quick->ring));
	quick->groups = piece(&memory, places * sizeof(*quick->groups));
	quick->known = piece(&memory, places * sizeof(uint32_t));
	quick->arrived = piece(&memory, places * sizeof(uint32_t));
	busy = piece(&memory, units * sizeof(*busy));
	mca_resources_init(&quick->resources, quick->model, busy);
	memset(quick->wheel, 0xff, sizeof(quick->wheel));
	mca_fast_steady_init(quick, !options->every_iteration, memory);
	return NULL;
}

void mca_fast_free(struct mca_fast *quick)
{
	mca_arena_free(&quick->arena);
}

struct pesa_error *mca_fast_run(const struct pesa_mca_block *block,
				const struct pesa_mca_run_options *options, uint64_t *cycles)
{
	struct mca_fast quick;
	struct pesa_error *error = mca_fast_start(&quick, block, options);

	if (error)
		return error;
	error = mca_fast_cycles(&quick, UINT64_MAX);
	if (!error)
		*cycles = quick.now + quick.steady.cycles;
	mca_fast_free(&quick);
	return error;
}
