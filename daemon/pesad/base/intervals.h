/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Intervals and their pieces: what the http worker knows of the collector's files.
 *
 * A piece is what was sampled between two messages of the collector: from the start of an interval
 * or its last flush to the next flush or its end.  Every sample is in exactly one piece.  The
 * worker's main thread adds pieces from the collector's messages.  Threads that answer a request
 * wait for a piece, and request a flush if the interval does not end by itself.
 */
#ifndef DAEMON_PESAD_BASE_INTERVALS_H
#define DAEMON_PESAD_BASE_INTERVALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/pesad/base/channel.h"

#define PESAD_INTERVALS_KEPT 512u

struct pesad_piece {
	uint32_t serial;			  /* serial number of the message that ended it */
	uint32_t interval;			  /* that it is of */
	uint64_t from, until;			  /* wall time, as in struct pesad_message */
	uint64_t monotonic_from, monotonic_until; /* ns */
	uint64_t samples;
	uint64_t begin, end; /* positions in the file; `end` UINT64_MAX: to its end */
	bool ended;	     /* its interval has ended: the file keeps its name */
	char path[PATH_MAX]; /* path of the file; "": none */
};

struct pesad_intervals;

/* `channel`: for flush requests to the collector.  NULL: out of memory. */
struct pesad_intervals *pesad_intervals_create(int channel);
void pesad_intervals_free(struct pesad_intervals *intervals);
void pesad_intervals_add(struct pesad_intervals *intervals, const struct pesad_message *message);
/* End all current and future waits. */
void pesad_intervals_stop(struct pesad_intervals *intervals);

/*
 * Wait for a piece that ends at `moment` (monotonic, ns) or later; requests a flush then.  false:
 * stopped, or no piece within `timeout` ns after the moment.
 */
bool pesad_intervals_wait(struct pesad_intervals *intervals, uint64_t moment, uint64_t timeout,
			  struct pesad_piece *piece);
/*
 * Wait for the oldest known piece with a serial number above `after`; requests a flush at `moment`
 * if it has not ended by then.  `after` 0: a piece that ends from now on.
 */
bool pesad_intervals_wait_after(struct pesad_intervals *intervals, uint32_t after, uint64_t moment,
				uint64_t timeout, struct pesad_piece *piece);
/* Find a piece by serial number; false: not known (any more). */
bool pesad_intervals_find(struct pesad_intervals *intervals, uint32_t serial,
			  struct pesad_piece *piece);
/*
 * The file of a piece is not at its path: wait until its interval has ended, and get the final
 * path. false: the interval had already ended, or does not end within `timeout` ns.
 */
bool pesad_intervals_find_again(struct pesad_intervals *intervals, uint64_t timeout,
				struct pesad_piece *piece);

#endif
