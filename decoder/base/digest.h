/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A 128-bit digest: equal contents have equal digests, and different contents almost certainly have
 * different ones.  It does not resist deliberate collisions.
 *
 * The hash is XXH3 of libxxhash, 128 bits.  Contents are added in pieces, and the digest depends on
 * their boundaries: each piece's hash and size are hashed together with the digest so far.  The
 * initial digest is zero.
 */
#ifndef DECODER_BASE_DIGEST_H
#define DECODER_BASE_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The functions are compiled in: nothing is linked for them. */
#define XXH_INLINE_ALL 1
#include <xxhash.h>

struct pesa_digest {
	uint64_t lane[2];
};

static inline void pesa_digest_bytes(struct pesa_digest *digest, const void *bytes, size_t size)
{
	const XXH128_hash_t piece = XXH3_128bits(bytes, size);
	const uint64_t chain[] = {digest->lane[0], digest->lane[1], piece.low64, piece.high64,
				  size};
	const XXH128_hash_t next = XXH3_128bits(chain, sizeof(chain));

	digest->lane[0] = next.low64;
	digest->lane[1] = next.high64;
}

static inline void pesa_digest_word(struct pesa_digest *digest, uint64_t word)
{
	unsigned char
		bytes[sizeof(word)]; /* gcc 14 takes a parameter's own bytes for uninitialised */

	memcpy(bytes, &word, sizeof(word));
	pesa_digest_bytes(digest, bytes, sizeof(bytes));
}

static inline bool pesa_digest_equal(const struct pesa_digest *a, const struct pesa_digest *b)
{
	return a->lane[0] == b->lane[0] && a->lane[1] == b->lane[1];
}

/* Add a string; NULL and "" differ. */
static inline void pesa_digest_text(struct pesa_digest *digest, const char *text)
{
	pesa_digest_word(digest, text != NULL);
	if (text)
		pesa_digest_bytes(digest, text, strlen(text));
}

#endif
