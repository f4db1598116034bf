/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sets of what was met: each distinct thing gets a number, in the order of arrival.
 *
 * A record set holds structures of one size that begin with their key; two with the same bytes
 * there are one.  Keys have no padding, or zeroes in it.  A byte set holds pieces of any length:
 * texts, and call chains.  Both only grow, and are freed in one piece.
 */
#ifndef DECODER_BASE_DISTINCT_H
#define DECODER_BASE_DISTINCT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DISTINCT_NONE UINT32_MAX

/* Numbers by the hash of what they stand for. */
struct distinct_index {
	uint32_t *slot; /* number + 1; 0: free */
	uint32_t *hash; /* of each number */
	uint32_t count, room, slots;
};

struct distinct_records {
	size_t size, key_size; /* bytes */
	uint8_t *record;
	uint32_t room;
	struct distinct_index index; /* its count is that of the records */
};

void distinct_records_begin(struct distinct_records *set, size_t size, size_t key_size);
void distinct_records_free(struct distinct_records *set);
/* The number of the record with a key (key_size bytes); a new one is zero behind its key.
 * DISTINCT_NONE: out of memory. */
uint32_t distinct_records_get(struct distinct_records *set, const void *key);
/* The record; valid until the next one is made. */
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
	struct distinct_index index;
};

void distinct_bytes_free(struct distinct_bytes *set);
/* DISTINCT_NONE: out of memory. */
uint32_t distinct_bytes_get(struct distinct_bytes *set, const void *bytes, size_t size);
/* The number of a text, kept with its terminating zero and as well-formed UTF-8. */
uint32_t distinct_text_get(struct distinct_bytes *set, const char *text);
/* The bytes of a number and in *size how many; valid until the next piece is made. */
const void *distinct_bytes_at(const struct distinct_bytes *set, uint32_t number, size_t *size);
static inline const char *distinct_text_at(const struct distinct_bytes *set, uint32_t number)
{
	size_t size;

	return distinct_bytes_at(set, number, &size);
}

#endif
