/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Progress: which intervals of the store were already taken for sending.
 *
 * A worker may be killed, or too slow to be told of an interval.  What it takes it notes in a file
 * of its spool (".progress": the name of the interval's file, and whether it was done with), so
 * that the next worker finds in the store what none has taken.  An interval is noted before it is
 * converted: one that kills the worker is not taken again, but told as lost.  One that is being
 * converted when the worker is told to end is given back: the next worker takes it again.
 */
#ifndef DAEMON_PESAD_PUSH_PROGRESS_H
#define DAEMON_PESAD_PUSH_PROGRESS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pesa/error.h"

enum push_state {
	PUSH_DONE,
	PUSH_TAKEN, /* in the notes of a worker that has ended: it did not live to be done with it
		     */
	PUSH_GIVEN_BACK,
};

struct push_progress {
	char file[PATH_MAX];	 /* that the notes are in */
	char last[NAME_MAX + 1]; /* name of the interval's file that was taken last; "": none */
	enum push_state state;	 /* of it */
};

/* An interval of the store that nobody has taken. */
struct push_missed {
	char *path;
	uint64_t from, until; /* ns since 1970, as its name and its last change tell */
};

/* Read the notes; without any nothing was taken yet.  `spool` is a directory, made if need be. */
struct pesa_error *push_progress_open(struct push_progress *progress, const char *spool);
/* Note what becomes of the interval in the file `path`. */
struct pesa_error *push_progress_note(struct push_progress *progress, const char *path,
				      enum push_state state);

/*
 * Intervals in the directory of the store that are newer than the one that was taken last, oldest
 * first, and that one if it was given back; none when none was ever taken.  *missed is freed with
 * push_missed_free().
 */
struct pesa_error *push_progress_missed(const struct push_progress *progress, const char *store,
					struct push_missed **missed, size_t *count);
void push_missed_free(struct push_missed *missed, size_t count);

#endif
