/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The queue that sorts events by time, as perf does.
 *
 * Each ring buffer is in time order; the file is a sequence of pieces of all rings.  At a
 * FINISHED_ROUND record, all events up to the largest time seen at the previous round can be handed
 * out.  The rest waits for the next round, or for the end.  Events of equal time stay in file
 * order.
 *
 * Waiting events are kept in memory up to a limit, and beyond it on disk (spill.h).
 */
#ifndef DECODER_PERFDATA_QUEUE_H
#define DECODER_PERFDATA_QUEUE_H

#include "decoder/perfdata/blocks.h"
#include "decoder/perfdata/spill.h"
#include "pesa/error.h"

/* Limits of the memory for waiting events, unless a test sets others. */
#define PERFDATA_QUEUE_EVENTS 262144 /* 32 bytes each, twice */
#define PERFDATA_QUEUE_BLOCKS 96     /* 30 MiB */

struct perfdata_queued {
	uint64_t time;
	uint64_t offset; /* file offset */
	uint8_t *record;
	struct perfdata_block *block; /* with a reference for this event; NULL: event from disk */
};

struct perfdata_queue {
	struct perfdata_pool *pool;
	bool swap; /* the records have the other byte order */
	struct perfdata_queued *events, *scratch;
	size_t count, capacity;
	size_t next, ready;	       /* sorted and due: events[next .. ready) */
	uint64_t newest, limit;	       /* largest time seen; largest time at the previous round */
	bool unsorted;		       /* an event is older than the one before it */
	size_t descents;	       /* number of such events added since the last sort */
	size_t events_max, blocks_max; /* limits beyond which runs go to disk */
	struct perfdata_spill spill;
	uint64_t due; /* events on disk up to this time can be handed out */
	bool taken;   /* the last event handed out is still to be popped from disk */
};

void perfdata_queue_init(struct perfdata_queue *queue, struct perfdata_pool *pool);
/* Make room for one more event, by moving events to disk if necessary. */
struct pesa_error *perfdata_queue_make_room(struct perfdata_queue *queue);

/* Add an event; takes a reference to the block. */
static inline struct pesa_error *perfdata_queue_add(struct perfdata_queue *queue,
						    const struct perfdata_queued *event)
{
	if (queue->next || queue->count >= queue->capacity || queue->count >= queue->events_max ||
	    queue->pool->in_use > queue->blocks_max) {
		struct pesa_error *error = perfdata_queue_make_room(queue);

		if (error)
			return error;
	}
	if (queue->count && event->time < queue->events[queue->count - 1].time) {
		queue->unsorted = true;
		queue->descents++;
	}
	if (event->time > queue->newest)
		queue->newest = event->time;
	event->block->references++;
	queue->events[queue->count++] = *event;
	return NULL;
}

/* End of a round or, with `all`, of the stream. */
struct pesa_error *perfdata_queue_round(struct perfdata_queue *queue, bool all);
/*
 * Get the next event that is due; false: none.  The queue's reference to the block passes to the
 * caller; an event from disk is valid until the next call.
 */
bool perfdata_queue_next(struct perfdata_queue *queue, struct perfdata_queued *event);
void perfdata_queue_free(struct perfdata_queue *queue);

#endif
