/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzz target: texts of sysfs and of options (formats, lists of CPUs, names of events), and what a
 * ring holds.  The first byte chooses.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/events/event.h"
#include "daemon/events/pmu.h"
#include "daemon/record/ring.h"

#define RING 512u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Head, tail, then the ring's bytes. */
static void read_ring(const uint8_t *data, size_t size, bool overwritable)
{
	struct perf_event_mmap_page *page = calloc(1, sizeof(*page));
	uint8_t *bytes = calloc(1, RING);
	struct pesa_ring ring;
	const uint8_t *record;
	size_t length, sum = 0;
	uint64_t room;

	if (!page || !bytes || pesa_ring_attach(page, bytes, RING, overwritable, &ring))
		abort();
	if (size >= 16) {
		memcpy(&page->data_head, data, 8);
		memcpy(&page->data_tail, data + 8, 8);
		memcpy(bytes, data + 16, size - 16 < RING ? size - 16 : RING);
	}
	room = page->data_head - page->data_tail;
	pesa_ring_begin(&ring);
	while ((record = pesa_ring_next(&ring, &length))) {
		uint8_t *copy = malloc(length);
		uint32_t raw_size;

		if (!copy)
			abort();
		memcpy(copy, record, length);
		pesa_sample_raw(size > 24 ? data[24] << 4 | PERF_SAMPLE_RAW : PERF_SAMPLE_RAW, copy,
				length, &raw_size);
		free(copy);
		sum += length;
	}
	pesa_ring_end(&ring);
	/* Every byte was a record's or is counted. */
	if (!overwritable && sum + ring.damaged != room)
		abort();
	if (sum > RING)
		abort();
	pesa_ring_unmap(&ring);
	free(bytes);
	free(page);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct perf_event_attr attr = {0};
	struct pesa_event_name event;
	struct pesa_cpu_set set;
	char *text;

	if (!size)
		return 0;
	text = strndup((const char *)data + 1, size - 1);
	if (!text)
		abort();
	switch (data[0] % 5) {
	case 0:
		pesa_cpu_set_parse(text, &set);
		break;
	case 1:
		pesa_error_free(pesa_pmu_format_put(text, 0x123456789abcdef, &attr));
		break;
	case 2:
		pesa_error_free(pesa_event_parse("/nonexistent", text, &event));
		break;
	default:
		read_ring(data + 1, size - 1, data[0] % 5 == 4);
		break;
	}
	free(text);
	return 0;
}
