/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Remembered results: bytes by the digest of what they were computed from.
 *
 * There is a fixed number of slots, and each digest has one of them: a new result replaces the one
 * that was in its slot.  So memory is bounded, and a result may be forgotten when another is added.
 * A result is an array; where many of its elements are equal, as predictions of a loop, it is kept packed.
 * Several threads may look for results at the same time, while none is added.
 */
#ifndef DECODER_BASE_MEMO_H
#define DECODER_BASE_MEMO_H

#include <stdbool.h>
#include <stddef.h>

#include "decoder/base/digest.h"

struct memo;

/* Elements of results have 4, 8, 12 or 16 bytes. */
#define MEMO_ELEMENT_MAX 16u

/* NULL: out of memory.  `slots` is a power of two; the results have at most `bytes` bytes. */
struct memo *memo_create(unsigned int slots, size_t bytes);
void memo_free(struct memo *memo);
/* Copy the result of a digest to `result`, if it is remembered and has so many elements of this size. */
bool memo_find(const struct memo *memo, const struct pesa_digest *of, void *result, size_t count,
	       size_t element);
/* Remember a result.  Where there is no room for it, it is not remembered. */
void memo_add(struct memo *memo, const struct pesa_digest *of, const void *result, size_t count,
	      size_t element);

#endif
