/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A run from its first to its last cycle. */
#include <stdlib.h>
#include <string.h>

#include "decoder/mca/engine/events.h"
#include "decoder/mca/engine/inflight.h"
#include "decoder/mca/engine/stimuli.h"
#include "decoder/mca/engine/use.h"

/* Minimum arena size of a run. */
#define BYTES 16384

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

void mca_run_free(struct mca_run *run)
{
	struct mca_arena arena = run->arena;

	pesa_error_free(run->error);
	mca_arena_free(&arena);
}

/* Take the error noted in a cycle. */
static struct pesa_error *take_error(struct mca_run *run)
{
	struct pesa_error *error = run->error;

	run->error = NULL;
	return error;
}

struct pesa_error *mca_run_cycles(struct mca_run *run, uint64_t until)
{
	bool out_of_order = pesa_mca_model_is_out_of_order(run->model);

	while (!run->done && run->now < until) {
		mca_send_simple(run, PESA_MCA_CYCLE_BEGIN, NULL);
		if (run->stimuli.options)
			mca_stimuli_cycle(run);
		run->done = !(out_of_order ? mca_out_of_order_cycle(run) : mca_in_order_cycle(run));
		mca_send_simple(run, PESA_MCA_CYCLE_END, NULL);
		run->now++;
		if (run->steady.searching && run->next_number >= run->steady.next)
			mca_snapshot_cycle(run);
		if (run->repetition.period.cycles)
			mca_period_cycle(run);
		if (run->error)
			return take_error(run);
		if (run->next_number + run->retired != run->fetched) {
			run->fetched = run->next_number + run->retired;
			run->progress = run->now;
		} else if (run->now - run->progress > MCA_STUCK_CYCLES) {
			return mca_stuck(run->model, run->retired);
		}
	}
	return NULL;
}

/* Events are many: each kind has a list of who takes it. */
static bool list_takers(struct mca_run *run)
{
	unsigned int all = 0;
	const struct pesa_mca_listener **list;

	for (unsigned int i = 0; i < run->listener_count; i++) {
		run->wanted |= run->listeners[i].kinds;
		all += (unsigned int)__builtin_popcount(run->listeners[i].kinds);
	}
	list = mca_arena_take_raw(&run->arena, (all + 1) * sizeof(*list));
	for (unsigned int kind = 0; list && kind < PESA_MCA_EVENT_KINDS; kind++) {
		run->takers[kind] = list;
		for (unsigned int i = 0; i < run->listener_count; i++)
			if (run->listeners[i].kinds >> kind & 1)
				*list++ = &run->listeners[i];
		run->taker_count[kind] = (unsigned int)(list - run->takers[kind]);
	}
	return list;
}

/* Count what listeners want to know after the last cycle. */
static struct pesa_error *count_use(struct mca_run *run)
{
	uint64_t *memory;

	if (!mca_wants(run, PESA_MCA_USED))
		return NULL;
	memory = mca_arena_take_raw(&run->arena, mca_use_words(run->block) * sizeof(*memory));
	if (!memory)
		return pesa_error_no_memory();
	mca_use_init(&run->use, run->block, memory);
	return NULL;
}

struct pesa_error *mca_run_start(const struct pesa_mca_block *block,
				 const struct pesa_mca_run_options *options,
				 const struct pesa_mca_listener *listeners, unsigned int count,
				 struct mca_run **result)
{
	size_t units = mca_resources_units(block->model);
	struct pesa_error *error;
	struct mca_arena arena;
	struct mca_busy *busy;
	struct mca_run *run;

	/* The struct itself is allocated in its arena. */
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
	run->stimuli.options = options->stimuli;
	run->block = block;
	run->model = block->model;
	run->options = options;
	run->listeners = listeners;
	run->listener_count = count;
	if (!list_takers(run)) {
		mca_run_free(run);
		return pesa_error_no_memory();
	}
	run->last_number = (uint64_t)options->iterations * block->count;
	run->registers.all.size = options->register_file_size;
	run->commit = (struct mca_commit){.issue_width = block->model->issue_width,
					  .width = options->commit_width,
					  .most = options->retired_branches};
	run->registers.integers.size = options->integer_results;
	run->registers.floats.size = options->float_results;
	measure_block(run);
	mca_resources_init(&run->resources, block->model, busy);
	mca_snapshot_init(run);
	error = count_use(run);
	if (!error)
		error = mca_memory_init(run);
	if (!error && pesa_mca_model_is_out_of_order(block->model))
		error = mca_out_of_order_init(run);
	if (error)
		mca_run_free(run);
	else
		*result = run;
	return error;
}
