/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sets of what was met: each distinct thing gets a number, in the order of arrival.
 *
 * A record set holds structures of one size that begin with their key; two with the same bytes
 * there are one.  Keys have no padding, or zeroes in it.  A byte set holds pieces of any length:
 * texts, and call chains.  Both only grow, and are freed in one piece.
 */
#ifndef DECODER_EXPORT_SET_H
#define DECODER_EXPORT_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPORT_NONE UINT32_MAX

/* Numbers by the hash of what they stand for. */
struct export_index {
	uint32_t *slot; /* number + 1; 0: free */
	uint32_t *hash; /* of each number */
	uint32_t count, room, slots;
};

struct export_records {
	size_t size, key_size; /* bytes */
	uint8_t *record;
	uint32_t room;
	struct export_index index; /* its count is that of the records */
};

void export_records_begin(struct export_records *set, size_t size, size_t key_size);
void export_records_free(struct export_records *set);
/* The number of the record with a key (key_size bytes); a new one is zero behind its key.
 * EXPORT_NONE: out of memory. */
uint32_t export_records_get(struct export_records *set, const void *key);
/* The record; valid until the next one is made. */
static inline void *export_records_at(const struct export_records *set, uint32_t number)
{
	return set->record + number * set->size;
}

struct export_bytes {
	struct export_piece {
		size_t offset, size;
	} * piece;
	uint32_t room;
	uint8_t *bytes;
	size_t used, bytes_room;
	struct export_index index;
};

void export_bytes_free(struct export_bytes *set);
/* EXPORT_NONE: out of memory. */
uint32_t export_bytes_get(struct export_bytes *set, const void *bytes, size_t size);
/* The number of a text, kept with its terminating zero and as well-formed UTF-8. */
uint32_t export_text_get(struct export_bytes *set, const char *text);
/* The bytes of a number and in *size how many; valid until the next piece is made. */
const void *export_bytes_at(const struct export_bytes *set, uint32_t number, size_t *size);
static inline const char *export_text_at(const struct export_bytes *set, uint32_t number)
{
	size_t size;

	return export_bytes_at(set, number, &size);
}

#endif
