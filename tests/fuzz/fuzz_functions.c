/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Any bytes as the two answers that functions are named by: 2 bytes (the size of the first one, little
 * endian), binaries, and places of them.  A block that is made has as many rows as it says, each in its
 * function.
 */
#include <stdlib.h>
#include <string.h>

#include "decoder/fleet/functions.h"
#include "decoder/fleet/native.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_back(const struct perfdata_buffer *rows, uint32_t count)
{
	static const enum native_type types[] = {NATIVE_U64, NATIVE_U64, NATIVE_STRING, NATIVE_U64,
						 NATIVE_U64};
	struct native_reader reader = native_begin_reading(rows->bytes, rows->size);
	struct native_block block;
	bool any;

	if (native_read(&reader, types, 5, &block, &any) || block.rows != count ||
	    reader.at != reader.end)
		abort();
	for (size_t i = 0; i < block.rows; i++) {
		uint64_t offset = native_number(&block, 1, i) - native_number(&block, 3, i);
		uint64_t length = native_number(&block, 4, i);

		if (length && offset >= length)
			abort();
	}
	native_block_free(&block);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fleet_functions *functions;
	struct perfdata_buffer rows = {0};
	uint64_t unnamed;
	uint32_t count = 0;
	size_t first;
	struct pesa_error *error;

	if (size < 2)
		return 0;
	first = data[0] | (size_t)data[1] << 8;
	data += 2;
	size -= 2;
	if (first > size)
		first = size;
	error = fleet_functions_create(NULL, &functions);
	if (error)
		abort();
	error = fleet_functions_binaries(functions, data, first);
	if (!error)
		error = fleet_functions_name(functions, data + first, size - first, &rows, &count,
					     &unnamed);
	if (!error && count)
		read_back(&rows, count);
	pesa_error_free(error);
	perfdata_buffer_free(&rows);
	fleet_functions_free(functions);
	return 0;
}
