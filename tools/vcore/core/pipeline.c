// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The pipeline: when each instruction is fetched, dispatched, issued, complete and retired.
 *
 * It makes one pass in program order.  Each structure is a set of entries with the cycles in which
 * they become free; an instruction advances in the first cycle in which everything that it needs is
 * available.  Older instructions choose first, so issue is oldest first.
 *
 * Steps come in batches, so that the state that changes with every instruction (struct progress)
 * stays in registers or on the stack.  The pass is compiled once for each shape of a step (enum
 * shape), and for in-order and out-of-order cores; the constant arguments `in_order` and `shape`
 * select the variant, and the compiler removes what the shape rules out.
 */
#include <stdlib.h>
#include <string.h>

#include "tools/vcore/core/reservation_table.h"
#include "tools/vcore/core/data_side.h"
#include "tools/vcore/core/queue.h"
#include "tools/vcore/core/slot.h"
#include "tools/vcore/core/track.h"
#include "tools/vcore/core/pipeline.h"
#include "tools/vcore/core/insn.h"
#include "tools/vcore/core/step.h"
#include "tools/vcore/memory/memory.h"
#include "tools/vcore/core/process.h"

/* Position of the newest instruction in the pipeline. */
struct progress {
	uint64_t fetch, retire; /* slots, see slot.h */
	uint64_t dispatch_cycle, transfer_cycle;
	uint32_t dispatch_count; /* micro-ops dispatched in dispatch_cycle */
	uint32_t transfer_count; /* transfers retired in transfer_cycle */
	/* next entries of the tracks */
	uint64_t *buffer, *rob, *loads, *stores, *integers, *floats;

	/* in-order issue */
	uint32_t issue_count;		   /* micro-ops issued in issue_cycle */
	uint64_t issue_cycle, write_cycle; /* issue of the newest instruction; write of its
					    * results */

	uint64_t memory_done;  /* cycle in which all accesses so far are complete */
	uint64_t memory_floor; /* first cycle for accesses, after a barrier */
	uint64_t drain_cycle;  /* cycle in which the newest store goes to the cache */
	uint32_t drain_count;  /* stores that go to the cache in drain_cycle */
};

/* Numbers of the core description that every instruction uses. */
struct limits {
	uint32_t fetch_depth, dispatch_width, retire_transfers;
	struct slot_steps fetch, retire;
};

struct pipeline {
	const struct pesa_core *core;
	struct limits limits;
	uint64_t *event; /* event counters */
	struct data_side data;
	struct progress progress;
	struct track buffer, rob, loads, stores, integers, floats;
	struct queue *queue[UINT8_MAX + 1]; /* by queue number, see cost.h; the last one never
					     * fills */
	struct reservation_table reservations;
	uint64_t ready[COST_REGISTERS];
	uint16_t written[COST_REGISTERS]; /* name of the write that produced the register */
};

/*
 * Return `count` if `same`, else 0, without a branch.  GCC would compile the ?: operator to a
 * branch, and a branch on where a cycle begins mispredicts often.
 */
static ALWAYS_INLINE uint32_t count_if(bool same, uint32_t count)
{
	return count & -(uint32_t)same;
}

static ALWAYS_INLINE uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static ALWAYS_INLINE int64_t most_of(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static struct limits limits_of(const struct pesa_core *core)
{
	return (struct limits){
		.fetch_depth = core->fetch_depth,
		.dispatch_width = core->dispatch_width,
		.retire_transfers = core->retire_transfers,
		.fetch = slot_steps_of(core->fetch_width),
		.retire = slot_steps_of(core->retire_width),
	};
}

static struct pesa_error *create_queues(struct pipeline *pipeline, const struct cost_model *model)
{
	uint32_t queues = cost_model_queues(model);
	struct queue *queue = calloc(queues, sizeof(*queue));

	if (!queue)
		return pesa_error_no_memory();
	pipeline->queue[0] = queue;
	for (uint32_t i = 0; i < queues; i++) {
		queue_create(&queue[i], cost_model_queue(model, i));
		pipeline->queue[i] = &queue[i];
	}
	return NULL;
}

static struct pesa_error *create_tracks(struct pipeline *pipeline)
{
	struct progress *at = &pipeline->progress;
	const struct pesa_core *core = pipeline->core;
	struct pesa_error *error;

	error = track_create(&pipeline->buffer, core->fetch_buffer, &at->buffer);
	if (!error)
		error = track_create(&pipeline->rob, core->rob_entries, &at->rob);
	if (!error)
		error = track_create(&pipeline->loads, core->load_queue, &at->loads);
	if (!error)
		error = track_create(&pipeline->stores, core->store_queue, &at->stores);
	if (!error)
		error = track_create(&pipeline->integers, core->integer_registers - 32,
				     &at->integers);
	if (!error)
		error = track_create(&pipeline->floats, core->float_registers - 32, &at->floats);
	return error;
}

struct pesa_error *pipeline_create(const struct process *process, struct vcore_counters *counters,
				   struct pipeline **result)
{
	struct pipeline *pipeline = calloc(1, sizeof(*pipeline));
	const struct pesa_core *core = process->core;
	struct pesa_error *error;

	if (!pipeline)
		return pesa_error_no_memory();
	pipeline->core = core;
	pipeline->data.core = core;
	pipeline->data.ideal = &process->control->ideal;
	pipeline->limits = limits_of(core);
	pipeline->event = counters->event;
	pipeline->data.line_shift = (uint32_t)__builtin_ctz(core->line);
	/* The first fetch group begins in cycle 0. */
	pipeline->progress.fetch = slot_of(UINT64_MAX);
	error = memory_create(core, counters, process->shared, &pipeline->data.memory);
	if (!error)
		error = reservation_create(&pipeline->reservations, process->model);
	if (!error)
		error = create_queues(pipeline, process->model);
	if (!error)
		error = create_tracks(pipeline);
	if (!error)
		error = stores_create(&pipeline->data.forward);
	if (error) {
		pipeline_free(pipeline);
		return error;
	}
	*result = pipeline;
	return NULL;
}

void pipeline_free(struct pipeline *pipeline)
{
	if (!pipeline)
		return;
	memory_free(pipeline->data.memory);
	reservation_free(&pipeline->reservations);
	track_free(&pipeline->buffer);
	track_free(&pipeline->rob);
	track_free(&pipeline->loads);
	track_free(&pipeline->stores);
	track_free(&pipeline->integers);
	track_free(&pipeline->floats);
	stores_free(&pipeline->data.forward);
	free(pipeline->queue[0]);
	free(pipeline);
}

struct memory *pipeline_memory(struct pipeline *pipeline)
{
	return pipeline->data.memory;
}

/* The cycle in which the newest instruction is done. */
static uint64_t last_cycle(const struct pipeline *pipeline)
{
	const struct progress *at = &pipeline->progress;

	return most(most(at->memory_done, at->drain_cycle), slot_cycle(at->retire));
}

uint64_t pipeline_quiet(const struct pipeline *pipeline)
{
	/* No latency of a core or a model exceeds 2^16; a page walk has one for each level. */
	return last_cycle(pipeline) + (1u << 20);
}

/* ---- Front end ----------------------------------------------------------------------------- */

struct fetched {
	uint64_t cycle;
	uint32_t cause;
};

static __attribute__((noinline)) struct fetched fetch_missing(struct pipeline *pipeline,
							      uint64_t address, uint64_t cycle)
{
	struct access access = {0};
	struct fetched fetched = {.cycle = cycle};
	uint64_t hit = cycle + pipeline->core->icache.latency;

	memory_fetch(pipeline->data.memory, address, cycle, &access);
	if (access.cache_miss)
		fetched.cause |= PESA_CAUSE_ICACHE_MISS;
	if (access.tlb_miss)
		fetched.cause |= PESA_CAUSE_ITLB_MISS;
	if (access.ready > hit)
		fetched.cycle += access.ready - hit;
	return fetched;
}

/* Fetch the line at `address`, with which the fetch group of `cycle` begins. */
static ALWAYS_INLINE struct fetched fetch_line(struct pipeline *pipeline, uint64_t address,
					       uint64_t cycle)
{
	if (__builtin_expect(memory_fetch_hit(pipeline->data.memory, address, cycle), 1))
		return (struct fetched){.cycle = cycle};
	return fetch_missing(pipeline, address, cycle);
}

/* Fetch the lines that the instruction is the first to need; returns the causes met. */
static __attribute__((noinline)) uint32_t fetch_lines(struct pipeline *pipeline,
						      uint64_t *fetch_cycle,
						      const struct insn *insn, unsigned int which)
{
	struct fetched first = {.cycle = *fetch_cycle}, last;

	if (which & STEP_OTHER_LINE)
		first = fetch_line(pipeline, insn->pc, first.cycle);
	last = first;
	if (which & STEP_TWO_LINES)
		last = fetch_line(pipeline, insn->pc + insn->length - 1, first.cycle);
	*fetch_cycle = last.cycle;
	return first.cause | last.cause;
}

/* Fetch an instruction; returns the causes met.  `where`: STEP_*. */
static ALWAYS_INLINE uint32_t fetch(struct pipeline *pipeline, struct progress *at,
				    const struct insn *insn, unsigned int where)
{
	uint64_t room = track_oldest(&pipeline->buffer, at->buffer);
	uint32_t cause = 0;

	_Static_assert(STEP_OTHER_BLOCK == 1, "a number of a row");
	at->fetch = slot_after(&pipeline->limits.fetch, at->fetch, where & STEP_OTHER_BLOCK);
	at->fetch = most(at->fetch, slot_of(room));
	if (__builtin_expect(where & (STEP_OTHER_LINE | STEP_TWO_LINES), 0)) {
		uint64_t cycle = slot_cycle(at->fetch), later = cycle;

		cause = fetch_lines(pipeline, &later, insn, where);
		at->fetch += slot_of(later - cycle);
	}
	return cause;
}

/* Continue fetch at another address, not before `cycle`. */
static ALWAYS_INLINE void refetch(const struct pipeline *pipeline, struct progress *at,
				  uint64_t cycle)
{
	at->fetch = slot_of(cycle - 1) + pipeline->core->fetch_width - 1;
}

void pipeline_resume(struct pipeline *pipeline)
{
	refetch(pipeline, &pipeline->progress, last_cycle(pipeline) + 1);
}

/* ---- Dispatch and issue -------------------------------------------------------------------- */

/* The first cycle from `cycle` on in which every structure that the instruction enters has room. */
static ALWAYS_INLINE uint64_t find_room(struct pipeline *pipeline, const struct progress *at,
					const struct insn *insn, const struct cost *cost,
					struct queue *queue, uint64_t cycle, enum shape shape)
{
	uint64_t room = queue_oldest(queue, cycle);

	for (unsigned int i = 1; !shape_is_plain(shape) && i < cost->queues; i++)
		room = queue_oldest(pipeline->queue[cost->queue[i]], room);
	if (shape_is_load(shape, insn->flags))
		room = most(room, track_oldest(&pipeline->loads, at->loads) + 1);
	if (shape_is_store(shape, insn->flags))
		room = most(room, track_oldest(&pipeline->stores, at->stores) + 1);
	if (shape == SHAPE_STORE)
		return room;
	if (shape == SHAPE_ALU || shape == SHAPE_LOAD)
		room = most(room, track_oldest(&pipeline->integers, at->integers) + 1);
	else if (shape_is_plain(shape))
		room = most(room, cost->integer_results
					  ? track_oldest(&pipeline->integers, at->integers) + 1
					  : 0);
	else if (cost->integer_results)
		room = most(room, track_oldest_of(&pipeline->integers, at->integers,
						  cost->integer_results) +
					  1);
	if (!shape_is_simple(shape) && cost->float_results)
		room = most(room,
			    track_oldest_of(&pipeline->floats, at->floats, cost->float_results) +
				    1);
	return room;
}

/* Micro-ops beyond the dispatch width continue in the next cycles. */
static ALWAYS_INLINE void count_dispatch(struct progress *at, const struct cost *cost,
					 uint32_t width)
{
	at->dispatch_count += cost->micro_ops;
	if (__builtin_expect(at->dispatch_count > width, 0)) {
		uint32_t further = (at->dispatch_count - 1) / width;

		at->dispatch_cycle += further;
		at->dispatch_count -= further * width;
	}
	if (cost->flags & COST_END_GROUP)
		at->dispatch_count = width;
}

/* Returns the dispatch cycle; the front end has the instruction ready in cycle `supplied`. */
static ALWAYS_INLINE uint64_t dispatch(struct pipeline *pipeline, struct progress *at,
				       const struct insn *insn, const struct cost *cost,
				       struct queue *queue, uint64_t supplied,
				       uint32_t *front_cause, enum shape shape)
{
	const bool plain = shape_is_plain(shape);
	uint32_t width = pipeline->limits.dispatch_width;
	uint32_t needed = plain ? 1 : cost->micro_ops < width ? cost->micro_ops : width;
	bool begins = at->dispatch_count + needed > width;
	uint64_t cycle, room;

	if (!plain)
		begins |= ((cost->flags & COST_BEGIN_GROUP) != 0) & (at->dispatch_count != 0);
	cycle = most(supplied, at->dispatch_cycle + begins);
	if (plain)
		cycle = most(cycle, track_oldest(&pipeline->rob, at->rob) + 1);
	else
		cycle = most(cycle, track_oldest_of(&pipeline->rob, at->rob,
						    cost->micro_ops ? cost->micro_ops : 1) +
					    1);
	if (!plain && (insn->flags & INSN_SERIALISE_BEFORE))
		cycle = most(cycle, slot_cycle(at->retire) + 1);
	room = find_room(pipeline, at, insn, cost, queue, cycle, shape);
	/*
	 * The reorder buffer is empty and still the instruction cannot enter: count a back-end
	 * stall.
	 */
	if (__builtin_expect(room > cycle, 0) && room > slot_cycle(at->retire) + 1)
		*front_cause |= event_cause(pipeline->core, PESA_CORE_EVENT_ALLOC_BLOCKED);
	cycle = room;
	at->dispatch_count = count_if(cycle == at->dispatch_cycle, at->dispatch_count);
	reservation_advance(&pipeline->reservations, cycle);
	at->dispatch_cycle = cycle;
	if (plain)
		at->dispatch_count++;
	else
		count_dispatch(at, cost, width);
	*at->buffer++ = cycle;
	return cycle;
}

/* The first cycle from `cycle` on in which all sources can be read. */
static ALWAYS_INLINE uint64_t sources_ready(const struct pipeline *pipeline,
					    const struct cost *cost, uint64_t cycle,
					    enum shape shape)
{
	/* Unused sources are a register that is always ready. */
	cycle = most(cycle, pipeline->ready[cost->read[0]]);
	cycle = most(cycle, pipeline->ready[cost->read[1]]);
	for (unsigned int i = 2; !shape_is_simple(shape) && i < cost->reads; i++)
		cycle = most(cycle, pipeline->ready[cost->all_reads[i]]);
	return cycle;
}

/* The read-advance of a source in cycles; the first one that matches the write applies. */
static int64_t advance_of(const struct pipeline *pipeline, const struct cost *cost,
			  unsigned int source)
{
	const struct cost_advance *advance = cost->advance, *end = advance + cost->advances;
	uint16_t written = pipeline->written[cost->all_reads[source]];

	for (; advance < end; advance++)
		if (advance->source == source && (!advance->write || advance->write == written))
			return advance->cycles;
	return 0;
}

/* Like sources_ready(), for instructions with read-advances. */
static ALWAYS_INLINE uint64_t sources_ready_advanced(const struct pipeline *pipeline,
						     const struct cost *cost, uint64_t cycle)
{
	for (unsigned int i = 0; i < cost->reads; i++) {
		uint64_t ready = pipeline->ready[cost->all_reads[i]];

		/* Most sources are ready whatever their read-advance. */
		if (ready + cost->earlier > cycle)
			cycle = (uint64_t)most_of((int64_t)cycle,
						  (int64_t)ready - advance_of(pipeline, cost, i));
	}
	return cycle;
}

/*
 * Take all pipes that the instruction uses; returns the first cycle from `cycle` on in which they
 * are free.
 */
static ALWAYS_INLINE uint64_t take_pipes(struct pipeline *pipeline, const struct cost *cost,
					 uint64_t cycle, enum shape shape)
{
	if (shape_is_simple(shape) || __builtin_expect(cost->flags & COST_ONE_USE, 1))
		return reservation_issue_one(&pipeline->reservations, &cost->use, cycle);
	return reservation_issue_several(&pipeline->reservations, cost, cycle);
}

/*
 * In order: not before older instructions, at most issue_width per cycle, and late enough that
 * results are written in order too.
 */
static ALWAYS_INLINE uint64_t issue_in_order(struct pipeline *pipeline, struct progress *at,
					     const struct cost *cost, uint64_t cycle,
					     enum shape shape)
{
	uint32_t width = pipeline->limits.dispatch_width;

	cycle = most(cycle, at->issue_cycle);
	if (!(cost->flags & COST_WRITE_OUT_OF_ORDER) && cycle + cost->first < at->write_cycle)
		cycle = at->write_cycle - cost->first;
	cycle += (cycle == at->issue_cycle) & (at->issue_count >= width);
	cycle = take_pipes(pipeline, cost, cycle, shape);
	at->issue_count = (cycle != at->issue_cycle ? 0 : at->issue_count) + cost->micro_ops;
	at->issue_cycle = cycle;
	if (!shape_is_plain(shape)) {
		if (at->issue_count > width) {
			uint32_t further = (at->issue_count - 1) / width;

			at->issue_cycle += further;
			at->issue_count -= further * width;
		}
		if (cost->flags & COST_END_GROUP)
			at->issue_count = width;
	}
	if (!(cost->flags & COST_WRITE_OUT_OF_ORDER))
		at->write_cycle = most(at->write_cycle, cycle + cost->latency);
	return cycle;
}

static ALWAYS_INLINE uint64_t issue(struct pipeline *pipeline, struct progress *at,
				    const struct insn *insn, const struct cost *cost,
				    struct queue *queue, uint64_t dispatched, bool in_order,
				    enum shape shape)
{
	const bool barrier = !shape_is_plain(shape) && (insn->flags & INSN_BARRIER);
	uint64_t cycle = dispatched + 1;

	/* Out of order, simple steps have no read-advances. */
	if ((in_order || !shape_is_simple(shape)) &&
	    __builtin_expect(cost->flags & COST_ADVANCES, in_order))
		cycle = sources_ready_advanced(pipeline, cost, cycle);
	else
		cycle = sources_ready(pipeline, cost, cycle, shape);
	if (shape_is_load(shape, insn->flags) || shape_is_store(shape, insn->flags) || barrier) {
		cycle = most(cycle, at->memory_floor);
		if (barrier)
			cycle = most(cycle, at->memory_done);
		else if (shape_is_load(shape, insn->flags))
			cycle = stores_expect(&pipeline->data.forward, insn->pc, cycle);
	}
	if (in_order)
		cycle = issue_in_order(pipeline, at, cost, cycle, shape);
	else
		cycle = take_pipes(pipeline, cost, cycle, shape);
	queue_take(queue, dispatched, cycle);
	for (unsigned int i = 1; !shape_is_plain(shape) && i < cost->queues; i++)
		queue_take(pipeline->queue[cost->queue[i]], dispatched, cycle);
	return cycle;
}

/* ---- Memory -------------------------------------------------------------------------------- */

/* After retirement, stores go to the cache in order, as many per cycle as it has ports. */
static ALWAYS_INLINE void drain(struct pipeline *pipeline, struct progress *at,
				const struct step *step, const uint64_t *access, struct piece piece)
{
	uint64_t done;

	if (slot_cycle(at->retire) >= at->drain_cycle) {
		at->drain_cycle = slot_cycle(at->retire) + 1;
		at->drain_count = 0;
	} else if (at->drain_count == pipeline->core->store_ports) {
		at->drain_cycle++;
		at->drain_count = 0;
	}
	at->drain_count++;
	done = access_lines(&pipeline->data, step, access, true, piece, at->drain_cycle, NULL,
			    drain_store);
	*at->stores++ = done;
	at->memory_done = most(at->memory_done, done);
}

/* ---- One instruction ----------------------------------------------------------------------- */

/* Returns the cycle in which the instruction is complete. */
static ALWAYS_INLINE uint64_t execute(struct pipeline *pipeline, struct progress *at,
				      const struct step *step, const struct cost *cost,
				      const uint64_t *access, uint64_t issued,
				      struct meeting *meeting, enum shape shape)
{
	const struct insn *insn = step->insn;
	uint64_t complete = issued + cost->latency, late = 0;

	if ((!shape_is_simple(shape) || shape_is_load(shape, insn->flags) ||
	     shape_is_store(shape, insn->flags)) &&
	    step->accesses) {
		const struct piece piece = {.pc = insn->pc, .issued = issued};

		if (shape_is_load(shape, insn->flags)) {
			uint64_t done = access_lines(&pipeline->data, step, access, false, piece,
						     issued + cost->address, meeting, load);

			late = done > complete ? done - complete : 0;
			complete += late;
		}
		if (shape_is_store(shape, insn->flags))
			complete = most(complete,
					access_lines(&pipeline->data, step, access, true, piece,
						     issued + 1, meeting, translate_store));
		at->memory_done = most(at->memory_done, complete);
	}
	if (!shape_is_plain(shape) && (insn->flags & INSN_BARRIER))
		at->memory_floor = complete;
	if (shape == SHAPE_STORE)
		return complete;
	/* Without a result, the write goes to a register that is never read. */
	pipeline->ready[cost->write.reg] = issued + cost->write.latency + late;
	pipeline->written[cost->write.reg] = cost->write.name;
	for (unsigned int i = 1; !shape_is_plain(shape) && i < cost->writes; i++) {
		const struct cost_write *write = &cost->all_writes[i];

		pipeline->ready[write->reg] = issued + write->latency + late;
		pipeline->written[write->reg] = write->name;
	}
	return complete;
}

static ALWAYS_INLINE void retire(struct pipeline *pipeline, struct progress *at,
				 const struct step *step, const struct cost *cost,
				 uint64_t complete, enum shape shape)
{
	const struct limits *limits = &pipeline->limits;
	uint64_t cycle = slot_cycle(at->retire);
	bool over = false;

	if (!shape_is_straight(shape))
		over = step->taken & (at->transfer_cycle == cycle) &
		       (at->transfer_count == limits->retire_transfers);
	at->retire = most(slot_after(&limits->retire, at->retire, over), slot_of(complete));
	cycle = slot_cycle(at->retire);
	if (!shape_is_straight(shape)) {
		at->transfer_count = count_if(cycle == at->transfer_cycle, at->transfer_count);
		at->transfer_count += step->taken;
		at->transfer_cycle = cycle;
	}
	if (!shape_is_plain(shape) && cost->micro_ops > 1)
		at->rob = track_take(&pipeline->rob, at->rob, cycle,
				     least(cost->micro_ops, pipeline->core->rob_entries) - 1);
	*at->rob++ = cycle;
	if (shape_is_load(shape, step->insn->flags))
		*at->loads++ = cycle;
	if (shape == SHAPE_STORE)
		return;
	/* Without a branch: an instruction without a result does not advance the pointer. */
	*at->integers = cycle;
	at->integers += shape == SHAPE_ALU || shape == SHAPE_LOAD || cost->integer_results != 0;
	if (!shape_is_plain(shape) && cost->integer_results > 1)
		at->integers = track_take(&pipeline->integers, at->integers, cycle,
					  cost->integer_results - 1u);
	if (!shape_is_simple(shape) && cost->float_results)
		at->floats = track_take(&pipeline->floats, at->floats, cycle, cost->float_results);
}

/*
 * The cycle in which the next instruction could enter the issue queues that this instruction
 * entered.
 */
static uint64_t next_room(const struct pipeline *pipeline, const struct progress *at,
			  const struct cost *cost)
{
	uint64_t room = at->dispatch_cycle;

	for (unsigned int i = 0; i < cost->queues; i++)
		room = most(room, queue_next_place(pipeline->queue[cost->queue[i]]));
	return room;
}

/* The newest instruction flushes the pipeline in cycle `resolved`. */
static ALWAYS_INLINE struct report *flush(struct report *out, const struct pipeline *pipeline,
					  struct progress *at, const struct cost *cost,
					  enum flush_kind kind, uint32_t cause, uint64_t resolved)
{
	uint64_t refetched = most(resolved + pipeline->core->redirect, slot_cycle(at->fetch) + 1);

	refetch(pipeline, at, refetched);
	*out = (struct report){
		.supplied = (uint32_t)next_room(pipeline, at, cost),
		.complete = (uint32_t)resolved,
		.retired = (uint32_t)(refetched + pipeline->core->fetch_depth),
		.cause = (uint16_t)cause,
		.kind = (uint8_t)(REPORT_FLUSH + kind),
	};
	return out + 1;
}

/*
 * Continue fetch after a step that met `cause` and is complete in cycle `complete`; report a flush
 * if that takes one.
 */
static ALWAYS_INLINE struct report *steer(struct report *out, struct pipeline *pipeline,
					  struct progress *at, const struct step *step,
					  const struct cost *cost, uint32_t cause,
					  uint64_t complete)
{
	uint64_t bubble;

	if (__builtin_expect(step->steer == STEER_NEXT, 1))
		return out;
	if (step->steer >= STEER_FLUSH) {
		enum flush_kind kind = (enum flush_kind)(step->steer - STEER_FLUSH);

		return flush(out, pipeline, at, cost, kind, cause,
			     kind == FLUSH_MISPREDICT ? complete - 1 : slot_cycle(at->retire));
	}
	bubble = step->steer == STEER_LATE ? pipeline->core->decode_redirect
					   : pipeline->core->taken_bubble;
	refetch(pipeline, at, slot_cycle(at->fetch) + 1 + bubble);
	pipeline->event[VCORE_EVENT_RESTEERS] += bubble != 0;
	pipeline->event[VCORE_EVENT_RESTEER_CYCLES] += bubble;
	return out;
}

/* Run a step through the pipeline; returns the position of the next report. */
static ALWAYS_INLINE struct report *pass(struct report *out, struct pipeline *pipeline,
					 struct progress *at, const struct step *step,
					 const uint64_t *access, bool in_order, enum shape shape)
{
	const struct insn *insn = step->insn;
	const struct cost *cost = shape_is_plain(shape) ? &insn->cost : step_cost(step);
	struct queue *queue = pipeline->queue[cost->queue[0]];
	struct meeting meeting = {0};
	uint64_t supplied, dispatched, issued, complete;
	unsigned int where = step->fetch;
	uint32_t front_cause = 0;
	struct report *report;

	for (;;) {
		front_cause |= fetch(pipeline, at, insn, where);
		supplied = slot_cycle(at->fetch) + pipeline->limits.fetch_depth;
		dispatched =
			dispatch(pipeline, at, insn, cost, queue, supplied, &front_cause, shape);
		meeting.cause = front_cause;
		issued = issue(pipeline, at, insn, cost, queue, dispatched, in_order, shape);
		complete = execute(pipeline, at, step, cost, access, issued, &meeting, shape) + 1;
		if (!shape_is_load(shape, insn->flags) ||
		    __builtin_expect(!meeting.too_early || meeting.repeated, 1))
			break;
		/*
		 * A memory-ordering violation: the load issued before an older store to the same
		 * address.  The load and everything younger is fetched again; from then on the load
		 * waits for that store.
		 */
		stores_learn(&pipeline->data.forward, insn->pc, meeting.overtaken,
			     meeting.too_early);
		*out++ = (struct report){
			.supplied = (uint32_t)supplied,
			.dispatched = (uint32_t)dispatched,
			.kind = REPORT_SQUASHED,
		};
		out = flush(out, pipeline, at, cost, FLUSH_ORDERING, meeting.cause,
			    meeting.too_early);
		where = where & STEP_TWO_LINES ? STEP_OTHER_LINE | STEP_TWO_LINES : 0;
		meeting = (struct meeting){.repeated = true};
	}
	retire(pipeline, at, step, cost, complete, shape);
	report = out++;
	report->supplied = (uint32_t)supplied;
	report->dispatched = (uint32_t)dispatched;
	report->complete = (uint32_t)complete;
	report->retired = (uint32_t)slot_cycle(at->retire);
	if (!shape_is_straight(shape))
		meeting.cause |= step->cause;
	report->front_cause = (uint16_t)front_cause;
	report->cause = (uint16_t)meeting.cause;
	report->kind = REPORT_STEP;
	report->turning = shape_is_straight(shape) ? 0 : step->taken | step->faulted;
	report->unused = 0;
	if (shape_is_load(shape, insn->flags))
		pipeline->event[VCORE_EVENT_FORWARDED] += meeting.forwarded;
	if (shape_is_store(shape, insn->flags))
		drain(pipeline, at, step, access,
		      (struct piece){.pc = insn->pc, .issued = issued, .data = complete - 1});
	return shape_is_straight(shape)
		       ? out
		       : steer(out, pipeline, at, step, cost, meeting.cause, complete);
}

/* A chunk fits into the tracks: a step takes at most two entries of each. */
#define CHUNK_STEPS (TRACK_ROOM / 2)

static void make_room(const struct pipeline *pipeline, struct progress *at)
{
	at->buffer = track_make_room(&pipeline->buffer, at->buffer);
	at->rob = track_make_room(&pipeline->rob, at->rob);
	at->loads = track_make_room(&pipeline->loads, at->loads);
	at->stores = track_make_room(&pipeline->stores, at->stores);
	at->integers = track_make_room(&pipeline->integers, at->integers);
	at->floats = track_make_room(&pipeline->floats, at->floats);
}

static ALWAYS_INLINE size_t run(struct pipeline *pipeline, const struct step *step, size_t steps,
				const uint64_t *access, struct report *reports, bool in_order)
{
	const struct step *end = step + steps;
	struct report *out = reports;
	/* A local copy that nothing else points to, so that it can stay in registers. */
	struct progress at = pipeline->progress;

	while (step < end) {
		const struct step *stop = end - step > CHUNK_STEPS ? step + CHUNK_STEPS : end;

		make_room(pipeline, &at);
		for (; step < stop; step++) {
			switch ((enum shape)step->shape) {
			case SHAPE_ALU:
				out = pass(out, pipeline, &at, step, access, in_order, SHAPE_ALU);
				continue;
			case SHAPE_BRANCH:
				out = pass(out, pipeline, &at, step, access, in_order,
					   SHAPE_BRANCH);
				continue;
			case SHAPE_LOAD:
				out = pass(out, pipeline, &at, step, access, in_order, SHAPE_LOAD);
				break;
			case SHAPE_STORE:
				out = pass(out, pipeline, &at, step, access, in_order, SHAPE_STORE);
				break;
			case SHAPE_PLAIN:
				out = pass(out, pipeline, &at, step, access, in_order, SHAPE_PLAIN);
				break;
			case SHAPE_ANY:
				out = pass(out, pipeline, &at, step, access, in_order, SHAPE_ANY);
				break;
			default:
				__builtin_unreachable();
			}
			access += step->accesses;
		}
	}
	pipeline->progress = at;
	return (size_t)(out - reports);
}

size_t pipeline_run(struct pipeline *pipeline, const struct step *step, size_t steps,
		    const uint64_t *access, struct report *reports)
{
	return pipeline->core->out_of_order ? run(pipeline, step, steps, access, reports, false)
					    : run(pipeline, step, steps, access, reports, true);
}
