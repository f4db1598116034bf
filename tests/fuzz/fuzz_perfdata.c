/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Any bytes as a perf.data file: everything that is handed out is read, so that a pointer beyond
 * the record is found.  The seeds in corpus/perfdata are made by tests/tools/perfdata_corpus.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pesa/perfdata.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint64_t sink;

static void touch(const void *bytes, size_t size)
{
	const uint8_t *at = bytes;
	uint64_t sum = 0;

	for (size_t i = 0; i < size; i++)
		sum += at[i];
	sink += sum;
}

static void touch_event(const struct pesa_event *event)
{
	switch (event->type) {
	case PERF_RECORD_SAMPLE:
		if (event->sample.raw)
			touch(event->sample.raw, event->sample.raw_size);
		if (event->sample.branches)
			touch(event->sample.branches,
			      event->sample.branch_count * sizeof(struct pesa_branch_entry));
		if (event->sample.callchain)
			touch(event->sample.callchain, event->sample.callchain_count * 8);
		break;
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		touch(event->mmap.path, strlen(event->mmap.path));
		touch(event->mmap.build_id, event->mmap.build_id_size);
		break;
	case PERF_RECORD_COMM:
		touch(event->comm.name, strlen(event->comm.name));
		break;
	case PERF_RECORD_CGROUP:
		touch(event->cgroup.path, strlen(event->cgroup.path));
		break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
		break;
	case PERF_RECORD_TEXT_POKE:
		if ((event->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_USER)
			touch(event->text.bytes, event->text.size);
		break;
	default:
		touch(event->other.bytes, event->other.size);
	}
}

static void touch_features(const struct pesa_perfdata *reader)
{
	const char *const texts[] = {pesa_perfdata_arch(reader), pesa_perfdata_hostname(reader),
				     pesa_perfdata_cmdline(reader)};
	uint8_t build_id[PESA_BUILD_ID_MAX], size;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (texts[i])
			touch(texts[i], strlen(texts[i]));
	for (unsigned int i = 0; i < pesa_perfdata_attribute_count(reader); i++) {
		const struct pesa_attribute *attribute = pesa_perfdata_attribute(reader, i);

		touch(attribute->name, strlen(attribute->name));
		touch(attribute->ids, attribute->id_count * sizeof(*attribute->ids));
	}
	if (pesa_perfdata_capabilities(reader))
		touch(pesa_perfdata_capabilities(reader), sizeof(struct pesa_capabilities));
	if (pesa_perfdata_build_id(reader, "/nonexistent/program", build_id, &size))
		touch(build_id, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int descriptor = memfd_create("perfdata", MFD_CLOEXEC);
	struct pesa_perfdata *reader;
	struct pesa_error *error;
	struct pesa_event event;
	char path[32];

	if (descriptor < 0 || write(descriptor, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", descriptor);
	error = pesa_perfdata_open(path, &reader);
	if (!error) {
		while (pesa_perfdata_next(reader, &event))
			touch_event(&event);
		touch_features(reader);
		/* damage is never counted without saying what it was */
		if (!pesa_perfdata_losses(reader)->damage &&
		    (pesa_perfdata_losses(reader)->damaged_records ||
		     pesa_perfdata_losses(reader)->damaged_bytes))
			abort();
		pesa_perfdata_close(reader);
	}
	pesa_error_free(error);
	close(descriptor);
	return 0;
}
