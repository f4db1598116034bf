/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A set-associative cache with LRU replacement.
 *
 * It holds no data: a line is its number and a state, the cycle in which it arrives with flags in
 * the low bits.  Each set is ordered by use, newest first, so most lookups end at the first way.
 */
#ifndef TOOLS_VCORE_MEMORY_CACHE_H
#define TOOLS_VCORE_MEMORY_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "pesa/error.h"
#include "decoder/core/core.h"
#include "tools/vcore/memory/heap.h"

#define LINE_DIRTY	1u /* changed since the line came from the next level */
#define LINE_OWNED	2u /* no other hart has the line: it may be written */
#define LINE_PREFETCHED 4u /* prefetched and not used yet */
#define LINE_BITS	3u

struct line {
	uint64_t tag;	/* line number + 1; 0: empty */
	uint64_t state; /* cycle in which the line arrives << LINE_BITS | flags */
};

struct cache {
	uint32_t ways, mask, latency;
	struct line *line; /* sets of `ways`, most recently used first; NULL: no cache */
	struct heap mshrs; /* cycles in which the MSHRs become free */
};

/*
 * Create an empty cache; no cache if the description's size is 0.  `line`: bytes of a line.  After an
 * error too, cache_free() has to be called.
 */
static inline struct pesa_error *
cache_create(struct cache *cache, const struct pesa_core_cache *description, uint32_t line)
{
	uint32_t sets;

	if (!description->size)
		return NULL;
	sets = description->size / line / description->ways;
	cache->ways = description->ways;
	cache->mask = sets - 1;
	cache->latency = description->latency;
	cache->line = calloc((size_t)sets * cache->ways, sizeof(*cache->line));
	if (!cache->line)
		return pesa_error_no_memory();
	return heap_create(&cache->mshrs, description->mshrs);
}

static inline void cache_free(struct cache *cache)
{
	free(cache->line);
	heap_free(&cache->mshrs);
}

static inline void cache_clear(struct cache *cache)
{
	if (cache->line)
		memset(cache->line, 0,
		       ((size_t)cache->mask + 1) * cache->ways * sizeof(*cache->line));
}

static inline uint64_t line_ready(const struct line *line)
{
	return line->state >> LINE_BITS;
}

static inline struct line *cache_set(const struct cache *cache, uint64_t tag)
{
	return cache->line + (size_t)((tag - 1) & cache->mask) * cache->ways;
}

/*
 * Find a line and make it the most recently used.  NULL: a miss; the oldest line of the set moved
 * to `*victim`, and the first place of the set is free for the new line.
 */
static inline struct line *cache_find(struct cache *cache, uint64_t tag, struct line *victim)
{
	struct line *set = cache_set(cache, tag), found;
	uint32_t way = 0;

	if (__builtin_expect(set[0].tag == tag, 1))
		return set;
	while (way < cache->ways - 1 && set[way].tag != tag)
		way++;
	found = set[way];
	memmove(set + 1, set, way * sizeof(*set));
	if (found.tag == tag) {
		set[0] = found;
		return set;
	}
	set[0].tag = tag;
	set[0].state = 0;
	*victim = found;
	return NULL;
}

/* Find a line without changing the order; or NULL. */
static inline struct line *cache_peek(const struct cache *cache, uint64_t tag)
{
	struct line *set = cache_set(cache, tag);

	for (uint32_t way = 0; way < cache->ways; way++)
		if (set[way].tag == tag)
			return &set[way];
	return NULL;
}

/* Remove a line.  Returns its state, 0: not found. */
static inline uint64_t cache_drop(struct cache *cache, uint64_t tag)
{
	struct line *line = cache_peek(cache, tag), *last;
	uint64_t state;

	if (!line)
		return 0;
	state = line->state;
	last = cache_set(cache, tag) + cache->ways - 1;
	memmove(line, line + 1, (size_t)(last - line) * sizeof(*line));
	*last = (struct line){0};
	return state;
}

#endif
