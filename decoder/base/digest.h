/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A digest of 128 bits: equal contents have equal ones, and others do not, as far as chance goes.
 * It is no defence against somebody who makes contents to fit.
 *
 * Two lanes take every word of 8 bytes, each through a multiplication of full width whose halves
 * are folded, with different odd constants.  What is added in pieces depends on where they end: add
 * the length of whatever varies.
 */
#ifndef DECODER_BASE_DIGEST_H
#define DECODER_BASE_DIGEST_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct pesa_digest {
	uint64_t lane[2];
};

static inline uint64_t pesa_digest_fold(uint64_t left, uint64_t right)
{
	unsigned __int128 product = (unsigned __int128)left * right;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline void pesa_digest_word(struct pesa_digest *digest, uint64_t word)
{
	/* odd, about half of the bits set: the digits of pi and of e */
	digest->lane[0] = pesa_digest_fold(digest->lane[0] ^ word, 0x243f6a8885a308d3ull) +
			  0x9e3779b97f4a7c15ull;
	digest->lane[1] = pesa_digest_fold(digest->lane[1] + word, 0xadf85458a2bb4a9bull) ^
			  (digest->lane[1] << 29 | digest->lane[1] >> 35);
}

static inline void pesa_digest_bytes(struct pesa_digest *digest, const void *bytes, size_t size)
{
	const uint8_t *at = bytes;
	uint64_t word;

	pesa_digest_word(digest, size);
	for (; size >= sizeof(word); size -= sizeof(word), at += sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		pesa_digest_word(digest, word);
	}
	if (size) {
		word = 0;
		memcpy(&word, at, size);
		pesa_digest_word(digest, word);
	}
}

/* Text, of which NULL is not the same as none. */
static inline void pesa_digest_text(struct pesa_digest *digest, const char *text)
{
	pesa_digest_word(digest, text != NULL);
	if (text)
		pesa_digest_bytes(digest, text, strlen(text));
}

#endif
