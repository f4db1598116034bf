/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The fast path: its stages, cycle by cycle.  See fast.h. */
#include <string.h>

#include "decoder/mca/engine/inflight.h"
#include "decoder/mca/engine/use.h"
#include "decoder/mca/fast/lists.h"

/* Typical arena size of a run. */
#define BYTES 65536

/* ---- The timing wheel ------------------------------------------------------------------------ */

/* Process operands that arrive now, and memory instructions that have executed. */
static void advance_wheel(struct mca_fast *fast)
{
	unsigned int slot = fast->now % MCA_WHEEL;
	uint32_t place, next;

	if (!(fast->in_wheel >> slot & 1))
		return;
	place = fast->wheel[slot];
	fast->wheel[slot] = MCA_FAST_NONE;
	fast->in_wheel &= ~(UINT64_C(1) << slot);
	for (; place != MCA_FAST_NONE; place = next) {
		struct mca_fast_inflight *flight = &fast->ring[place];

		next = flight->next;
		if (flight->time != fast->now)
			mca_fast_add_to_wheel(fast, flight);
		else if (flight->stage == MCA_ISSUED)
			mca_fast_memory_executed(fast, flight);
		else
			mca_fast_wake(fast, flight);
	}
}

/* The next cycle with a non-empty slot of the timing wheel, after `now`. */
static uint64_t next_in_wheel(const struct mca_fast *fast)
{
	unsigned int slot = (fast->now + 1) % MCA_WHEEL;
	uint64_t turned =
		fast->in_wheel >> slot | (slot ? fast->in_wheel << (MCA_WHEEL - slot) : 0);

	return turned ? fast->now + 1 + __builtin_ctzll(turned) : UINT64_MAX;
}

/* ---- Ready instructions ---------------------------------------------------------------------- */

static void take_out(struct mca_fast *fast, struct mca_fast_kind *kind,
		     struct mca_fast_inflight *flight)
{
	if (flight->previous == MCA_FAST_NONE)
		kind->first = flight->next;
	else
		fast->ring[flight->previous].next = flight->next;
	if (flight->next == MCA_FAST_NONE)
		kind->last = flight->previous;
	else
		fast->ring[flight->next].previous = flight->previous;
}

/* An operand waits for the instruction, which gets a higher priority within its kind. */
static void has_user(struct mca_fast *fast, struct mca_fast_inflight *flight)
{
	struct mca_fast_kind *kind;
	uint32_t previous = flight->previous;

	flight->used = true;
	if (fast->free)
		return;
	flight->rank--;
	if (flight->stage != MCA_READY)
		return;
	if (previous == MCA_FAST_NONE || !mca_fast_goes_before(flight, &fast->ring[previous]))
		return;
	kind = &fast->kinds[fast->plan[flight->position].kind];
	take_out(fast, kind, flight);
	mca_fast_insert(fast, kind, flight, previous);
}

/* ---- Changes of stage ------------------------------------------------------------------------ */

static void become_pending(struct mca_fast *fast, struct mca_fast_inflight *flight)
{
	flight->stage = MCA_PENDING;
	if (flight->time > fast->now)
		mca_fast_add_to_wheel(fast, flight);
}

static bool waits_for_memory(const struct mca_fast *fast, const struct mca_fast_inflight *flight)
{
	return flight->waits_issue ||
	       (flight->group && !fast->free && mca_fast_group(fast, flight->group)->waits_issue);
}

static bool memory_is_ready(const struct mca_fast *fast, const struct mca_fast_inflight *flight)
{
	return !flight->waits_end &&
	       (!flight->group || fast->free || !mca_fast_group(fast, flight->group)->waits_end);
}

/* Returns whether an instruction became pending. */
static bool promote_waiting(struct mca_fast *fast)
{
	bool promoted = false;

	for (uint32_t i = 0; i < fast->known_count; i++) {
		struct mca_fast_inflight *flight = &fast->ring[fast->known[i]];

		flight->woken = false;
		if (flight->producers || waits_for_memory(fast, flight))
			continue;
		become_pending(fast, flight);
		mca_fast_wake(fast, flight);
		promoted = true;
	}
	fast->known_count = 0;
	return promoted;
}

static void promote_pending(struct mca_fast *fast)
{
	for (uint32_t i = 0; i < fast->arrived_count; i++) {
		struct mca_fast_inflight *flight = &fast->ring[fast->arrived[i]];

		flight->woken = false;
		if (flight->time <= fast->now && memory_is_ready(fast, flight))
			mca_fast_become_ready(fast, flight);
	}
	fast->arrived_count = 0;
}

/* ---- Execute --------------------------------------------------------------------------------- */

/*
 * A load that waited only for this retirement has started in the meantime: its latency is counted from
 * the retirement.
 */
static void shorten_load(const struct mca_fast *fast, struct mca_fast_inflight *load,
			 const struct mca_fast_edge *edge)
{
	int32_t latency = edge->delay + edge->advance;

	if (load->producers == 1 && load->time <= fast->now && load->latency < 0 &&
	    (int32_t)fast->plan[load->position].latency > latency)
		load->latency = latency;
}

/* Whether two operands of an instruction read the same result. */
static bool is_of_same_result(const struct mca_fast_edge *a, const struct mca_fast_edge *b)
{
	return a->distance == b->distance && a->write == b->write;
}

/* Update the operands that wait for its results, of its issue or of its retirement; their instructions
 * are in flight. */
static void notify_users(struct mca_fast *fast, const struct mca_fast_inflight *flight,
			 bool at_retirement)
{
	const struct mca_fast_instruction *plan = &fast->plan[flight->position];
	const struct mca_fast_edge *edge = &fast->users[plan->first_user];

	for (unsigned int i = 0; i < plan->users; i++, edge++) {
		struct mca_fast_inflight *reader;
		int32_t delay = edge->delay;

		if (flight->number + edge->distance >= fast->tail)
			break;
		if (edge->at_retirement != at_retirement)
			continue;
		reader = mca_fast_inflight(fast, flight->number + edge->distance);
		/* One that reads the same result twice waits for both. */
		if (at_retirement && !(i && is_of_same_result(edge, edge - 1)))
			shorten_load(fast, reader, edge);
		if (flight->latency >= 0)
			delay = flight->latency - edge->advance;
		if (delay > 0 && fast->now + delay > reader->time)
			reader->time = fast->now + delay;
		if (!--reader->producers)
			mca_fast_wake(fast, reader);
	}
}

static void take_units(struct mca_fast *fast, const struct mca_fast_instruction *plan)
{
	const struct mca_fast_kind *kind = &fast->kinds[plan->kind];
	struct mca_pipe pipes[MCA_PIPES_MAX];

	if (fast->units.plain) {
		mca_units_take(&fast->units, fast->now, kind->use, kind->uses);
	} else {
		unsigned int count =
			mca_resources_issue(&fast->resources, fast->now, plan->description, pipes);

		if (fast->use.cycles)
			mca_use_add(&fast->use, (unsigned int)(plan - fast->plan), pipes, count);
	}
}

static void release_units(struct mca_fast *fast)
{
	if (fast->units.plain)
		mca_units_cycle(&fast->units, fast->now);
	else
		mca_resources_cycle(&fast->resources, fast->now);
}

static void issue(struct mca_fast *fast, struct mca_fast_inflight *flight)
{
	const struct mca_fast_instruction *plan = &fast->plan[flight->position];
	bool has_users = flight->used;
	uint32_t latency = flight->latency < 0 ? plan->latency : (uint32_t)flight->latency;

	if (flight->group && fast->free) {
		has_users |= mca_fast_order_has_users(fast, flight);
	} else if (flight->group) {
		const struct mca_fast_group *group = mca_fast_group(fast, flight->group);

		has_users |= group->live && group->successors;
	}
	if (plan->buffers)
		mca_buffers_release(&fast->resources, plan->buffers);
	take_units(fast, plan);
	if ((int32_t)flight->number - flight->rank > fast->snapshots.most_users)
		fast->snapshots.most_users = (int32_t)flight->number - flight->rank;
	flight->stage = MCA_ISSUED;
	flight->time = fast->now + latency;
	mca_steady_issued(&fast->steady, flight->position, fast->now);
	notify_users(fast, flight, false);
	if (flight->group) {
		mca_fast_memory_issued(fast, flight);
		if (latency)
			mca_fast_add_to_wheel(fast, flight);
		else
			mca_fast_memory_executed(fast, flight);
	}
	if (has_users && promote_waiting(fast))
		promote_pending(fast);
}

static bool can_issue(const struct mca_fast *fast, const struct mca_fast_kind *kind)
{
	if (fast->units.plain)
		return mca_units_are_free(&fast->units, kind->use, kind->uses);
	return !mca_resources_busy(&fast->resources, kind->description);
}

/* Issue ready instructions that have free units, by priority; returns whether any issued. */
static bool issue_all(struct mca_fast *fast)
{
	uint64_t busy = 0; /* kinds; within a cycle the number of free units only decreases */
	bool any = false;

	for (;;) {
		struct mca_fast_inflight *flight = NULL;
		unsigned int best = 0;

		for (uint64_t rest = fast->active & ~busy; rest; rest &= rest - 1) {
			unsigned int number = __builtin_ctzll(rest);
			const struct mca_fast_kind *kind = &fast->kinds[number];
			struct mca_fast_inflight *first = &fast->ring[kind->first];

			if (flight && !mca_fast_goes_before(first, flight))
				continue;
			if (can_issue(fast, kind)) {
				best = number;
				flight = first;
			} else if (!kind->description->overlapping_groups) {
				busy |= rest & -rest;
			}
		}
		if (!flight)
			return any;
		take_out(fast, &fast->kinds[best], flight);
		if (fast->kinds[best].first == MCA_FAST_NONE)
			fast->active &= ~(UINT64_C(1) << best);
		issue(fast, flight);
		any = true;
	}
}

/* ---- Dispatch -------------------------------------------------------------------------------- */

/* Update the minimum. */
static void lower(struct mca_fast_level *level, int32_t now)
{
	if (now < level->least)
		level->least = now;
}

/* Track the minimum of everything whose lack stops dispatch: a skipped period must not reach it. */
static void watch(struct mca_fast *fast, const struct mca_fast_instruction *plan)
{
	struct mca_fast_snapshots *snapshots = &fast->snapshots;

	lower(&snapshots->reorder, fast->slots_free);
	for (unsigned int i = 0; i < fast->limits; i++)
		lower(&snapshots->registers[i], fast->registers[fast->limited[i]].free);
	lower(&snapshots->loads, fast->load_queue - fast->loads);
	lower(&snapshots->stores, fast->store_queue - fast->stores);
	for (uint64_t rest = plan->buffers; rest; rest &= rest - 1) {
		unsigned int index = __builtin_ctzll(rest);

		lower(&snapshots->buffers[index], fast->resources.state[index].slots);
	}
}

/* The cycle in which an operand arrives, or has, whose writer is `number`, and need not be waited for. */
static int64_t arrival_of(const struct mca_fast *fast, const struct mca_fast_edge *edge,
			  uint32_t number)
{
	const struct mca_fast_inflight *writer = mca_fast_inflight(fast, number);
	uint64_t from = writer->time > fast->now ? writer->time : fast->now;

	if (number >= fast->head && writer->latency < 0)
		return (int64_t)from + mca_fast_rest(edge, fast->plan[writer->position].latency);
	if (number >= fast->head)
		return (int64_t)from - edge->advance;
	if (edge->at_retirement)
		return (int64_t)fast->times.retired[number] + edge->delay;
	return edge->advance < 0 ? (int64_t)writer->time - edge->advance : 0;
}

static void find_sources(struct mca_fast *fast, struct mca_fast_inflight *flight,
			 const struct mca_fast_instruction *plan)
{
	const struct mca_fast_edge *edge = &fast->sources[plan->first_source];

	for (unsigned int i = 0; i < plan->sources; i++, edge++) {
		uint32_t number = flight->number - edge->distance;
		struct mca_fast_inflight *writer = mca_fast_inflight(fast, number);
		int64_t arrival;

		if (edge->distance > flight->number)
			continue;
		if (number >= fast->head && (writer->stage != MCA_ISSUED || edge->at_retirement)) {
			flight->producers++;
			has_user(fast, writer);
			continue;
		}
		arrival = arrival_of(fast, edge, number);
		if (arrival > (int64_t)fast->now && arrival > (int64_t)flight->time)
			flight->time = (uint64_t)arrival;
	}
}

static void dispatch(struct mca_fast *fast, const struct mca_fast_instruction *plan)
{
	struct mca_fast_inflight *flight = mca_fast_inflight(fast, fast->tail);

	*flight = (struct mca_fast_inflight){
		.number = fast->tail,
		.rank = fast->tail,
		.position = fast->position,
		.latency = -1,
		.stage = MCA_FETCHED,
	};
	if (fast->once) {
		unsigned int late = fast->block->lowered[fast->position].late;

		fast->times.dispatched[fast->tail] = fast->now;
		if (late && fast->front_end.options)
			flight->latency = (int32_t)(plan->latency + late);
	}
	find_sources(fast, flight, plan);
	fast->tail++;
	if (++fast->position == fast->block->count)
		fast->position = 0;
	fast->slots_free -= plan->slots;
	for (unsigned int i = 0; i < fast->limits; i++)
		fast->registers[fast->limited[i]].free -= plan->writes[fast->limited[i]];
	if (plan->buffers)
		mca_buffers_reserve(&fast->resources, plan->buffers);
	if (mca_fast_is_memory(plan))
		mca_fast_memory_dispatch(fast, flight);
	if (fast->steady.confirming)
		watch(fast, plan);
	if (flight->producers || waits_for_memory(fast, flight))
		flight->stage = MCA_WAITING;
	else if (flight->time > fast->now || !memory_is_ready(fast, flight))
		become_pending(fast, flight);
	else if (plan->must_issue)
		issue(fast, flight);
	else
		mca_fast_become_ready(fast, flight);
}

static bool can_dispatch(const struct mca_fast *fast, const struct mca_fast_instruction *plan,
			 uint32_t available)
{
	uint32_t required =
		plan->micro_ops < fast->dispatch_width ? plan->micro_ops : fast->dispatch_width;

	if (!available || required > available ||
	    (plan->begin_group && available != fast->dispatch_width))
		return false;
	if (fast->slots_free < plan->slots)
		return false;
	if (plan->load && fast->load_queue && fast->loads == fast->load_queue)
		return false;
	if (plan->store && fast->store_queue && fast->stores == fast->store_queue)
		return false;
	for (unsigned int i = 0; i < fast->limits; i++) {
		const struct mca_fast_registers *registers = &fast->registers[fast->limited[i]];

		if (registers->free < plan->writes[fast->limited[i]] &&
		    registers->free < registers->size)
			return false;
	}
	return !plan->buffers ||
	       mca_buffers_check(&fast->resources, plan->buffers) == MCA_BUFFERS_AVAILABLE;
}

/* Returns whether an instruction was dispatched, or is being dispatched. */
static bool dispatch_cycle(struct mca_fast *fast)
{
	uint32_t available = fast->dispatch_width, first = fast->tail;
	bool carries = fast->carry_over;

	if (carries) {
		uint32_t taken = fast->carry_over < available ? fast->carry_over : available;

		available -= taken;
		fast->carry_over -= taken;
	}
	while (fast->tail < fast->last) {
		const struct mca_fast_instruction *plan = &fast->plan[fast->position];

		if (!mca_fast_delivers(fast) || !can_dispatch(fast, plan, available))
			break;
		if (plan->micro_ops > fast->dispatch_width) {
			fast->carry_over = plan->micro_ops - fast->dispatch_width;
			available = 0;
		} else {
			available -= plan->micro_ops;
		}
		if (plan->end_group)
			available = 0;
		mca_fast_delivered(fast);
		dispatch(fast, plan);
	}
	return carries || fast->tail != first;
}

/* ---- Retire ---------------------------------------------------------------------------------- */

static bool retire_cycle(struct mca_fast *fast)
{
	uint32_t first = fast->head, limit = fast->tail, branches = 0;

	if (fast->model->retire_width && limit - first > fast->model->retire_width)
		limit = first + fast->model->retire_width;
	while (fast->head < limit) {
		const struct mca_fast_inflight *flight = mca_fast_inflight(fast, fast->head);
		const struct mca_fast_instruction *plan = &fast->plan[flight->position];

		/* It may retire in the cycle after it has executed. */
		if (flight->stage != MCA_ISSUED || flight->time >= fast->now)
			break;
		if (plan->taken && fast->retired_branches && branches++ == fast->retired_branches)
			break;
		fast->slots_free += plan->slots;
		for (unsigned int i = 0; i < fast->limits; i++)
			fast->registers[fast->limited[i]].free += plan->writes[fast->limited[i]];
		fast->loads -= plan->load;
		if (plan->store)
			mca_fast_store_retired(fast);
		if (fast->once) {
			fast->times.executed[flight->number] = flight->time;
			fast->times.retired[flight->number] = fast->now;
		}
		if (plan->leaves_later)
			notify_users(fast, flight, true);
		fast->head++;
	}
	return fast->head != first;
}

/* ---- The run --------------------------------------------------------------------------------- */

/* The next cycle in which something can happen, after one in which nothing did. */
static uint64_t next_cycle(const struct mca_fast *fast)
{
	uint64_t next = next_in_wheel(fast), resumes = mca_fast_resumes(fast);
	const struct mca_fast_inflight *oldest = mca_fast_inflight(fast, fast->head);

	if (fast->head != fast->tail && oldest->stage == MCA_ISSUED && oldest->time + 1 < next)
		next = oldest->time + 1;
	if (fast->units.earliest_release < next)
		next = fast->units.earliest_release;
	if (fast->resources.busy_count && fast->resources.earliest_release < next)
		next = fast->resources.earliest_release;
	if (fast->leaving.count && fast->leaving.free[fast->leaving.first] < next)
		next = fast->leaving.free[fast->leaving.first];
	if (resumes < next)
		next = resumes;
	return next > fast->now ? next : fast->now + 1;
}

struct pesa_error *mca_fast_cycles(struct mca_fast *fast, uint64_t until)
{
	while ((fast->tail < fast->last || fast->head != fast->tail) && fast->now < until) {
		bool fetched = fast->front_end.options && mca_fast_fetch(fast);
		bool retired = retire_cycle(fast), dispatched, issued, woken;

		mca_fast_free_stores(fast);
		release_units(fast);
		advance_wheel(fast);
		woken = fast->known_count || fast->arrived_count;
		promote_waiting(fast);
		promote_pending(fast);
		issued = issue_all(fast);
		dispatched = dispatch_cycle(fast);
		if (retired || dispatched || fetched)
			fast->progress = fast->now;
		if (fast->steady.searching && fast->tail >= fast->steady.next) {
			fast->now++;
			mca_fast_snapshot_cycle(fast);
		} else if (retired || dispatched || issued || woken || fetched) {
			fast->now++;
		} else {
			fast->now = next_cycle(fast);
			if (fast->now - fast->progress > MCA_STUCK_CYCLES)
				return mca_stuck(fast->model, fast->head);
		}
	}
	return NULL;
}

static uint32_t ring_size(const struct mca_fast *fast)
{
	uint32_t needed = pesa_mca_model_reorder_buffer(fast->model) + 1, size = 64;

	/* The execution time of retired instructions is read there too. */
	if (fast->latest)
		needed += fast->block->count;
	while (size < needed)
		size *= 2;
	return size;
}

static void set_limits(struct mca_fast *fast, const struct pesa_mca_run_options *options)
{
	const struct pesa_mca_model *model = fast->model;
	const unsigned int size[MCA_FAST_REGISTERS] = {
		options->register_file_size, options->integer_results, options->float_results};

	fast->last = options->iterations * fast->block->count;
	fast->retired_branches = options->retired_branches;
	fast->dispatch_width =
		options->dispatch_width ? options->dispatch_width : model->issue_width;
	fast->slots_free = pesa_mca_model_reorder_buffer(model);
	for (unsigned int i = 0; i < MCA_FAST_REGISTERS; i++) {
		fast->registers[i].size = fast->registers[i].free = (int32_t)size[i];
		if (size[i])
			fast->limited[fast->limits++] = (uint8_t)i;
	}
	fast->load_queue = options->load_queue ? options->load_queue : model->load_queue;
	fast->store_queue = options->store_queue ? options->store_queue : model->store_queue;
	fast->aliasing = options->loads_alias_stores;
	fast->free = options->free_order;
	fast->front_end.options = options->stimuli;
	fast->next_group = fast->oldest_group = 1;
}

/* Allocate an array: a first pass computes the total size, a second one the addresses. */
static void *piece(char **memory, size_t size)
{
	void *start = *memory;

	*memory += (size + 7) / 8 * 8;
	return start;
}

static void take_times(struct mca_fast *fast, char **memory)
{
	size_t size = fast->block->count * sizeof(uint64_t);

	if (!fast->once)
		return;
	fast->times.dispatched = piece(memory, size);
	fast->times.executed = piece(memory, size);
	fast->times.retired = piece(memory, size);
	fast->times.has_events = fast->front_end.options;
}

/* Entries of the list of stores that leave later. */
static size_t leaving_entries(const struct mca_fast *fast,
			      const struct pesa_mca_run_options *options)
{
	return options->store_ports ? fast->store_queue : 0;
}

static void take_leaving(struct mca_fast *fast, const struct pesa_mca_run_options *options,
			 char **memory)
{
	size_t entries = leaving_entries(fast, options);

	if (entries)
		fast->leaving = (struct mca_fast_leaving){
			.free = piece(memory, entries * sizeof(uint64_t)),
			.ports = options->store_ports,
			.latency = options->store_latency,
		};
}

struct pesa_error *mca_fast_start(struct mca_fast *fast, const struct pesa_mca_block *block,
				  const struct pesa_mca_run_options *options, bool counts)
{
	size_t units = mca_resources_units(block->model), size;
	size_t counted = mca_units_size(block);
	struct mca_busy *busy;
	uint32_t places;
	char *memory;

	*fast = (struct mca_fast){
		.block = block,
		.model = block->model,
		.once = options->iterations == 1,
	};
	size = mca_fast_plan_size(fast);
	mca_arena_init(&fast->arena, BYTES);
	memory = mca_arena_take_raw(&fast->arena, counted + size);
	if (!memory)
		return pesa_error_no_memory();
	mca_units_init(&fast->units, block, counts, memory);
	mca_fast_plan(fast, memory + counted);
	set_limits(fast, options);
	places = ring_size(fast);
	fast->mask = places - 1;
	size = places * (sizeof(*fast->ring) + sizeof(*fast->groups) + 2 * sizeof(uint32_t)) +
	       units * sizeof(*busy) + (fast->once ? 3 * block->count * sizeof(uint64_t) : 0) +
	       leaving_entries(fast, options) * sizeof(uint64_t) + mca_fast_snapshot_size(fast) +
	       (counts ? mca_use_words(block) * sizeof(uint64_t) : 0);
	memory = mca_arena_take_raw(&fast->arena, size);
	if (!memory) {
		mca_fast_free(fast);
		return pesa_error_no_memory();
	}
	fast->ring = piece(&memory, places * sizeof(*fast->ring));
	fast->groups = piece(&memory, places * sizeof(*fast->groups));
	fast->known = piece(&memory, places * sizeof(uint32_t));
	fast->arrived = piece(&memory, places * sizeof(uint32_t));
	busy = piece(&memory, units * sizeof(*busy));
	take_times(fast, &memory);
	take_leaving(fast, options, &memory);
	mca_resources_init(&fast->resources, fast->model, busy);
	memset(fast->wheel, 0xff, sizeof(fast->wheel));
	if (counts)
		mca_use_init(&fast->use, block,
			     piece(&memory, mca_use_words(block) * sizeof(uint64_t)));
	mca_fast_snapshot_init(fast, !options->every_iteration && !fast->once, memory);
	return NULL;
}

void mca_fast_free(struct mca_fast *fast)
{
	mca_arena_free(&fast->arena);
}

struct pesa_error *mca_fast_run(const struct pesa_mca_block *block,
				const struct pesa_mca_run_options *options,
				const struct pesa_mca_listener *listeners, unsigned int count,
				uint64_t *cycles)
{
	struct pesa_error *error;
	struct mca_fast fast;
	bool counts = false;

	for (unsigned int i = 0; i < count; i++)
		counts |= (listeners[i].kinds & 1u << PESA_MCA_USED) != 0;
	error = mca_fast_start(&fast, block, options, counts);
	if (error)
		return error;
	error = mca_fast_cycles(&fast, UINT64_MAX);
	if (!error)
		error = mca_use_send(&fast.use, block, listeners, count);
	if (!error)
		*cycles = fast.now + fast.steady.cycles;
	mca_fast_free(&fast);
	return error;
}

struct pesa_error *mca_fast_period(const struct pesa_mca_block *block,
				   const struct pesa_mca_run_options *options,
				   struct mca_period *period)
{
	struct mca_fast fast;
	/* Events tell which unit an instruction gets, as counts do. */
	struct pesa_error *error = mca_fast_start(&fast, block, options, true);

	if (error)
		return error;
	while (!error && fast.steady.searching && (fast.tail < fast.last || fast.head != fast.tail))
		error = mca_fast_cycles(&fast, fast.now + MCA_PERIOD_STEP);
	if (!error)
		*period = fast.steady.period;
	mca_fast_free(&fast);
	return error;
}

struct pesa_error *mca_fast_stack(const struct pesa_mca_block *block,
				  const struct pesa_mca_run_options *options,
				  struct pesa_mca_cycle_stack *stack, uint64_t *cycles)
{
	struct mca_fast fast;
	struct pesa_error *error = mca_fast_start(&fast, block, options, false);

	if (error)
		return error;
	error = mca_fast_cycles(&fast, UINT64_MAX);
	if (!error) {
		*cycles = fast.now;
		mca_cycle_stack_from_times(stack, block, &fast.times);
	}
	mca_fast_free(&fast);
	return error;
}
