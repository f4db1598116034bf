/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stores in flight, for store-to-load forwarding and memory dependence prediction.
 *
 * For each 8-byte granule of memory the table has the bytes that its newest stores wrote, when they
 * were issued, when their data was known and when they reached the cache.  The table is a hash
 * table in which a newer granule replaces an older one.
 *
 * A load that issues before an older store to the same bytes reads stale data; the core detects
 * this when the store issues.  Such pairs are remembered by their addresses (G. Chrysos, J. Emer,
 * "Memory dependence prediction using store sets", ISCA 1998, with sets of one store), and from
 * then on the load waits for the newest execution of the store.
 */
#ifndef TOOLS_VCORE_MEMORY_STORES_H
#define TOOLS_VCORE_MEMORY_STORES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "pesa/error.h"

#define STORES_BITS	 10u
#define DEPENDENCES_BITS 10u

struct granule {
	uint64_t number;	/* address / 8 + 1 */
	uint64_t issued;	/* cycle in which the newest store issued, */
	uint64_t data;		/* in which its data is known, */
	uint64_t gone;		/* in which it left the store queue */
	uint64_t pc;		/* of the newest store */
	uint8_t bytes, covered; /* written by the newest store; by all stores in flight */
};

struct stores {
	struct granule *granule;
	uint64_t *expected; /* by load: pc of the store that the load waits for */
	uint64_t *issued;   /* by store: cycle of its newest execution */
	bool learned;	    /* a pair has been recorded */
};

struct store {
	uint64_t address, pc;
	uint32_t size;
	uint64_t issued, data, gone; /* cycles */
};

enum forward_kind {
	FORWARD_NONE,
	FORWARD_WHOLE, /* all bytes come from the newest store */
	FORWARD_PART,  /* some bytes come from stores in flight */
};

struct forward {
	enum forward_kind kind;
	uint64_t cycle; /* cycle in which the data is known (whole) or in the cache (part) */
	uint64_t issued, store;
};

/* After an error too, stores_free() has to be called. */
static inline struct pesa_error *stores_create(struct stores *stores)
{
	stores->granule = calloc(1u << STORES_BITS, sizeof(*stores->granule));
	stores->expected = calloc(1u << DEPENDENCES_BITS, sizeof(*stores->expected));
	stores->issued = calloc(1u << DEPENDENCES_BITS, sizeof(*stores->issued));
	return stores->granule && stores->expected && stores->issued ? NULL
								     : pesa_error_no_memory();
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

/* Mask of the access's bytes in its first granule. */
static inline uint8_t stores_bytes(uint64_t address, uint32_t size)
{
	return (uint8_t)((size >= 8 ? 255u : (1u << size) - 1) << (address & 7));
}

/* Return whether a store to this granule is in flight in `cycle`. */
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

/* Quick test for the common case: no store in flight overlaps a load of `size` bytes in `cycle`. */
static inline bool stores_pass(const struct stores *stores, uint64_t address, uint32_t size,
			       uint64_t cycle)
{
	uint64_t number = (address >> 3) + 1;

	return ((address & 7) + size <= 8) &
	       !granule_waits(stores_at(stores, number), number, cycle);
}

/* Find the stores in flight that a load of `size` bytes reads in `cycle`. */
static inline struct forward stores_find(const struct stores *stores, uint64_t address,
					 uint32_t size, uint64_t cycle)
{
	struct forward found = {.kind = FORWARD_NONE};
	uint32_t first = 8 - (uint32_t)(address & 7);

	stores_check(stores, address, size, cycle, &found);
	/*
	 * A load across granules never forwards as a whole: the table does not record that one
	 * store wrote both.
	 */
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

/* The first cycle from `cycle` on in which dependence prediction lets a load issue. */
static inline uint64_t stores_expect(const struct stores *stores, uint64_t pc, uint64_t cycle)
{
	uint64_t store, issued;

	if (__builtin_expect(!stores->learned, 1))
		return cycle;
	store = stores->expected[stores_place(pc)];
	issued = store ? stores->issued[stores_place(store)] : 0;
	return issued > cycle ? issued : cycle;
}

/* Record that a load overtook a store. */
static inline void stores_learn(struct stores *stores, uint64_t load, uint64_t store)
{
	stores->learned = true;
	stores->expected[stores_place(load)] = store;
}

#endif
