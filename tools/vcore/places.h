/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Structures of a fixed number of places, which instructions enter in program order.
 *
 * A ring is left in the same order.  A queue is left in any order: it counts, for each cycle after
 * `now`, the places that come free in it; `now` follows dispatch, which only moves forward.
 */
#ifndef TOOLS_VCORE_PLACES_H
#define TOOLS_VCORE_PLACES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct ring {
	uint64_t *leaves;
	uint32_t next, mask, entries;
};

static inline bool ring_create(struct ring *ring, uint32_t entries)
{
	uint32_t size = 1;

	while (size < entries)
		size *= 2;
	ring->entries = entries;
	ring->mask = size - 1;
	ring->next = entries;
	ring->leaves = calloc(size, sizeof(*ring->leaves));
	return ring->leaves != NULL;
}

static inline void ring_free(struct ring *ring)
{
	free(ring->leaves);
}

/* The cycle in which the oldest of the entries leaves. */
static inline uint64_t ring_oldest(const struct ring *ring)
{
	return ring->leaves[(ring->next - ring->entries) & ring->mask];
}

/* The cycle in which there are `count` places, at most all. */
static inline uint64_t ring_oldest_of(const struct ring *ring, uint32_t count)
{
	if (count > ring->entries)
		count = ring->entries;
	return ring->leaves[(ring->next - ring->entries + count - 1) & ring->mask];
}

static inline void ring_take(struct ring *ring, uint64_t leaves)
{
	ring->leaves[ring->next++ & ring->mask] = leaves;
}

#define QUEUE_CYCLES 8192u

struct queue {
	uint16_t leaves[QUEUE_CYCLES];
	uint64_t now;
	uint32_t taken, entries; /* 0 entries: any number */
};

/* Those that leave by `cycle` are gone. */
static inline void queue_advance(struct queue *queue, uint64_t cycle)
{
	if (cycle - queue->now >= QUEUE_CYCLES) {
		memset(queue->leaves, 0, sizeof(queue->leaves));
		queue->taken = 0;
		queue->now = cycle;
	}
	while (queue->now < cycle) {
		uint16_t *leaves = &queue->leaves[++queue->now % QUEUE_CYCLES];

		queue->taken -= *leaves;
		*leaves = 0;
	}
}

/* The first cycle from `cycle` on in which there is a place. */
static inline uint64_t queue_oldest(struct queue *queue, uint64_t cycle)
{
	if (cycle > queue->now)
		queue_advance(queue, cycle);
	while (queue->taken == queue->entries)
		queue_advance(queue, queue->now + 1);
	return queue->now > cycle ? queue->now : cycle;
}

/* Enter now, leave in cycle `leaves`. */
static inline void queue_take(struct queue *queue, uint64_t leaves)
{
	if (leaves <= queue->now)
		return;
	/* Further ahead than can be counted: leaves as late as can. */
	if (leaves - queue->now >= QUEUE_CYCLES)
		leaves = queue->now + QUEUE_CYCLES - 1;
	queue->leaves[leaves % QUEUE_CYCLES]++;
	queue->taken++;
}

#endif
