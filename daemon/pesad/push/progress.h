/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Progress: which intervals of the store have been taken for sending.
 *
 * A worker may be killed, or miss the message of an interval.  It notes each interval that it takes
 * in a file in its spool (".progress": the name of the interval's file, and whether it is done), so
 * that the next worker finds the missed ones in the store.  An interval is noted before it is
 * converted: one that crashes the worker is not tried again, but counted as lost.  An interval
 * whose conversion is interrupted by a shutdown is returned: the next worker takes it again.
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

/* An interval of the store that no worker has taken. */
struct push_missed {
	char *path;
	uint64_t from, until; /* ns since 1970, as its name and its last change tell */
};

/* Read the notes; without notes nothing was taken.  `spool` is a directory, created if needed. */
struct pesa_error *push_progress_open(struct push_progress *progress, const char *spool);
/* Note the state of the interval in the file `path`. */
struct pesa_error *push_progress_note(struct push_progress *progress, const char *path,
				      enum push_state state);

/*
 * List the intervals in the store's directory that are newer than the last one taken, oldest first,
 * plus that one if it was returned; none if none was ever taken.  *missed is freed with
 * push_missed_free().
 */
struct pesa_error *push_progress_missed(const struct push_progress *progress, const char *store,
					struct push_missed **missed, size_t *count);
void push_missed_free(struct push_missed *missed, size_t count);

#endif
