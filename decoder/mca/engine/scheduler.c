/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The scheduler of an out-of-order processor: tracks when instructions become ready and issue. */
#include "decoder/mca/engine/events.h"
#include "decoder/mca/engine/inflight.h"

enum mca_schedule mca_scheduler_check(struct mca_run *run, const struct mca_inflight *flight)
{
	const struct mca_description *description = flight->description;
	const struct mca_memory *memory = &run->memory;
	enum mca_buffers buffers = mca_buffers_check(&run->resources, description->buffers);

	run->token_stall = buffers != MCA_BUFFERS_AVAILABLE;
	if (buffers != MCA_BUFFERS_AVAILABLE)
		return buffers == MCA_BUFFERS_FULL ? MCA_SCHEDULE_BUFFERS : MCA_SCHEDULE_GROUP;
	if (description->load && memory->load_queue && memory->loads == memory->load_queue) {
		run->token_stall = true;
		return MCA_SCHEDULE_LOAD_QUEUE;
	}
	if (description->store && memory->store_queue && memory->stores == memory->store_queue) {
		run->token_stall = true;
		return MCA_SCHEDULE_STORE_QUEUE;
	}
	return MCA_SCHEDULE_OK;
}

/* ---- Changes of stage ------------------------------------------------------------------------ */

/*
 * An instruction is checked again only after an event for which it waited: its last producer has
 * issued, its operands have arrived (the timing wheel), or its memory group may proceed.
 *
 * The lists of waiting, pending and ready instructions are kept in LLVM's order, which determines
 * the reported pressure; they are maintained only if pressure is requested.
 */
static void enter(struct mca_run *run, struct mca_inflight_list *list, struct mca_inflight *flight)
{
	if (!run->options->pressure)
		return;
	flight->index = list->count;
	mca_list_push(run, list, flight);
}

static void leave(struct mca_run *run, struct mca_inflight_list *list, struct mca_inflight *flight)
{
	if (run->options->pressure)
		mca_list_remove(list, flight->index);
}

static void add_to_wheel(struct mca_run *run, struct mca_inflight *flight, uint64_t cycle)
{
	struct mca_inflight **slot = &run->wheel[cycle % MCA_WHEEL];

	flight->next = *slot;
	*slot = flight;
}

static bool waits_for_memory(const struct mca_run *run, const struct mca_inflight *flight)
{
	return mca_is_memory(flight) && mca_memory_is_waiting(&run->memory, flight);
}

static void become_pending(struct mca_run *run, struct mca_inflight *flight)
{
	flight->stage = MCA_PENDING;
	enter(run, &run->pending, flight);
	if (flight->arrival > run->now)
		add_to_wheel(run, flight, flight->arrival);
}

static void become_ready(struct mca_run *run, struct mca_inflight *flight)
{
	struct mca_queue *queue = &run->queues[flight->description->number];

	flight->stage = MCA_READY;
	if (run->options->pressure) {
		enter(run, &run->ready, flight);
		return;
	}
	if (!queue->first) {
		queue->active_index = run->active_count;
		run->active[run->active_count++] = queue;
	}
	flight->next = queue->first;
	queue->first = flight;
	mca_scheduler_has_user(run, flight);
}

/* The woken instruction that is first in the order of its list, as a scan of the list would find
 * it. */
static struct mca_inflight *next_woken(const struct mca_run *run, struct mca_inflight_list *woken)
{
	unsigned int first = 0;

	if (run->options->pressure)
		for (unsigned int i = 1; i < woken->count; i++)
			if (woken->list[i]->index < woken->list[first]->index)
				first = i;
	return woken->list[first];
}

static void forget(const struct mca_run *run, struct mca_inflight_list *woken,
		   const struct mca_inflight *flight)
{
	unsigned int kept = 0;

	if (!run->options->pressure) {
		/* the first one */
		woken->list[0] = woken->list[--woken->count];
		return;
	}
	for (unsigned int i = 0; i < woken->count; i++)
		if (woken->list[i] != flight)
			woken->list[kept++] = woken->list[i];
	woken->count = kept;
}

/* Keep only instructions that can change their stage, each once. */
static void sift(struct mca_run *run, struct mca_inflight_list *woken, enum mca_stage stage)
{
	unsigned int kept = 0;

	for (unsigned int i = 0; i < woken->count; i++) {
		struct mca_inflight *flight = woken->list[i];

		if (flight->stage != stage || flight->woken ||
		    (stage == MCA_WAITING ? flight->producers || waits_for_memory(run, flight)
					  : flight->arrival > run->now ||
						    (mca_is_memory(flight) &&
						     !mca_memory_is_ready(&run->memory, flight))))
			continue;
		flight->woken = true;
		woken->list[kept++] = flight;
	}
	woken->count = kept;
}

static void promote_waiting(struct mca_run *run)
{
	if (!run->known.count)
		return;
	sift(run, &run->known, MCA_WAITING);
	while (run->known.count) {
		struct mca_inflight *flight = next_woken(run, &run->known);

		forget(run, &run->known, flight);
		flight->woken = false;
		mca_list_push(run, &run->pending_now, flight);
		leave(run, &run->waiting, flight);
		become_pending(run, flight);
		mca_list_push(run, &run->arrived, flight);
	}
}

static void promote_pending(struct mca_run *run)
{
	if (!run->arrived.count)
		return;
	sift(run, &run->arrived, MCA_PENDING);
	while (run->arrived.count) {
		struct mca_inflight *flight = next_woken(run, &run->arrived);

		forget(run, &run->arrived, flight);
		flight->woken = false;
		mca_list_push(run, &run->ready_now, flight);
		leave(run, &run->pending, flight);
		become_ready(run, flight);
	}
}

/* Process this cycle's slot: operands that arrive, instructions that have executed. */
static void advance_wheel(struct mca_run *run)
{
	struct mca_inflight **slot = &run->wheel[run->now % MCA_WHEEL];
	struct mca_inflight *flight = *slot, *next;

	*slot = NULL;
	for (; flight; flight = next) {
		uint64_t cycle = flight->stage == MCA_ISSUED ? flight->executed : flight->arrival;

		next = flight->next;
		if (cycle != run->now) {
			flight->next = *slot;
			*slot = flight;
		} else if (flight->stage == MCA_ISSUED) {
			mca_memory_executed(run, flight);
			mca_list_push(run, &run->executed_now, flight);
		} else {
			mca_list_push(run, &run->arrived, flight);
		}
	}
}

void mca_scheduler_cycle(struct mca_run *run)
{
	if (mca_wants(run, PESA_MCA_ISSUED))
		mca_memory_cycle(&run->memory);
	mca_memory_free_stores(run);
	mca_resources_cycle(&run->resources, run->now);
	advance_wheel(run);
	promote_waiting(run);
	promote_pending(run);
	run->dispatched_to_pending = 0;
	run->busy_units = 0;
}

bool mca_scheduler_dispatch(struct mca_run *run, struct mca_inflight *flight)
{
	bool memory = mca_is_memory(flight);

	mca_buffers_reserve(&run->resources, flight->description->buffers);
	if (memory)
		mca_memory_dispatch(run, flight);
	if (flight->producers || waits_for_memory(run, flight)) {
		flight->stage = MCA_WAITING;
		enter(run, &run->waiting, flight);
		return false;
	}
	if (flight->arrival > run->now || (memory && mca_memory_is_pending(&run->memory, flight))) {
		become_pending(run, flight);
		run->dispatched_to_pending++;
		return false;
	}
	if (!mca_description_must_issue(flight->description))
		become_ready(run, flight);
	return true;
}

unsigned int mca_scheduler_issue(struct mca_run *run, struct mca_inflight *flight,
				 struct mca_pipe *pipes)
{
	bool memory = mca_is_memory(flight);
	bool has_users = flight->users || (memory && mca_memory_has_users(&run->memory, flight));
	unsigned int count;

	mca_buffers_release(&run->resources, flight->description->buffers);
	count = mca_resources_issue(&run->resources, run->now, flight->description, pipes);
	mca_inflight_execute(run, flight);
	if (memory)
		mca_memory_issued(run, flight);
	if (mca_wants(run, PESA_MCA_ISSUED)) {
		mca_inflight_find_critical(flight);
		if (memory)
			flight->critical_memory = mca_memory_critical(&run->memory, flight);
	}
	if (flight->executed > run->now)
		add_to_wheel(run, flight, flight->executed);
	else
		mca_memory_executed(run, flight);
	if (has_users) {
		unsigned int before = run->pending_now.count;

		promote_waiting(run);
		if (run->pending_now.count != before)
			promote_pending(run);
	}
	return count;
}
