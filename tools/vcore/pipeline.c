// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The pipeline: when each instruction is fetched, dispatched, issued, complete and retired.
 *
 * One pass in program order.  Each structure that an instruction needs is a set of places with the
 * cycle in which they come free; an instruction moves on in the first cycle in which all that it
 * needs is there.  Because older instructions choose first, issue is oldest first.
 */
#include <stdlib.h>
#include <string.h>

#include "tools/vcore/calendar.h"
#include "tools/vcore/places.h"
#include "tools/vcore/stores.h"
#include "tools/vcore/vcore.h"

struct pipeline {
	const struct pesa_core *core;
	uint64_t *event; /* counters */
	struct memory *memory;
	struct predictor *predictor;

	uint64_t fetch_cycle, fetch_next; /* of the current group, of the next one */
	uint64_t fetch_block, fetch_line;
	uint32_t block_shift, line_shift; /* log2 of the bytes */
	uint32_t fetch_count;
	bool fetch_ends; /* the group ends with the last instruction */

	uint64_t dispatch_cycle, retire_cycle;
	uint32_t dispatch_count; /* micro-ops */
	uint32_t retire_count, retire_transfers;
	struct ring buffer, rob, loads, stores, integers, floats;
	struct queue *queue; /* those of the description, then those of the model */
	uint32_t queues;

	/* in-order issue */
	uint64_t issue_cycle, write_cycle; /* of the newest instruction, of its results */
	uint32_t issue_count;		   /* micro-ops */

	struct calendar calendar;
	uint64_t ready[COST_REGISTERS];
	uint16_t written[COST_REGISTERS]; /* by a write of this name */
	unsigned int vector_type;

	uint64_t memory_done;  /* cycle in which all accesses up to now are done */
	uint64_t memory_floor; /* no access before this cycle: a barrier */
	uint64_t drain_cycle;  /* the newest store's way to the cache */
	uint32_t drain_count;  /* stores on their way since that cycle */
	struct stores forward;
};

static uint64_t most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

struct pipeline *pipeline_create(const struct process *process, struct vcore_counters *counters)
{
	struct pipeline *pipeline = calloc(1, sizeof(*pipeline));
	const struct pesa_core *core = process->core;
	const struct cost_model *model = process->model;
	bool made;

	if (!pipeline)
		return NULL;
	pipeline->core = core;
	pipeline->event = counters->event;
	pipeline->block_shift = (uint32_t)__builtin_ctz(core->fetch_bytes);
	pipeline->line_shift = (uint32_t)__builtin_ctz(core->line);
	pipeline->fetch_block = UINT64_MAX;
	pipeline->fetch_line = UINT64_MAX;
	pipeline->memory = memory_create(core, counters, process->shared);
	pipeline->predictor = predictor_create(core);
	calendar_create(&pipeline->calendar, model);
	pipeline->queues = PESA_CORE_QUEUE_COUNT + cost_model_buffers(model);
	pipeline->queue = calloc(pipeline->queues, sizeof(*pipeline->queue));
	made = pipeline->memory && pipeline->predictor && pipeline->queue &&
	       ring_create(&pipeline->buffer, core->fetch_buffer) &&
	       ring_create(&pipeline->rob, core->rob_entries) &&
	       ring_create(&pipeline->loads, core->load_queue) &&
	       ring_create(&pipeline->stores, core->store_queue) &&
	       ring_create(&pipeline->integers, core->integer_registers - 32) &&
	       ring_create(&pipeline->floats, core->float_registers - 32) &&
	       stores_create(&pipeline->forward);
	for (unsigned int i = 0; made && i < pipeline->queues; i++)
		pipeline->queue[i].entries =
			i < PESA_CORE_QUEUE_COUNT
				? core->queue_entries[i]
				: cost_model_buffer(model, i - PESA_CORE_QUEUE_COUNT);
	if (made)
		return pipeline;
	pipeline_free(pipeline);
	return NULL;
}

void pipeline_free(struct pipeline *pipeline)
{
	if (!pipeline)
		return;
	memory_free(pipeline->memory);
	predictor_free(pipeline->predictor);
	ring_free(&pipeline->buffer);
	ring_free(&pipeline->rob);
	ring_free(&pipeline->loads);
	ring_free(&pipeline->stores);
	ring_free(&pipeline->integers);
	ring_free(&pipeline->floats);
	stores_free(&pipeline->forward);
	free(pipeline->queue);
	free(pipeline);
}

struct memory *pipeline_memory(struct pipeline *pipeline)
{
	return pipeline->memory;
}

static uint16_t event_cause(const struct pesa_core *core, enum pesa_core_event event)
{
	return core->event_bit[event] < 0 ? 0 : (uint16_t)(1u << core->event_bit[event]);
}

/* ---- Front end ----------------------------------------------------------------------------- */

static void fetch_line(struct pipeline *pipeline, uint64_t address, struct passage *passage)
{
	struct access access = {0};
	uint64_t hit = pipeline->fetch_cycle + pipeline->core->icache.latency;

	pipeline->fetch_line = address >> pipeline->line_shift;
	memory_fetch(pipeline->memory, address, pipeline->fetch_cycle, &access);
	if (access.cache_miss)
		passage->front_cause |= PESA_CAUSE_ICACHE_MISS;
	if (access.tlb_miss)
		passage->front_cause |= PESA_CAUSE_ITLB_MISS;
	if (access.ready > hit)
		pipeline->fetch_cycle += access.ready - hit;
}

static inline void fetch(struct pipeline *pipeline, const struct insn *insn,
			 struct passage *passage)
{
	const struct pesa_core *core = pipeline->core;
	uint64_t block = insn->pc >> pipeline->block_shift, last = insn->pc + insn->length - 1;
	uint64_t room = ring_oldest(&pipeline->buffer);

	bool begins = pipeline->fetch_ends | (pipeline->fetch_count == core->fetch_width) |
		      (block != pipeline->fetch_block) | (room > pipeline->fetch_cycle);

	/* A new group or not: no branch, nobody can predict it. */
	pipeline->fetch_cycle = begins ? most(pipeline->fetch_next, room) : pipeline->fetch_cycle;
	pipeline->fetch_count = (begins ? 0 : pipeline->fetch_count) + 1;
	pipeline->fetch_block = block;
	pipeline->fetch_ends = false;
	if (__builtin_expect(insn->pc >> pipeline->line_shift != pipeline->fetch_line, 0))
		fetch_line(pipeline, insn->pc, passage);
	if (__builtin_expect(last >> pipeline->line_shift != pipeline->fetch_line, 0))
		fetch_line(pipeline, last, passage);
	pipeline->fetch_next = pipeline->fetch_cycle + 1;
}

/* Fetch goes on at another address, not before `cycle`. */
static void refetch(struct pipeline *pipeline, uint64_t cycle)
{
	pipeline->fetch_next = cycle;
	pipeline->fetch_ends = true;
}

/* ---- Dispatch and issue -------------------------------------------------------------------- */

/* The first cycle from `cycle` on in which there is a place in all that the instruction enters. */
static inline uint64_t find_room(struct pipeline *pipeline, const struct insn *insn,
				 const struct cost *cost, uint64_t cycle)
{
	uint64_t room = cycle;

	if (pipeline->queue[cost->queue].entries)
		room = queue_oldest(&pipeline->queue[cost->queue], room);
	for (unsigned int i = 0; i < cost->buffers; i++)
		room = queue_oldest(&pipeline->queue[PESA_CORE_QUEUE_COUNT + cost->buffer[i]],
				    room);
	if (insn->flags & INSN_LOAD)
		room = most(room, ring_oldest(&pipeline->loads) + 1);
	if (insn->flags & INSN_STORE)
		room = most(room, ring_oldest(&pipeline->stores) + 1);
	room = most(room, cost->integer_results
				  ? ring_oldest_of(&pipeline->integers, cost->integer_results) + 1
				  : 0);
	if (__builtin_expect(cost->float_results != 0, 0))
		room = most(room, ring_oldest_of(&pipeline->floats, cost->float_results) + 1);
	return room;
}

/* More micro-ops than a cycle dispatches go on in the next ones. */
static inline void count_dispatch(struct pipeline *pipeline, const struct cost *cost)
{
	uint32_t width = pipeline->core->dispatch_width;

	pipeline->dispatch_count += cost->micro_ops;
	if (__builtin_expect(pipeline->dispatch_count > width, 0)) {
		uint32_t further = (pipeline->dispatch_count - 1) / width;

		pipeline->dispatch_cycle += further;
		pipeline->dispatch_count -= further * width;
	}
	if (cost->flags & COST_END_GROUP)
		pipeline->dispatch_count = width;
}

static inline uint64_t dispatch(struct pipeline *pipeline, const struct insn *insn,
				const struct cost *cost, struct passage *passage)
{
	const struct pesa_core *core = pipeline->core;
	uint32_t width = core->dispatch_width;
	uint32_t needed = cost->micro_ops < width ? cost->micro_ops : width;
	uint64_t cycle, room;

	passage->supplied = pipeline->fetch_cycle + core->fetch_depth;
	cycle = most(passage->supplied, pipeline->dispatch_cycle);
	/* Where a cycle begins nobody can predict: no branches. */
	cycle += (cycle == pipeline->dispatch_cycle) &
		 ((pipeline->dispatch_count + needed > width) |
		  (((cost->flags & COST_BEGIN_GROUP) != 0) & (pipeline->dispatch_count != 0)));
	cycle = most(cycle,
		     ring_oldest_of(&pipeline->rob, cost->micro_ops ? cost->micro_ops : 1) + 1);
	if (insn->flags & INSN_SERIALISE_BEFORE)
		cycle = most(cycle, pipeline->retire_cycle + 1);
	room = find_room(pipeline, insn, cost, cycle);
	/* Decision 1a: nothing is left in the reorder buffer, and still no instruction enters. */
	if (__builtin_expect((room > cycle) & (room > pipeline->retire_cycle + 1), 0))
		passage->front_cause |= event_cause(core, PESA_CORE_EVENT_ALLOC_BLOCKED);
	cycle = room;
	pipeline->dispatch_count = cycle != pipeline->dispatch_cycle ? 0 : pipeline->dispatch_count;
	calendar_advance(&pipeline->calendar,
			 cycle != pipeline->dispatch_cycle ? cycle : pipeline->calendar.start);
	pipeline->dispatch_cycle = cycle;
	count_dispatch(pipeline, cost);
	ring_take(&pipeline->buffer, cycle);
	return cycle;
}

/* The first cycle from `cycle` on in which the sources can be read. */
static inline uint64_t sources_ready(const struct pipeline *pipeline, const struct cost *cost,
				     uint64_t cycle)
{
	/* Lists are filled up with a register that is always ready. */
	cycle = most(cycle, pipeline->ready[cost->read[0]]);
	cycle = most(cycle, pipeline->ready[cost->read[1]]);
	for (unsigned int i = 2; i < cost->reads; i++)
		cycle = most(cycle, pipeline->ready[cost->read[i]]);
	return cycle;
}

/* Likewise, where some are read later or earlier than at issue.  The first advance of a source that
 * fits the write holds. */
static uint64_t sources_ready_advanced(const struct pipeline *pipeline, const struct cost *cost,
				       uint64_t cycle)
{
	const struct cost_advance *advance = cost->advance, *end = advance + cost->advances;

	for (unsigned int i = 0; i < cost->reads; i++) {
		uint8_t reg = cost->read[i];
		int64_t ready = (int64_t)pipeline->ready[reg];

		for (; advance < end && advance->source == i; advance++) {
			if (!advance->write || advance->write == pipeline->written[reg]) {
				ready -= advance->cycles;
				break;
			}
		}
		while (advance < end && advance->source == i)
			advance++;
		if (ready > (int64_t)cycle)
			cycle = (uint64_t)ready;
	}
	return cycle;
}

/* In order: not before the older ones, as many a cycle as the core is wide, and such that results
 * are written in order too. */
static uint64_t issue_in_order(struct pipeline *pipeline, const struct cost *cost, uint64_t cycle)
{
	uint32_t width = pipeline->core->dispatch_width, micro_ops = cost->micro_ops;

	cycle = most(cycle, pipeline->issue_cycle);
	if (!(cost->flags & COST_WRITE_OUT_OF_ORDER) && cycle + cost->first < pipeline->write_cycle)
		cycle = pipeline->write_cycle - cost->first;
	if (cycle == pipeline->issue_cycle && pipeline->issue_count >= width)
		cycle++;
	cycle = calendar_issue(&pipeline->calendar, cost, cycle);
	if (cycle != pipeline->issue_cycle)
		pipeline->issue_count = 0;
	pipeline->issue_cycle = cycle;
	pipeline->issue_count += micro_ops;
	if (pipeline->issue_count > width) {
		uint32_t further = (pipeline->issue_count - 1) / width;

		pipeline->issue_cycle += further;
		pipeline->issue_count -= further * width;
	}
	if (cost->flags & COST_END_GROUP)
		pipeline->issue_count = width;
	if (!(cost->flags & COST_WRITE_OUT_OF_ORDER))
		pipeline->write_cycle = most(pipeline->write_cycle, cycle + cost->latency);
	return cycle;
}

static inline uint64_t issue(struct pipeline *pipeline, const struct insn *insn,
			     const struct cost *cost, uint64_t dispatched)
{
	uint64_t cycle = dispatched + 1;

	if (__builtin_expect(cost->flags & COST_ADVANCES, 0))
		cycle = sources_ready_advanced(pipeline, cost, cycle);
	else
		cycle = sources_ready(pipeline, cost, cycle);
	if (insn->flags & (INSN_LOAD | INSN_STORE | INSN_BARRIER)) {
		cycle = most(cycle, pipeline->memory_floor);
		if (insn->flags & INSN_BARRIER)
			cycle = most(cycle, pipeline->memory_done);
		else if (insn->flags & INSN_LOAD)
			cycle = stores_expect(&pipeline->forward, insn->pc, cycle);
	}
	if (pipeline->core->out_of_order)
		cycle = calendar_issue(&pipeline->calendar, cost, cycle);
	else
		cycle = issue_in_order(pipeline, cost, cycle);
	if (pipeline->queue[cost->queue].entries)
		queue_take(&pipeline->queue[cost->queue], cycle);
	for (unsigned int i = 0; i < cost->buffers; i++)
		queue_take(&pipeline->queue[PESA_CORE_QUEUE_COUNT + cost->buffer[i]], cycle);
	return cycle;
}

/* ---- Memory -------------------------------------------------------------------------------- */

/* A part of an access that lies in one line. */
struct piece {
	uint64_t address;
	uint32_t size; /* bytes */
	uint64_t issued;
};

static void note_access(struct pipeline *pipeline, const struct access *access,
			struct passage *passage)
{
	const struct pesa_core *core = pipeline->core;

	if (access->cache_miss)
		passage->cause |= PESA_CAUSE_DCACHE_MISS;
	if (access->tlb_miss)
		passage->cause |= PESA_CAUSE_DTLB_MISS;
	if (access->l2_miss)
		passage->cause |= event_cause(core, PESA_CORE_EVENT_L2_MISS);
	if (access->llc_miss)
		passage->cause |= event_cause(core, PESA_CORE_EVENT_LLC_MISS);
	if (access->walk)
		passage->cause |= event_cause(core, PESA_CORE_EVENT_PAGE_WALK);
}

/* A load from one line; returns the cycle in which its data is there. */
static uint64_t load(struct pipeline *pipeline, const struct piece *piece, uint64_t cycle,
		     struct passage *passage)
{
	struct access access = {0};
	struct forward forward;

	cycle += memory_translate(pipeline->memory, piece->address, cycle, &access);
	forward = stores_find(&pipeline->forward, piece->address, piece->size, cycle);
	switch (forward.kind) {
	case FORWARD_WHOLE:
		access.ready = most(cycle, forward.cycle) + pipeline->core->forward_latency;
		passage->cause |= event_cause(pipeline->core, PESA_CORE_EVENT_STORE_FORWARD);
		passage->forwarded++;
		break;
	case FORWARD_PART:
		/* Not before the store has left its queue. */
		cycle = most(cycle, forward.cycle);
		/* fall through */
	default:
		memory_data(pipeline->memory, piece->address, cycle, false, &access);
	}
	if (forward.kind != FORWARD_NONE && forward.issued > piece->issued)
		passage->too_early = forward.issued, passage->overtaken = forward.store;
	if (access.cache_miss || access.tlb_miss)
		note_access(pipeline, &access, passage);
	return access.ready;
}

/* Call `each` for every line that the instruction touched, one more cycle for each further one. */
static inline uint64_t
access_lines(struct pipeline *pipeline, const struct outcome *outcome, bool stores, uint64_t issued,
	     uint64_t cycle, struct passage *passage,
	     uint64_t (*each)(struct pipeline *, const struct piece *, uint64_t, struct passage *))
{
	uint64_t last = UINT64_MAX, done = cycle;

	for (unsigned int i = 0; i < outcome->access_count; i++) {
		uint64_t word = outcome->accesses[i], address = word >> TRACE_ADDRESS_SHIFT, end;

		if (!!(word & TRACE_STORE) != stores)
			continue;
		end = address + (1ull << (word >> TRACE_SHIFT_SHIFT & TRACE_SHIFT_MASK));
		while (address < end) {
			uint64_t line = address >> pipeline->line_shift;
			uint64_t stop = (line + 1) << pipeline->line_shift;
			struct piece piece = {
				address, (uint32_t)((stop < end ? stop : end) - address), issued};

			address += piece.size;
			if (line == last)
				continue;
			last = line;
			done = most(done, each(pipeline, &piece, cycle, passage));
			cycle++;
		}
	}
	return done;
}

static uint64_t translate_store(struct pipeline *pipeline, const struct piece *piece,
				uint64_t cycle, struct passage *passage)
{
	struct access access = {0};

	cycle += memory_translate(pipeline->memory, piece->address, cycle, &access);
	if (access.tlb_miss)
		note_access(pipeline, &access, passage);
	return cycle;
}

static uint64_t drain_store(struct pipeline *pipeline, const struct piece *piece, uint64_t cycle,
			    struct passage *passage)
{
	struct access access = {0};

	memory_data(pipeline->memory, piece->address, cycle, true, &access);
	stores_add(&pipeline->forward, &(struct store){
					       .address = piece->address,
					       .size = piece->size,
					       .pc = passage->insn->pc,
					       .issued = piece->issued,
					       .data = passage->complete - 1,
					       .gone = access.ready,
				       });
	return access.ready;
}

/* After retirement stores go to the cache in order, as many a cycle as it has ports. */
static void drain(struct pipeline *pipeline, const struct outcome *outcome, uint64_t issued,
		  struct passage *passage)
{
	uint64_t done;

	if (passage->retired >= pipeline->drain_cycle) {
		pipeline->drain_cycle = passage->retired + 1;
		pipeline->drain_count = 0;
	} else if (pipeline->drain_count == pipeline->core->store_ports) {
		pipeline->drain_cycle++;
		pipeline->drain_count = 0;
	}
	pipeline->drain_count++;
	done = access_lines(pipeline, outcome, true, issued, pipeline->drain_cycle, passage,
			    drain_store);
	ring_take(&pipeline->stores, done);
	pipeline->memory_done = most(pipeline->memory_done, done);
}

/* ---- One instruction ----------------------------------------------------------------------- */

static inline uint64_t execute(struct pipeline *pipeline, const struct insn *insn,
			       const struct cost *cost, const struct outcome *outcome,
			       uint64_t issued, struct passage *passage)
{
	uint64_t complete = issued + cost->latency, late = 0;

	if (outcome->access_count) {
		if (insn->flags & INSN_LOAD) {
			uint64_t done = access_lines(pipeline, outcome, false, issued,
						     issued + cost->address, passage, load);

			late = done > complete ? done - complete : 0;
			complete += late;
		}
		if (insn->flags & INSN_STORE)
			complete =
				most(complete, access_lines(pipeline, outcome, true, issued,
							    issued + 1, passage, translate_store));
		pipeline->memory_done = most(pipeline->memory_done, complete);
	}
	if (insn->flags & INSN_BARRIER)
		pipeline->memory_floor = complete;
	/* Likewise with one that nobody reads. */
	pipeline->ready[cost->write[0].reg] = issued + cost->write[0].latency + late;
	pipeline->written[cost->write[0].reg] = cost->write[0].name;
	for (unsigned int i = 1; i < cost->writes; i++) {
		const struct cost_write *write = &cost->write[i];

		pipeline->ready[write->reg] = issued + write->latency + late;
		pipeline->written[write->reg] = write->name;
	}
	return complete;
}

static inline uint64_t retire(struct pipeline *pipeline, const struct cost *cost,
			      const struct passage *passage)
{
	const struct pesa_core *core = pipeline->core;
	uint64_t cycle = most(passage->complete, pipeline->retire_cycle);

	cycle += (cycle == pipeline->retire_cycle) &
		 ((pipeline->retire_count == core->retire_width) |
		  (passage->taken & (pipeline->retire_transfers == core->retire_transfers)));
	pipeline->retire_count = (cycle != pipeline->retire_cycle ? 0 : pipeline->retire_count) + 1;
	pipeline->retire_transfers =
		(cycle != pipeline->retire_cycle ? 0 : pipeline->retire_transfers) + passage->taken;
	pipeline->retire_cycle = cycle;
	for (unsigned int i = 1; __builtin_expect(i < cost->micro_ops, 0) && i < core->rob_entries;
	     i++)
		ring_take(&pipeline->rob, cycle);
	ring_take(&pipeline->rob, cycle);
	return cycle;
}

static inline void release(struct pipeline *pipeline, const struct insn *insn,
			   const struct cost *cost, const struct passage *passage)
{
	ring_take_if(&pipeline->loads, passage->retired, (insn->flags & INSN_LOAD) != 0);
	ring_take_if(&pipeline->integers, passage->retired, cost->integer_results != 0);
	for (unsigned int i = 1; __builtin_expect(i < cost->integer_results, 0); i++)
		ring_take(&pipeline->integers, passage->retired);
	for (unsigned int i = 0; i < cost->float_results; i++)
		ring_take(&pipeline->floats, passage->retired);
}

/* The pipeline is emptied.  What followed the instruction, and is thrown away, needed what it has
 * itself: places in its issue queues. */
static void flush(struct hart *hart, const struct insn *insn, const struct cost *cost,
		  enum flush_kind kind, uint16_t cause, uint64_t resolved)
{
	struct pipeline *pipeline = hart->pipeline;
	uint64_t room = 0;

	if (pipeline->queue[cost->queue].entries)
		room = queue_next_place(&pipeline->queue[cost->queue]);
	for (unsigned int i = 0; i < cost->buffers; i++)
		room = most(room,
			    queue_next_place(
				    &pipeline->queue[PESA_CORE_QUEUE_COUNT + cost->buffer[i]]));
	retire_flush(hart, insn, cause, pipeline->fetch_next + pipeline->core->fetch_depth);
	counters_flush(&hart->counters, kind, resolved,
		       pipeline->fetch_next + pipeline->core->fetch_depth, room, &pipeline->rob);
}

/* Where fetch goes on, and whether that costs a flush. */
static void steer(struct hart *hart, const struct insn *insn, const struct cost *cost,
		  const struct passage *passage, enum prediction prediction, bool interrupted)
{
	struct pipeline *pipeline = hart->pipeline;
	const struct pesa_core *core = pipeline->core;
	enum flush_kind kind;
	uint64_t resolved;

	if (passage->faulted || interrupted || (insn->flags & INSN_FLUSH_AFTER)) {
		kind = passage->faulted			? FLUSH_EXCEPTION
		       : insn->flags & INSN_FLUSH_AFTER ? FLUSH_SERIALISE
							: FLUSH_INTERRUPT;
		resolved = passage->retired;
	} else if (prediction == PREDICTION_WRONG) {
		kind = FLUSH_MISPREDICT;
		resolved = passage->complete - 1;
	} else {
		uint64_t bubble = 0;

		if (prediction == PREDICTION_LATE)
			bubble = core->decode_redirect;
		else if (passage->taken)
			bubble = core->taken_bubble;
		else
			return;
		refetch(pipeline, pipeline->fetch_cycle + 1 + bubble);
		pipeline->event[VCORE_EVENT_RESTEERS] += bubble != 0;
		pipeline->event[VCORE_EVENT_RESTEER_CYCLES] += bubble;
		return;
	}
	refetch(pipeline, most(resolved + core->redirect, pipeline->fetch_cycle + 1));
	flush(hart, insn, cost, kind, passage->cause, resolved);
}

/* Up to the cycle in which the instruction could retire; returns the cycle of issue. */
static inline uint64_t advance(struct pipeline *pipeline, const struct insn *insn,
			       const struct cost *cost, const struct outcome *outcome,
			       struct passage *passage)
{
	uint64_t issued;

	fetch(pipeline, insn, passage);
	passage->dispatched = dispatch(pipeline, insn, cost, passage);
	passage->cause = passage->front_cause;
	issued = issue(pipeline, insn, cost, passage->dispatched);
	passage->complete = execute(pipeline, insn, cost, outcome, issued, passage) + 1;
	return issued;
}

/* A load that was issued before an older store to the same place: it and all that follows it is
 * fetched again, and the next time it waits for that store. */
static __attribute__((noinline, cold)) void repeat_load(struct hart *hart, const struct insn *insn,
							const struct cost *cost,
							struct passage *passage)
{
	struct pipeline *pipeline = hart->pipeline;

	stores_learn(&pipeline->forward, insn->pc, passage->overtaken);
	refetch(pipeline,
		most(passage->too_early + pipeline->core->redirect, pipeline->fetch_cycle + 1));
	counters_dispatch_in_vain(&hart->counters, FLUSH_ORDERING, passage->supplied,
				  passage->dispatched, false);
	flush(hart, insn, cost, FLUSH_ORDERING, passage->cause, passage->too_early);
	passage->too_early = 0;
	passage->forwarded = 0;
}

static void set_vector_type(struct pipeline *pipeline, const struct insn *insn)
{
	pipeline->vector_type = insn->vector_type;
}

void pipeline_step(struct hart *hart, const struct insn *insn, const struct outcome *outcome)
{
	struct pipeline *pipeline = hart->pipeline;
	struct passage passage = {.insn = insn, .target = outcome->next};
	enum prediction prediction = PREDICTION_RIGHT;
	bool jumped = outcome->next != insn->pc + insn->length, interrupted = false;
	const struct cost *cost = insn->cost;
	uint64_t issued;

	if (__builtin_expect(insn->flags & (INSN_VECTOR | INSN_VECTOR_TYPE), 0)) {
		if (insn->flags & INSN_VECTOR_TYPE)
			set_vector_type(pipeline, insn);
		else
			cost = insn_vector_cost(hart->process, insn, pipeline->vector_type);
	}
	/* Once, or a second time; not in two places, so that it is inlined. */
	for (bool repeated = false;; repeated = true) {
		issued = advance(pipeline, insn, cost, outcome, &passage);
		if (__builtin_expect(!passage.too_early || repeated, 1))
			break;
		repeat_load(hart, insn, cost, &passage);
	}
	passage.faulted = outcome->faulted;
	if (insn->flow != PESA_FLOW_NEXT && insn->flow != PESA_FLOW_TRAP && !passage.faulted) {
		passage.taken = jumped || insn->flow != PESA_FLOW_BRANCH;
		/* A direct transfer that went elsewhere was taken or not, and then interrupted. */
		if (jumped && insn->target && outcome->next != insn->target)
			interrupted = true;
		else
			prediction = predictor_step(pipeline->predictor, insn, passage.taken,
						    outcome->next);
		if (prediction == PREDICTION_WRONG)
			passage.cause |= PESA_CAUSE_BRANCH_MISPREDICT;
	} else if (jumped && !passage.faulted) {
		passage.taken = true;
		interrupted = true;
	}
	if (insn->flags & (INSN_SERIALISE_BEFORE | INSN_FLUSH_AFTER))
		passage.cause |= event_cause(pipeline->core, PESA_CORE_EVENT_SERIALISE);
	pipeline->event[VCORE_EVENT_FORWARDED] += passage.forwarded;
	passage.retired = retire(pipeline, cost, &passage);
	release(pipeline, insn, cost, &passage);
	if (insn->flags & INSN_STORE)
		drain(pipeline, outcome, issued, &passage);
	retire_step(hart, &passage);
	steer(hart, insn, cost, &passage, prediction, interrupted);
}
