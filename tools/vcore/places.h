/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Structures of a fixed number of places, which instructions enter in program order.
 *
 * A ring is left in the same order.  A queue is left in any order: it counts, for each cycle after
 * `counted`, the places that come free in it.  `counted` follows dispatch, which only moves
 * forward, when the places that were taken since would fill the queue: otherwise there is room
 * anyway.
 */
#ifndef TOOLS_VCORE_PLACES_H
#define TOOLS_VCORE_PLACES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Where in the ring the next one goes is kept by the user, in a register if possible. */
struct ring {
	uint64_t *leaves;
	uint32_t mask, entries;
	uint32_t first; /* as far back as the place that the next one needs */
};

static inline bool ring_create(struct ring *ring, uint32_t entries)
{
	uint32_t size = 1;

	/* One more than the entries, for ring_take_if(). */
	while (size <= entries)
		size *= 2;
	ring->entries = entries;
	ring->first = entries ? entries : 1;
	ring->mask = size - 1;
	ring->leaves = calloc(size, sizeof(*ring->leaves));
	return ring->leaves != NULL;
}

static inline void ring_free(struct ring *ring)
{
	free(ring->leaves);
}

/* The cycle in which the oldest of the entries leaves. */
static inline uint64_t ring_oldest(const struct ring *ring, uint32_t next)
{
	return ring->leaves[(next - ring->entries) & ring->mask];
}

/* The cycle in which there are `count` places, at most all. */
static inline uint64_t ring_oldest_of(const struct ring *ring, uint32_t next, uint32_t count)
{
	if (count > ring->entries)
		count = ring->entries;
	return ring->leaves[(next - ring->entries + count - 1) & ring->mask];
}

/* Likewise for one. */
static inline uint64_t ring_first(const struct ring *ring, uint32_t next)
{
	return ring->leaves[(next - ring->first) & ring->mask];
}

static inline void ring_take(struct ring *ring, uint32_t *next, uint64_t leaves)
{
	ring->leaves[(*next)++ & ring->mask] = leaves;
}

/* Likewise if `taken`, without a branch. */
static inline void ring_take_if(struct ring *ring, uint32_t *next, uint64_t leaves, bool taken)
{
	ring->leaves[*next & ring->mask] = leaves;
	*next += taken;
}

#define QUEUE_CYCLES 8192u

struct queue {
	uint64_t now, counted; /* cycles: of dispatch; `free` is true for */
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
	queue->now = cycle;
	if (__builtin_expect(!queue->free, 0)) {
		queue_count(queue, queue->now);
		while (!queue->free)
			queue_count(queue, ++queue->now);
		return queue->now;
	}
	return cycle;
}

/* The first cycle in which there is a place, from that of the newest one's entry on; nothing
 * enters meanwhile. */
static inline uint64_t queue_next_place(const struct queue *queue)
{
	uint64_t cycle = queue->counted;
	uint32_t free = queue->free;

	while (!free && cycle < queue->counted + QUEUE_CYCLES - 1)
		free += queue->leaves[++cycle % QUEUE_CYCLES];
	return cycle > queue->now ? cycle : queue->now;
}

/* Enter now, leave in cycle `leaves`, which is later. */
static inline void queue_take(struct queue *queue, uint64_t leaves)
{
	if (__builtin_expect(leaves - queue->counted >= QUEUE_CYCLES, 0)) {
		queue_count(queue, queue->now);
		/* Further ahead than can be counted: leaves as late as can. */
		if (leaves - queue->now >= QUEUE_CYCLES)
			leaves = queue->now + QUEUE_CYCLES - 1;
	}
	queue->leaves[leaves % QUEUE_CYCLES]++;
	queue->free--;
}

#endif
