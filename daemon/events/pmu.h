/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PMUs: what the kernel can count and sample, as described in sysfs.
 *
 * A PMU is a directory in /sys/bus/event_source/devices.  `type` is the value of
 * perf_event_attr.type; `format/` has the bits of each term ("event" is "config:0-7"); `events/`
 * names events by their terms ("event=0x01"); `cpumask` or `cpus` lists the CPUs that have the PMU,
 * absent: all; `caps/` has its capabilities.  An event in `events/` can have the files NAME.scale
 * and NAME.unit, the factor and the unit of its counts.
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
#define PESA_PRECISE_MAX   3u	/* maximum of perf_event_attr.precise_ip */
#define PESA_CPU_MAX	   4096 /* CPU numbers in a list are below this */

struct pesa_cpu_set {
	uint64_t bits[PESA_CPU_MAX / 64];
};

static inline bool pesa_cpu_in(const struct pesa_cpu_set *set, unsigned int cpu)
{
	return cpu < PESA_CPU_MAX && set->bits[cpu / 64] >> cpu % 64 & 1;
}

/* Parse "0-3,8", from a cpumask, `online`, or an option.  False: invalid or empty. */
bool pesa_cpu_set_parse(const char *text, struct pesa_cpu_set *set);

struct pesa_pmu {
	char name[64];
	char directory[PATH_MAX]; /* its directory in sysfs */
	uint32_t type;
	bool has_cpus; /* only on `cpus`; false: on all */
	struct pesa_cpu_set cpus;
	unsigned int max_precise; /* maximum precise_ip of the PMU; 0: none or unknown */
	bool has_capabilities;	  /* caps/ describes a period counter */
	struct pesa_capabilities capabilities;
};

/*
 * Read the description of a PMU below `devices` (PESA_PMU_DIRECTORY, or a directory of the same
 * layout).  PESA_ERROR_NOT_FOUND: no such PMU; PESA_ERROR_FORMAT: a file of it is invalid.
 */
struct pesa_error *pesa_pmu_open(const char *devices, const char *name, struct pesa_pmu *pmu);

/* Put a term's value into the bits that `format` names ("config1:0-7,32-35"). */
struct pesa_error *pesa_pmu_format_put(const char *format, uint64_t value,
				       struct perf_event_attr *attr);

struct pesa_pmu_event {
	struct perf_event_attr attr; /* type, config, config1, config2 */
	double scale;		     /* factor of a count */
	char unit[32];		     /* unit of the scaled count; "": a number of events */
	uint64_t period;	     /* from the term `period`; 0: none */
};

/*
 * Parse an event's terms, "event=0x01,fixed": terms of format/, names of events/, config, config1,
 * config2, period, and rNNN for config in hexadecimal.
 */
struct pesa_error *pesa_pmu_terms(const struct pesa_pmu *pmu, const char *terms,
				  struct pesa_pmu_event *event);

/* Called for every PMU, and for every name in its events/ with the terms of the name. */
typedef void (*pesa_pmu_function)(void *context, const struct pesa_pmu *pmu);
void pesa_pmu_each(const char *devices, pesa_pmu_function function, void *context);
typedef void (*pesa_pmu_event_function)(void *context, const struct pesa_pmu *pmu, const char *name,
					const char *terms);
void pesa_pmu_each_event(const struct pesa_pmu *pmu, pesa_pmu_event_function function,
			 void *context);

#endif
