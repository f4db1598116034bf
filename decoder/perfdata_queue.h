/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The queue that puts events in order of time, as perf does.
 *
 * Each ring buffer is in order, the file is their pieces one after the other.  At a FINISHED_ROUND
 * everything up to the largest time that was seen at the round before can be handed out; the rest
 * waits for the next round, or the end.  Events of equal time stay in the order of the file.
 */
#ifndef DECODER_PERFDATA_QUEUE_H
#define DECODER_PERFDATA_QUEUE_H

#include "decoder/perfdata_blocks.h"

struct perfdata_queued {
	uint64_t time;
	uint64_t offset; /* in the file */
	uint8_t *record;
	struct perfdata_block *block; /* with a reference of this event's own */
};

struct perfdata_queue {
	struct perfdata_queued *events, *scratch;
	size_t count, capacity;
	size_t next, ready;	/* sorted and due: events[next .. ready) */
	uint64_t newest, limit; /* largest time seen; largest at the round before */
	bool unsorted;		/* the last event added is older than one before it */
};

/* False when memory is short.  Takes a reference to the block. */
bool perfdata_queue_add(struct perfdata_queue *queue, const struct perfdata_queued *event);
/* A round is over; or, with `all`, the stream is.  False when memory is short. */
bool perfdata_queue_round(struct perfdata_queue *queue, bool all);
/* The next event that is due, NULL: none.  The caller gets its reference to the block. */
static inline const struct perfdata_queued *perfdata_queue_next(struct perfdata_queue *queue)
{
	return queue->next < queue->ready ? &queue->events[queue->next++] : NULL;
}
void perfdata_queue_free(struct perfdata_queue *queue, struct perfdata_pool *pool);

#endif
