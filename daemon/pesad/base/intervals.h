/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Intervals and their pieces: what the http worker knows of the collector's files.
 *
 * A piece is what was sampled between two messages of the collector: from the begin of an interval,
 * or the last time that it was written out, to the next time, or its end.  Every sample is in one
 * piece.  The worker's first thread adds what the collector tells; threads that answer a request
 * wait for a piece, and ask the collector to write out what is under way when its interval does not
 * end by itself.
 */
#ifndef DAEMON_PESAD_BASE_INTERVALS_H
#define DAEMON_PESAD_BASE_INTERVALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/pesad/base/channel.h"

#define PESAD_INTERVALS_KEPT 512u

struct pesad_piece {
	uint32_t serial;			  /* of the message that ended it */
	uint32_t interval;			  /* that it is of */
	uint64_t from, until;			  /* wall time, as in struct pesad_message */
	uint64_t monotonic_from, monotonic_until; /* ns */
	uint64_t samples;
	uint64_t begin, end; /* bytes of the file; `end` UINT64_MAX: to its end */
	bool ended;	     /* so has the interval: the file stays where it is */
	char path[PATH_MAX]; /* of the file; "": there is none */
};

struct pesad_intervals;

/* `channel` is where the collector is asked.  NULL: out of memory. */
struct pesad_intervals *pesad_intervals_create(int channel);
void pesad_intervals_free(struct pesad_intervals *intervals);
void pesad_intervals_add(struct pesad_intervals *intervals, const struct pesad_message *message);
/* Every wait ends, also those that are begun later. */
void pesad_intervals_stop(struct pesad_intervals *intervals);

/*
 * Wait for a piece that ends at `moment` (monotonic, ns) or behind it.  What is under way then is
 * asked for.  false: it was stopped, or nothing came within `patience` ns of the moment.
 */
bool pesad_intervals_wait(struct pesad_intervals *intervals, uint64_t moment, uint64_t patience,
			  struct pesad_piece *piece);
/*
 * Wait for the oldest piece that is known with a serial number above `after`; it is asked for at
 * `moment` if it has not ended by then.  `after` 0: one that ends from now on.
 */
bool pesad_intervals_wait_after(struct pesad_intervals *intervals, uint32_t after, uint64_t moment,
				uint64_t patience, struct pesad_piece *piece);
/* A known piece; false: it is not known (any more). */
bool pesad_intervals_find(struct pesad_intervals *intervals, uint32_t serial,
			  struct pesad_piece *piece);
/* The file of a piece is not where it was: wait until its interval has ended, which says where it
 * is.  false: that was known, or does not come within `patience` ns. */
bool pesad_intervals_find_again(struct pesad_intervals *intervals, uint64_t patience,
				struct pesad_piece *piece);

#endif
