// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/record/ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct pesa_error *pesa_ring_attach(struct perf_event_mmap_page *page, const uint8_t *data,
				    uint64_t size, bool overwritable, struct pesa_ring *ring)
{
	struct pesa_ring attached = {
		.page = page,
		.data = data,
		.size = size,
		.overwritable = overwritable,
		.record = malloc(PESA_RECORD_BYTES_MAX),
	};

	if (!attached.record)
		return pesa_error_no_memory();
	*ring = attached;
	return NULL;
}

struct pesa_error *pesa_ring_map(int event, size_t pages, bool overwritable, struct pesa_ring *ring)
{
	size_t page_size = (size_t)sysconf(_SC_PAGESIZE), size = pages * page_size;
	/* A ring that is mapped read-only is overwritable for the kernel. */
	void *memory = mmap(NULL, page_size + size, PROT_READ | (overwritable ? 0 : PROT_WRITE),
			    MAP_SHARED, event, 0);
	struct pesa_error *error;

	if (memory == MAP_FAILED)
		return pesa_error_system(errno, "cannot map a ring of %zu pages", pages);
	error = pesa_ring_attach(memory, (const uint8_t *)memory + page_size, size, overwritable,
				 ring);
	if (error)
		munmap(memory, page_size + size);
	else
		ring->mapped = page_size + size;
	return error;
}

void pesa_ring_unmap(struct pesa_ring *ring)
{
	if (ring->mapped)
		munmap(ring->page, ring->mapped);
	free(ring->record);
	*ring = (struct pesa_ring){0};
}

static struct perf_event_header header_at(const struct pesa_ring *ring, uint64_t position)
{
	struct perf_event_header header;

	memcpy(&header, ring->data + (position & (ring->size - 1)), sizeof(header));
	return header;
}

/*
 * The end of the valid records of an overwritable ring: one ring size from the newest record,
 * without the partly overwritten record, and not beyond the start of the last read.
 */
static uint64_t overwritable_end(const struct pesa_ring *ring, uint64_t head)
{
	uint64_t whole = head + ring->size, at = head;

	while (at != ring->read && whole - at >= sizeof(struct perf_event_header)) {
		struct perf_event_header header = header_at(ring, at);

		/* Zeros: this part has never been written. */
		if (header.size < sizeof(header) || header.size % 8 || header.size > whole - at)
			break;
		at += header.size;
	}
	return at;
}

void pesa_ring_begin(struct pesa_ring *ring)
{
	/* Pairs with the kernel's barrier between writing records and data_head. */
	uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);

	if (ring->overwritable) {
		/* The kernel never does this, and no header would be whole. */
		if (head % 8) {
			ring->damaged += ring->size;
			head = ring->read;
		}
		ring->at = head;
		ring->end = overwritable_end(ring, head);
		ring->read = head;
		return;
	}
	ring->at = __atomic_load_n(&ring->page->data_tail, __ATOMIC_RELAXED);
	ring->end = head;
	/* More than the ring can hold: the kernel never does this, and no data can be used. */
	if (ring->end - ring->at > ring->size) {
		ring->damaged += ring->end - ring->at;
		ring->at = ring->end;
	}
}

const uint8_t *pesa_ring_next(struct pesa_ring *ring, size_t *size)
{
	uint64_t offset = ring->at & (ring->size - 1), left = ring->end - ring->at, first;
	struct perf_event_header header;

	if (!left)
		return NULL;
	if (left >= sizeof(header) && ring->size - offset >= sizeof(header))
		header = header_at(ring, ring->at);
	else
		header.size = 0;
	if (header.size < sizeof(header) || header.size > left || header.size % 8) {
		ring->damaged += left;
		ring->at = ring->end;
		return NULL;
	}
	*size = header.size;
	ring->at += header.size;
	first = ring->size - offset;
	if (first >= header.size)
		return ring->data + offset;
	memcpy(ring->record, ring->data + offset, first);
	memcpy(ring->record + first, ring->data, header.size - first);
	return ring->record;
}

void pesa_ring_end(struct pesa_ring *ring)
{
	/* The records must have been read before the kernel may overwrite them. */
	if (!ring->overwritable)
		__atomic_store_n(&ring->page->data_tail, ring->at, __ATOMIC_RELEASE);
}
