/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What held the instructions of a path back, see timeline.h. */
#include <stdlib.h>

#include "decoder/why/timeline.h"
#include "pesa/csr.h"
#include "pesa/record.h"

#define UNITS_MAX 64

/* Who occupies the units of the model, and until when. */
struct occupant {
	uint32_t flight;
	uint64_t until;
};

struct recorder {
	const struct pesa_mca_block *block;
	struct why_flight *flight;
	uint32_t now;
	bool in_order;
	struct occupant (*occupant)[UNITS_MAX]; /* by resource and unit */
};

/* ---- Events ---------------------------------------------------------------------------------- */

static void enter(struct recorder *recorder, struct why_flight *flight)
{
	if (flight->has_entered)
		return;
	flight->has_entered = true;
	flight->entered = recorder->now;
}

/* The instruction that had one of the busy units for longest. */
static void find_holder(const struct recorder *recorder, struct why_flight *flight, uint64_t busy)
{
	const struct pesa_mca_model *model = recorder->block->model;
	uint64_t latest = 0;

	for (uint64_t rest = busy; rest; rest &= rest - 1) {
		unsigned int resource =
			pesa_mca_model_resource_of(model, (unsigned int)__builtin_ctzll(rest));

		if (flight->resource < 0)
			flight->resource = (int)resource;
		for (unsigned int unit = 0; unit < UNITS_MAX; unit++) {
			const struct occupant *occupant = &recorder->occupant[resource][unit];

			if (occupant->until <= latest)
				continue;
			latest = occupant->until;
			flight->holder = occupant->flight;
			flight->resource = (int)resource;
		}
	}
}

static void issue(struct recorder *recorder, const struct pesa_mca_event *event)
{
	struct why_flight *flight = &recorder->flight[event->instruction];

	enter(recorder, flight);
	flight->issued = recorder->now;
	if (event->resources)
		find_holder(recorder, flight, event->resources);
	for (unsigned int i = 0; i < event->occupations; i++) {
		const struct pesa_mca_occupation *use = &event->occupation[i];

		if (use->unit < UNITS_MAX)
			recorder->occupant[use->resource][use->unit] = (struct occupant){
				event->instruction, recorder->now + (uint64_t)use->cycles};
	}
}

static struct pesa_error *on_event(void *data, const struct pesa_mca_event *event)
{
	struct recorder *recorder = data;
	struct why_flight *flight = &recorder->flight[event->instruction];

	switch (event->kind) {
	case PESA_MCA_CYCLE_END:
		recorder->now++;
		break;
	case PESA_MCA_DISPATCHED:
		enter(recorder, flight);
		break;
	case PESA_MCA_STALLED:
		/* In order, an instruction is in the one stage while it waits. */
		if (!recorder->in_order)
			break;
		enter(recorder, flight);
		if (event->stall == PESA_MCA_STALL_GROUP)
			flight->unit++;
		break;
	case PESA_MCA_ISSUED:
		issue(recorder, event);
		break;
	case PESA_MCA_EXECUTED:
		flight->done = recorder->now;
		break;
	case PESA_MCA_RETIRED:
		flight->retired = recorder->now;
		break;
	default:
		break;
	}
	return NULL;
}

/* ---- Dependences ----------------------------------------------------------------------------- */

/* The last write of a register. */
struct written {
	uint32_t flight; /* + 1; 0: before the path */
	const struct mca_lowered_write *write;
};

/* Cycles by which a result came later than the model's latency says. */
static uint32_t late_of(const struct why_flight *flight, const struct mca_lowered *lowered)
{
	uint32_t took = flight->done - flight->issued;
	uint32_t latency = (uint32_t)lowered->description->latency;

	return took > latency ? took - latency : 0;
}

/* When an operand is there that was written like this. */
static int64_t arrival_of(const struct recorder *recorder, const struct written *written,
			  const struct mca_lowered_read *read)
{
	const struct why_flight *producer = &recorder->flight[written->flight - 1];
	int64_t from = written->write->at_retirement ? producer->retired
						     : producer->issued + producer->late;

	return from + written->write->latency - mca_advance(read, written->write->name);
}

static void consider(const struct recorder *recorder, const struct written *written,
		     const struct mca_lowered_read *read, struct why_flight *flight)
{
	int64_t cycles;

	if (!written->flight)
		return;
	cycles = arrival_of(recorder, written, read) - flight->entered;
	if (cycles <= (int64_t)flight->operands)
		return;
	flight->operands = (uint32_t)cycles;
	flight->producer = written->flight - 1;
	flight->reg = read->reg;
}

/* What is left of the time before issue belongs to older loads and stores, and to units. */
static void divide(const struct recorder *recorder, struct why_flight *flight, uint32_t fence)
{
	uint32_t all = flight->issued - flight->entered, rest;

	if (flight->operands > all)
		flight->operands = all;
	rest = all - flight->operands;
	if (recorder->in_order) {
		if (flight->unit > rest)
			flight->unit = rest;
		flight->order = fence != WHY_NOBODY ? rest - flight->unit : 0;
	} else {
		/* An instruction issues in the cycle after it was dispatched. */
		flight->unit = flight->resource >= 0 ? rest : 0;
		flight->order = flight->resource < 0 && fence != WHY_NOBODY ? rest : 0;
	}
	flight->fence = flight->order ? fence : WHY_NOBODY;
}

static void depend(struct recorder *recorder)
{
	struct written written[MCA_REGISTER_COUNT] = {{0}};
	const struct pesa_mca_block *block = recorder->block;
	uint32_t fence = WHY_NOBODY;

	for (unsigned int i = 0; i < block->count; i++) {
		const struct mca_lowered *lowered = &block->lowered[i];
		struct why_flight *flight = &recorder->flight[i];
		bool memory = lowered->description->load || lowered->description->store;

		flight->late = late_of(flight, lowered);
		for (unsigned int j = 0; j < lowered->reads; j++) {
			const struct mca_lowered_read *read = &lowered->read[j];

			consider(recorder, &written[read->reg], read, flight);
			for (unsigned int k = 0; k < read->parts->count; k++)
				consider(recorder, &written[read->parts->part[k]], read, flight);
		}
		divide(recorder, flight, lowered->barrier ? i : memory ? fence : WHY_NOBODY);
		if (lowered->barrier)
			fence = i;
		for (unsigned int j = 0; j < lowered->writes; j++) {
			const struct mca_lowered_write *write = &lowered->write[j];

			written[write->reg] = (struct written){i + 1, write};
			for (unsigned int k = 0; k < write->parts->count; k++)
				written[write->parts->part[k]] = (struct written){i + 1, write};
		}
	}
}

/* ---- One path -------------------------------------------------------------------------------- */

struct why_cycles why_read_stack(const struct pesa_mca_cycle_stack *stack, unsigned int index)
{
	static const enum why_state states[PESA_STATE_COUNT] = {
		[PESA_STATE_RETIRING] = WHY_RETIRING,
		[PESA_STATE_STALLED] = WHY_STALLED,
		[PESA_STATE_FLUSHED] = WHY_FLUSHED,
		[PESA_STATE_DRAINED] = WHY_DRAINED,
	};
	struct pesa_mca_bucket buckets[PESA_MCA_BUCKETS_MAX];
	unsigned int count = pesa_mca_cycle_stack_buckets(stack, index, buckets);
	struct why_cycles cycles = {{0}};

	for (unsigned int i = 0; i < count; i++) {
		enum why_state state = states[buckets[i].state];

		if (state == WHY_STALLED && buckets[i].cause)
			state = WHY_EVENT;
		cycles.in[state] += (float)((double)buckets[i].weight / PESA_CYCLE);
	}
	return cycles;
}

static struct pesa_error *execute(const struct compare_predictor *predictor,
				  struct recorder *recorder)
{
	const struct pesa_mca_block *block = recorder->block;
	struct pesa_mca_cycle_stack *stack;
	struct pesa_mca_listener listeners[2];
	struct pesa_error *error = pesa_mca_cycle_stack_create(block, &stack);

	if (error)
		return error;
	listeners[0] = pesa_mca_cycle_stack_listener(stack);
	listeners[1] = (struct pesa_mca_listener){
		.event = on_event,
		.data = recorder,
		.kinds = 1u << PESA_MCA_CYCLE_END | 1u << PESA_MCA_DISPATCHED |
			 1u << PESA_MCA_STALLED | 1u << PESA_MCA_ISSUED | 1u << PESA_MCA_EXECUTED |
			 1u << PESA_MCA_RETIRED,
	};
	error = compare_path_listen(predictor, block, listeners, 2);
	for (unsigned int i = 0; i < block->count && !error; i++) {
		struct why_cycles cycles = why_read_stack(stack, i);

		recorder->flight[i].stalled = cycles.in[WHY_STALLED] + cycles.in[WHY_EVENT];
	}
	if (!error)
		depend(recorder);
	pesa_mca_cycle_stack_free(stack);
	return error;
}

static struct pesa_error *record(const struct compare_predictor *predictor,
				 const struct pesa_mca_block *block, struct why_timeline *timeline)
{
	struct recorder recorder = {
		.block = block,
		.in_order = !pesa_mca_model_is_out_of_order(block->model),
		.occupant = calloc(pesa_mca_model_resources(block->model) + 1,
				   sizeof(*recorder.occupant)),
	};
	struct pesa_error *error;

	timeline->flight = calloc(block->count + 1, sizeof(*timeline->flight));
	timeline->count = block->count;
	recorder.flight = timeline->flight;
	if (!timeline->flight || !recorder.occupant) {
		free(recorder.occupant);
		return pesa_error_no_memory();
	}
	for (unsigned int i = 0; i < block->count; i++) {
		struct why_flight *flight = &timeline->flight[i];

		flight->step = block->lowered[i].source;
		flight->producer = flight->fence = flight->holder = WHY_NOBODY;
		flight->resource = -1;
	}
	error = execute(predictor, &recorder);
	free(recorder.occupant);
	return error;
}

struct pesa_error *why_timeline_make(const struct compare_predictor *predictor,
				     const struct pesa_mca_model *model,
				     const struct compare_path *path, struct why_timeline *timeline)
{
	struct pesa_mca_instruction *instruction = calloc(path->count + 1, sizeof(*instruction));
	struct pesa_mca_block *block = NULL;
	struct pesa_error *error;

	*timeline = (struct why_timeline){0};
	if (!instruction)
		return pesa_error_no_memory();
	for (unsigned int i = 0; i < path->count; i++)
		instruction[i] = compare_path_instruction(predictor, path, i);
	error = compare_path_bind(predictor, model, instruction, path->count, &block);
	if (!error && block->count)
		error = record(predictor, block, timeline);
	pesa_mca_block_free(block);
	free(instruction);
	return error;
}

void why_timeline_free(struct why_timeline *timeline)
{
	free(timeline->flight);
}
