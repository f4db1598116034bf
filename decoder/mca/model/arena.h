/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arena: allocations that are freed all at once.  Each block has one, and each run. */
#ifndef PESA_MCA_ARENA_H
#define PESA_MCA_ARENA_H

#include <stddef.h>

struct mca_arena {
	void *chunks; /* linked list, by their first words */
	char *next;
	size_t left, size; /* bytes; `size` of the next chunk, which doubles each time */
};

/* The first chunk has `bytes` bytes (or the size of the first request if that is larger), and is
 * allocated at that request. */
void mca_arena_init(struct mca_arena *arena, size_t bytes);
/* Zeroed memory for any type; NULL when out of memory. */
void *mca_arena_take(struct mca_arena *arena, size_t bytes);
/* Likewise, uninitialised. */
void *mca_arena_take_raw(struct mca_arena *arena, size_t bytes);
/* Returns a larger allocation with the contents of `old`, followed by zeros.  `old` stays valid. */
void *mca_arena_grow(struct mca_arena *arena, const void *old, size_t old_bytes, size_t bytes);
void mca_arena_free(struct mca_arena *arena);

#endif
