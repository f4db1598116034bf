/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PMUs: what the kernel can count and sample, as sysfs describes it.
 *
 * A PMU is a directory of /sys/bus/event_source/devices.  Its `type` is what perf_event_attr.type
 * wants; `format/` says where the terms of an event go ("event" is "config:0-7"); `events/` names
 * events by their terms ("event=0x01"); `cpumask` or `cpus` says which CPUs it is on, absent: all;
 * `caps/` says what it can do.  Beside a name in `events/` there may be NAME.scale and NAME.unit,
 * what a count is multiplied with and what that makes of it.
 */
#ifndef DAEMON_EVENTS_PMU_H
#define DAEMON_EVENTS_PMU_H

#include <limits.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pesa/capabilities.h"
#include "pesa/error.h"

#define PESA_PMU_DIRECTORY "/sys/bus/event_source/devices"
#define PESA_PMU_NAME	   "pesa"
#define PESA_PRECISE_MAX   3u	/* of perf_event_attr.precise_ip */
#define PESA_CPU_MAX	   4096 /* numbers that a list of CPUs may hold: 0 to one less */

struct pesa_cpu_set {
	uint64_t bits[PESA_CPU_MAX / 64];
};

static inline bool pesa_cpu_in(const struct pesa_cpu_set *set, unsigned int cpu)
{
	return cpu < PESA_CPU_MAX && set->bits[cpu / 64] >> cpu % 64 & 1;
}

/* "0-3,8": the text of a cpumask, of `online`, or of an option.  False: it is none, or empty. */
bool pesa_cpu_set_parse(const char *text, struct pesa_cpu_set *set);

struct pesa_pmu {
	char name[64];
	char directory[PATH_MAX]; /* in sysfs */
	uint32_t type;
	bool has_cpus; /* it is on `cpus` only; false: on all */
	struct pesa_cpu_set cpus;
	unsigned int
		max_precise;   /* of perf_event_attr.precise_ip that it takes; 0: none, or unsaid */
	bool has_capabilities; /* caps/ has a period counter's */
	struct pesa_capabilities capabilities;
};

/*
 * Read the description of a PMU below `devices` (PESA_PMU_DIRECTORY, or a directory of the same
 * make).  PESA_ERROR_NOT_FOUND: there is no such PMU; PESA_ERROR_FORMAT: a file of it makes no
 * sense.
 */
struct pesa_error *pesa_pmu_open(const char *devices, const char *name, struct pesa_pmu *pmu);

/* Put the value of a term where `format` ("config1:0-7,32-35") wants it. */
struct pesa_error *pesa_pmu_format_put(const char *format, uint64_t value,
				       struct perf_event_attr *attr);

struct pesa_pmu_event {
	struct perf_event_attr attr; /* type, config, config1, config2 */
	double scale;		     /* what a count is multiplied with */
	char unit[32];		     /* of the product; "": a number of events */
	uint64_t period;	     /* of the term `period`; 0: none */
};

/*
 * An event by its terms, "event=0x01,fixed": terms of format/, names of events/ that stand for
 * terms, config, config1, config2, period, and rNNN for config in hexadecimal digits.
 */
struct pesa_error *pesa_pmu_terms(const struct pesa_pmu *pmu, const char *terms,
				  struct pesa_pmu_event *event);

/* Every PMU, and every name in the events/ of one with the terms that it stands for. */
typedef void (*pesa_pmu_function)(void *context, const struct pesa_pmu *pmu);
void pesa_pmu_each(const char *devices, pesa_pmu_function function, void *context);
typedef void (*pesa_pmu_event_function)(void *context, const struct pesa_pmu *pmu, const char *name,
					const char *terms);
void pesa_pmu_each_event(const struct pesa_pmu *pmu, pesa_pmu_event_function function,
			 void *context);

#endif
