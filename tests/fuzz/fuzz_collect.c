/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Any bytes as a recording that is stored.  What is counted has as many samples as its rows say, its blocks
 * are read as they were written, with a row for each thing that is distinct, once where it is stored twice,
 * and a parcel gives them back.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "decoder/fleet/fleet.h"
#include "decoder/fleet/native.h"
#include "decoder/fleet/parcel.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ATTEMPT UINT64_C(0x0123456789abcdef)

/* The columns of the tables, by the letters of their types. */
static const char *const columns[FLEET_TABLES] = {
	[FLEET_BINARIES] = "8bss8",
	[FLEET_CHAINS] = "8ll",
	[FLEET_EVENTS] = "8s488bb",
	[FLEET_HOSTS] = "s84sss4ss",
	[FLEET_SAMPLES] = "8s4s88bb28b288888888ss88d8",
	[FLEET_RECORDINGS] = "8ss44s8sssss88888tl",
};

static enum native_type type_of(char letter)
{
	switch (letter) {
	case 'b':
		return NATIVE_U8;
	case '2':
		return NATIVE_U16;
	case '4':
		return NATIVE_U32;
	case '8':
		return NATIVE_U64;
	case 'd':
		return NATIVE_DOUBLE;
	case 's':
		return NATIVE_STRING;
	case 'l':
		return NATIVE_U64_LIST;
	default:
		return NATIVE_STRING_LIST;
	}
}

/* Read a block; the sum of a column of numbers. */
static uint64_t read_block(const struct fleet_blocks *blocks, enum fleet_table table,
			   unsigned int column)
{
	const struct fleet_block *made = &blocks->table[table];
	const struct perfdata_buffer *bytes = &made->bytes;
	struct native_reader reader = native_begin_reading(bytes->bytes, bytes->size);
	enum native_type types[NATIVE_COLUMNS_MAX];
	const unsigned int count = (unsigned int)strlen(columns[table]);
	struct native_block block;
	uint64_t sum = 0;
	bool any;

	if (!made->rows)
		return 0;
	for (unsigned int i = 0; i < count; i++)
		types[i] = type_of(columns[table][i]);
	if (native_read(&reader, types, count, &block, &any) || block.rows != made->rows ||
	    reader.at != reader.end)
		abort();
	for (size_t i = 0; i < block.rows; i++) {
		sum += native_number(&block, column, i);
		if (made->attempt && native_number(&block, 0, i) != ATTEMPT)
			abort();
	}
	native_block_free(&block);
	return sum;
}

static void check_parcel(const struct fleet_blocks *blocks)
{
	struct fleet_blocks back;
	char *bytes = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&bytes, &size);

	if (!out || parcel_write(blocks, out) || fclose(out) || parcel_read(bytes, size, &back))
		abort();
	for (unsigned int i = 0; i < FLEET_TABLES; i++)
		if (back.table[i].rows != blocks->table[i].rows ||
		    back.table[i].bytes.size != blocks->table[i].bytes.size ||
		    (back.table[i].rows &&
		     memcmp(back.table[i].bytes.bytes, blocks->table[i].bytes.bytes,
			    back.table[i].bytes.size) != 0))
			abort();
	fleet_blocks_free(&back);
	free(bytes);
}

static void check(struct fleet_recording *recording)
{
	const struct distinct_records *sets[] = {[FLEET_BINARIES] = &recording->binaries,
						 [FLEET_CHAINS] = &recording->chains,
						 [FLEET_EVENTS] = &recording->events};
	struct fleet_recording twice[2];
	struct fleet_blocks blocks;
	struct fleet_sent sent;

	recording->attempt = ATTEMPT;
	twice[0] = twice[1] = *recording;
	fleet_sent_begin(&sent);
	if (fleet_blocks_make(twice, 2, "fuzz", &sent, &blocks))
		abort();
	for (unsigned int i = 0; i < FLEET_NUMBERED; i++)
		if (blocks.table[i].rows != sets[i]->index.count)
			abort();
	for (unsigned int i = 0; i < FLEET_TABLES; i++)
		read_block(&blocks, (enum fleet_table)i, i == FLEET_HOSTS ? 1 : 0);
	if (read_block(&blocks, FLEET_SAMPLES, 22) != 2 * recording->samples ||
	    blocks.table[FLEET_SAMPLES].rows != 2 * recording->rows.index.count)
		abort();
	check_parcel(&blocks);
	fleet_blocks_free(&blocks);
	if (fleet_blocks_make(recording, 1, "fuzz", &sent, &blocks))
		abort();
	for (unsigned int i = 0; i < FLEET_NUMBERED; i++)
		if (blocks.table[i].rows)
			abort();
	fleet_blocks_free(&blocks);
	fleet_sent_free(&sent);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct fleet_collect_options options = {.bucket = FLEET_BUCKET, .begin = 1};
	struct fleet_recording recording;
	struct pesa_error *error;
	char path[64];
	int file = memfd_create("fuzz", MFD_CLOEXEC);

	if (file < 0 || write(file, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	error = fleet_collect(path, &options, &recording);
	if (!error)
		check(&recording);
	pesa_error_free(error);
	fleet_recording_free(&recording);
	close(file);
	return 0;
}
