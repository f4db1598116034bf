/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An issue queue: a structure of a fixed number of places that instructions enter in program order,
 * and leave in any order (one that they leave in order is a track, track.h).
 *
 * It counts, for each cycle after `counted`, the places that come free in it.  `counted` follows
 * dispatch, which only moves forward, when the places that were taken since would fill the queue:
 * otherwise there is room anyway.
 */
#ifndef TOOLS_VCORE_CORE_QUEUE_H
#define TOOLS_VCORE_CORE_QUEUE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define QUEUE_CYCLES 8192u

struct queue {
	uint64_t counted; /* the cycle that `free` is true for */
	uint32_t free, entries;
	uint16_t leaves[QUEUE_CYCLES];
};

/* An empty one, in memory that is zero. */
static inline void queue_create(struct queue *queue, uint32_t entries)
{
	queue->entries = entries;
	queue->free = entries;
}

/* Those that leave by `cycle` are gone. */
static inline void queue_count(struct queue *queue, uint64_t cycle)
{
	if (cycle - queue->counted >= QUEUE_CYCLES) {
		memset(queue->leaves, 0, sizeof(queue->leaves));
		queue->free = queue->entries;
		queue->counted = cycle;
	}
	while (queue->counted < cycle) {
		uint16_t *leaves = &queue->leaves[++queue->counted % QUEUE_CYCLES];

		queue->free += *leaves;
		*leaves = 0;
	}
}

/* The first cycle from `cycle` on, which only moves forward, in which there is a place. */
static inline uint64_t queue_oldest(struct queue *queue, uint64_t cycle)
{
	if (__builtin_expect(!queue->free, 0)) {
		queue_count(queue, cycle);
		while (!queue->free)
			queue_count(queue, ++cycle);
	}
	return cycle;
}

/* The first cycle in which there is a place, or an earlier one than that of the newest one's entry;
 * nothing enters meanwhile. */
static inline uint64_t queue_next_place(const struct queue *queue)
{
	uint64_t cycle = queue->counted;
	uint32_t free = queue->free;

	while (!free && cycle < queue->counted + QUEUE_CYCLES - 1)
		free += queue->leaves[++cycle % QUEUE_CYCLES];
	return cycle;
}

/* Enter in cycle `now`, leave in cycle `leaves`, which is later. */
static inline void queue_take(struct queue *queue, uint64_t now, uint64_t leaves)
{
	if (__builtin_expect(leaves - queue->counted >= QUEUE_CYCLES, 0)) {
		queue_count(queue, now);
		/* Further ahead than can be counted: leaves as late as can. */
		if (leaves - now >= QUEUE_CYCLES)
			leaves = now + QUEUE_CYCLES - 1;
	}
	queue->leaves[leaves % QUEUE_CYCLES]++;
	queue->free--;
}

#endif
