/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The format Native of ClickHouse: blocks of rows, column by column.
 *
 *   varint columns, varint rows, then for each column: text name, text type, data
 *
 * A text is a varint length and bytes.  Data of a type of fixed size is an array of little-endian
 * values; of String a text for each row; of Array(T) an array of UInt64 with the ends of the rows'
 * lists, then the data of T.  The end of the data is the end of the last block.
 *
 * This is what servers send over HTTP and take there, in every version from 18 on: the fields that
 * their own protocol has in addition are not in it.  What is read comes from a network and is hostile:
 * nothing in it is believed but within the bounds of the bytes that are there.
 */
#ifndef DECODER_FLEET_NATIVE_H
#define DECODER_FLEET_NATIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "decoder/perfdata/buffer.h"
#include "pesa/error.h"

/* ---- Writing --------------------------------------------------------------------------------- */

void native_begin(struct perfdata_buffer *buffer, unsigned int columns, uint32_t rows);
/* A column's name and type: its data follow. */
void native_column(struct perfdata_buffer *buffer, const char *name, const char *type);
void native_text(struct perfdata_buffer *buffer, const void *text, size_t size);
void native_u8(struct perfdata_buffer *buffer, uint8_t value);
void native_u16(struct perfdata_buffer *buffer, uint16_t value);
void native_u32(struct perfdata_buffer *buffer, uint32_t value);
void native_u64(struct perfdata_buffer *buffer, uint64_t value);
void native_double(struct perfdata_buffer *buffer, double value);

/* ---- Reading --------------------------------------------------------------------------------- */

#define NATIVE_COLUMNS_MAX 32

enum native_type {
	NATIVE_U8,
	NATIVE_U16,
	NATIVE_U32, /* DateTime, too */
	NATIVE_U64,
	NATIVE_DOUBLE,
	NATIVE_STRING,
	NATIVE_U64_LIST,
	NATIVE_STRING_LIST,
};

/* A text in the bytes that are read; not terminated. */
struct native_slice {
	const uint8_t *bytes;
	size_t size;
};

struct native_block {
	size_t rows;
	struct native_column {
		enum native_type type;
		const uint8_t *data;	     /* of fixed size, or the items of U64_LIST */
		const uint8_t *ends;	     /* lists: UInt64 for each row */
		struct native_slice *slices; /* STRING: by row; STRING_LIST: by item */
	} column[NATIVE_COLUMNS_MAX];
	unsigned int columns;
};

struct native_reader {
	const uint8_t *begin, *at, *end;
};

/* A reader of an answer; `bytes` may be NULL if there are none. */
static inline struct native_reader native_begin_reading(const void *bytes, size_t size)
{
	const uint8_t *begin = size ? bytes : (const uint8_t *)"";

	return (struct native_reader){begin, begin, begin + size};
}

/* Read the next block, which must have columns of these types.  *any: false at the end.  The block is
 * freed with native_block_free(), also after an error; it refers to the bytes that are read. */
struct pesa_error *native_read(struct native_reader *reader, const enum native_type *types,
			       unsigned int columns, struct native_block *block, bool *any);
void native_block_free(struct native_block *block);

/* A value of fixed size (NATIVE_U8 to _U64); the row is below the number of rows. */
uint64_t native_number(const struct native_block *block, unsigned int column, size_t row);
double native_number_double(const struct native_block *block, unsigned int column, size_t row);
struct native_slice native_string(const struct native_block *block, unsigned int column,
				  size_t row);
/* The items of a list, [*first, *first + count). */
size_t native_list(const struct native_block *block, unsigned int column, size_t row,
		   size_t *first);
uint64_t native_list_number(const struct native_block *block, unsigned int column, size_t item);
struct native_slice native_list_string(const struct native_block *block, unsigned int column,
				       size_t item);

#endif
