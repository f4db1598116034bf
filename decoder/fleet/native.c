// SPDX-License-Identifier: GPL-2.0-or-later
/* The format Native of ClickHouse.  See native.h. */
#include <endian.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/fleet/native.h"

/* ---- Writing --------------------------------------------------------------------------------- */

static void varint(struct perfdata_buffer *buffer, uint64_t value)
{
	uint8_t bytes[10];
	size_t size = 0;

	while (value >= 0x80) {
		bytes[size++] = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	bytes[size++] = (uint8_t)value;
	perfdata_buffer_append(buffer, bytes, size);
}

void native_text(struct perfdata_buffer *buffer, const void *text, size_t size)
{
	varint(buffer, size);
	if (size)
		perfdata_buffer_append(buffer, text, size);
}

void native_begin(struct perfdata_buffer *buffer, unsigned int columns, uint32_t rows)
{
	varint(buffer, columns);
	varint(buffer, rows);
}

void native_column(struct perfdata_buffer *buffer, const char *name, const char *type)
{
	native_text(buffer, name, strlen(name));
	native_text(buffer, type, strlen(type));
}

void native_u8(struct perfdata_buffer *buffer, uint8_t value)
{
	perfdata_buffer_append(buffer, &value, sizeof(value));
}

void native_u16(struct perfdata_buffer *buffer, uint16_t value)
{
	value = htole16(value);
	perfdata_buffer_append(buffer, &value, sizeof(value));
}

void native_u32(struct perfdata_buffer *buffer, uint32_t value)
{
	value = htole32(value);
	perfdata_buffer_append(buffer, &value, sizeof(value));
}

void native_u64(struct perfdata_buffer *buffer, uint64_t value)
{
	value = htole64(value);
	perfdata_buffer_append(buffer, &value, sizeof(value));
}

void native_double(struct perfdata_buffer *buffer, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	native_u64(buffer, bits);
}

/* ---- Reading --------------------------------------------------------------------------------- */

static const struct {
	const char *name, *other; /* other: NULL, or another name of what is stored alike */
	size_t size;		  /* bytes; 0: it varies */
} types[] = {
	[NATIVE_U8] = {"UInt8", NULL, 1},
	[NATIVE_U16] = {"UInt16", NULL, 2},
	[NATIVE_U32] = {"UInt32", "DateTime", 4},
	[NATIVE_U64] = {"UInt64", NULL, 8},
	[NATIVE_DOUBLE] = {"Float64", NULL, 8},
	[NATIVE_STRING] = {"String", NULL, 0},
	[NATIVE_U64_LIST] = {"Array(UInt64)", NULL, 0},
	[NATIVE_STRING_LIST] = {"Array(String)", NULL, 0},
};

static struct pesa_error *damaged(const struct native_reader *reader, const char *what)
{
	return pesa_error_create(PESA_ERROR_FORMAT,
				 "the server's answer is damaged at byte %zu: %s",
				 (size_t)(reader->at - reader->begin), what);
}

static size_t left(const struct native_reader *reader)
{
	return (size_t)(reader->end - reader->at);
}

static struct pesa_error *read_varint(struct native_reader *reader, uint64_t *value)
{
	*value = 0;
	for (unsigned int shift = 0; shift < 63 && left(reader); shift += 7) {
		uint8_t byte = *reader->at++;

		*value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return NULL;
	}
	return damaged(reader, "a number does not end");
}

static struct pesa_error *read_slice(struct native_reader *reader, struct native_slice *slice)
{
	uint64_t size;
	struct pesa_error *error = read_varint(reader, &size);

	if (error)
		return error;
	if (size > left(reader))
		return damaged(reader, "a text is longer than the answer");
	*slice = (struct native_slice){reader->at, (size_t)size};
	reader->at += size;
	return NULL;
}

static bool is_text(const struct native_slice *slice, const char *text)
{
	return text && slice->size == strlen(text) && !memcmp(slice->bytes, text, slice->size);
}

/* Pass over `count` values of `size` bytes. */
static struct pesa_error *read_values(struct native_reader *reader, size_t count, size_t size,
				      const uint8_t **data)
{
	if (count > left(reader) / size)
		return damaged(reader, "more rows than bytes");
	*data = reader->at;
	reader->at += count * size;
	return NULL;
}

static struct pesa_error *read_slices(struct native_reader *reader, size_t count,
				      struct native_slice **slices)
{
	struct pesa_error *error = NULL;

	if (count > left(reader)) /* each has one byte at least */
		return damaged(reader, "more texts than bytes");
	*slices = calloc(count ? count : 1, sizeof(**slices));
	if (!*slices)
		return pesa_error_no_memory();
	for (size_t i = 0; i < count && !error; i++)
		error = read_slice(reader, &(*slices)[i]);
	return error;
}

static uint64_t value_at(const uint8_t *data, size_t index)
{
	uint64_t value;

	memcpy(&value, data + index * sizeof(value), sizeof(value));
	return le64toh(value);
}

/* The ends of lists ascend; *items: the last one. */
static struct pesa_error *read_ends(struct native_reader *reader, size_t rows, const uint8_t **ends,
				    size_t *items)
{
	struct pesa_error *error = read_values(reader, rows, sizeof(uint64_t), ends);
	uint64_t last = 0;

	for (size_t i = 0; i < rows && !error; i++) {
		uint64_t next = value_at(*ends, i);

		if (next < last || next > left(reader))
			error = damaged(reader, "a list ends before it begins, or is too long");
		last = next;
	}
	*items = (size_t)last;
	return error;
}

static struct pesa_error *read_data(struct native_reader *reader, size_t rows,
				    struct native_column *column)
{
	struct pesa_error *error;
	size_t items;

	switch (column->type) {
	case NATIVE_STRING:
		return read_slices(reader, rows, &column->slices);
	case NATIVE_U64_LIST:
		error = read_ends(reader, rows, &column->ends, &items);
		return error ? error : read_values(reader, items, sizeof(uint64_t), &column->data);
	case NATIVE_STRING_LIST:
		error = read_ends(reader, rows, &column->ends, &items);
		return error ? error : read_slices(reader, items, &column->slices);
	default:
		return read_values(reader, rows, types[column->type].size, &column->data);
	}
}

static struct pesa_error *read_column(struct native_reader *reader, size_t rows,
				      struct native_column *column)
{
	struct native_slice name, type;
	struct pesa_error *error = read_slice(reader, &name);

	if (!error)
		error = read_slice(reader, &type);
	if (error)
		return error;
	/* DateTime may have a time zone: "DateTime('UTC')". */
	if (!is_text(&type, types[column->type].name) &&
	    !is_text(&type, types[column->type].other) &&
	    (column->type != NATIVE_U32 || type.size < 9 ||
	     memcmp(type.bytes, "DateTime(", 9) != 0))
		return pesa_error_create(
			PESA_ERROR_FORMAT,
			"the server's answer has a column %.*s of type %.*s in place of %s",
			(int)(name.size < 64 ? name.size : 64), (const char *)name.bytes,
			(int)(type.size < 64 ? type.size : 64), (const char *)type.bytes,
			types[column->type].name);
	return rows ? read_data(reader, rows, column) : NULL;
}

struct pesa_error *native_read(struct native_reader *reader, const enum native_type *wanted,
			       unsigned int columns, struct native_block *block, bool *any)
{
	uint64_t has, rows;
	struct pesa_error *error;

	*block = (struct native_block){0};
	*any = left(reader);
	if (!*any)
		return NULL;
	error = read_varint(reader, &has);
	if (!error)
		error = read_varint(reader, &rows);
	if (error)
		return error;
	if (!has && !rows)
		return NULL;
	if (has != columns || columns > NATIVE_COLUMNS_MAX)
		return damaged(reader, "another number of columns than was asked for");
	if (rows > left(reader))
		return damaged(reader, "more rows than bytes");
	block->rows = (size_t)rows;
	for (; block->columns < columns && !error; block->columns++) {
		block->column[block->columns].type = wanted[block->columns];
		error = read_column(reader, block->rows, &block->column[block->columns]);
	}
	return error;
}

void native_block_free(struct native_block *block)
{
	for (unsigned int i = 0; i < block->columns; i++)
		free(block->column[i].slices);
	*block = (struct native_block){0};
}

uint64_t native_number(const struct native_block *block, unsigned int column, size_t row)
{
	const size_t size = types[block->column[column].type].size;
	uint8_t bytes[sizeof(uint64_t)] = {0};

	memcpy(bytes, block->column[column].data + row * size, size);
	return value_at(bytes, 0);
}

double native_number_double(const struct native_block *block, unsigned int column, size_t row)
{
	uint64_t bits = value_at(block->column[column].data, row);
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

struct native_slice native_string(const struct native_block *block, unsigned int column, size_t row)
{
	return block->column[column].slices[row];
}

size_t native_list(const struct native_block *block, unsigned int column, size_t row, size_t *first)
{
	const uint8_t *ends = block->column[column].ends;

	*first = row ? (size_t)value_at(ends, row - 1) : 0;
	return (size_t)value_at(ends, row) - *first;
}

uint64_t native_list_number(const struct native_block *block, unsigned int column, size_t item)
{
	return value_at(block->column[column].data, item);
}

struct native_slice native_list_string(const struct native_block *block, unsigned int column,
				       size_t item)
{
	return block->column[column].slices[item];
}
