// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>

#include "decoder/perfdata/queue.h"

void perfdata_queue_init(struct perfdata_queue *queue, struct perfdata_pool *pool)
{
	queue->pool = pool;
	queue->events_max = PERFDATA_QUEUE_EVENTS;
	queue->blocks_max = PERFDATA_QUEUE_BLOCKS;
}

static struct pesa_error *grow(struct perfdata_queue *queue)
{
	size_t capacity = queue->capacity ? queue->capacity * 2 : 1024;
	void *events = realloc(queue->events, capacity * sizeof(*queue->events));

	if (!events)
		return pesa_error_no_memory();
	queue->events = events;
	free(queue->scratch);
	queue->scratch = NULL;
	queue->capacity = capacity;
	return NULL;
}

/* Drop the events handed out already. */
static void compact(struct perfdata_queue *queue)
{
	if (!queue->next)
		return;
	queue->count -= queue->next;
	memmove(queue->events, queue->events + queue->next, queue->count * sizeof(*queue->events));
	queue->next = queue->ready = 0;
}

static size_t run_end(const struct perfdata_queued *events, size_t start, size_t count)
{
	size_t end = start + 1;

	while (end < count && events[end].time >= events[end - 1].time)
		end++;
	return end;
}

/* Merge two adjacent sorted runs into `to`; for equal times the left one comes first. */
static void merge(struct perfdata_queued *to, const struct perfdata_queued *left,
		  const struct perfdata_queued *left_end, const struct perfdata_queued *right,
		  const struct perfdata_queued *right_end)
{
	while (left < left_end && right < right_end)
		*to++ = right->time < left->time ? *right++ : *left++;
	memcpy(to, left, (left_end - left) * sizeof(*to));
	memcpy(to + (left_end - left), right, (right_end - right) * sizeof(*to));
}

/*
 * Insertion sort.  It is fast where events of different rings alternate, so that each is close to
 * its place, and slow where whole runs are out of place.  After more than a few steps per event it
 * gives up: it returns false and leaves the array in some order that is still stable.
 */
static bool sort_alternating(struct perfdata_queued *events, size_t count)
{
	size_t budget = count * 8;

	for (size_t i = 1; i < count; i++) {
		struct perfdata_queued event = events[i];
		size_t at = i;

		if (event.time >= events[i - 1].time)
			continue;
		do {
			events[at] = events[at - 1];
		} while (--at && events[at - 1].time > event.time);
		events[at] = event;
		if (i - at > budget)
			return false;
		budget -= i - at;
	}
	return true;
}

/* Natural merge sort: the events of a few rings are a few sorted runs. */
static struct pesa_error *sort(struct perfdata_queue *queue)
{
	bool merged;

	if (!queue->unsorted)
		return NULL;
	if (queue->descents > queue->count / 32 && sort_alternating(queue->events, queue->count)) {
		queue->unsorted = false;
		queue->descents = 0;
		return NULL;
	}
	if (!queue->scratch) {
		queue->scratch = malloc(queue->capacity * sizeof(*queue->scratch));
		if (!queue->scratch)
			return pesa_error_no_memory();
	}
	do {
		struct perfdata_queued *from = queue->events, *to = queue->scratch;
		size_t start = 0, count = queue->count;

		merged = false;
		while (start < count) {
			size_t middle = run_end(from, start, count);
			size_t end = middle < count ? run_end(from, middle, count) : middle;

			merge(to + start, from + start, from + middle, from + middle, from + end);
			merged |= start || end < count;
			start = end;
		}
		queue->events = to;
		queue->scratch = from;
	} while (merged);
	queue->unsorted = false;
	queue->descents = 0;
	return NULL;
}

/* Move all events to disk.  On failure they stay in memory, and the spill keeps the errno. */
static struct pesa_error *spill(struct perfdata_queue *queue)
{
	struct pesa_error *error = sort(queue);

	if (error)
		return error;
	if (!perfdata_spill_write(&queue->spill, queue->events, queue->count, queue->swap)) {
		queue->events_max = queue->blocks_max = SIZE_MAX; /* continue in memory only */
		return NULL;
	}
	for (size_t i = 0; i < queue->count; i++)
		perfdata_block_put(queue->pool, queue->events[i].block);
	queue->count = 0;
	return NULL;
}

struct pesa_error *perfdata_queue_make_room(struct perfdata_queue *queue)
{
	struct pesa_error *error = NULL;

	compact(queue);
	if (queue->count &&
	    (queue->count >= queue->events_max || queue->pool->in_use > queue->blocks_max))
		error = spill(queue);
	return error || queue->count < queue->capacity ? error : grow(queue);
}

struct pesa_error *perfdata_queue_round(struct perfdata_queue *queue, bool all)
{
	uint64_t limit = all ? UINT64_MAX : queue->limit;
	size_t low = 0, high;
	struct pesa_error *error;

	compact(queue);
	error = sort(queue);
	if (error)
		return error;
	high = queue->count;
	while (low < high) { /* binary search for the first event newer than the limit */
		size_t middle = low + (high - low) / 2;

		if (queue->events[middle].time <= limit)
			low = middle + 1;
		else
			high = middle;
	}
	queue->ready = low;
	queue->due = limit;
	queue->limit = queue->newest;
	return NULL;
}

/* Prefetch distance in events: they were read a round ago and have left the cache. */
#define AHEAD 8

bool perfdata_queue_next(struct perfdata_queue *queue, struct perfdata_queued *event)
{
	bool waiting = queue->next < queue->ready;

	if (queue->taken)
		perfdata_spill_pop(&queue->spill);
	queue->taken = false;
	/* events on disk are older, so they come first if the times are equal */
	if (queue->spill.count) {
		uint64_t limit = waiting ? queue->events[queue->next].time : UINT64_MAX;

		if (limit > queue->due)
			limit = queue->due;
		queue->taken = perfdata_spill_peek(&queue->spill, limit, event);
		if (queue->taken)
			return true;
	}
	if (waiting) {
		*event = queue->events[queue->next++];
		if (queue->next + AHEAD < queue->ready) {
			const uint8_t *later = queue->events[queue->next + AHEAD].record;

			__builtin_prefetch(later);
			__builtin_prefetch(later + 64);
		}
	}
	return waiting;
}

void perfdata_queue_free(struct perfdata_queue *queue)
{
	for (size_t i = queue->next; i < queue->count; i++)
		perfdata_block_put(queue->pool, queue->events[i].block);
	perfdata_spill_free(&queue->spill);
	free(queue->events);
	free(queue->scratch);
	*queue = (struct perfdata_queue){0};
}
