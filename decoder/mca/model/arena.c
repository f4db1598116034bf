/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/mca/model/arena.h"

#define ALIGNMENT alignof(max_align_t)

void mca_arena_init(struct mca_arena *arena, size_t bytes)
{
	*arena = (struct mca_arena){.size = bytes};
}

void *mca_arena_take_raw(struct mca_arena *arena, size_t bytes)
{
	void *taken;

	bytes = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	if (bytes > arena->left) {
		size_t size = bytes > arena->size ? bytes : arena->size;
		char *chunk = malloc(ALIGNMENT + size);

		if (!chunk)
			return NULL;
		*(void **)chunk = arena->chunks;
		arena->chunks = chunk;
		arena->next = chunk + ALIGNMENT;
		arena->left = size;
		arena->size *= 2;
	}
	taken = arena->next;
	arena->next += bytes;
	arena->left -= bytes;
	return taken;
}

void *mca_arena_take(struct mca_arena *arena, size_t bytes)
{
	void *taken = mca_arena_take_raw(arena, bytes);

	return taken ? memset(taken, 0, bytes) : NULL;
}

void *mca_arena_grow(struct mca_arena *arena, const void *old, size_t old_bytes, size_t bytes)
{
	char *larger = mca_arena_take(arena, bytes);

	return larger && old_bytes ? memcpy(larger, old, old_bytes) : larger;
}

void mca_arena_free(struct mca_arena *arena)
{
	while (arena->chunks) {
		void *chunk = arena->chunks;

		arena->chunks = *(void **)chunk;
		free(chunk);
	}
}
