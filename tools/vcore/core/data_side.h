/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loads and stores of the pipeline.
 *
 * An access is split at cache lines into pieces.  Each piece looks up older stores that are still
 * in flight, the TLBs and the caches.  The case in which everything hits is tested first; otherwise
 * the general path starts over.
 */
#ifndef TOOLS_VCORE_CORE_DATA_SIDE_H
#define TOOLS_VCORE_CORE_DATA_SIDE_H

#include "tools/vcore/memory/stores.h"
#include "tools/vcore/core/step.h"
#include "tools/vcore/memory/memory.h"

struct data_side {
	const struct pesa_core *core;
	struct memory *memory;
	const struct pesa_core_ideal_places *ideal;
	uint32_t line_shift; /* log2 of the line size in bytes */
	struct stores forward;
};

/*
 * Causes are 32 bits here: reading 32 bits where 16 were just written stalls the host's store
 * forwarding.
 */

/* Results of the lookups of a load or store. */
struct meeting {
	uint64_t too_early; /* cycle in which an overlapping older store issues, if after the
			     * load; see overtaken */
	uint64_t overtaken; /* pc of the older store that the load overtook */
	uint32_t forwarded; /* accesses that got their data from an older store */
	uint32_t cause;
	bool repeated;
};

#define ALWAYS_INLINE inline __attribute__((always_inline))

static ALWAYS_INLINE uint64_t most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static inline uint32_t event_cause(const struct pesa_core *core, enum pesa_core_event event)
{
	return core->event_bit[event] < 0 ? 0 : 1u << core->event_bit[event];
}

/* The part of an access that lies in one cache line. */
struct piece {
	uint64_t address;
	uint32_t size; /* bytes */
	uint64_t pc, issued;
	uint64_t data; /* store: cycle in which its data is known */
};

static void note_access(struct data_side *side, const struct access *access,
			struct meeting *meeting)
{
	const struct pesa_core *core = side->core;

	if (access->cache_miss)
		meeting->cause |= PESA_CAUSE_DCACHE_MISS;
	if (access->tlb_miss)
		meeting->cause |= PESA_CAUSE_DTLB_MISS;
	if (access->l2_miss)
		meeting->cause |= event_cause(core, PESA_CORE_EVENT_L2_MISS);
	if (access->llc_miss)
		meeting->cause |= event_cause(core, PESA_CORE_EVENT_LLC_MISS);
	if (access->walk)
		meeting->cause |= event_cause(core, PESA_CORE_EVENT_PAGE_WALK);
}

static __attribute__((noinline)) uint64_t
load_all(struct data_side *side, const struct piece *piece, uint64_t cycle, struct meeting *meeting)
{
	struct access access = {0};
	struct forward forward;

	if (pesa_core_is_ideal(side->ideal, PESA_CORE_IDEAL_HIT, piece->pc))
		memory_bring(side->memory, piece->address, cycle);
	cycle += memory_translate(side->memory, piece->address, cycle, &access);
	forward = stores_find(&side->forward, piece->address, piece->size, cycle);
	switch (forward.kind) {
	case FORWARD_WHOLE:
		access.ready = most(cycle, forward.data) + side->core->forward_latency;
		meeting->cause |= event_cause(side->core, PESA_CORE_EVENT_STORE_FORWARD);
		meeting->forwarded++;
		break;
	case FORWARD_PART:
		/* Not before the store has left its queue. */
		cycle = most(cycle, forward.gone);
		/* fall through */
	default:
		memory_data(side->memory, piece->address, cycle, false, &access);
	}
	if (forward.kind != FORWARD_NONE && forward.issued > piece->issued)
		meeting->too_early = forward.issued, meeting->overtaken = forward.store;
	if (access.cache_miss || access.tlb_miss)
		note_access(side, &access, meeting);
	return access.ready;
}

/* A load from one line; returns the cycle in which its data is available. */
static ALWAYS_INLINE uint64_t load(struct data_side *side, const struct piece piece, uint64_t cycle,
				   struct meeting *meeting)
{
	uint64_t ready = 0;

	if (stores_pass(&side->forward, piece.address, piece.size, cycle))
		ready = memory_read_hit(side->memory, piece.address, cycle);
	return __builtin_expect(ready != 0, 1) ? ready : load_all(side, &piece, cycle, meeting);
}

static __attribute__((noinline)) uint64_t translate_store_all(struct data_side *side,
							      uint64_t address, uint64_t cycle,
							      struct meeting *meeting)
{
	struct access access = {0};

	cycle += memory_translate(side->memory, address, cycle, &access);
	if (access.tlb_miss)
		note_access(side, &access, meeting);
	return cycle;
}

static ALWAYS_INLINE uint64_t translate_store(struct data_side *side, const struct piece piece,
					      uint64_t cycle, struct meeting *meeting)
{
	if (__builtin_expect(memory_translate_hit(side->memory, piece.address, cycle), 1))
		return cycle;
	return translate_store_all(side, piece.address, cycle, meeting);
}

static __attribute__((noinline)) uint64_t write_all(struct data_side *side, uint64_t address,
						    uint64_t cycle)
{
	struct access access = {0};

	memory_data(side->memory, address, cycle, true, &access);
	return access.ready;
}

static ALWAYS_INLINE uint64_t drain_store(struct data_side *side, const struct piece piece,
					  uint64_t cycle, struct meeting *unused)
{
	uint64_t ready = memory_write_hit(side->memory, piece.address, cycle);

	(void)unused;
	if (__builtin_expect(!ready, 0))
		ready = write_all(side, piece.address, cycle);
	stores_add(&side->forward, &(struct store){
					   .address = piece.address,
					   .size = piece.size,
					   .pc = piece.pc,
					   .issued = piece.issued,
					   .data = piece.data,
					   .gone = ready,
				   });
	return ready;
}

/*
 * Call `each` for every line that the step loads (or stores); each line after the first takes one
 * more cycle.  `piece` has the fields that all lines share.
 */
static ALWAYS_INLINE uint64_t access_lines(struct data_side *side, const struct step *step,
					   const uint64_t *access, bool stores, struct piece piece,
					   uint64_t cycle, struct meeting *meeting,
					   uint64_t (*each)(struct data_side *, struct piece,
							    uint64_t, struct meeting *))
{
	uint64_t last = UINT64_MAX, done = cycle;

	/* Most instructions make one access to one line. */
	if (__builtin_expect(step->accesses == 1, 1) && !!(*access & TRACE_STORE) == stores) {
		uint64_t line = (1ull << side->line_shift) - 1;

		piece.address = *access >> TRACE_ADDRESS_SHIFT;
		piece.size = 1u << (*access >> TRACE_SHIFT_SHIFT & TRACE_SHIFT_MASK);
		if (__builtin_expect((piece.address & line) + piece.size <= line + 1, 1))
			return most(done, each(side, piece, cycle, meeting));
	}
	for (uint32_t i = 0; i < step->accesses; i++) {
		uint64_t word = access[i], address = word >> TRACE_ADDRESS_SHIFT, end;

		if (!!(word & TRACE_STORE) != stores)
			continue;
		end = address + (1ull << (word >> TRACE_SHIFT_SHIFT & TRACE_SHIFT_MASK));
		while (address < end) {
			uint64_t line = address >> side->line_shift;
			uint64_t stop = (line + 1) << side->line_shift;

			piece.address = address;
			piece.size = (uint32_t)((stop < end ? stop : end) - address);
			address += piece.size;
			if (line == last)
				continue;
			last = line;
			done = most(done, each(side, piece, cycle, meeting));
			cycle++;
		}
	}
	return done;
}

#endif
