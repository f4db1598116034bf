/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory that is given out piece by piece and given back as a whole: one arena for a block, one for
 * a run.
 */
#ifndef PESA_MCA_ARENA_H
#define PESA_MCA_ARENA_H

#include <stddef.h>

struct mca_arena {
	void *chunks; /* linked by their first words */
	char *next;
	size_t left, size; /* bytes; `size` of the next chunk, doubled with each */
};

/* `bytes` (more if one piece needs more) are for the first chunk, which is not allocated yet. */
void mca_arena_init(struct mca_arena *arena, size_t bytes);
/* Zeroed memory for any type; NULL when out of memory. */
void *mca_arena_take(struct mca_arena *arena, size_t bytes);
/* The same without zeros. */
void *mca_arena_take_raw(struct mca_arena *arena, size_t bytes);
/* A larger piece with the content of `old`; the rest of it is zero.  `old` stays where it is. */
void *mca_arena_grow(struct mca_arena *arena, const void *old, size_t old_bytes, size_t bytes);
void mca_arena_free(struct mca_arena *arena);

#endif
