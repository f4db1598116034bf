// SPDX-License-Identifier: GPL-2.0-or-later
/* Parcels.  See parcel.h. */
#include "decoder/fleet/parcel.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define LEVEL	   3
#define PLAIN_MOST (UINT64_C(1) << 30) /* bytes */
#define ROW_BYTES  sizeof(uint64_t)    /* of the attempt's number */

/* In front of each block; little-endian. */
struct head {
	uint32_t table, rows;
	uint64_t attempt, size;
};

static void pack(const struct fleet_blocks *blocks, struct perfdata_buffer *plain)
{
	for (uint32_t i = 0; i < FLEET_TABLES; i++) {
		const struct fleet_block *block = &blocks->table[i];
		const struct head head = {
			.table = htole32(i),
			.rows = htole32(block->rows),
			.attempt = htole64(block->attempt),
			.size = htole64(block->bytes.size),
		};

		if (!block->rows)
			continue;
		perfdata_buffer_append(plain, &head, sizeof(head));
		perfdata_buffer_append(plain, block->bytes.bytes, block->bytes.size);
	}
}

/* The frame has the size of what is in it, and a checksum. */
static struct pesa_error *compress(const struct perfdata_buffer *plain, FILE *out)
{
	size_t bound = ZSTD_compressBound(plain->size), size;
	ZSTD_CCtx *context = ZSTD_createCCtx();
	void *frame = malloc(bound);
	struct pesa_error *error = NULL;

	if (!context || !frame)
		error = pesa_error_no_memory();
	if (!error) {
		ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, LEVEL);
		ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
		size = ZSTD_compress2(context, frame, bound, plain->bytes, plain->size);
		if (ZSTD_isError(size))
			error = pesa_error_create(PESA_ERROR_OTHER, "zstd: %s",
						  ZSTD_getErrorName(size));
		else if (fwrite(frame, 1, size, out) != size)
			error = pesa_error_system(errno, "a parcel cannot be written");
	}
	free(frame);
	ZSTD_freeCCtx(context);
	return error;
}

struct pesa_error *parcel_write(const struct fleet_blocks *blocks, FILE *out)
{
	struct perfdata_buffer plain = {0};
	struct pesa_error *error;

	pack(blocks, &plain);
	if (plain.failed)
		error = pesa_error_no_memory();
	else if (plain.size > PLAIN_MOST)
		error = pesa_error_create(PESA_ERROR_UNSUPPORTED,
					  "a recording of %zu bytes of rows is too large to send",
					  plain.size);
	else
		error = compress(&plain, out);
	perfdata_buffer_free(&plain);
	return error;
}

static struct pesa_error *damaged(void)
{
	return pesa_error_create(PESA_ERROR_FORMAT, "a parcel of the spool is damaged");
}

static struct pesa_error *unpack(const uint8_t *at, size_t left, struct fleet_blocks *blocks)
{
	while (left) {
		struct fleet_block *block;
		struct head head;

		if (left < sizeof(head))
			return damaged();
		memcpy(&head, at, sizeof(head));
		at += sizeof(head);
		left -= sizeof(head);
		head.table = le32toh(head.table);
		head.rows = le32toh(head.rows);
		head.attempt = le64toh(head.attempt);
		head.size = le64toh(head.size);
		if (head.table >= FLEET_TABLES || !head.rows || head.size > left ||
		    head.attempt > head.size ||
		    (head.attempt && head.rows > (head.size - head.attempt) / ROW_BYTES))
			return damaged();
		block = &blocks->table[head.table];
		if (block->rows)
			return damaged();
		block->rows = head.rows;
		block->attempt = (size_t)head.attempt;
		perfdata_buffer_append(&block->bytes, at, (size_t)head.size);
		if (block->bytes.failed)
			return pesa_error_no_memory();
		at += head.size;
		left -= (size_t)head.size;
	}
	return blocks->table[FLEET_RECORDINGS].rows ? NULL : damaged();
}

struct pesa_error *parcel_read(const void *bytes, size_t size, struct fleet_blocks *blocks)
{
	unsigned long long plain_size = ZSTD_getFrameContentSize(bytes, size);
	struct pesa_error *error;
	uint8_t *plain;

	*blocks = (struct fleet_blocks){0};
	if (plain_size == ZSTD_CONTENTSIZE_UNKNOWN || plain_size == ZSTD_CONTENTSIZE_ERROR ||
	    !plain_size || plain_size > PLAIN_MOST)
		return damaged();
	plain = malloc((size_t)plain_size);
	if (!plain)
		return pesa_error_no_memory();
	if (ZSTD_decompress(plain, (size_t)plain_size, bytes, size) == plain_size)
		error = unpack(plain, (size_t)plain_size, blocks);
	else
		error = damaged();
	free(plain);
	return error;
}
