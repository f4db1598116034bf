/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A map record as the kernel writes it (PERF_RECORD_MMAP2 of perf_event_open(2)), for tests that
 * make them. */
#ifndef TESTS_MAP_RECORD_H
#define TESTS_MAP_RECORD_H

#include <linux/perf_event.h>
#include <stdint.h>

#include "pesa/perfdata.h"

struct map_record {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t address, length, offset;
	uint8_t build_id_size, reserved[3], build_id[PESA_BUILD_ID_MAX];
	uint32_t protection, flags;
	char path[256];
};

#endif
