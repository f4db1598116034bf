/* SPDX-License-Identifier: GPL-2.0-or-later */
/* In-flight instructions: their allocation, and lists of them.  See inflight.h. */
#include "decoder/mca/engine/inflight.h"

#include <string.h>

#define FLIGHTS_AT_ONCE 32

struct pesa_error *mca_list_grow(struct mca_run *run, struct mca_inflight_list *list)
{
	unsigned int size = list->size ? 2 * list->size : 64;
	struct mca_inflight **larger = mca_arena_grow(
		&run->arena, list->list, list->count * sizeof(*larger), size * sizeof(*larger));

	if (!larger)
		return pesa_error_no_memory();
	list->list = larger;
	list->size = size;
	return NULL;
}

void mca_list_remove(struct mca_inflight_list *list, unsigned int index)
{
	list->list[index] = list->list[--list->count];
	list->list[index]->index = index;
}

/* The size of the struct is that needed by the largest instruction of the block. */
static struct mca_inflight *new_flight(struct mca_run *run)
{
	struct mca_inflight *flight = run->free_flights;
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
		mca_fail(run, pesa_error_no_memory());
		return NULL;
	}
	for (unsigned int i = 0; i < FLIGHTS_AT_ONCE; i++) {
		flight = (struct mca_inflight *)(memory + i * size);
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
	struct mca_inflight *flight;

	run->current = NULL;
	if (run->next_number == run->last_number)
		return;
	flight = new_flight(run);
	if (!flight)
		return;
	lowered = &run->block->lowered[run->next_in_block];
	if (++run->next_in_block == run->block->count)
		run->next_in_block = 0;
	*flight = (struct mca_inflight){
		.lowered = lowered,
		.description = lowered->description,
		.instruction = run->next_number++,
		.actual_latency = -1,
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

void mca_recycle(struct mca_run *run, struct mca_inflight *flight)
{
	flight->next = run->free_flights;
	run->free_flights = flight;
	run->retired++;
}

struct pesa_error *mca_stuck(const struct pesa_mca_model *model, uint64_t instruction)
{
	return pesa_error_create(PESA_ERROR_UNSUPPORTED,
				 "the model %s never lets instruction %llu of the run go on",
				 model->name, (unsigned long long)instruction);
}
