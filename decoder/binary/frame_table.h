/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frame table: the functions that an .eh_frame section describes.
 *
 * Compilers write the section for exceptions and debuggers, and `strip` leaves it in the file: it has
 * an entry (FDE) for each function, or for each part of a function that the compiler placed elsewhere,
 * with the addresses that it covers.  Only these addresses are read here.  Format: Linux Standard Base
 * Core, "Exception Frames"; encodings of pointers: "DWARF Exception Header Encoding".
 */
#ifndef DECODER_BINARY_FRAME_TABLE_H
#define DECODER_BINARY_FRAME_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pesa/error.h"

struct pesa_frame_table {
	const uint8_t *bytes;
	size_t size;
	uint64_t address;      /* of the first byte */
	bool big_endian, wide; /* wide: addresses have 64 bits */
};

/*
 * Call add() for the addresses [start, start + size) of each entry, in the order of the section, until
 * it returns an error, which is passed on.  Damaged entries, and encodings that need more than the
 * section (relative to text or data, indirect), are left out; a damaged length ends the table.
 */
struct pesa_error *pesa_frame_table_read(const struct pesa_frame_table *table,
					 struct pesa_error *(*add)(void *context, uint64_t start,
								   uint64_t size),
					 void *context);

#endif
