/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stores in flight, for store-to-load forwarding and memory dependence prediction.
 *
 * For each 8-byte granule of memory the table has the newest store to each byte: when it was issued,
 * when its data was known and when it reached the cache.  A load reads from the newest store to any
 * of its bytes: it is forwarded to if that store wrote all of them, and waits for the cache
 * otherwise.  Stores to other bytes of the granule do not matter.  The table is a hash table in which
 * a newer granule replaces an older one.
 *
 * A load that issues before an older store to the same bytes reads stale data; the core detects
 * this when the store issues.  Load and store are put into one store set (G. Chrysos, J. Emer,
 * "Memory dependence prediction using store sets", ISCA 1998), and from then on the load waits until
 * the stores of its set have issued.  A load may read what several stores wrote: sets are merged.
 */
#ifndef TOOLS_VCORE_MEMORY_STORES_H
#define TOOLS_VCORE_MEMORY_STORES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "pesa/error.h"

#define STORES_BITS	 10u
#define DEPENDENCES_BITS 10u
#define GRANULE_BYTES	 8u

/* A store, and its bytes that no newer store overwrote. */
struct written {
	uint64_t issued; /* cycle in which it issued, */
	uint64_t data;	 /* in which its data is known, */
	uint64_t gone;	 /* in which it left the store queue */
	uint64_t pc;
	uint8_t bytes;
};

struct granule {
	uint64_t number; /* address / 8 + 1 */
	uint64_t gone;	 /* last cycle in which one of the stores left the store queue */
	uint32_t count;
	struct written written[GRANULE_BYTES]; /* oldest first; no byte is in two */
};

struct stores {
	struct granule *granule;
	uint16_t *set;	  /* store set, by load and by store; 0: none */
	uint64_t *issued; /* latest cycle in which a store of the set issued, by set */
	uint16_t sets;	  /* that exist, without 0 */
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
	uint64_t data, gone; /* cycles in which the data is known, and in the cache */
	uint64_t issued, store;
};

/* After an error too, stores_free() has to be called. */
static inline struct pesa_error *stores_create(struct stores *stores)
{
	stores->granule = calloc(1u << STORES_BITS, sizeof(*stores->granule));
	stores->set = calloc(1u << DEPENDENCES_BITS, sizeof(*stores->set));
	/* Each place makes one set at most. */
	stores->issued = calloc((1u << DEPENDENCES_BITS) + 1, sizeof(*stores->issued));
	return stores->granule && stores->set && stores->issued ? NULL : pesa_error_no_memory();
}

static inline void stores_free(struct stores *stores)
{
	free(stores->granule);
	free(stores->set);
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

	if (!granule_waits(granule, number, cycle))
		return;
	for (uint32_t i = granule->count; i > 0; i--) {
		const struct written *written = &granule->written[i - 1];

		if (written->gone <= cycle || !(written->bytes & bytes))
			continue;
		*found = (struct forward){
			.kind = (written->bytes & bytes) == bytes ? FORWARD_WHOLE : FORWARD_PART,
			.data = written->data,
			.gone = written->gone,
			.issued = written->issued,
			.store = written->pc,
		};
		return;
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
	for (uint32_t done = first; done < size; done += 8) {
		struct forward next = {.kind = FORWARD_NONE};

		stores_check(stores, address + done, size - done, cycle, &next);
		if (next.kind == FORWARD_NONE && found.kind == FORWARD_NONE)
			continue;
		/* Only one execution of one store may be forwarded. */
		if (next.kind != found.kind || next.store != found.store ||
		    next.issued != found.issued)
			found.kind = FORWARD_PART;
		found.data = next.data > found.data ? next.data : found.data;
		found.gone = next.gone > found.gone ? next.gone : found.gone;
		if (next.issued > found.issued) {
			found.issued = next.issued;
			found.store = next.store;
		}
	}
	return found;
}

/* Forget the bytes of older stores that a newer one overwrites. */
static inline void granule_overwrite(struct granule *granule, uint8_t bytes)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < granule->count; i++) {
		granule->written[i].bytes &= (uint8_t)~bytes;
		if (granule->written[i].bytes)
			granule->written[kept++] = granule->written[i];
	}
	granule->count = kept;
}

static inline void stores_add(struct stores *stores, const struct store *store)
{
	uint64_t end = store->address + store->size;
	uint16_t set;

	for (uint64_t address = store->address; address < end; address = (address | 7) + 1) {
		uint64_t number = (address >> 3) + 1;
		struct granule *granule = stores_at(stores, number);
		uint8_t bytes = stores_bytes(address, (uint32_t)(end - address));

		if (granule->number != number) {
			granule->number = number;
			granule->gone = 0;
			granule->count = 0;
		}
		granule_overwrite(granule, bytes);
		granule->written[granule->count++] = (struct written){
			.issued = store->issued,
			.data = store->data,
			.gone = store->gone,
			.pc = store->pc,
			.bytes = bytes,
		};
		granule->gone = store->gone > granule->gone ? store->gone : granule->gone;
	}
	set = stores->set[stores_place(store->pc)];
	if (set && store->issued > stores->issued[set])
		stores->issued[set] = store->issued;
}

/* The first cycle from `cycle` on in which dependence prediction lets a load issue. */
static inline uint64_t stores_expect(const struct stores *stores, uint64_t pc, uint64_t cycle)
{
	uint64_t issued;

	if (__builtin_expect(!stores->sets, 1))
		return cycle;
	issued = stores->issued[stores->set[stores_place(pc)]];
	return issued > cycle ? issued : cycle;
}

/* Record that a load overtook a store, which issued in cycle `issued`. */
static inline void stores_learn(struct stores *stores, uint64_t load, uint64_t store,
				uint64_t issued)
{
	uint16_t *of_load = &stores->set[stores_place(load)];
	uint16_t *of_store = &stores->set[stores_place(store)];

	if (!*of_load && !*of_store)
		*of_load = ++stores->sets;
	else if (!*of_load || (*of_store && *of_store < *of_load))
		*of_load = *of_store;
	*of_store = *of_load;
	if (issued > stores->issued[*of_load])
		stores->issued[*of_load] = issued;
}

#endif
