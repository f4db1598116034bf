// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "decoder/binary/code.h"

/* Small pages: the known bytes of a damaged file may be scattered. */
#define PIECE_BYTES 512u

struct piece {
	uint64_t number; /* address / PIECE_BYTES */
	uint8_t bytes[PIECE_BYTES];
	uint8_t known[PIECE_BYTES / 8]; /* one bit per byte */
	UT_hash_handle hh;
};

struct pesa_code {
	struct piece *pieces;
};

struct pesa_code *pesa_code_create(void)
{
	return calloc(1, sizeof(struct pesa_code));
}

void pesa_code_free(struct pesa_code *code)
{
	struct piece *piece, *next;

	if (!code)
		return;
	HASH_ITER(hh, code->pieces, piece, next)
	{
		HASH_DEL(code->pieces, piece);
		free(piece);
	}
	free(code);
}

static struct piece *find(const struct pesa_code *code, uint64_t number)
{
	struct piece *piece;

	HASH_FIND(hh, code->pieces, &number, sizeof(number), piece);
	return piece;
}

static struct piece *make(struct pesa_code *code, uint64_t number)
{
	struct piece *piece = find(code, number);

	if (piece)
		return piece;
	piece = calloc(1, sizeof(*piece));
	if (!piece)
		return NULL;
	piece->number = number;
	HASH_ADD(hh, code->pieces, number, sizeof(piece->number), piece);
	if (find(code, number) == piece)
		return piece;
	free(piece); /* out of memory in uthash */
	return NULL;
}

static bool is_known(const struct piece *piece, size_t at)
{
	return piece->known[at / 8] >> at % 8 & 1;
}

bool pesa_code_agrees(const struct pesa_code *code, uint64_t address, const uint8_t *bytes,
		      size_t size)
{
	while (size) {
		size_t at = address % PIECE_BYTES;
		size_t part = size < PIECE_BYTES - at ? size : PIECE_BYTES - at;
		const struct piece *piece = find(code, address / PIECE_BYTES);

		for (size_t i = 0; piece && i < part; i++)
			if (is_known(piece, at + i) && piece->bytes[at + i] != bytes[i])
				return false;
		address += part;
		bytes += part;
		size -= part;
	}
	return true;
}

struct pesa_error *pesa_code_add(struct pesa_code *code, uint64_t address, const uint8_t *bytes,
				 size_t size)
{
	while (size) {
		size_t at = address % PIECE_BYTES;
		size_t part = size < PIECE_BYTES - at ? size : PIECE_BYTES - at;
		struct piece *piece = make(code, address / PIECE_BYTES);

		if (!piece)
			return pesa_error_no_memory();
		memcpy(piece->bytes + at, bytes, part);
		for (size_t i = at; i < at + part; i++)
			piece->known[i / 8] |= (uint8_t)(1u << i % 8);
		address += part;
		bytes += part;
		size -= part;
	}
	return NULL;
}

static void forget(struct piece *piece, uint64_t start, uint64_t end)
{
	uint64_t first = piece->number * PIECE_BYTES;

	for (unsigned int at = 0; at < PIECE_BYTES; at++)
		if (first + at >= start && first + at < end)
			piece->known[at / 8] &= (uint8_t) ~(1u << at % 8);
}

void pesa_code_forget(struct pesa_code *code, uint64_t start, uint64_t end)
{
	uint64_t first = start / PIECE_BYTES, last = end / PIECE_BYTES;
	struct piece *piece, *next;

	/* The range may be much larger than the known code, or much smaller. */
	if (last - first < HASH_COUNT(code->pieces)) {
		for (uint64_t number = first; number <= last; number++)
			if ((piece = find(code, number)))
				forget(piece, start, end);
		return;
	}
	HASH_ITER(hh, code->pieces, piece, next)
	{
		forget(piece, start, end);
	}
}

size_t pesa_code_read(const struct pesa_code *code, uint64_t address, void *buffer, size_t size)
{
	uint8_t *bytes = buffer;
	size_t done = 0;

	while (done < size) {
		const struct piece *piece = find(code, (address + done) / PIECE_BYTES);
		size_t at = (address + done) % PIECE_BYTES;

		if (!piece)
			break;
		for (; done < size && at < PIECE_BYTES; at++) {
			if (!is_known(piece, at))
				return done;
			bytes[done++] = piece->bytes[at];
		}
	}
	return done;
}
