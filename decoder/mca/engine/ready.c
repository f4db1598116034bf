/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Selection of the next ready instruction to issue.  See engine.h. */
#include "decoder/mca/engine/inflight.h"

void mca_scheduler_wake(struct mca_run *run, struct mca_inflight *flight)
{
	if (flight->stage == MCA_WAITING)
		mca_list_push(run, &run->known, flight);
	else if (flight->stage == MCA_PENDING)
		mca_list_push(run, &run->arrived, flight);
}

/* Older instructions first; each user counts like one instruction of age. */
static bool goes_before(const struct mca_run *run, const struct mca_inflight *a,
			const struct mca_inflight *b)
{
	int left = (int)(a->instruction - a->users);
	int right = (int)(b->instruction - b->users);

	if (left == right || run->options->free_order)
		return a->instruction < b->instruction;
	return left < right;
}

void mca_scheduler_has_user(struct mca_run *run, struct mca_inflight *flight)
{
	struct mca_queue *queue = &run->queues[flight->description->number];

	if (!run->options->pressure && (!queue->best || goes_before(run, flight, queue->best)))
		queue->best = flight;
}

/* Remove the instruction with the highest priority from its queue. */
static struct mca_inflight *take(struct mca_run *run, struct mca_queue *queue)
{
	struct mca_inflight *taken = queue->best, **link = &queue->first;

	queue->best = NULL;
	while (*link) {
		struct mca_inflight *flight = *link;

		if (flight == taken) {
			*link = flight->next;
			continue;
		}
		if (!queue->best || goes_before(run, flight, queue->best))
			queue->best = flight;
		link = &flight->next;
	}
	if (!queue->first) {
		run->active[queue->active_index] = run->active[--run->active_count];
		run->active[queue->active_index]->active_index = queue->active_index;
	}
	return taken;
}

/* Select in list order, which determines what is reported about instructions that cannot issue. */
static struct mca_inflight *select_from_list(struct mca_run *run)
{
	struct mca_inflight_list *list = &run->ready;
	struct mca_inflight *best = NULL;

	for (unsigned int i = 0; i < list->count; i++) {
		struct mca_inflight *flight = list->list[i];
		uint64_t busy;

		if (best && !goes_before(run, flight, best))
			continue;
		busy = mca_resources_busy(&run->resources, flight->description);
		if (busy)
			flight->critical_resources = busy;
		run->busy_units |= busy;
		if (!busy)
			best = flight;
	}
	if (best)
		mca_list_remove(list, best->index);
	return best;
}

struct mca_inflight *mca_scheduler_select(struct mca_run *run)
{
	struct mca_queue *best = NULL;

	if (run->options->pressure)
		return select_from_list(run);
	for (unsigned int i = 0; i < run->active_count; i++) {
		struct mca_queue *queue = run->active[i];

		/* Within a cycle the number of free units only decreases. */
		if (queue->busy == run->now + 1 ||
		    (best && !goes_before(run, queue->best, best->best)))
			continue;
		if (!mca_resources_busy(&run->resources, queue->description))
			best = queue;
		else if (!queue->description->overlapping_groups)
			queue->busy = run->now + 1;
	}
	return best ? take(run, best) : NULL;
}
