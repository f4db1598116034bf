// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Caches and TLBs.
 *
 * Set-associative, least recently used.  A line carries the cycle in which it arrives: an access to
 * a line that is on its way waits for it (a miss that merges with the one under way).  Misses under
 * way are limited by the MSHRs of each level, lines from memory by the memory interval.
 *
 * Instructions are handled in program order while their accesses happen in another order; the
 * structures see program order, the times are each access's own.  Writing dirty lines back costs
 * nothing (Documentation/virtual-core.md says in which direction that biases).
 */
#include <stdlib.h>
#include <string.h>

#include "tools/vcore/heap.h"
#include "tools/vcore/vcore.h"

struct line {
	uint64_t tag;	/* line number + 1, 0: empty */
	uint64_t ready; /* cycle in which it arrives */
};

struct cache {
	uint32_t ways, mask, latency;
	struct line *line; /* sets of `ways`, most recently used first */
	struct heap mshrs; /* cycles in which they come free */
};

struct tlb {
	uint32_t ways, mask; /* mask 0: fully associative */
	uint64_t *page;	     /* page number + 1, most recently used first */
};

#define MEMORY_SLOTS 4096u

struct memory {
	const struct pesa_core *core;
	uint64_t *event; /* counters */
	uint32_t line_shift, page_shift;
	struct cache icache, dcache, l2, llc;
	struct tlb itlb, dtlb, l2tlb;
	uint64_t *slot; /* times that memory is taken, in units of memory_interval */
};

static unsigned int log2_of(uint32_t value)
{
	return (unsigned int)__builtin_ctz(value);
}

static bool cache_create(struct cache *cache, const struct pesa_core_cache *description,
			 uint32_t line)
{
	uint32_t sets;

	if (!description->size)
		return true;
	sets = description->size / line / description->ways;
	cache->ways = description->ways;
	cache->mask = sets - 1;
	cache->latency = description->latency;
	cache->line = calloc((size_t)sets * cache->ways, sizeof(*cache->line));
	return cache->line && heap_create(&cache->mshrs, description->mshrs);
}

static void cache_free(struct cache *cache)
{
	free(cache->line);
	heap_free(&cache->mshrs);
}

static bool tlb_create(struct tlb *tlb, uint32_t entries, uint32_t ways)
{
	tlb->ways = ways;
	tlb->mask = entries / ways - 1;
	tlb->page = calloc(entries, sizeof(*tlb->page));
	return tlb->page != NULL;
}

struct memory *memory_create(const struct pesa_core *core, struct vcore_counters *counters)
{
	struct memory *memory = calloc(1, sizeof(*memory));

	if (!memory)
		return NULL;
	memory->core = core;
	memory->event = counters->event;
	memory->line_shift = log2_of(core->line);
	memory->page_shift = log2_of(core->page);
	memory->slot = calloc(MEMORY_SLOTS, sizeof(*memory->slot));
	if (memory->slot && cache_create(&memory->icache, &core->icache, core->line) &&
	    cache_create(&memory->dcache, &core->dcache, core->line) &&
	    cache_create(&memory->l2, &core->l2, core->line) &&
	    cache_create(&memory->llc, &core->llc, core->line) &&
	    tlb_create(&memory->itlb, core->itlb_entries, core->itlb_entries) &&
	    tlb_create(&memory->dtlb, core->dtlb_entries, core->dtlb_entries) &&
	    tlb_create(&memory->l2tlb, core->l2tlb_entries, core->l2tlb_ways))
		return memory;
	memory_free(memory);
	return NULL;
}

void memory_free(struct memory *memory)
{
	if (!memory)
		return;
	cache_free(&memory->icache);
	cache_free(&memory->dcache);
	cache_free(&memory->l2);
	cache_free(&memory->llc);
	free(memory->itlb.page);
	free(memory->dtlb.page);
	free(memory->l2tlb.page);
	free(memory->slot);
	free(memory);
}

/* Look a page up and make it the most recently used one.  Returns whether it was there. */
static bool tlb_access(struct tlb *tlb, uint64_t page)
{
	uint64_t *set = tlb->page + (size_t)(page & tlb->mask) * tlb->ways;
	uint64_t tag = page + 1;
	uint32_t way = 0;

	if (set[0] == tag)
		return true;
	while (way < tlb->ways - 1 && set[way] != tag)
		way++;
	bool hit = set[way] == tag;
	memmove(set + 1, set, way * sizeof(*set));
	set[0] = tag;
	return hit;
}

/* Cycles that address translation adds. */
static uint64_t translate(struct memory *memory, struct tlb *tlb, uint64_t address,
			  struct access *access)
{
	uint64_t page = address >> memory->page_shift, *event = memory->event;
	bool code = tlb == &memory->itlb;

	event[code ? VCORE_EVENT_ITLB : VCORE_EVENT_DTLB]++;
	if (tlb_access(tlb, page))
		return 0;
	event[code ? VCORE_EVENT_ITLB_MISS : VCORE_EVENT_DTLB_MISS]++;
	event[code ? VCORE_EVENT_LL_TLB_CODE : VCORE_EVENT_LL_TLB_DATA]++;
	access->tlb_miss = true;
	if (tlb_access(&memory->l2tlb, page))
		return memory->core->l2tlb_latency;
	event[code ? VCORE_EVENT_LL_TLB_CODE_MISS : VCORE_EVENT_LL_TLB_DATA_MISS]++;
	access->walk = true;
	return memory->core->l2tlb_latency + memory->core->walk_latency;
}

/* The line from memory: the first free slot from `cycle` on. */
static uint64_t memory_access(struct memory *memory, uint64_t cycle)
{
	uint64_t interval = memory->core->memory_interval;
	uint64_t slot = (cycle + interval - 1) / interval;

	while (memory->slot[slot % MEMORY_SLOTS] == slot + 1)
		slot++;
	memory->slot[slot % MEMORY_SLOTS] = slot + 1;
	return slot * interval + memory->core->memory_latency;
}

/* The line with this tag, most recently used from now on; NULL: it was not there, and the oldest
 * line of the set made room for it (`*made`). */
static struct line *cache_find(struct cache *cache, uint64_t tag, struct line **made)
{
	struct line *set = cache->line + (size_t)((tag - 1) & cache->mask) * cache->ways;
	struct line found;
	uint32_t way = 0;

	*made = NULL;
	if (set[0].tag == tag)
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
	set[0].ready = 0;
	*made = set;
	return NULL;
}

/* Cycle in which the line is there, from the second level on. */
static uint64_t outer_access(struct memory *memory, uint64_t tag, uint64_t cycle,
			     struct access *access)
{
	struct cache *levels[] = {&memory->l2, &memory->llc};
	static const enum vcore_event lookups[] = {VCORE_EVENT_L2, VCORE_EVENT_LL};
	static const enum vcore_event misses[] = {VCORE_EVENT_L2_MISS, VCORE_EVENT_LL_MISS};
	struct line *filled[2] = {NULL, NULL}, *line;
	bool *missed[] = {&access->l2_miss, &access->llc_miss};
	uint64_t ready = 0;

	for (unsigned int i = 0; i < 2 && !ready; i++) {
		if (!levels[i]->line)
			continue;
		line = cache_find(levels[i], tag, &filled[i]);
		memory->event[lookups[i]]++;
		cycle += levels[i]->latency;
		if (line) {
			ready = line->ready > cycle ? line->ready : cycle;
		} else {
			*missed[i] = true;
			memory->event[misses[i]]++;
			cycle = heap_least(&levels[i]->mshrs) > cycle
					? heap_least(&levels[i]->mshrs)
					: cycle;
		}
	}
	if (!ready)
		ready = memory_access(memory, cycle);
	for (unsigned int i = 0; i < 2; i++) {
		if (filled[i]) {
			filled[i]->ready = ready;
			heap_replace(&levels[i]->mshrs, ready);
		}
	}
	return ready;
}

/* A lookup of an L1 cache counts event[0]; a miss, event[1]; a line that is on its way, event[2].
 */
static void first_access(struct memory *memory, struct cache *cache, uint64_t address,
			 uint64_t cycle, uint64_t *event, struct access *access)
{
	uint64_t tag = (address >> memory->line_shift) + 1, least;
	struct line *made, *line = cache_find(cache, tag, &made);

	cycle += cache->latency;
	event[0]++;
	if (line) {
		access->ready = cycle;
		if (line->ready > cycle) {
			event[2]++;
			access->ready = line->ready;
			access->cache_miss = true;
		}
		return;
	}
	event[1]++;
	access->cache_miss = true;
	least = heap_least(&cache->mshrs);
	if (least > cycle)
		cycle = least;
	access->ready = outer_access(memory, tag, cycle, access);
	made->ready = access->ready;
	heap_replace(&cache->mshrs, access->ready);
}

uint64_t memory_translate(struct memory *memory, uint64_t address, struct access *access)
{
	return translate(memory, &memory->dtlb, address, access);
}

void memory_data(struct memory *memory, uint64_t address, uint64_t cycle, bool store,
		 struct access *access)
{
	first_access(memory, &memory->dcache, address, cycle,
		     &memory->event[store ? VCORE_EVENT_L1D_WRITE : VCORE_EVENT_L1D_READ], access);
}

void memory_fetch(struct memory *memory, uint64_t address, uint64_t cycle, struct access *access)
{
	uint64_t line = address >> memory->line_shift;

	cycle += translate(memory, &memory->itlb, address, access);
	first_access(memory, &memory->icache, address, cycle, &memory->event[VCORE_EVENT_L1I_READ],
		     access);
	if (!access->cache_miss)
		return;
	for (uint32_t i = 1; i <= memory->core->icache_prefetch; i++) {
		struct access prefetch = {0};
		struct line *made;

		if (((line + i) << memory->line_shift) >> memory->page_shift !=
		    address >> memory->page_shift)
			break;
		if (cache_find(&memory->icache, line + i + 1, &made))
			continue;
		memory->event[VCORE_EVENT_L1I_PREFETCH]++;
		made->ready = outer_access(memory, line + i + 1, cycle + memory->icache.latency,
					   &prefetch);
	}
}

void memory_flush_instructions(struct memory *memory)
{
	memset(memory->icache.line, 0,
	       (size_t)(memory->icache.mask + 1) * memory->icache.ways * sizeof(struct line));
}
