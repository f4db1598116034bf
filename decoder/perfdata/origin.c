// SPDX-License-Identifier: GPL-2.0-or-later
/* Facts of a file for code that sees only its events: struct pesa_origin. */
#include <time.h>

#include "pesa/perfdata.h"

static bool build_id(const void *recording, const char *path, uint8_t bytes[PESA_BUILD_ID_MAX],
		     uint8_t *size)
{
	return pesa_perfdata_build_id(recording, path, bytes, size);
}

static const char *arch(const void *recording)
{
	return pesa_perfdata_arch(recording);
}

static const char *hostname(const void *recording)
{
	return pesa_perfdata_hostname(recording);
}

static const char *os_release(const void *recording)
{
	return pesa_perfdata_os_release(recording);
}

/* Just-in-time compilers use CLOCK_MONOTONIC in dumps. */
static bool has_monotonic_clock(const void *recording)
{
	unsigned int count = pesa_perfdata_attribute_count(recording);

	for (unsigned int i = 0; i < count; i++) {
		const struct perf_event_attr *attr = &pesa_perfdata_attribute(recording, i)->attr;

		if (!attr->use_clockid || attr->clockid != CLOCK_MONOTONIC ||
		    !(attr->sample_type & PERF_SAMPLE_TIME))
			return false;
	}
	return count;
}

struct pesa_origin pesa_perfdata_origin(const struct pesa_perfdata *reader)
{
	return (struct pesa_origin){
		.recording = reader,
		.build_id = build_id,
		.arch = arch,
		.hostname = hostname,
		.os_release = os_release,
		.has_monotonic_clock = has_monotonic_clock,
	};
}
