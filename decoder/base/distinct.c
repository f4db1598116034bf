// SPDX-License-Identifier: GPL-2.0-or-later
/* Distinct items and their numbers: see distinct.h. */
#include <stdlib.h>
#include <string.h>

#include "decoder/base/distinct.h"
#include "decoder/base/utf8.h"

#define FIRST_ROOM  256u
#define FIRST_BYTES 4096u

static uint32_t hash_of(const uint8_t *bytes, size_t size)
{
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

/* ---- The index ------------------------------------------------------------------------------- */

static void index_put(struct distinct_index *index, uint32_t number)
{
	uint32_t mask = index->slots - 1, at = index->hash[number] & mask;

	while (index->slot[at])
		at = (at + 1) & mask;
	index->slot[at] = number + 1;
}

/* Make room for one more number, with half of the slots free.  False: out of memory. */
static bool index_reserve(struct distinct_index *index)
{
	uint32_t room = index->room ? index->room * 2 : FIRST_ROOM;
	uint32_t *hash, *slot;

	if (index->count < index->room)
		return true;
	if (room > UINT32_MAX / 8)
		return false;
	hash = realloc(index->hash, room * sizeof(*hash));
	if (!hash)
		return false;
	index->hash = hash;
	slot = calloc(room * 2, sizeof(*slot));
	if (!slot)
		return false;
	free(index->slot);
	index->slot = slot;
	index->slots = room * 2;
	index->room = room;
	for (uint32_t i = 0; i < index->count; i++)
		index_put(index, i);
	return true;
}

/* Add the next number; index_reserve() has made room for it. */
static uint32_t index_add(struct distinct_index *index, uint32_t hash)
{
	index->hash[index->count] = hash;
	index_put(index, index->count);
	return index->count++;
}

static void index_free(struct distinct_index *index)
{
	free(index->slot);
	free(index->hash);
}

/* ---- Records --------------------------------------------------------------------------------- */

void distinct_records_begin(struct distinct_records *set, size_t size, size_t key_size)
{
	*set = (struct distinct_records){.size = size, .key_size = key_size};
}

void distinct_records_free(struct distinct_records *set)
{
	free(set->record);
	index_free(&set->index);
	distinct_records_begin(set, set->size, set->key_size);
}

uint32_t distinct_records_get(struct distinct_records *set, const void *key)
{
	struct distinct_index *index = &set->index;
	uint32_t hash = hash_of(key, set->key_size), number;
	uint8_t *record;

	for (uint32_t at = hash; index->slots && (number = index->slot[at & (index->slots - 1)]);
	     at++)
		if (index->hash[number - 1] == hash &&
		    !memcmp(distinct_records_at(set, number - 1), key, set->key_size))
			return number - 1;
	if (!index_reserve(index))
		return DISTINCT_NONE;
	if (set->room < index->room) {
		uint8_t *grown = realloc(set->record, index->room * set->size);

		if (!grown)
			return DISTINCT_NONE;
		set->record = grown;
		set->room = index->room;
	}
	record = distinct_records_at(set, index->count);
	memcpy(record, key, set->key_size);
	memset(record + set->key_size, 0, set->size - set->key_size);
	return index_add(index, hash);
}

/* ---- Bytes ----------------------------------------------------------------------------------- */

void distinct_bytes_free(struct distinct_bytes *set)
{
	free(set->piece);
	free(set->bytes);
	index_free(&set->index);
	*set = (struct distinct_bytes){0};
}

/* Make room for one more item of `size` bytes.  False: out of memory. */
static bool bytes_reserve(struct distinct_bytes *set, size_t size)
{
	size_t room = set->bytes_room ? set->bytes_room : FIRST_BYTES;

	if (!index_reserve(&set->index))
		return false;
	if (set->room < set->index.room) {
		struct distinct_piece *grown =
			realloc(set->piece, set->index.room * sizeof(*grown));

		if (!grown)
			return false;
		set->piece = grown;
		set->room = set->index.room;
	}
	while (size > room - set->used) {
		if (room > SIZE_MAX / 2)
			return false;
		room *= 2;
	}
	if (room > set->bytes_room) {
		uint8_t *grown = realloc(set->bytes, room);

		if (!grown)
			return false;
		set->bytes = grown;
		set->bytes_room = room;
	}
	return true;
}

uint32_t distinct_bytes_get(struct distinct_bytes *set, const void *bytes, size_t size)
{
	struct distinct_index *index = &set->index;
	uint32_t hash = hash_of(bytes, size), number;

	for (uint32_t at = hash; index->slots && (number = index->slot[at & (index->slots - 1)]);
	     at++) {
		const struct distinct_piece *piece = &set->piece[number - 1];

		if (index->hash[number - 1] == hash && piece->size == size &&
		    !memcmp(set->bytes + piece->offset, bytes, size))
			return number - 1;
	}
	if (!bytes_reserve(set, size))
		return DISTINCT_NONE;
	set->piece[index->count] = (struct distinct_piece){set->used, size};
	if (size)
		memcpy(set->bytes + set->used, bytes, size);
	set->used += size;
	return index_add(index, hash);
}

uint32_t distinct_text_get(struct distinct_bytes *set, const char *text)
{
	uint32_t number;
	char *clean;

	if (utf8_is_clean(text))
		return distinct_bytes_get(set, text, strlen(text) + 1);
	clean = utf8_clean(text);
	if (!clean)
		return DISTINCT_NONE;
	number = distinct_bytes_get(set, clean, strlen(clean) + 1);
	free(clean);
	return number;
}

const void *distinct_bytes_at(const struct distinct_bytes *set, uint32_t number, size_t *size)
{
	const struct distinct_piece *piece = &set->piece[number];

	*size = piece->size;
	return set->bytes + piece->offset;
}
