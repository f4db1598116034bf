// SPDX-License-Identifier: GPL-2.0-or-later
/* Distinct items and their numbers: see distinct.h. */
#include <stdlib.h>
#include <string.h>

#include "decoder/base/distinct.h"
#include "decoder/base/utf8.h"

#define FIRST_BYTES 4096u

/* ---- Records --------------------------------------------------------------------------------- */

void distinct_records_begin(struct distinct_records *set, size_t size, size_t key_size)
{
	*set = (struct distinct_records){.size = size, .key_size = key_size};
}

void distinct_records_free(struct distinct_records *set)
{
	free(set->record);
	hash_index_free(&set->index);
	distinct_records_begin(set, set->size, set->key_size);
}

static uint32_t find_record(const struct distinct_records *set, const void *key, uint32_t hash)
{
	uint32_t number;

	for (uint32_t at = hash; (number = hash_index_next(&set->index, &at)) != HASH_INDEX_NONE;)
		if (set->index.hash[number] == hash &&
		    !memcmp(distinct_records_at(set, number), key, set->key_size))
			return number;
	return DISTINCT_NONE;
}

uint32_t distinct_records_get(struct distinct_records *set, const void *key)
{
	struct hash_index *index = &set->index;
	uint32_t hash = hash_bytes(key, set->key_size);
	uint32_t number = find_record(set, key, hash);
	uint8_t *record;

	if (number != DISTINCT_NONE || hash_index_reserve(index))
		return number;
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
	return hash_index_add(index, hash);
}

/* ---- Bytes ----------------------------------------------------------------------------------- */

void distinct_bytes_free(struct distinct_bytes *set)
{
	free(set->piece);
	free(set->bytes);
	hash_index_free(&set->index);
	*set = (struct distinct_bytes){0};
}

/* Make room for one more item of `size` bytes.  False: out of memory. */
static bool bytes_reserve(struct distinct_bytes *set, size_t size)
{
	size_t room = set->bytes_room ? set->bytes_room : FIRST_BYTES;

	if (hash_index_reserve(&set->index))
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
	struct hash_index *index = &set->index;
	uint32_t hash = hash_bytes(bytes, size), number;

	for (uint32_t at = hash; (number = hash_index_next(index, &at)) != HASH_INDEX_NONE;) {
		const struct distinct_piece *piece = &set->piece[number];

		if (index->hash[number] == hash && piece->size == size &&
		    !memcmp(set->bytes + piece->offset, bytes, size))
			return number;
	}
	if (!bytes_reserve(set, size))
		return DISTINCT_NONE;
	set->piece[index->count] = (struct distinct_piece){set->used, size};
	if (size)
		memcpy(set->bytes + set->used, bytes, size);
	set->used += size;
	return hash_index_add(index, hash);
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
