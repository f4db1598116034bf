/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A structure of a fixed number of places that is entered and left in program order, as the
 * pipeline passes through it: the cycles in which its newest entries leave, in order.
 *
 * The next entry takes the place of the one that is as many entries older as there are places: it
 * is looked up at a fixed distance, without the wrapping around of a ring.  When the
 * memory ends, the newest entries move to its beginning; track_make_room() is for that.
 */
#ifndef TOOLS_VCORE_CORE_TRACK_H
#define TOOLS_VCORE_CORE_TRACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define TRACK_ROOM 256u /* entries that there is room for after track_make_room() */
#define TRACK_MANY 256u /* that track_take() may add to them */

struct track {
	uint64_t *leaves, *end;
	ptrdiff_t first; /* from the next place to the oldest entry: at most -1, with no entries
			  * each has to wait for the one before */
};

/* `*next`: where the next entry goes, to be kept by the user. */
static inline bool track_create(struct track *track, uint32_t entries, uint64_t **next)
{
	size_t kept = entries ? entries : 1, size = kept + 2 * TRACK_ROOM + TRACK_MANY;

	track->first = -(ptrdiff_t)kept;
	track->leaves = calloc(size, sizeof(*track->leaves));
	track->end = track->leaves + size;
	*next = track->leaves + kept;
	return track->leaves != NULL;
}

static inline void track_free(struct track *track)
{
	free(track->leaves);
}

/* Returns the next place, from which on there is room. */
static inline uint64_t *track_make_room(const struct track *track, uint64_t *next)
{
	if (track->end - next >= (ptrdiff_t)(TRACK_ROOM + TRACK_MANY))
		return next;
	memmove(track->leaves, next + track->first, (size_t)-track->first * sizeof(*track->leaves));
	return track->leaves - track->first;
}

/* The cycle in which the oldest of the entries leaves. */
static inline uint64_t track_oldest(const struct track *track, const uint64_t *next)
{
	return next[track->first];
}

/* The cycle in which there are `count` places, 1 or more, at most all. */
static inline uint64_t track_oldest_of(const struct track *track, const uint64_t *next,
				       uint32_t count)
{
	ptrdiff_t place = track->first + (ptrdiff_t)count - 1;

	return next[place < 0 ? place : -1];
}

/* Several entries, which leave in the same cycle. */
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
