// SPDX-License-Identifier: GPL-2.0-or-later
/* The functions of an .eh_frame section: see frame_table.h. */
#include <string.h>

#include "decoder/binary/frame_table.h"

/* DW_EH_PE_*: the low four bits are the format of a pointer, the others what it is relative to. */
#define FORMAT_MASK    0x0f
#define RELATIVE_MASK  0x70
#define RELATIVE_TO_PC 0x10
#define INDIRECT       0x80
#define OMITTED	       0xff

/* A part of the section, read from `at` to `end`.  What is read beyond the end is 0, and `failed`. */
struct reader {
	const struct pesa_frame_table *table;
	size_t at, end;
	bool failed;
};

static uint64_t read_number(struct reader *reader, unsigned int size)
{
	uint64_t value = 0;

	if (reader->failed || reader->end - reader->at < size) {
		reader->failed = true;
		return 0;
	}
	for (unsigned int i = 0; i < size; i++) {
		unsigned int place = reader->table->big_endian ? size - 1 - i : i;

		value |= (uint64_t)reader->table->bytes[reader->at + i] << (8 * place);
	}
	reader->at += size;
	return value;
}

static uint64_t sign_extended(uint64_t value, unsigned int bits)
{
	uint64_t sign = bits && bits < 64 ? UINT64_C(1) << (bits - 1) : 0;

	return (value ^ sign) - sign;
}

/* LEB128; what exceeds 64 bits is dropped. */
static uint64_t read_leb(struct reader *reader, bool is_signed)
{
	unsigned int shift = 0;
	uint64_t value = 0;
	uint8_t byte;

	do {
		byte = (uint8_t)read_number(reader, 1);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80 && !reader->failed);
	return is_signed ? sign_extended(value, shift) : value;
}

/* The value of a pointer's format, without what it is relative to. */
static uint64_t read_value(struct reader *reader, uint8_t encoding)
{
	unsigned int size;

	switch (encoding & FORMAT_MASK) {
	case 0x00: /* absptr */
		return read_number(reader, reader->table->wide ? 8 : 4);
	case 0x01: /* uleb128 */
		return read_leb(reader, false);
	case 0x09: /* sleb128 */
		return read_leb(reader, true);
	case 0x02: /* udata2, 4, 8 */
	case 0x03:
	case 0x04:
		return read_number(reader, 1U << ((encoding & FORMAT_MASK) - 1));
	case 0x0a: /* sdata2, 4, 8 */
	case 0x0b:
	case 0x0c:
		size = 1U << ((encoding & FORMAT_MASK) - 9);
		return sign_extended(read_number(reader, size), 8 * size);
	}
	reader->failed = true;
	return 0;
}

static uint64_t read_pointer(struct reader *reader, uint8_t encoding)
{
	uint64_t here = reader->table->address + reader->at;
	uint64_t value = read_value(reader, encoding);

	if (encoding & INDIRECT)
		reader->failed = true;
	if ((encoding & RELATIVE_MASK) == RELATIVE_TO_PC)
		value += here;
	else if (encoding & RELATIVE_MASK)
		reader->failed = true;
	return reader->table->wide ? value : value & UINT32_MAX;
}

/* Read a header of an entry: `entry` becomes what follows its length, up to its end.  False: there
 * is no further entry, or its length is damaged. */
static bool open_entry(const struct pesa_frame_table *table, size_t at, struct reader *entry)
{
	uint64_t length;

	*entry = (struct reader){.table = table, .at = at, .end = table->size};
	length = read_number(entry, 4);
	if (length == UINT32_MAX)
		length = read_number(entry, 8);
	if (entry->failed || !length || length > entry->end - entry->at)
		return false;
	entry->end = entry->at + (size_t)length;
	return true;
}

/* The augmentation data: a letter of the string for each item.  OMITTED: not understood. */
static uint8_t read_augmentation(struct reader *entry, const char *letter)
{
	uint8_t encoding = 0;

	read_leb(entry, false); /* length */
	for (; *letter; letter++) {
		if (*letter == 'R') {
			encoding = (uint8_t)read_number(entry, 1);
		} else if (*letter == 'L') {
			read_number(entry, 1);
		} else if (*letter == 'P') {
			read_value(entry, (uint8_t)read_number(entry, 1));
		} else if (*letter != 'S' && *letter != 'B' && *letter != 'G') {
			/* What follows is not known; only an encoding that was read counts. */
			break;
		}
	}
	return entry->failed ? OMITTED : encoding;
}

/* Encoding of the addresses in the entries of the CIE at an offset.  OMITTED: none. */
static uint8_t encoding_of(const struct pesa_frame_table *table, size_t at)
{
	const char *letters;
	struct reader entry;
	uint8_t version;
	size_t length;

	if (!open_entry(table, at, &entry) || read_number(&entry, 4) != 0)
		return OMITTED;
	version = (uint8_t)read_number(&entry, 1);
	if (entry.failed || (version != 1 && version != 3 && version != 4))
		return OMITTED;
	letters = (const char *)table->bytes + entry.at;
	length = strnlen(letters, entry.end - entry.at);
	entry.at += length;
	read_number(&entry, 1); /* its end */
	if (version == 4)
		read_number(&entry, 2); /* sizes of addresses and of segments */
	read_leb(&entry, false); /* code and data alignment, register of the return address */
	read_leb(&entry, true);
	if (version == 1)
		read_number(&entry, 1);
	else
		read_leb(&entry, false);
	if (entry.failed || (length && *letters != 'z'))
		return OMITTED;
	return length ? read_augmentation(&entry, letters + 1) : 0;
}

struct pesa_error *pesa_frame_table_read(const struct pesa_frame_table *table,
					 struct pesa_error *(*add)(void *context, uint64_t start,
								   uint64_t size),
					 void *context)
{
	size_t last_cie = SIZE_MAX; /* the entries of a CIE usually follow it */
	uint8_t encoding = OMITTED;
	struct reader entry;

	for (size_t at = 0; open_entry(table, at, &entry); at = entry.end) {
		size_t id_at = entry.at;
		uint64_t back = read_number(&entry, 4), start, size;
		struct pesa_error *error;

		if (entry.failed || !back || back > id_at)
			continue; /* a CIE, or damaged */
		if (id_at - back != last_cie) {
			last_cie = id_at - back;
			encoding = encoding_of(table, last_cie);
		}
		if (encoding == OMITTED)
			continue;
		start = read_pointer(&entry, encoding);
		size = read_value(&entry, encoding & FORMAT_MASK);
		if (entry.failed || !size || start > UINT64_MAX - size)
			continue;
		error = add(context, start, size);
		if (error)
			return error;
	}
	return NULL;
}
