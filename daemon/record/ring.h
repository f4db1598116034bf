/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ring buffers: the memory in which the kernel puts the records of an event.
 *
 * A ring is a page that describes it, followed by a power of two of bytes.  The kernel writes
 * records and advances `data_head`; the reader advances `data_tail` to free the room.  Records that
 * find no room are lost, and the kernel counts them in a LOST record.  A record can wrap from the
 * end of the ring to its start; its 8-byte header cannot, because all sizes are multiples of 8.
 *
 * An overwritable ring (of an event with write_backward) is written from the end to the start
 * without limit, and has no tail: the newest record is at `data_head`, the older ones follow it.
 * It can only be read while the event's output is paused.
 *
 * The contents of a ring are not trusted: an invalid header ends the read, and the remaining bytes
 * are counted as damaged.
 */
#ifndef DAEMON_RECORD_RING_H
#define DAEMON_RECORD_RING_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pesa/error.h"

#define PESA_RECORD_BYTES_MAX 65536u /* maximum size of a record, from its 16-bit size field */

struct pesa_ring {
	struct perf_event_mmap_page *page;
	const uint8_t *data;
	uint64_t size; /* in bytes, a power of two */
	size_t mapped; /* bytes to unmap from `page` on; 0: the memory is not ours */
	bool overwritable;
	uint64_t at, end; /* position of the next record; end of this read */
	uint64_t read;	  /* overwritable: start of the last read */
	uint64_t damaged; /* bytes that were not records */
	uint8_t *record;  /* room for a record that wraps */
};

/*
 * Map the ring of an event; `pages` of data is a power of two.  If mmap() fails, the error is
 * PESA_ERROR_SYSTEM with its errno and no further text.
 */
struct pesa_error *pesa_ring_map(int event, size_t pages, bool overwritable,
				 struct pesa_ring *ring);
void pesa_ring_unmap(struct pesa_ring *ring);

/* Use existing memory of the same layout: `size` bytes of data, a power of two. */
struct pesa_error *pesa_ring_attach(struct perf_event_mmap_page *page, const uint8_t *data,
				    uint64_t size, bool overwritable, struct pesa_ring *ring);

/*
 * Read the current contents: begin, next until it returns NULL, end.  pesa_ring_end() frees the
 * room.
 */
void pesa_ring_begin(struct pesa_ring *ring);
/* The next record and its size in bytes, valid until the next call. */
const uint8_t *pesa_ring_next(struct pesa_ring *ring, size_t *size);
void pesa_ring_end(struct pesa_ring *ring);

#endif
