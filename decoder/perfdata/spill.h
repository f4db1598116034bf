/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events that wait on disk, if a round does not fit into the memory of the queue.
 *
 * A recording without rounds, or with very large ones, cannot be sorted in bounded memory.  Sorted
 * runs of events go to a temporary file (in $TMPDIR, else /tmp, without a name) and are merged when
 * they are due.  For equal times the earlier run comes first.
 */
#ifndef DECODER_PERFDATA_SPILL_H
#define DECODER_PERFDATA_SPILL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct perfdata_queued;

struct perfdata_run {
	uint64_t position, end; /* file offsets of the part not loaded yet */
	uint8_t *buffer;
	size_t head, tail; /* offsets in the buffer */
	uint64_t time;	   /* time of the event at head */
	uint64_t left;	   /* events not taken yet */
};

struct perfdata_spill {
	bool open;
	int descriptor;
	uint64_t size; /* file size in bytes */
	struct perfdata_run *runs;
	size_t count;
	size_t current; /* the run of the last peek */
	int error;	/* errno of the first failure; 0: none */
	uint64_t lost;	/* events of runs that could not be read back */
};

/* Write sorted events as a run; `swap`: they have the other byte order.  On failure returns false
 * and sets `error`. */
bool perfdata_spill_write(struct perfdata_spill *spill, const struct perfdata_queued *events,
			  size_t count, bool swap);
/* Get the oldest event up to `limit`; false if there is none.  Its bytes are valid until the next
 * peek. */
bool perfdata_spill_peek(struct perfdata_spill *spill, uint64_t limit,
			 struct perfdata_queued *event);
/* Remove the event that the last peek returned. */
void perfdata_spill_pop(struct perfdata_spill *spill);
void perfdata_spill_free(struct perfdata_spill *spill);

#endif
