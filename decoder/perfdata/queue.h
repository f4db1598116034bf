/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The queue that puts events in order of time, as perf does.
 *
 * Each ring buffer is in order, the file is their pieces one after the other.  At a FINISHED_ROUND
 * everything up to the largest time that was seen at the round before can be handed out; the rest
 * waits for the next round, or the end.  Events of equal time stay in the order of the file.
 *
 * What waits is kept in memory up to a limit and beyond it on disk (spill.h).
 */
#ifndef DECODER_PERFDATA_QUEUE_H
#define DECODER_PERFDATA_QUEUE_H

#include "decoder/perfdata/blocks.h"
#include "decoder/perfdata/spill.h"

/* Memory for events that wait, unless a test sets other limits. */
#define PERFDATA_QUEUE_EVENTS 262144 /* 32 bytes each, twice */
#define PERFDATA_QUEUE_BLOCKS 96     /* 30 MiB */

struct perfdata_queued {
	uint64_t time;
	uint64_t offset; /* in the file */
	uint8_t *record;
	struct perfdata_block *block; /* with a reference of this event's own; NULL: from disk */
};

struct perfdata_queue {
	struct perfdata_pool *pool;
	bool swap; /* byte order of the records */
	struct perfdata_queued *events, *scratch;
	size_t count, capacity;
	size_t next, ready;	       /* sorted and due: events[next .. ready) */
	uint64_t newest, limit;	       /* largest time seen; largest at the round before */
	bool unsorted;		       /* an event is older than the one before it */
	size_t descents;	       /* how many are, of those added since sorting */
	size_t events_max, blocks_max; /* beyond which runs go to disk */
	struct perfdata_spill spill;
	uint64_t due; /* of the events on disk those up to this time can be handed out */
	bool taken;   /* the event handed out last is still to be popped from disk */
};

void perfdata_queue_init(struct perfdata_queue *queue, struct perfdata_pool *pool);
/* Room for one more event, on disk what there is too much of.  False when memory is short. */
bool perfdata_queue_make_room(struct perfdata_queue *queue);

/* Takes a reference to the block.  False when memory is short. */
static inline bool perfdata_queue_add(struct perfdata_queue *queue,
				      const struct perfdata_queued *event)
{
	if ((queue->next || queue->count >= queue->capacity || queue->count >= queue->events_max ||
	     queue->pool->in_use > queue->blocks_max) &&
	    !perfdata_queue_make_room(queue))
		return false;
	if (queue->count && event->time < queue->events[queue->count - 1].time) {
		queue->unsorted = true;
		queue->descents++;
	}
	if (event->time > queue->newest)
		queue->newest = event->time;
	event->block->references++;
	queue->events[queue->count++] = *event;
	return true;
}

/* A round is over; or, with `all`, the stream is.  False when memory is short. */
bool perfdata_queue_round(struct perfdata_queue *queue, bool all);
/*
 * The next event that is due; false: none.  The caller gets its reference to the block; an event
 * from disk is valid until the next call.
 */
bool perfdata_queue_next(struct perfdata_queue *queue, struct perfdata_queued *event);
void perfdata_queue_free(struct perfdata_queue *queue);

#endif
