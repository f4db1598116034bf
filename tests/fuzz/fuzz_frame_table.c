/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any bytes as an .eh_frame section: the first byte says the order of bytes and the width. */
#include "decoder/binary/frame_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint64_t sink;

static struct pesa_error *take(void *context, uint64_t start, uint64_t size)
{
	(void)context;
	if (!size || start > UINT64_MAX - size)
		__builtin_trap();
	sink += start + size;
	return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size)
		pesa_frame_table_read(&(struct pesa_frame_table){.bytes = data + 1,
								 .size = size - 1,
								 .address = 0x1000,
								 .big_endian = data[0] & 1,
								 .wide = data[0] & 2},
				      take, NULL);
	return 0;
}
