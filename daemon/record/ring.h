/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ring buffers: where the kernel leaves the records of an event.
 *
 * A ring is a page that describes it and a power of two of bytes behind it.  The kernel writes
 * records and moves `data_head`; we read them and move `data_tail`, which gives it the room back:
 * what finds no room is lost, and the kernel says so in a LOST record.  A record can run over the
 * end of the ring and go on at its start; its 8-byte header cannot, since everything is a multiple
 * of 8.
 *
 * An overwritable ring (of an event with write_backward) is written from the end to the start, for
 * ever, and nobody tells the kernel what was read: the newest record is at `data_head`, the one
 * before it behind it, and so on once round.  It can only be read while the event's output is
 * paused.
 *
 * What the ring holds is never trusted: a header that cannot be ends the reading of what was there,
 * and the bytes are counted as damaged.
 */
#ifndef DAEMON_RECORD_RING_H
#define DAEMON_RECORD_RING_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pesa/error.h"

#define PESA_RECORD_BYTES_MAX 65536u /* of a record; the size field has 16 bits */

struct pesa_ring {
	struct perf_event_mmap_page *page;
	const uint8_t *data;
	uint64_t size; /* bytes, a power of two */
	size_t mapped; /* bytes from `page` on; 0: not ours to unmap */
	bool overwritable;
	uint64_t at, end; /* position of the next record; where this reading ends */
	uint64_t read;	  /* overwritable: where the last reading began */
	uint64_t damaged; /* bytes that held no records */
	uint8_t *record;  /* room for one that runs over the end */
};

/* Map the ring of an event: `pages` of data, a power of two.  The error of mmap() is
 * PESA_ERROR_SYSTEM with its errno and says no more than that. */
struct pesa_error *pesa_ring_map(int event, size_t pages, bool overwritable,
				 struct pesa_ring *ring);
void pesa_ring_unmap(struct pesa_ring *ring);

/* Use memory of the same make that is already there: `size` bytes of data, a power of two. */
struct pesa_error *pesa_ring_attach(struct perf_event_mmap_page *page, const uint8_t *data,
				    uint64_t size, bool overwritable, struct pesa_ring *ring);

/* Read what there is now: begin, next until it returns NULL, end.  Ending gives the room back. */
void pesa_ring_begin(struct pesa_ring *ring);
/* The next record and its bytes, valid until the next call. */
const uint8_t *pesa_ring_next(struct pesa_ring *ring, size_t *size);
void pesa_ring_end(struct pesa_ring *ring);

#endif
