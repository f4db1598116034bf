// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Caches, TLBs and page walks of one hart.
 *
 * Set-associative, LRU, write-back and write-allocate.  A line has the cycle in which it arrives:
 * an access before that waits for it, as a miss that merges with an outstanding one.  The MSHRs of
 * each level limit the outstanding misses.  A dirty line that is evicted goes to the next level
 * that has the line, in the end to memory, whose bandwidth it takes; no access waits for it.  The
 * last level and memory belong to all harts of the process, see shared.c.
 *
 * Instructions are processed in program order although their accesses happen in another order: the
 * contents of the structures follow program order, the cycles are those of each access.
 */
#include <stdlib.h>
#include <string.h>

#include "tools/vcore/memory/cache.h"
#include "tools/vcore/memory/shared.h"
#include "tools/vcore/memory/memory.h"

/* Page-table entries have addresses that no guest uses, a range for each level of the table. */
#define TABLE_PLACE   (1ull << 62)
#define TABLE_LEVEL   56
#define ENTRY_SHIFT   3 /* log2 of the bytes of a page-table entry */
#define ENTRIES_SHIFT 9 /* log2 of the entries per page */
#define HINTS	      256u

struct tlb_entry {
	uint64_t page;	/* page number + 1; 0: empty */
	uint64_t ready; /* cycle in which the translation is known */
	uint64_t used;	/* order of use */
};

struct tlb {
	uint32_t ways, mask; /* set mask; 0: fully associative */
	struct tlb_entry *entry;
	uint64_t uses;
	uint32_t hint[HINTS]; /* entries found last, by page */
};

/* A sequence of misses in one page, for the prefetcher. */
struct stream {
	uint64_t page; /* page number + 1; 0: empty */
	uint64_t line, used;
	int64_t stride; /* in lines */
	bool confirmed;
};

struct memory {
	const struct pesa_core *core;
	uint64_t *event; /* event counters */
	uint32_t line_shift, page_shift;
	struct cache icache, dcache, l2; /* l2 only if it is not the last level */
	struct tlb itlb, dtlb, l2tlb, walk_cache;
	struct heap walkers; /* cycles in which the page walkers become free */
	struct stream *stream;
	uint64_t stream_uses;
	bool untimed; /* accesses change contents only: see memory_set_untimed() */
	struct shared *shared;
	struct shared_member member;
};

static struct pesa_error *tlb_create(struct tlb *tlb, uint32_t entries, uint32_t ways)
{
	if (!entries)
		return NULL;
	tlb->ways = ways;
	tlb->mask = entries / ways - 1;
	tlb->entry = calloc(entries, sizeof(*tlb->entry));
	return tlb->entry ? NULL : pesa_error_no_memory();
}

static struct pesa_error *create_caches(struct memory *memory, const struct pesa_core *core)
{
	struct pesa_error *error = cache_create(&memory->icache, &core->icache, core->line);

	if (!error)
		error = cache_create(&memory->dcache, &core->dcache, core->line);
	if (!error && core->llc.size)
		error = cache_create(&memory->l2, &core->l2, core->line);
	if (error)
		return error;
	memory->stream = calloc(core->dcache_streams + 1, sizeof(*memory->stream));
	return memory->stream ? NULL : pesa_error_no_memory();
}

static struct pesa_error *create_tlbs(struct memory *memory, const struct pesa_core *core)
{
	struct pesa_error *error =
		tlb_create(&memory->itlb, core->itlb_entries, core->itlb_entries);

	if (!error)
		error = tlb_create(&memory->dtlb, core->dtlb_entries, core->dtlb_entries);
	if (!error)
		error = tlb_create(&memory->l2tlb, core->l2tlb_entries, core->l2tlb_ways);
	if (!error)
		error = tlb_create(&memory->walk_cache, core->walk_cache, core->walk_cache);
	return error ? error : heap_create(&memory->walkers, core->walk_walkers);
}

struct pesa_error *memory_create(const struct pesa_core *core, struct vcore_counters *counters,
				 struct shared *shared, struct memory **result)
{
	struct memory *memory = calloc(1, sizeof(*memory));
	struct pesa_error *error;

	if (!memory)
		return pesa_error_no_memory();
	memory->core = core;
	memory->event = counters->event;
	memory->line_shift = (uint32_t)__builtin_ctz(core->line);
	memory->page_shift = (uint32_t)__builtin_ctz(core->page);
	error = create_caches(memory, core);
	if (!error)
		error = create_tlbs(memory, core);
	if (!error)
		error = shared_join(shared, &memory->member);
	if (error) {
		memory_free(memory);
		return error;
	}
	memory->shared = shared;
	*result = memory;
	return NULL;
}

void memory_free(struct memory *memory)
{
	if (!memory)
		return;
	if (memory->shared)
		shared_leave(memory->shared, &memory->member);
	cache_free(&memory->icache);
	cache_free(&memory->dcache);
	cache_free(&memory->l2);
	free(memory->itlb.entry);
	free(memory->dtlb.entry);
	free(memory->l2tlb.entry);
	free(memory->walk_cache.entry);
	heap_free(&memory->walkers);
	free(memory->stream);
	free(memory);
}

void memory_refork(struct memory *memory)
{
	shared_refork(memory->shared, &memory->member);
}

/* ---- Lines that leave ---------------------------------------------------------------------- */

/* A dirty line is evicted from the L2, or from an L1 cache without a private L2. */
static void write_back_outer(struct memory *memory, uint64_t tag, uint64_t cycle)
{
	shared_write_back(memory->shared, &memory->member, tag, cycle);
}

/* A line is evicted from the L1 data cache. */
static void evict_data(struct memory *memory, const struct line *victim, uint64_t cycle)
{
	struct line *line;

	if (!(victim->state & LINE_DIRTY))
		return;
	line = memory->l2.line ? cache_peek(&memory->l2, victim->tag) : NULL;
	if (line)
		line->state |= LINE_DIRTY;
	else
		write_back_outer(memory, victim->tag, cycle);
}

/* A line is evicted from the private L2. */
static void evict_l2(struct memory *memory, const struct line *victim, uint64_t cycle)
{
	uint64_t state = victim->state;

	if (!victim->tag)
		return;
	if (memory->core->l2.inclusive) {
		state |= cache_drop(&memory->dcache, victim->tag);
		cache_drop(&memory->icache, victim->tag);
	}
	if (state & LINE_DIRTY)
		write_back_outer(memory, victim->tag, cycle);
}

/* Apply a coherence order of another hart or of the last level. */
static void apply_order(struct memory *memory, uint64_t tag, enum shared_order order)
{
	struct line *line;
	uint64_t state = 0;

	switch (order) {
	case SHARED_EVICT:
		cache_drop(&memory->icache, tag);
		/* fall through */
	case SHARED_INVALIDATE:
		state = cache_drop(&memory->dcache, tag);
		if (memory->l2.line)
			state |= cache_drop(&memory->l2, tag);
		break;
	case SHARED_DOWNGRADE:
		line = cache_peek(&memory->dcache, tag);
		if (line)
			line->state &= ~(uint64_t)(LINE_OWNED | LINE_DIRTY);
		line = memory->l2.line ? cache_peek(&memory->l2, tag) : NULL;
		if (line)
			line->state &= ~(uint64_t)(LINE_OWNED | LINE_DIRTY);
		break;
	}
	/* The last level has no place for the line any more: write it to memory. */
	if (order == SHARED_EVICT && (state & LINE_DIRTY))
		shared_write_memory(memory->shared, &memory->member);
}

void memory_set_untimed(struct memory *memory, bool untimed)
{
	memory->untimed = memory->member.untimed = untimed;
}

void memory_resume(struct memory *memory, uint64_t offset)
{
	struct shared_mail mail;

	memory->member.offset = offset;
	while (shared_next_mail(memory->shared, &memory->member, &mail))
		apply_order(memory, mail.tag, mail.order);
	if (memory->member.overflowed) {
		memory->member.overflowed = false;
		cache_clear(&memory->dcache);
		cache_clear(&memory->icache);
		cache_clear(&memory->l2);
	}
}

/* ---- Cache hierarchy ----------------------------------------------------------------------- */

/* The first cycle from `cycle` on in which one of the resources is free. */
static uint64_t await_free(const struct memory *memory, const struct heap *heap, uint64_t cycle)
{
	uint64_t least = heap_least(heap);

	return memory->untimed || least < cycle ? cycle : least;
}

/* Occupy that resource until `until`. */
static void occupy(const struct memory *memory, struct heap *heap, uint64_t until)
{
	if (!memory->untimed)
		heap_replace(heap, until);
}

/* What is fetched in `cycle` arrives then, or is there already. */
static uint64_t arrival(const struct memory *memory, uint64_t cycle)
{
	return memory->untimed ? 0 : cycle;
}

/* Access the last level or memory. */
static struct shared_fill last_access(struct memory *memory, uint64_t tag, uint64_t cycle,
				      bool store, struct access *access)
{
	struct shared_fill fill = shared_access(memory->shared, &memory->member, tag, cycle, store);
	bool llc = memory->core->llc.size != 0;

	if (fill.evicted) {
		fill.dirty |= (cache_drop(&memory->dcache, fill.evicted) & LINE_DIRTY) != 0;
		cache_drop(&memory->icache, fill.evicted);
		if (memory->l2.line)
			fill.dirty |= (cache_drop(&memory->l2, fill.evicted) & LINE_DIRTY) != 0;
	}
	if (fill.dirty)
		shared_write_memory(memory->shared, &memory->member);
	if (memory->shared->last.line) {
		memory->event[llc ? VCORE_EVENT_LL : VCORE_EVENT_L2]++;
		if (fill.missed) {
			memory->event[llc ? VCORE_EVENT_LL_MISS : VCORE_EVENT_L2_MISS]++;
			*(llc ? &access->llc_miss : &access->l2_miss) = true;
		}
	}
	return fill;
}

/* Get the line from beyond the L1 caches. */
static struct shared_fill outer_access(struct memory *memory, uint64_t tag, uint64_t cycle,
				       bool store, struct access *access)
{
	struct cache *l2 = &memory->l2;
	struct shared_fill fill = {0};
	struct line *line, victim;

	if (!l2->line)
		return last_access(memory, tag, cycle, store, access);
	memory->event[VCORE_EVENT_L2]++;
	line = cache_find(l2, tag, &victim);
	cycle += l2->latency;
	if (line) {
		fill.ready = line_ready(line) > cycle ? line_ready(line) : cycle;
		if (store && !(line->state & LINE_OWNED)) {
			fill.ready = shared_own(memory->shared, &memory->member, tag, fill.ready);
			line->state |= LINE_OWNED;
		}
		fill.owned = (line->state & LINE_OWNED) != 0;
		return fill;
	}
	memory->event[VCORE_EVENT_L2_MISS]++;
	access->l2_miss = true;
	cycle = await_free(memory, &l2->mshrs, cycle);
	evict_l2(memory, &victim, cycle);
	fill = last_access(memory, tag, cycle, store, access);
	/* The inclusive last level may have evicted the line meanwhile. */
	line = cache_peek(l2, tag);
	if (line)
		line->state =
			arrival(memory, fill.ready) << LINE_BITS | (fill.owned ? LINE_OWNED : 0);
	occupy(memory, &l2->mshrs, fill.ready);
	return fill;
}

/* Fill a line into an L1 cache, which has made room for it. */
static uint64_t fill_first(struct memory *memory, struct cache *cache, uint64_t tag,
			   const struct line *victim, uint64_t cycle, uint64_t flags,
			   struct access *access)
{
	bool store = flags & LINE_DIRTY;
	struct shared_fill fill;
	struct line *line;

	if (cache == &memory->dcache)
		evict_data(memory, victim, cycle);
	fill = outer_access(memory, tag, cycle, store, access);
	line = cache_peek(cache, tag);
	if (line)
		line->state = arrival(memory, fill.ready) << LINE_BITS | flags |
			      (fill.owned ? LINE_OWNED : 0);
	occupy(memory, &cache->mshrs, fill.ready);
	return fill.ready;
}

/* Prefetch along a stride within a page that was seen twice. */
static void follow_stream(struct memory *memory, uint64_t address, uint64_t cycle)
{
	const struct pesa_core *core = memory->core;
	uint64_t line = address >> memory->line_shift, page = address >> memory->page_shift;
	uint32_t lines_shift = memory->page_shift - memory->line_shift;
	struct stream *stream = memory->stream;
	struct line victim;
	int64_t stride;

	for (uint32_t i = 0; i < core->dcache_streams; i++) {
		if (memory->stream[i].page == page + 1) {
			stream = &memory->stream[i];
			break;
		}
		if (memory->stream[i].used < stream->used)
			stream = &memory->stream[i];
	}
	if (stream->page != page + 1)
		*stream = (struct stream){.page = page + 1, .line = line};
	stream->used = ++memory->stream_uses;
	stride = (int64_t)(line - stream->line);
	if (!stride)
		return;
	stream->confirmed = stride == stream->stride;
	stream->stride = stride;
	stream->line = line;
	for (uint32_t i = 1; stream->confirmed && i <= core->dcache_prefetch; i++) {
		struct access unseen = {0};

		line += (uint64_t)stride;
		if (line >> lines_shift != page ||
		    await_free(memory, &memory->dcache.mshrs, cycle) > cycle)
			return;
		if (cache_peek(&memory->dcache, line + 1))
			continue;
		cache_find(&memory->dcache, line + 1, &victim);
		fill_first(memory, &memory->dcache, line + 1, &victim, cycle, LINE_PREFETCHED,
			   &unseen);
	}
}

/* A store hits a line: the line must be writable. */
static void store_hit(struct memory *memory, struct line *line, struct access *access)
{
	if (!(line->state & LINE_OWNED)) {
		access->ready =
			shared_own(memory->shared, &memory->member, line->tag, access->ready);
		line->state = arrival(memory, access->ready) << LINE_BITS | LINE_OWNED;
	}
	line->state |= LINE_DIRTY;
}

enum reader { READER_LOAD, READER_STORE, READER_WALK };

/*
 * Access the L1 data cache.  Counts a lookup in event[0], a miss in event[1], a hit of a line that
 * has not arrived in event[2].  Page walks do not train the prefetcher.
 */
static inline void data_access(struct memory *memory, uint64_t address, uint64_t cycle,
			       enum reader reader, uint64_t *event, struct access *access)
{
	struct cache *cache = &memory->dcache;
	uint64_t tag = (address >> memory->line_shift) + 1;
	struct line victim, *line = cache_find(cache, tag, &victim);

	cycle += cache->latency;
	event[0]++;
	if (__builtin_expect(line != NULL, 1)) {
		access->ready = cycle;
		if (line_ready(line) > cycle) {
			event[2]++;
			access->ready = line_ready(line);
			access->cache_miss = true;
		}
		if (reader == READER_STORE)
			store_hit(memory, line, access);
		if (reader != READER_WALK && (line->state & LINE_PREFETCHED)) {
			line->state &= ~(uint64_t)LINE_PREFETCHED;
			follow_stream(memory, address, cycle);
		}
		return;
	}
	event[1]++;
	access->cache_miss = true;
	cycle = await_free(memory, &cache->mshrs, cycle);
	access->ready = fill_first(memory, cache, tag, &victim, cycle,
				   reader == READER_STORE ? LINE_DIRTY : 0, access);
	if (memory->core->dcache_streams && reader != READER_WALK)
		follow_stream(memory, address, cycle);
}

void memory_data(struct memory *memory, uint64_t address, uint64_t cycle, bool store,
		 struct access *access)
{
	data_access(memory, address, cycle, store ? READER_STORE : READER_LOAD,
		    &memory->event[store ? VCORE_EVENT_L1D_WRITE : VCORE_EVENT_L1D_READ], access);
}

/* ---- Translation --------------------------------------------------------------------------- */

/* The entry of a page; `*hit`: the entry was present, otherwise it replaced the LRU one. */
static inline struct tlb_entry *tlb_access(struct tlb *tlb, uint64_t page, bool *hit)
{
	uint32_t *hint = &tlb->hint[page % HINTS];
	uint32_t base = (uint32_t)(page & tlb->mask) * tlb->ways;
	struct tlb_entry *entry = &tlb->entry[*hint], *oldest;

	*hit = true;
	if (__builtin_expect(entry->page == page + 1, 1)) {
		entry->used = ++tlb->uses;
		return entry;
	}
	oldest = entry = &tlb->entry[base];
	for (uint32_t way = 0; way < tlb->ways; way++, entry++) {
		if (entry->page == page + 1) {
			oldest = entry;
			break;
		}
		if (entry->used < oldest->used)
			oldest = entry;
	}
	*hit = oldest->page == page + 1;
	oldest->page = page + 1;
	oldest->used = ++tlb->uses;
	*hint = (uint32_t)(oldest - tlb->entry);
	return oldest;
}

/* The address of the page-table entry of a level; level 0: of pages. */
static uint64_t table_entry(uint64_t page, uint32_t level)
{
	return TABLE_PLACE | (uint64_t)level << TABLE_LEVEL |
	       (page >> ENTRIES_SHIFT * level) << ENTRY_SHIFT;
}

/* Walk the page table; returns the cycle in which the translation is known. */
static uint64_t walk(struct memory *memory, uint64_t page, uint64_t cycle)
{
	const struct pesa_core *core = memory->core;
	uint64_t uncounted[3] = {0};
	uint32_t level = core->walk_levels;
	bool hit = false;

	cycle = await_free(memory, &memory->walkers, cycle);
	/* Find the lowest upper level that the walk cache has; touch those above. */
	for (uint32_t i = 1; core->walk_cache && i < core->walk_levels && !hit; i++) {
		uint64_t key = table_entry(page, i);

		for (uint32_t way = 0; way < memory->walk_cache.ways && !hit; way++)
			hit = memory->walk_cache.entry[way].page == key + 1;
		if (hit)
			level = i;
	}
	while (level-- > 0) {
		struct access access = {0};

		data_access(memory, table_entry(page, level), cycle, READER_WALK, uncounted,
			    &access);
		cycle = access.ready;
	}
	for (uint32_t i = core->walk_levels; core->walk_cache && i-- > 1;)
		tlb_access(&memory->walk_cache, table_entry(page, i), &hit);
	cycle += core->walk_latency;
	occupy(memory, &memory->walkers, cycle);
	return cycle;
}

/* The cycles that address translation adds to an access in `cycle`. */
static inline uint64_t translate(struct memory *memory, struct tlb *tlb, uint64_t address,
				 uint64_t cycle, struct access *access)
{
	uint64_t page = address >> memory->page_shift, *event = memory->event, known;
	bool code = tlb == &memory->itlb, hit;
	struct tlb_entry *entry = tlb_access(tlb, page, &hit), *second;

	event[code ? VCORE_EVENT_ITLB : VCORE_EVENT_DTLB]++;
	if (__builtin_expect(hit, 1)) {
		if (__builtin_expect(entry->ready <= cycle, 1))
			return 0;
		access->tlb_miss = true;
		return entry->ready - cycle;
	}
	event[code ? VCORE_EVENT_ITLB_MISS : VCORE_EVENT_DTLB_MISS]++;
	event[code ? VCORE_EVENT_LL_TLB_CODE : VCORE_EVENT_LL_TLB_DATA]++;
	access->tlb_miss = true;
	second = tlb_access(&memory->l2tlb, page, &hit);
	known = cycle + memory->core->l2tlb_latency;
	if (!hit) {
		event[code ? VCORE_EVENT_LL_TLB_CODE_MISS : VCORE_EVENT_LL_TLB_DATA_MISS]++;
		access->walk = true;
		known = walk(memory, page, known);
		second->ready = arrival(memory, known);
	} else if (second->ready > known) {
		known = second->ready;
	}
	entry->ready = arrival(memory, known);
	return known - cycle;
}

uint64_t memory_translate(struct memory *memory, uint64_t address, uint64_t cycle,
			  struct access *access)
{
	return translate(memory, &memory->dtlb, address, cycle, access);
}

void memory_bring(struct memory *memory, uint64_t address, uint64_t cycle)
{
	uint64_t uncounted[VCORE_EVENT_COUNT] = {0}, *counted = memory->event;
	struct access unseen = {0};
	struct tlb_entry *entry;
	struct line *line;
	bool hit;

	/* The load itself counts its accesses. */
	memory->event = uncounted;
	translate(memory, &memory->dtlb, address, cycle, &unseen);
	entry = tlb_access(&memory->dtlb, address >> memory->page_shift, &hit);
	if (entry->ready > cycle)
		entry->ready = cycle;
	data_access(memory, address, cycle, READER_LOAD, uncounted, &unseen);
	line = cache_peek(&memory->dcache, (address >> memory->line_shift) + 1);
	if (line && line_ready(line) > cycle)
		line->state = cycle << LINE_BITS | (line->state & ((1u << LINE_BITS) - 1));
	memory->event = counted;
}

/* ---- Hits ---------------------------------------------------------------------------------- */

/* The hinted TLB entry, if it is of this page and known. */
static inline struct tlb_entry *tlb_hit(const struct tlb *tlb, uint64_t page, uint64_t cycle)
{
	struct tlb_entry *entry = &tlb->entry[tlb->hint[page % HINTS]];
	bool hit = (entry->page == page + 1) & (entry->ready <= cycle);

	return hit ? entry : NULL;
}

/*
 * The most recently used line of the set, if it is this one, has arrived, and is not just
 * prefetched.
 */
static inline struct line *cache_hit(const struct cache *cache, uint64_t tag, uint64_t cycle)
{
	struct line *line = cache_set(cache, tag);
	bool asked = !(line->state & LINE_PREFETCHED);
	bool hit = asked & (line->tag == tag) & (line_ready(line) <= cycle);

	return hit ? line : NULL;
}

static inline bool translate_hit(struct memory *memory, struct tlb *tlb, uint64_t address,
				 uint64_t cycle)
{
	struct tlb_entry *entry = tlb_hit(tlb, address >> memory->page_shift, cycle);

	if (!entry)
		return false;
	entry->used = ++tlb->uses;
	memory->event[tlb == &memory->itlb ? VCORE_EVENT_ITLB : VCORE_EVENT_DTLB]++;
	return true;
}

bool memory_translate_hit(struct memory *memory, uint64_t address, uint64_t cycle)
{
	return translate_hit(memory, &memory->dtlb, address, cycle);
}

uint64_t memory_read_hit(struct memory *memory, uint64_t address, uint64_t cycle)
{
	uint64_t tag = (address >> memory->line_shift) + 1;
	uint64_t ready = cycle + memory->dcache.latency;

	if (!cache_hit(&memory->dcache, tag, ready) ||
	    !translate_hit(memory, &memory->dtlb, address, cycle))
		return 0;
	memory->event[VCORE_EVENT_L1D_READ]++;
	return ready;
}

uint64_t memory_write_hit(struct memory *memory, uint64_t address, uint64_t cycle)
{
	uint64_t tag = (address >> memory->line_shift) + 1;
	uint64_t ready = cycle + memory->dcache.latency;
	struct line *line = cache_hit(&memory->dcache, tag, ready);

	if (!line || !(line->state & LINE_OWNED))
		return 0;
	line->state |= LINE_DIRTY;
	memory->event[VCORE_EVENT_L1D_WRITE]++;
	return ready;
}

bool memory_store_hit(struct memory *memory, uint64_t address, uint64_t cycle)
{
	return tlb_hit(&memory->dtlb, address >> memory->page_shift, cycle) &&
	       memory_write_hit(memory, address, cycle) &&
	       translate_hit(memory, &memory->dtlb, address, cycle);
}

bool memory_fetch_hit(struct memory *memory, uint64_t address, uint64_t cycle)
{
	uint64_t tag = (address >> memory->line_shift) + 1;

	if (!cache_hit(&memory->icache, tag, cycle + memory->icache.latency) ||
	    !translate_hit(memory, &memory->itlb, address, cycle))
		return false;
	memory->event[VCORE_EVENT_L1I_READ]++;
	return true;
}

/* ---- Instructions -------------------------------------------------------------------------- */

/* Prefetch the lines after one that missed, or that was prefetched and is used now. */
static void prefetch_code(struct memory *memory, uint64_t address, uint64_t cycle)
{
	uint64_t line = address >> memory->line_shift;
	uint32_t lines_shift = memory->page_shift - memory->line_shift;
	struct line victim;

	for (uint32_t i = 1; i <= memory->core->icache_prefetch; i++) {
		struct access unseen = {0};

		if ((line + i) >> lines_shift != line >> lines_shift ||
		    await_free(memory, &memory->icache.mshrs, cycle) > cycle)
			break;
		if (cache_peek(&memory->icache, line + i + 1))
			continue;
		cache_find(&memory->icache, line + i + 1, &victim);
		memory->event[VCORE_EVENT_L1I_PREFETCH]++;
		fill_first(memory, &memory->icache, line + i + 1, &victim, cycle, LINE_PREFETCHED,
			   &unseen);
	}
}

void memory_fetch(struct memory *memory, uint64_t address, uint64_t cycle, struct access *access)
{
	struct cache *cache = &memory->icache;
	uint64_t tag = (address >> memory->line_shift) + 1;
	uint64_t *event = &memory->event[VCORE_EVENT_L1I_READ];
	struct line victim, *line;

	cycle += translate(memory, &memory->itlb, address, cycle, access) + cache->latency;
	line = cache_find(cache, tag, &victim);
	event[0]++;
	if (line) {
		access->ready = cycle;
		if (line_ready(line) > cycle) {
			event[2]++;
			access->ready = line_ready(line);
			access->cache_miss = true;
		}
		if (!(line->state & LINE_PREFETCHED))
			return;
		line->state &= ~(uint64_t)LINE_PREFETCHED;
	} else {
		event[1]++;
		access->cache_miss = true;
		cycle = await_free(memory, &cache->mshrs, cycle);
		access->ready = fill_first(memory, cache, tag, &victim, cycle, 0, access);
	}
	prefetch_code(memory, address, cycle);
}
