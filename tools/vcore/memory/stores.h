/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stores on their way to the cache, as loads see them.
 *
 * For every 8-byte granule of memory (as far as the table reaches; a newer granule takes the place
 * of one with the same hash) it is known which bytes its newest stores wrote, when they were
 * issued, when their data was there and when it reached the cache.
 *
 * A load that was issued before an older store to the same bytes had seen stale data: the core
 * finds out when the store is issued.  Such pairs are remembered by their addresses (G. Chrysos, J.
 * Emer, "Memory dependence prediction using store sets", ISCA 1998, with sets of one store), and
 * the load waits for the newest execution of the store from then on.
 */
#ifndef TOOLS_VCORE_MEMORY_STORES_H
#define TOOLS_VCORE_MEMORY_STORES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#define STORES_BITS	 10u
#define DEPENDENCES_BITS 10u

struct granule {
	uint64_t number;	/* address / 8 + 1 */
	uint64_t issued;	/* cycles: of the newest store, */
	uint64_t data;		/* its data is known, */
	uint64_t gone;		/* it left the store queue */
	uint64_t pc;		/* of the newest store */
	uint8_t bytes, covered; /* written by it; by any that is on its way */
};

struct stores {
	struct granule *granule;
	uint64_t *expected; /* by load: pc of the store that it waits for */
	uint64_t *issued;   /* by store: cycle of the newest execution */
	bool learned;	    /* anything */
};

struct store {
	uint64_t address, pc;
	uint32_t size;
	uint64_t issued, data, gone; /* cycles */
};

enum forward_kind {
	FORWARD_NONE,
	FORWARD_WHOLE, /* all bytes are from the newest store */
	FORWARD_PART,  /* some bytes are */
};

struct forward {
	enum forward_kind kind;
	uint64_t cycle; /* in which the data is known (whole), in the cache (part) */
	uint64_t issued, store;
};

static inline bool stores_create(struct stores *stores)
{
	stores->granule = calloc(1u << STORES_BITS, sizeof(*stores->granule));
	stores->expected = calloc(1u << DEPENDENCES_BITS, sizeof(*stores->expected));
	stores->issued = calloc(1u << DEPENDENCES_BITS, sizeof(*stores->issued));
	return stores->granule && stores->expected && stores->issued;
}

static inline void stores_free(struct stores *stores)
{
	free(stores->granule);
	free(stores->expected);
	free(stores->issued);
}

static inline struct granule *stores_at(const struct stores *stores, uint64_t number)
{
	return &stores->granule[number * 0x9e3779b97f4a7c15 >> (64 - STORES_BITS)];
}

static inline uint32_t stores_place(uint64_t pc)
{
	return (uint32_t)((pc >> 1) * 0x9e3779b97f4a7c15 >> (64 - DEPENDENCES_BITS));
}

/* The bytes of an access that are in its first granule, as bits. */
static inline uint8_t stores_bytes(uint64_t address, uint32_t size)
{
	return (uint8_t)((size >= 8 ? 255u : (1u << size) - 1) << (address & 7));
}

/* A store to this granule is on its way in `cycle`. */
static inline bool granule_waits(const struct granule *granule, uint64_t number, uint64_t cycle)
{
	return (granule->number == number) & (granule->gone > cycle);
}

static inline void stores_check(const struct stores *stores, uint64_t address, uint32_t size,
				uint64_t cycle, struct forward *found)
{
	uint64_t number = (address >> 3) + 1;
	const struct granule *granule = stores_at(stores, number);
	uint8_t bytes = stores_bytes(address, size);

	if (!granule_waits(granule, number, cycle) || !(granule->covered & bytes))
		return;
	if ((granule->bytes & bytes) == bytes) {
		if (found->kind == FORWARD_NONE)
			found->kind = FORWARD_WHOLE;
		if (granule->data > found->cycle)
			found->cycle = granule->data;
	} else {
		found->kind = FORWARD_PART;
		if (granule->gone > found->cycle)
			found->cycle = granule->gone;
	}
	if ((granule->bytes & bytes) && granule->issued > found->issued) {
		found->issued = granule->issued;
		found->store = granule->pc;
	}
}

/* Whether it is plain that a load of `size` bytes finds nothing in `cycle`, as most do. */
static inline bool stores_pass(const struct stores *stores, uint64_t address, uint32_t size,
			       uint64_t cycle)
{
	uint64_t number = (address >> 3) + 1;

	return ((address & 7) + size <= 8) &
	       !granule_waits(stores_at(stores, number), number, cycle);
}

/* What a load of `size` bytes finds in `cycle`. */
static inline struct forward stores_find(const struct stores *stores, uint64_t address,
					 uint32_t size, uint64_t cycle)
{
	struct forward found = {.kind = FORWARD_NONE};
	uint32_t first = 8 - (uint32_t)(address & 7);

	stores_check(stores, address, size, cycle, &found);
	/* Across granules: whole only where one store wrote both, which is not kept. */
	for (uint32_t done = first; done < size; done += 8) {
		struct forward next = {.kind = FORWARD_NONE};

		stores_check(stores, address + done, size - done, cycle, &next);
		if (next.kind == FORWARD_NONE && found.kind == FORWARD_NONE)
			continue;
		if (next.kind != found.kind || next.store != found.store)
			found.kind = FORWARD_PART;
		if (next.cycle > found.cycle)
			found.cycle = next.cycle;
		if (next.issued > found.issued) {
			found.issued = next.issued;
			found.store = next.store;
		}
	}
	return found;
}

static inline void stores_add(struct stores *stores, const struct store *store)
{
	uint64_t end = store->address + store->size;

	for (uint64_t address = store->address; address < end; address = (address | 7) + 1) {
		uint64_t number = (address >> 3) + 1;
		struct granule *granule = stores_at(stores, number);
		uint8_t bytes = stores_bytes(address, (uint32_t)(end - address));
		bool joined = granule_waits(granule, number, store->issued);

		granule->covered = joined ? granule->covered | bytes : bytes;
		granule->number = number;
		granule->bytes = bytes;
		granule->issued = store->issued;
		granule->data = store->data;
		granule->gone = store->gone;
		granule->pc = store->pc;
	}
	stores->issued[stores_place(store->pc)] = store->issued;
}

/* The first cycle from `cycle` on in which a load may issue. */
static inline uint64_t stores_expect(const struct stores *stores, uint64_t pc, uint64_t cycle)
{
	uint64_t store, issued;

	if (__builtin_expect(!stores->learned, 1))
		return cycle;
	store = stores->expected[stores_place(pc)];
	issued = store ? stores->issued[stores_place(store)] : 0;
	return issued > cycle ? issued : cycle;
}

/* A load overtook a store. */
static inline void stores_learn(struct stores *stores, uint64_t load, uint64_t store)
{
	stores->learned = true;
	stores->expected[stores_place(load)] = store;
}

#endif
