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

struct pesa_digest {
	uint64_t lane[2];
};

/* Add a piece of size bytes. */
void pesa_digest_bytes(struct pesa_digest *digest, const void *bytes, size_t size);

/* Add the eight bytes of a word in the byte order of this machine. */
void pesa_digest_word(struct pesa_digest *digest, uint64_t word);

/* Add a string; NULL and "" differ. */
void pesa_digest_text(struct pesa_digest *digest, const char *text);

static inline bool pesa_digest_equal(const struct pesa_digest *a, const struct pesa_digest *b)
{
	return a->lane[0] == b->lane[0] && a->lane[1] == b->lane[1];
}

#endif
