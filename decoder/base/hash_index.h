/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The hash table: finds items by their key.
 *
 * Items are numbered 0, 1, 2, ... as they are added, and are kept by the owner of the table, in an
 * array as a rule.  The table has their numbers only, by hash, so it serves any key:
 *
 *	for (uint32_t at = hash, number; (number = hash_index_next(&index, &at)) != HASH_INDEX_NONE;)
 *		if (item[number] has the key)
 *			return number;
 *	error = hash_index_reserve(&index);
 *	if (error)
 *		return error;
 *	item[index.count] = the new item;
 *	hash_index_add(&index, hash);
 *
 * Open addressing with linear probing, at most half full.  Items are never removed.  distinct.h has
 * sets of structures and of byte strings that are made of it.
 */
#ifndef DECODER_BASE_HASH_INDEX_H
#define DECODER_BASE_HASH_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "pesa/error.h"

#define HASH_INDEX_NONE UINT32_MAX

/* All zero: an empty table. */
struct hash_index {
	uint32_t *slot; /* number + 1; 0: free */
	uint32_t *hash; /* by number */
	uint32_t count; /* of the items */
	uint32_t room;	/* for items; the arrays of the owner may grow with it */
	uint32_t slots; /* 0, or a power of two */
};

void hash_index_free(struct hash_index *index);
/* Forget all items; the memory is kept. */
void hash_index_clear(struct hash_index *index);

/* The number of the next item that may have the hash with which `at` began; HASH_INDEX_NONE: no
 * further one. */
static inline uint32_t hash_index_next(const struct hash_index *index, uint32_t *at)
{
	return index->slots ? index->slot[(*at)++ & (index->slots - 1)] - 1 : HASH_INDEX_NONE;
}

/* Make room for one more item. */
struct pesa_error *hash_index_reserve(struct hash_index *index);
/* Add the item that gets the next number; hash_index_reserve() has made room for it. */
uint32_t hash_index_add(struct hash_index *index, uint32_t hash);

/* Hashes of keys: bytes, and a pair of numbers. */
uint32_t hash_bytes(const void *bytes, size_t size);
static inline uint32_t hash_numbers(uint64_t first, uint64_t second)
{
	uint64_t mixed = (first ^ second << 48 ^ second >> 16) * UINT64_C(0x9e3779b97f4a7c15);

	return (uint32_t)(mixed >> 32);
}

#endif
