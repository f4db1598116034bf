/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sets of distinct items, which are numbered in the order of insertion.
 *
 * A record set holds structures of one size that start with their key; records with equal key bytes
 * are the same record.  Keys have no padding, or zeroed padding.  A byte set holds byte strings of
 * any length: texts, and call chains.  Both kinds only grow, and are freed as a whole.
 */
#ifndef DECODER_BASE_DISTINCT_H
#define DECODER_BASE_DISTINCT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "decoder/base/hash_index.h"

#define DISTINCT_NONE HASH_INDEX_NONE

struct distinct_records {
	size_t size, key_size; /* bytes */
	uint8_t *record;
	uint32_t room;
	struct hash_index index; /* its count is the number of records */
};

void distinct_records_begin(struct distinct_records *set, size_t size, size_t key_size);
void distinct_records_free(struct distinct_records *set);
/* Number of the record with a key (key_size bytes).  A new record is zero after its key.
 * DISTINCT_NONE: out of memory. */
uint32_t distinct_records_get(struct distinct_records *set, const void *key);
/* The record; valid until the next one is added. */
static inline void *distinct_records_at(const struct distinct_records *set, uint32_t number)
{
	return set->record + number * set->size;
}

struct distinct_bytes {
	struct distinct_piece {
		size_t offset, size;
	} * piece;
	uint32_t room;
	uint8_t *bytes;
	size_t used, bytes_room;
	struct hash_index index;
};

void distinct_bytes_free(struct distinct_bytes *set);
/* DISTINCT_NONE: out of memory. */
uint32_t distinct_bytes_get(struct distinct_bytes *set, const void *bytes, size_t size);
/* Number of a text, stored with its terminating zero and as well-formed UTF-8. */
uint32_t distinct_text_get(struct distinct_bytes *set, const char *text);
/* The bytes of an item, and their number in *size; valid until the next item is added. */
const void *distinct_bytes_at(const struct distinct_bytes *set, uint32_t number, size_t *size);
static inline const char *distinct_text_at(const struct distinct_bytes *set, uint32_t number)
{
	size_t size;

	return distinct_bytes_at(set, number, &size);
}

#endif
