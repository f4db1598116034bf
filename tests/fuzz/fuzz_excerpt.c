/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Any bytes as a recording of which a part is handed out without the kernel's addresses.  What
 * comes of it can be read, and no sample, record or map in it has an address of the upper half but
 * those that stand for the kernel.  The first byte says where the part begins and ends.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "daemon/pesad/http/excerpt.h"
#include "pesa/perfdata.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define STANDS_FOR_KERNEL UINT64_C(0xfffffffffffff000)

static void check_address(uint64_t address)
{
	if (address >> 63 && address != STANDS_FOR_KERNEL && address < (uint64_t)PERF_CONTEXT_MAX)
		abort();
}

static void check_sample(const struct pesa_sample *sample)
{
	struct pesa_record record;
	uint64_t word;

	check_address(sample->ip);
	check_address(sample->address);
	for (uint64_t i = 0; i < sample->callchain_count; i++) {
		memcpy(&word, sample->callchain + i * sizeof(word), sizeof(word));
		check_address(word);
	}
	if (!sample->raw || sample->raw_size < sizeof(record))
		return;
	memcpy(&record, sample->raw, sizeof(record));
	check_address(record.pc);
	check_address(record.data);
	check_address(record.bt[0]);
	check_address(record.bt[1]);
}

static void check(const char *path)
{
	struct pesa_perfdata *reader;
	struct pesa_event event;

	if (pesa_perfdata_open(path, &reader))
		abort();
	while (pesa_perfdata_next(reader, &event) == 1) {
		if (event.type == PERF_RECORD_SAMPLE)
			check_sample(&event.sample);
		else if ((event.type == PERF_RECORD_MMAP || event.type == PERF_RECORD_MMAP2) &&
			 event.mmap.pid == UINT32_MAX &&
			 strcmp(event.mmap.path, PESAD_EXCERPT_HIDDEN))
			abort();
	}
	pesa_perfdata_close(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pesad_excerpt excerpt = {.end = UINT64_MAX, .hide_kernel = true};
	char from[32], to[32];
	struct pesa_error *error;
	uint64_t hidden;
	int files[2];

	if (!size)
		return 0;
	if (data[0] & 1)
		excerpt.begin = size / 2;
	if (data[0] & 2)
		excerpt.end = size - size / 4;
	files[0] = memfd_create("from", 0);
	files[1] = memfd_create("to", 0);
	if (files[0] < 0 || files[1] < 0 ||
	    write(files[0], data + 1, size - 1) != (ssize_t)(size - 1))
		abort();
	snprintf(from, sizeof(from), "/proc/self/fd/%d", files[0]);
	snprintf(to, sizeof(to), "/proc/self/fd/%d", files[1]);
	error = pesad_excerpt_write(from, &excerpt, to, &hidden);
	if (!error)
		check(to);
	pesa_error_free(error);
	close(files[0]);
	close(files[1]);
	return 0;
}
