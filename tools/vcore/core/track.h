/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A structure with a fixed number of entries that instructions take and release in program order,
 * such as the reorder buffer: the cycles in which its newest entries are released.
 *
 * The next instruction takes the entry of the one that came `entries` before it, at a fixed
 * distance in memory, so no ring index has to wrap.  When the memory ends, track_make_room() moves
 * the newest entries to its start.
 */
#ifndef TOOLS_VCORE_CORE_TRACK_H
#define TOOLS_VCORE_CORE_TRACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "pesa/error.h"

#define TRACK_ROOM 256u /* entries that fit after track_make_room() */
#define TRACK_MANY 256u /* entries that track_take() may add to these */

struct track {
	uint64_t *leaves, *end;
	ptrdiff_t first; /* distance from the next entry to the oldest one, at most -1: a
			  * structure without entries serialises */
};

/* `*next`: the next entry; the caller keeps it. */
static inline struct pesa_error *track_create(struct track *track, uint32_t entries,
					      uint64_t **next)
{
	size_t kept = entries ? entries : 1, size = kept + 2 * TRACK_ROOM + TRACK_MANY;

	track->first = -(ptrdiff_t)kept;
	track->leaves = calloc(size, sizeof(*track->leaves));
	if (!track->leaves)
		return pesa_error_no_memory();
	track->end = track->leaves + size;
	*next = track->leaves + kept;
	return NULL;
}

static inline void track_free(struct track *track)
{
	free(track->leaves);
}

/* Make room and return the new `next`. */
static inline uint64_t *track_make_room(const struct track *track, uint64_t *next)
{
	if (track->end - next >= (ptrdiff_t)(TRACK_ROOM + TRACK_MANY))
		return next;
	memmove(track->leaves, next + track->first, (size_t)-track->first * sizeof(*track->leaves));
	return track->leaves - track->first;
}

/* The cycle in which the oldest entry is released. */
static inline uint64_t track_oldest(const struct track *track, const uint64_t *next)
{
	return next[track->first];
}

/* The cycle in which `count` entries are free; 1 <= count <= entries. */
static inline uint64_t track_oldest_of(const struct track *track, const uint64_t *next,
				       uint32_t count)
{
	ptrdiff_t place = track->first + (ptrdiff_t)count - 1;

	return next[place < 0 ? place : -1];
}

/* Take several entries, which are released in the same cycle. */
static inline uint64_t *track_take(const struct track *track, uint64_t *next, uint64_t leaves,
				   uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (i % TRACK_MANY == 0)
			next = track_make_room(track, next);
		*next++ = leaves;
	}
	return next;
}

#endif
