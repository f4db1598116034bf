/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PMUs: what the kernel can count and sample, as sysfs describes it.
 *
 * A PMU is a directory of /sys/bus/event_source/devices.  Its `type` is what perf_event_attr.type
 * wants; `format/` says where the terms of an event go ("event" is "config:0-7"); `events/` names
 * events by their terms ("event=0x01"); `cpumask` or `cpus` says which CPUs it is on, absent: all;
 * `caps/` says what it can do.
 *
 * Events are written as perf has them: PMU/NAME/, PMU/TERM=VALUE,TERM/, either with modifiers
 * behind the last slash, and the kernel's generic names (cycles, cpu-clock), with modifiers behind
 * a colon.  Modifiers: u, k and h choose user mode, kernel and hypervisor.
 */
#ifndef DAEMON_PMU_H
#define DAEMON_PMU_H

#include <limits.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pesa/capabilities.h"
#include "pesa/error.h"

#define PESA_PMU_DIRECTORY "/sys/bus/event_source/devices"
#define PESA_PMU_NAME	   "pesa"
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

struct pesa_event_name {
	struct perf_event_attr attr; /* type, config, config1, config2 and the exclude bits */
	bool has_modes;		     /* the name chose the modes that are sampled */
	bool is_pmu;		     /* of a PMU of sysfs, which is `pmu` */
	struct pesa_pmu pmu;
	char name[128]; /* as it was written */
};

/* Understand an event's name. */
struct pesa_error *pesa_event_parse(const char *devices, const char *name,
				    struct pesa_event_name *event);

#endif
