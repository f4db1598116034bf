// SPDX-License-Identifier: GPL-2.0-or-later

#include <string.h>

#include "decoder/base/digest.h"

/* The functions of libxxhash are compiled in: nothing is linked for them. */
#define XXH_INLINE_ALL 1
#include <xxhash.h>

void pesa_digest_bytes(struct pesa_digest *digest, const void *bytes, size_t size)
{
	const XXH128_hash_t piece = XXH3_128bits(bytes, size);
	const uint64_t chain[] = {digest->lane[0], digest->lane[1], piece.low64, piece.high64,
				  size};
	const XXH128_hash_t next = XXH3_128bits(chain, sizeof(chain));

	digest->lane[0] = next.low64;
	digest->lane[1] = next.high64;
}

void pesa_digest_word(struct pesa_digest *digest, uint64_t word)
{
	pesa_digest_bytes(digest, &word, sizeof(word));
}

void pesa_digest_text(struct pesa_digest *digest, const char *text)
{
	pesa_digest_word(digest, text != NULL);
	if (text)
		pesa_digest_bytes(digest, text, strlen(text));
}
