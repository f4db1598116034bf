/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events that wait on disk: what a round holds beyond the memory for it.
 *
 * A recording without rounds, or with enormous ones, cannot be put in order in bounded memory.
 * Sorted runs of it go to a temporary file (in $TMPDIR, else /tmp, without a name) and are merged
 * when they are due.  Of equal times the earlier run comes first.
 */
#ifndef DECODER_PERFDATA_SPILL_H
#define DECODER_PERFDATA_SPILL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct perfdata_queued;

struct perfdata_run {
	uint64_t position, end; /* in the file: what has not been loaded */
	uint8_t *buffer;
	size_t head, tail; /* in the buffer */
	uint64_t time;	   /* of the event at head */
	uint64_t left;	   /* events that were not taken */
};

struct perfdata_spill {
	bool open;
	int descriptor;
	uint64_t size; /* bytes of the file */
	struct perfdata_run *runs;
	size_t count;
	size_t current; /* the run that was peeked at */
	int error;	/* errno of what failed; 0: nothing did */
	uint64_t lost;	/* events of runs that could not be read back */
};

/* Write sorted events as a run; `swap`: their byte order is the other one.  False: see error. */
bool perfdata_spill_write(struct perfdata_spill *spill, const struct perfdata_queued *events,
			  size_t count, bool swap);
/* The oldest event up to `limit`; false if there is none.  Its bytes are valid until the next peek.
 */
bool perfdata_spill_peek(struct perfdata_spill *spill, uint64_t limit,
			 struct perfdata_queued *event);
/* Take the event that was peeked at. */
void perfdata_spill_pop(struct perfdata_spill *spill);
void perfdata_spill_free(struct perfdata_spill *spill);

#endif
