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

#include "tools/vcore/vcore.h"

#define CALENDAR_BITS 13u /* cycles ahead of which resources can be taken */
#define CALENDAR_MASK ((1u << CALENDAR_BITS) - 1)
#define FORWARD_BITS  10u
#define FORWARD_SHIFT 3u /* bytes of a granule: 8 */
#define UNITS_MAX     16u

/* Uses of each cycle: the upper 24 bits say which cycle it is, the lower 8 count. */
struct calendar {
	uint32_t used[1u << CALENDAR_BITS];
};

/* The cycles in which the last instructions of some kind leave a structure of `entries` places. */
struct ring {
	uint64_t *leaves;
	uint64_t next;
	uint32_t mask, entries;
};

/*
 * An issue queue: who enters in program order leaves in any order.  `leaves` counts, for each cycle
 * after `now`, the entries that leave in it; `now` follows dispatch, which only moves forward.
 */
struct queue {
	uint16_t leaves[1u << CALENDAR_BITS];
	uint64_t now;
	uint32_t taken, entries;
};

/* The newest store to a granule of memory. */
struct forward {
	uint64_t granule; /* + 1 */
	uint64_t data;	  /* cycle in which its data is known */
	uint64_t gone;	  /* cycle in which it left the store queue */
};

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

	uint64_t dispatch_cycle, issue_cycle, retire_cycle;
	uint32_t dispatch_count, retire_count, retire_transfers;
	struct ring buffer, rob, loads, stores, integers, floats;
	struct queue queue[PESA_CORE_QUEUE_COUNT];

	struct calendar issue, unit[PESA_CORE_UNIT_COUNT];
	uint64_t busy[PESA_CORE_UNIT_COUNT][UNITS_MAX]; /* units that are not pipelined */
	uint64_t ready[PESA_REGISTER_COUNT];

	uint64_t memory_done;  /* cycle in which all accesses up to now are done */
	uint64_t memory_floor; /* no access before this cycle: a barrier */
	uint64_t drain_cycle;  /* the newest store's way to the cache */
	struct forward forward[1u << FORWARD_BITS];
};

static uint64_t most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* ---- Structures ---------------------------------------------------------------------------- */

static bool ring_create(struct ring *ring, uint32_t entries)
{
	uint32_t size = 1;

	while (size < entries)
		size *= 2;
	ring->entries = entries;
	ring->mask = size - 1;
	ring->next = entries;
	ring->leaves = calloc(size, sizeof(*ring->leaves));
	return ring->leaves != NULL;
}

/* The cycle in which the oldest of the entries leaves. */
static uint64_t ring_free(const struct ring *ring)
{
	return ring->leaves[(ring->next - ring->entries) & ring->mask];
}

static void ring_take(struct ring *ring, uint64_t leaves)
{
	ring->leaves[ring->next++ & ring->mask] = leaves;
}

/* Those that leave by `cycle` are gone. */
static void queue_advance(struct queue *queue, uint64_t cycle)
{
	if (cycle - queue->now > CALENDAR_MASK) {
		memset(queue->leaves, 0, sizeof(queue->leaves));
		queue->taken = 0;
		queue->now = cycle;
	}
	while (queue->now < cycle) {
		uint16_t *leaves = &queue->leaves[++queue->now & CALENDAR_MASK];

		queue->taken -= *leaves;
		*leaves = 0;
	}
}

/* The first cycle from `cycle` on in which there is a place. */
static uint64_t queue_free(struct queue *queue, uint64_t cycle)
{
	if (cycle > queue->now)
		queue_advance(queue, cycle);
	while (queue->taken == queue->entries)
		queue_advance(queue, queue->now + 1);
	return most(queue->now, cycle);
}

/* Enter now, leave in cycle `leaves`. */
static void queue_take(struct queue *queue, uint64_t leaves)
{
	if (leaves <= queue->now)
		return;
	/* Further ahead than the calendar reaches: leaves as late as it can tell. */
	if (leaves - queue->now > CALENDAR_MASK)
		leaves = queue->now + CALENDAR_MASK;
	queue->leaves[leaves & CALENDAR_MASK]++;
	queue->taken++;
}

static bool calendar_full(struct calendar *calendar, uint64_t cycle, uint32_t places)
{
	uint32_t *used = &calendar->used[cycle & CALENDAR_MASK];
	uint32_t name = (uint32_t)(cycle >> CALENDAR_BITS) << 8;

	if ((*used & ~255u) != name)
		*used = name;
	return (*used & 255u) >= places;
}

struct pipeline *pipeline_create(const struct pesa_core *core, struct vcore_counters *counters,
				 struct shared *shared)
{
	struct pipeline *pipeline = calloc(1, sizeof(*pipeline));
	bool made;

	if (!pipeline)
		return NULL;
	pipeline->core = core;
	pipeline->event = counters->event;
	pipeline->block_shift = (uint32_t)__builtin_ctz(core->fetch_bytes);
	pipeline->line_shift = (uint32_t)__builtin_ctz(core->line);
	pipeline->fetch_block = UINT64_MAX;
	pipeline->fetch_line = UINT64_MAX;
	pipeline->memory = memory_create(core, counters, shared);
	pipeline->predictor = predictor_create(core);
	made = pipeline->memory && pipeline->predictor &&
	       ring_create(&pipeline->buffer, core->fetch_buffer) &&
	       ring_create(&pipeline->rob, core->rob_entries) &&
	       ring_create(&pipeline->loads, core->load_queue) &&
	       ring_create(&pipeline->stores, core->store_queue) &&
	       ring_create(&pipeline->integers, core->integer_registers - 32) &&
	       ring_create(&pipeline->floats, core->float_registers - 32);
	for (unsigned int i = 0; i < PESA_CORE_QUEUE_COUNT; i++)
		pipeline->queue[i].entries = core->queue_entries[i];
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
	free(pipeline->buffer.leaves);
	free(pipeline->rob.leaves);
	free(pipeline->loads.leaves);
	free(pipeline->stores.leaves);
	free(pipeline->integers.leaves);
	free(pipeline->floats.leaves);
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

static void fetch(struct pipeline *pipeline, const struct insn *insn, struct passage *passage)
{
	const struct pesa_core *core = pipeline->core;
	uint64_t block = insn->pc >> pipeline->block_shift, last = insn->pc + insn->length - 1;
	uint64_t room = ring_free(&pipeline->buffer);

	if (pipeline->fetch_ends || pipeline->fetch_count == core->fetch_width ||
	    block != pipeline->fetch_block || room > pipeline->fetch_cycle) {
		pipeline->fetch_cycle = most(pipeline->fetch_next, room);
		pipeline->fetch_count = 0;
		pipeline->fetch_block = block;
		pipeline->fetch_ends = false;
	}
	pipeline->fetch_count++;
	if (insn->pc >> pipeline->line_shift != pipeline->fetch_line)
		fetch_line(pipeline, insn->pc, passage);
	if (last >> pipeline->line_shift != pipeline->fetch_line)
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

static uint64_t dispatch(struct pipeline *pipeline, const struct insn *insn,
			 struct passage *passage)
{
	const struct pesa_core *core = pipeline->core;
	uint64_t cycle = most(pipeline->fetch_cycle + core->fetch_depth, pipeline->dispatch_cycle);
	uint64_t room;

	passage->supplied = pipeline->fetch_cycle + core->fetch_depth;
	if (cycle == pipeline->dispatch_cycle && pipeline->dispatch_count == core->dispatch_width)
		cycle++;
	cycle = most(cycle, ring_free(&pipeline->rob) + 1);
	if (insn->flags & INSN_SERIALISE_BEFORE)
		cycle = most(cycle, pipeline->retire_cycle + 1);
	room = queue_free(&pipeline->queue[insn->queue], cycle);
	if (insn->flags & INSN_LOAD)
		room = most(room, ring_free(&pipeline->loads) + 1);
	if (insn->flags & INSN_STORE)
		room = most(room, ring_free(&pipeline->stores) + 1);
	if (insn->integer_results)
		room = most(room, ring_free(&pipeline->integers) + 1);
	if (insn->float_results)
		room = most(room, ring_free(&pipeline->floats) + 1);
	if (room > cycle) {
		cycle = room;
		/* Decision 1a: nothing is left in the reorder buffer, and still no instruction
		 * enters. */
		if (cycle > pipeline->retire_cycle + 1)
			passage->front_cause |= event_cause(core, PESA_CORE_EVENT_ALLOC_BLOCKED);
	}
	if (cycle != pipeline->dispatch_cycle) {
		pipeline->dispatch_cycle = cycle;
		pipeline->dispatch_count = 0;
	}
	pipeline->dispatch_count++;
	ring_take(&pipeline->buffer, cycle);
	return cycle;
}

/* The first cycle from `cycle` on in which a unit is free, taken. */
static uint64_t take_unit(struct pipeline *pipeline, const struct insn *insn, uint64_t cycle)
{
	const struct pesa_core *core = pipeline->core;
	struct calendar *calendar = &pipeline->unit[insn->unit];
	uint32_t units = core->units[insn->unit];
	uint64_t *busy = pipeline->busy[insn->unit];
	uint32_t chosen = 0;

	if (insn->interval > 1) {
		for (uint32_t i = 1; i < units; i++)
			if (busy[i] < busy[chosen])
				chosen = i;
		cycle = most(cycle, busy[chosen]);
	}
	while (calendar_full(calendar, cycle, units) ||
	       calendar_full(&pipeline->issue, cycle, core->issue_width))
		cycle++;
	calendar->used[cycle & CALENDAR_MASK]++;
	pipeline->issue.used[cycle & CALENDAR_MASK]++;
	if (insn->interval > 1)
		busy[chosen] = cycle + insn->interval;
	return cycle;
}

static uint64_t issue(struct pipeline *pipeline, const struct insn *insn, uint64_t dispatched)
{
	const uint8_t *source = insn->registers + insn->results;
	uint64_t cycle = dispatched + 1;

	for (unsigned int i = 0; i < insn->sources; i++)
		cycle = most(cycle, pipeline->ready[source[i]]);
	if (!pipeline->core->out_of_order)
		cycle = most(cycle, pipeline->issue_cycle);
	if (insn->flags & (INSN_LOAD | INSN_STORE))
		cycle = most(cycle, pipeline->memory_floor);
	if (insn->flags & INSN_BARRIER)
		cycle = most(cycle, pipeline->memory_done);
	cycle = take_unit(pipeline, insn, cycle);
	pipeline->issue_cycle = cycle;
	queue_take(&pipeline->queue[insn->queue], cycle);
	return cycle;
}

/* ---- Memory -------------------------------------------------------------------------------- */

static struct forward *forward_at(struct pipeline *pipeline, uint64_t granule)
{
	uint64_t hash = granule * 0x9e3779b97f4a7c15;

	return &pipeline->forward[hash >> (64 - FORWARD_BITS)];
}

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
static uint64_t load(struct pipeline *pipeline, uint64_t address, uint64_t cycle,
		     struct passage *passage)
{
	uint64_t granule = address >> FORWARD_SHIFT;
	const struct forward *store = forward_at(pipeline, granule);
	struct access access = {0};

	cycle += memory_translate(pipeline->memory, address, cycle, &access);
	if (store->granule == granule + 1 && store->gone > cycle) {
		access.ready = most(cycle, store->data) + pipeline->core->forward_latency;
		passage->cause |= event_cause(pipeline->core, PESA_CORE_EVENT_STORE_FORWARD);
		pipeline->event[VCORE_EVENT_FORWARDED]++;
	} else {
		memory_data(pipeline->memory, address, cycle, false, &access);
	}
	if (access.cache_miss || access.tlb_miss)
		note_access(pipeline, &access, passage);
	return access.ready;
}

/* Call `each` for every line that the instruction touched, one more cycle for each further one. */
static uint64_t access_lines(struct pipeline *pipeline, const struct outcome *outcome, bool stores,
			     uint64_t cycle, struct passage *passage,
			     uint64_t (*each)(struct pipeline *, uint64_t, uint64_t,
					      struct passage *))
{
	uint64_t last = UINT64_MAX, done = cycle;

	for (unsigned int i = 0; i < outcome->access_count; i++) {
		uint64_t word = outcome->accesses[i], address = word >> TRACE_ADDRESS_SHIFT;
		uint64_t size = 1ull << (word >> TRACE_SHIFT_SHIFT & TRACE_SHIFT_MASK);

		if (!!(word & TRACE_STORE) != stores)
			continue;
		for (uint64_t line = address >> pipeline->line_shift;
		     line <= (address + size - 1) >> pipeline->line_shift; line++) {
			if (line == last)
				continue;
			last = line;
			done = most(done,
				    each(pipeline, most(address, line << pipeline->line_shift),
					 cycle, passage));
			cycle++;
		}
	}
	return done;
}

static uint64_t translate_store(struct pipeline *pipeline, uint64_t address, uint64_t cycle,
				struct passage *passage)
{
	struct access access = {0};

	cycle += memory_translate(pipeline->memory, address, cycle, &access);
	if (access.tlb_miss)
		note_access(pipeline, &access, passage);
	return cycle;
}

static uint64_t drain_store(struct pipeline *pipeline, uint64_t address, uint64_t cycle,
			    struct passage *passage)
{
	struct forward *forward = forward_at(pipeline, address >> FORWARD_SHIFT);
	struct access access = {0};

	memory_data(pipeline->memory, address, cycle, true, &access);
	forward->granule = (address >> FORWARD_SHIFT) + 1;
	forward->data = passage->complete - 1;
	forward->gone = access.ready;
	return access.ready;
}

/* After retirement a store goes to the cache, one a cycle, in order. */
static void drain(struct pipeline *pipeline, const struct outcome *outcome, struct passage *passage)
{
	uint64_t done;

	pipeline->drain_cycle = most(pipeline->drain_cycle, passage->retired) + 1;
	done = access_lines(pipeline, outcome, true, pipeline->drain_cycle, passage, drain_store);
	ring_take(&pipeline->stores, done);
	pipeline->memory_done = most(pipeline->memory_done, done);
}

/* ---- One instruction ----------------------------------------------------------------------- */

static uint64_t execute(struct pipeline *pipeline, const struct insn *insn,
			const struct outcome *outcome, uint64_t issued, struct passage *passage)
{
	uint64_t complete = issued + insn->latency;

	if (outcome->access_count) {
		if (insn->flags & INSN_LOAD)
			complete = access_lines(pipeline, outcome, false, complete, passage, load);
		if (insn->flags & INSN_STORE)
			complete = access_lines(pipeline, outcome, true, complete, passage,
						translate_store);
		pipeline->memory_done = most(pipeline->memory_done, complete);
	}
	if (insn->flags & INSN_BARRIER)
		pipeline->memory_floor = complete;
	for (unsigned int i = 0; i < insn->results; i++)
		pipeline->ready[insn->registers[i]] = complete;
	return complete;
}

static uint64_t retire(struct pipeline *pipeline, const struct passage *passage)
{
	const struct pesa_core *core = pipeline->core;
	uint64_t cycle = most(passage->complete, pipeline->retire_cycle);

	if (cycle == pipeline->retire_cycle &&
	    (pipeline->retire_count == core->retire_width ||
	     (passage->taken && pipeline->retire_transfers == core->retire_transfers)))
		cycle++;
	if (cycle != pipeline->retire_cycle) {
		pipeline->retire_cycle = cycle;
		pipeline->retire_count = 0;
		pipeline->retire_transfers = 0;
	}
	pipeline->retire_count++;
	pipeline->retire_transfers += passage->taken;
	ring_take(&pipeline->rob, cycle);
	return cycle;
}

static void release(struct pipeline *pipeline, const struct insn *insn,
		    const struct passage *passage)
{
	if (insn->flags & INSN_LOAD)
		ring_take(&pipeline->loads, passage->retired);
	for (unsigned int i = 0; i < insn->integer_results; i++)
		ring_take(&pipeline->integers, passage->retired);
	for (unsigned int i = 0; i < insn->float_results; i++)
		ring_take(&pipeline->floats, passage->retired);
}

/* Where fetch goes on, and whether that costs a flush. */
static void steer(struct hart *hart, const struct insn *insn, const struct passage *passage,
		  enum prediction prediction, bool interrupted)
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
	retire_flush(hart, insn, kind, passage->cause, resolved,
		     pipeline->fetch_next + core->fetch_depth);
}

void pipeline_step(struct hart *hart, const struct insn *insn, const struct outcome *outcome)
{
	struct pipeline *pipeline = hart->pipeline;
	struct passage passage = {.insn = insn, .target = outcome->next};
	enum prediction prediction = PREDICTION_RIGHT;
	bool jumped = outcome->next != insn->pc + insn->length, interrupted = false;

	fetch(pipeline, insn, &passage);
	passage.dispatched = dispatch(pipeline, insn, &passage);
	passage.cause = passage.front_cause;
	passage.complete = execute(pipeline, insn, outcome,
				   issue(pipeline, insn, passage.dispatched), &passage) +
			   1;
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
	passage.retired = retire(pipeline, &passage);
	release(pipeline, insn, &passage);
	if (insn->flags & INSN_STORE)
		drain(pipeline, outcome, &passage);
	retire_step(hart, &passage);
	steer(hart, insn, &passage, prediction, interrupted);
}
