// SPDX-License-Identifier: GPL-2.0-or-later
/* The hash table: see hash_index.h. */
#include <stdlib.h>
#include <string.h>

#include "decoder/base/hash_index.h"

#define FIRST_ROOM 256u

uint32_t hash_bytes(const void *key, size_t size)
{
	const uint8_t *bytes = key;
	uint64_t hash = size, word;

	for (; size >= sizeof(word); bytes += sizeof(word), size -= sizeof(word)) {
		memcpy(&word, bytes, sizeof(word));
		hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
		hash ^= hash >> 29;
	}
	word = 0;
	if (size)
		memcpy(&word, bytes, size);
	hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	return (uint32_t)(hash >> 32);
}

static void put(struct hash_index *index, uint32_t number)
{
	uint32_t mask = index->slots - 1, at = index->hash[number] & mask;

	while (index->slot[at])
		at = (at + 1) & mask;
	index->slot[at] = number + 1;
}

struct pesa_error *hash_index_reserve(struct hash_index *index)
{
	uint32_t room = index->room ? index->room * 2 : FIRST_ROOM;
	uint32_t *hash, *slot;

	if (index->count < index->room)
		return NULL;
	if (room > UINT32_MAX / 8)
		return pesa_error_no_memory();
	hash = realloc(index->hash, room * sizeof(*hash));
	if (!hash)
		return pesa_error_no_memory();
	index->hash = hash;
	slot = calloc(room * 2, sizeof(*slot));
	if (!slot)
		return pesa_error_no_memory();
	free(index->slot);
	index->slot = slot;
	index->slots = room * 2;
	index->room = room;
	for (uint32_t i = 0; i < index->count; i++)
		put(index, i);
	return NULL;
}

uint32_t hash_index_add(struct hash_index *index, uint32_t hash)
{
	index->hash[index->count] = hash;
	put(index, index->count);
	return index->count++;
}

void hash_index_clear(struct hash_index *index)
{
	if (index->count)
		memset(index->slot, 0, index->slots * sizeof(*index->slot));
	index->count = 0;
}

void hash_index_free(struct hash_index *index)
{
	free(index->slot);
	free(index->hash);
	*index = (struct hash_index){0};
}
