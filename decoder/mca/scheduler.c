/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The scheduler of an out-of-order processor: who is ready, and who issues next. */
#include "decoder/mca/engine.h"

enum mca_schedule mca_scheduler_check(struct mca_run *run, const struct mca_flight *flight)
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

static void promote_waiting(struct mca_run *run)
{
	struct mca_flight_list *list = &run->waiting;
	unsigned int count = list->count;

	for (unsigned int i = 0; i < count;) {
		struct mca_flight *flight = list->list[i];

		if (flight->asleep ||
		    (flight->stage == MCA_DISPATCHED && !mca_flight_update_dispatched(flight)) ||
		    (mca_is_memory(flight) && mca_memory_is_waiting(&run->memory, flight))) {
			i++;
			continue;
		}
		mca_list_push(run, &run->pending_now, flight);
		mca_list_push(run, &run->pending, flight);
		mca_list_remove(list, i, &count);
	}
	list->count = count;
}

static void promote_pending(struct mca_run *run)
{
	struct mca_flight_list *list = &run->pending;
	unsigned int count = list->count;

	for (unsigned int i = 0; i < count;) {
		struct mca_flight *flight = list->list[i];

		if ((flight->stage != MCA_READY && !mca_flight_update_pending(flight)) ||
		    (mca_is_memory(flight) && !mca_memory_is_ready(&run->memory, flight))) {
			i++;
			continue;
		}
		mca_list_push(run, &run->ready_now, flight);
		mca_list_push(run, &run->ready, flight);
		mca_list_remove(list, i, &count);
	}
	list->count = count;
}

static void update_issued(struct mca_run *run)
{
	struct mca_flight_list *list = &run->issued;
	unsigned int count = list->count;

	for (unsigned int i = 0; i < count;) {
		struct mca_flight *flight = list->list[i];

		if (flight->stage != MCA_EXECUTED) {
			i++;
			continue;
		}
		mca_memory_executed(run, flight);
		mca_list_push(run, &run->executed_now, flight);
		mca_list_remove(list, i, &count);
	}
	list->count = count;
}

void mca_scheduler_cycle(struct mca_run *run)
{
	mca_memory_cycle(&run->memory);
	mca_resources_cycle(&run->resources);
	for (unsigned int i = 0; i < run->issued.count; i++)
		mca_flight_cycle(run->issued.list[i]);
	update_issued(run);
	for (unsigned int i = 0; i < run->pending.count; i++)
		mca_flight_cycle(run->pending.list[i]);
	for (unsigned int i = 0; i < run->waiting.count; i++)
		if (!run->waiting.list[i]->asleep)
			mca_flight_cycle(run->waiting.list[i]);
	promote_waiting(run);
	promote_pending(run);
	run->dispatched_to_pending = 0;
	run->busy_units = 0;
}

bool mca_scheduler_must_issue(const struct mca_flight *flight)
{
	const struct mca_description *description = flight->description;

	return (!description->latency && !description->usages) ||
	       description->must_issue_immediately;
}

bool mca_scheduler_dispatch(struct mca_run *run, struct mca_flight *flight)
{
	bool memory = mca_is_memory(flight);

	mca_buffers_reserve(&run->resources, flight->description->buffers);
	if (memory)
		mca_memory_dispatch(run, flight);
	if (flight->stage == MCA_DISPATCHED ||
	    (memory && mca_memory_is_waiting(&run->memory, flight))) {
		mca_list_push(run, &run->waiting, flight);
		return false;
	}
	if (flight->stage == MCA_PENDING ||
	    (memory && mca_memory_is_pending(&run->memory, flight))) {
		mca_list_push(run, &run->pending, flight);
		run->dispatched_to_pending++;
		return false;
	}
	if (!mca_scheduler_must_issue(flight))
		mca_list_push(run, &run->ready, flight);
	return true;
}

/* Older ones first, except that each user counts for one place. */
static bool goes_before(const struct mca_flight *a, const struct mca_flight *b)
{
	int left = (int)(a->instruction - mca_flight_users(a));
	int right = (int)(b->instruction - mca_flight_users(b));

	if (left == right)
		return a->instruction < b->instruction;
	return left < right;
}

struct mca_flight *mca_scheduler_select(struct mca_run *run)
{
	struct mca_flight_list *list = &run->ready;
	struct mca_flight *best = NULL;
	unsigned int index = 0;

	for (unsigned int i = 0; i < list->count; i++) {
		struct mca_flight *flight = list->list[i];
		uint64_t busy;

		if (best && !goes_before(flight, best))
			continue;
		busy = mca_resources_busy(&run->resources, flight->description);
		if (busy)
			flight->critical_resources = busy;
		run->busy_units |= busy;
		if (!busy) {
			best = flight;
			index = i;
		}
	}
	if (best)
		list->list[index] = list->list[--list->count];
	return best;
}

unsigned int mca_scheduler_issue(struct mca_run *run, struct mca_flight *flight,
				 struct mca_pipe *pipes)
{
	bool memory = mca_is_memory(flight);
	bool has_users =
		mca_flight_users(flight) || (memory && mca_memory_has_users(&run->memory, flight));
	unsigned int count;

	mca_buffers_release(&run->resources, flight->description->buffers);
	count = mca_resources_issue(run, flight->description, pipes);
	mca_flight_execute(run, flight);
	mca_flight_find_critical(flight);
	if (memory) {
		mca_memory_issued(run, flight);
		flight->critical_memory = mca_memory_critical(&run->memory, flight);
	}
	if (flight->stage == MCA_EXECUTING)
		mca_list_push(run, &run->issued, flight);
	else if (flight->stage == MCA_EXECUTED)
		mca_memory_executed(run, flight);
	if (has_users) {
		unsigned int before = run->pending_now.count;

		promote_waiting(run);
		if (run->pending_now.count != before)
			promote_pending(run);
	}
	return count;
}
