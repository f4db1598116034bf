/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Running a block: cycles, instructions in flight, events. */
#include <stdlib.h>
#include <string.h>

#include "decoder/mca/fast/quick.h"

bool mca_list_grow(struct mca_run *run, struct mca_flight_list *list)
{
	unsigned int size = list->size ? 2 * list->size : 64;
	struct mca_flight **larger = mca_arena_grow(
		&run->arena, list->list, list->count * sizeof(*larger), size * sizeof(*larger));

	if (!larger) {
		run->out_of_memory = true;
		return false;
	}
	list->list = larger;
	list->size = size;
	return true;
}

void mca_list_remove(struct mca_flight_list *list, unsigned int index)
{
	list->list[index] = list->list[--list->count];
	list->list[index]->index = index;
}

/* ---- Instructions in flight ---------------------------------------------------------------- */

#define FLIGHTS_AT_ONCE 32

/* What a run takes of its arena at least. */
#define BYTES 16384

/* Flights are as large as the largest instruction of the block needs. */
static struct mca_flight *new_flight(struct mca_run *run)
{
	struct mca_flight *flight = run->free_flights;
	char *memory;
	size_t size;

	if (flight) {
		run->free_flights = flight->next;
		return flight;
	}
	size = sizeof(*flight) + run->most_reads * sizeof(*flight->reads) +
	       run->most_writes * sizeof(*flight->results);
	memory = mca_arena_take_raw(&run->arena, FLIGHTS_AT_ONCE * size);
	if (!memory) {
		run->out_of_memory = true;
		return NULL;
	}
	for (unsigned int i = 0; i < FLIGHTS_AT_ONCE; i++) {
		flight = (struct mca_flight *)(memory + i * size);
		flight->results = (struct mca_result *)(flight + 1);
		flight->reads = (struct mca_read *)(flight->results + run->most_writes);
		flight->next = run->free_flights;
		run->free_flights = flight;
	}
	run->free_flights = flight->next;
	return flight;
}

void mca_fetch(struct mca_run *run)
{
	const struct mca_lowered *lowered;
	struct mca_flight *flight;

	run->current = NULL;
	if (run->next_number == run->last_number)
		return;
	flight = new_flight(run);
	if (!flight)
		return;
	lowered = &run->block->lowered[run->next_in_block];
	if (++run->next_in_block == run->block->count)
		run->next_in_block = 0;
	*flight = (struct mca_flight){
		.lowered = lowered,
		.description = lowered->description,
		.instruction = run->next_number++,
		.given_latency = -1,
		.reads = flight->reads,
		.results = flight->results,
	};
	for (unsigned int i = 0; i < lowered->reads; i++)
		flight->reads[i] = (struct mca_read){
			.description = &lowered->read[i],
			.flight = flight,
		};
	for (unsigned int i = 0; i < lowered->writes; i++) {
		struct mca_result *result = &flight->results[i];

		result->description = &lowered->write[i];
		result->flight = flight;
		result->users = NULL;
		result->issued = false;
	}
	run->current = flight;
}

void mca_recycle(struct mca_run *run, struct mca_flight *flight)
{
	flight->next = run->free_flights;
	run->free_flights = flight;
	run->retired++;
}

static void measure_block(struct mca_run *run)
{
	for (unsigned int i = 0; i < run->block->count; i++) {
		const struct mca_lowered *lowered = &run->block->lowered[i];

		if (lowered->reads > run->most_reads)
			run->most_reads = lowered->reads;
		if (lowered->writes > run->most_writes)
			run->most_writes = lowered->writes;
	}
}

/* ---- Events -------------------------------------------------------------------------------- */

void mca_send(struct mca_run *run, const struct pesa_mca_event *event)
{
	for (unsigned int i = 0; i < run->listener_count; i++)
		if (run->listeners[i].kinds & (1u << event->kind))
			run->listeners[i].event(run->listeners[i].data, event);
}

void mca_send_kind(struct mca_run *run, enum pesa_mca_event_kind kind,
		   const struct mca_flight *flight)
{
	mca_send(run, &(struct pesa_mca_event){
			      .kind = kind,
			      .instruction = flight ? flight->instruction : 0,
		      });
}

void mca_send_dispatched(struct mca_run *run, const struct mca_flight *flight,
			 unsigned int micro_ops, unsigned int registers)
{
	if (mca_wants(run, PESA_MCA_DISPATCHED))
		mca_send(run, &(struct pesa_mca_event){
				      .kind = PESA_MCA_DISPATCHED,
				      .instruction = flight->instruction,
				      .micro_ops = micro_ops,
				      .registers = registers,
			      });
}

void mca_send_issued(struct mca_run *run, const struct mca_flight *flight,
		     const struct mca_pipe *pipes, unsigned int count)
{
	struct pesa_mca_occupation occupation[MCA_PIPES_MAX];

	if (!mca_wants(run, PESA_MCA_ISSUED))
		return;
	for (unsigned int i = 0; i < count; i++)
		occupation[i] = (struct pesa_mca_occupation){
			.resource = run->model->of_bit[__builtin_ctzll(pipes[i].resource)],
			.unit = __builtin_ctzll(pipes[i].unit),
			.cycles = pipes[i].cycles,
		};
	mca_send(run, &(struct pesa_mca_event){
			      .kind = PESA_MCA_ISSUED,
			      .instruction = flight->instruction,
			      .micro_ops = flight->description->micro_ops,
			      .occupation = occupation,
			      .occupations = count,
			      .resources = flight->critical_resources,
			      .critical_register = flight->critical_register,
			      .critical_memory = flight->critical_memory,
		      });
}

void mca_send_retired(struct mca_run *run, const struct mca_flight *flight, unsigned int registers)
{
	if (mca_wants(run, PESA_MCA_RETIRED))
		mca_send(run, &(struct pesa_mca_event){
				      .kind = PESA_MCA_RETIRED,
				      .instruction = flight->instruction,
				      .micro_ops = flight->description->micro_ops,
				      .registers = registers,
			      });
}

void mca_send_stall(struct mca_run *run, const struct mca_flight *flight, enum pesa_mca_stall stall)
{
	if (mca_wants(run, PESA_MCA_STALLED))
		mca_send(run, &(struct pesa_mca_event){
				      .kind = PESA_MCA_STALLED,
				      .instruction = flight->instruction,
				      .stall = stall,
			      });
}

struct pesa_error *mca_stuck(const struct pesa_mca_model *model, uint64_t instruction)
{
	return pesa_error_create(PESA_ERROR_UNSUPPORTED,
				 "the model %s never lets instruction %llu of the run go on",
				 model->name, (unsigned long long)instruction);
}

/* ---- The run ------------------------------------------------------------------------------- */

void mca_run_free(struct mca_run *run)
{
	struct mca_arena arena = run->arena;

	mca_arena_free(&arena);
}

static struct pesa_error *check_options(const struct pesa_mca_block *block,
					const struct pesa_mca_run_options *options)
{
	if (!block->count)
		return pesa_error_create(PESA_ERROR_ARGUMENT, "the block has no instructions");
	if (!options->iterations)
		return pesa_error_create(PESA_ERROR_ARGUMENT, "0 iterations; at least 1 is needed");
	if ((uint64_t)options->iterations * block->count > INT32_MAX)
		return pesa_error_create(PESA_ERROR_ARGUMENT,
					 "%u iterations of %u instructions are too many; the limit "
					 "is %d instructions in all",
					 options->iterations, block->count, INT32_MAX);
	return options->given ? mca_given_check(options->given) : NULL;
}

struct pesa_error *mca_run_cycles(struct mca_run *run, uint64_t until)
{
	bool out_of_order = pesa_mca_model_is_out_of_order(run->model);

	while (!run->done && run->now < until) {
		mca_send_simple(run, PESA_MCA_CYCLE_BEGIN, NULL);
		if (run->given.options)
			mca_given_cycle(run);
		run->done = !(out_of_order ? mca_out_of_order_cycle(run) : mca_in_order_cycle(run));
		mca_send_simple(run, PESA_MCA_CYCLE_END, NULL);
		run->now++;
		if (run->steady.searching && run->next_number >= run->steady.next)
			mca_steady_cycle(run);
		if (run->out_of_memory)
			return pesa_error_no_memory();
		if (run->next_number + run->retired != run->fetched) {
			run->fetched = run->next_number + run->retired;
			run->progress = run->now;
		} else if (run->now - run->progress > MCA_STUCK_CYCLES) {
			return mca_stuck(run->model, run->retired);
		}
	}
	return NULL;
}

struct pesa_error *mca_run_start(const struct pesa_mca_block *block,
				 const struct pesa_mca_run_options *options,
				 const struct pesa_mca_listener *listeners, unsigned int count,
				 struct mca_run **result)
{
	size_t units = mca_resources_units(block->model);
	struct pesa_error *error = NULL;
	struct mca_arena arena;
	struct mca_busy *busy;
	struct mca_run *run;

	/* The run itself is in its arena. */
	mca_arena_init(&arena, sizeof(*run) + BYTES);
	run = mca_arena_take(&arena, sizeof(*run));
	if (!run)
		return pesa_error_no_memory();
	run->arena = arena;
	busy = mca_arena_take_raw(&run->arena, units * sizeof(*busy));
	if (!busy) {
		mca_run_free(run);
		return pesa_error_no_memory();
	}
	run->given.options = options->given;
	run->block = block;
	run->model = block->model;
	run->options = options;
	run->listeners = listeners;
	run->listener_count = count;
	for (unsigned int i = 0; i < count; i++)
		run->wanted |= listeners[i].kinds;
	run->last_number = (uint64_t)options->iterations * block->count;
	run->registers.size = options->register_file_size;
	measure_block(run);
	mca_resources_init(&run->resources, block->model, busy);
	mca_steady_init(run);
	if (!mca_memory_init(run))
		error = pesa_error_no_memory();
	else if (pesa_mca_model_is_out_of_order(block->model))
		error = mca_out_of_order_init(run);
	if (error)
		mca_run_free(run);
	else
		*result = run;
	return error;
}

struct pesa_error *pesa_mca_run(const struct pesa_mca_block *block,
				const struct pesa_mca_run_options *options,
				const struct pesa_mca_listener *listeners, unsigned int count,
				uint64_t *cycles)
{
	struct pesa_error *error = check_options(block, options);
	struct mca_run *run;

	if (error)
		return error;
	if (mca_quick_serves(block, options, listeners, count))
		return mca_quick_run(block, options, cycles);
	error = mca_run_start(block, options, listeners, count, &run);
	if (error)
		return error;
	error = mca_run_cycles(run, UINT64_MAX);
	if (!error)
		*cycles = run->now + run->steady.cycles;
	mca_run_free(run);
	return error;
}
