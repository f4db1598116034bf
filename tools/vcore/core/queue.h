/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An issue queue: instructions take its entries in program order and release them in any order.
 * (track.h is for structures that are also left in program order.)
 *
 * The queue counts, for each cycle after `counted`, the entries released in it.  `counted` follows
 * dispatch, which only moves forward.  It is advanced only when the entries taken since would fill
 * the queue: otherwise there is room anyway.
 */
#ifndef TOOLS_VCORE_CORE_QUEUE_H
#define TOOLS_VCORE_CORE_QUEUE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define QUEUE_CYCLES 8192u

struct queue {
	uint64_t counted; /* the cycle for which `free` is valid */
	uint32_t free, entries;
	uint16_t leaves[QUEUE_CYCLES];
};

/* Create an empty queue, in zeroed memory. */
static inline void queue_create(struct queue *queue, uint32_t entries)
{
	queue->entries = entries;
	queue->free = entries;
}

/* Count the entries released up to `cycle`. */
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

/* The first cycle from `cycle` on in which an entry is free.  `cycle` only moves forward. */
static inline uint64_t queue_oldest(struct queue *queue, uint64_t cycle)
{
	if (__builtin_expect(!queue->free, 0)) {
		queue_count(queue, cycle);
		while (!queue->free)
			queue_count(queue, ++cycle);
	}
	return cycle;
}

/*
 * A lower bound of the first cycle in which an entry is free: that cycle, or one before the newest
 * instruction entered.  Does not change the queue.
 */
static inline uint64_t queue_next_place(const struct queue *queue)
{
	uint64_t cycle = queue->counted;
	uint32_t free = queue->free;

	while (!free && cycle < queue->counted + QUEUE_CYCLES - 1)
		free += queue->leaves[++cycle % QUEUE_CYCLES];
	return cycle;
}

/* Take an entry in cycle `now` and release it in cycle `leaves`, which is later. */
static inline void queue_take(struct queue *queue, uint64_t now, uint64_t leaves)
{
	if (__builtin_expect(leaves - queue->counted >= QUEUE_CYCLES, 0)) {
		queue_count(queue, now);
		/* Beyond the counted cycles: release the entry as late as possible. */
		if (leaves - now >= QUEUE_CYCLES)
			leaves = now + QUEUE_CYCLES - 1;
	}
	queue->leaves[leaves % QUEUE_CYCLES]++;
	queue->free--;
}

#endif
