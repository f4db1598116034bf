/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Any bytes as a parcel of the spool: first as they are, then as what a frame of zstd has in it.  What is
 * taken has blocks whose numbers of the attempt lie in their bytes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "decoder/fleet/parcel.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_parcel(const void *bytes, size_t size)
{
	struct fleet_blocks blocks;
	struct pesa_error *error = parcel_read(bytes, size, &blocks);

	for (unsigned int i = 0; i < FLEET_TABLES && !error; i++)
		if (blocks.table[i].rows)
			fleet_block_set_attempt(&blocks.table[i], blocks.table[i].bytes.bytes, 1);
	fleet_blocks_free(&blocks);
	pesa_error_free(error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t bound = ZSTD_compressBound(size);
	void *frame = malloc(bound);

	if (!frame)
		abort();
	read_parcel(data, size);
	read_parcel(frame, ZSTD_compress(frame, bound, data, size, 1));
	free(frame);
	return 0;
}
