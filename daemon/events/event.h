/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events: the perf_event_attr of a recording, and what the kernel's errors mean.
 *
 * pesa_event_attribute() makes the perf_event_attr; pesa_event_open() opens it for one task on one
 * CPU. If the kernel refuses, pesa_event_refusal() turns the errno into one line that says what to
 * do: which privilege is missing, the limits of a period, or what occupies the counter.
 */
#ifndef DAEMON_EVENTS_EVENT_H
#define DAEMON_EVENTS_EVENT_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/events/name.h"
#include "daemon/events/pmu.h"
#include "pesa/error.h"

enum pesa_callchain {
	PESA_CALLCHAIN_NONE,
	PESA_CALLCHAIN_FRAME_POINTER,
	PESA_CALLCHAIN_DWARF,	 /* registers and part of the stack, unwound by the reader */
	PESA_CALLCHAIN_HARDWARE, /* a call stack that the hardware keeps: RASEMU, LBR */
};

#define PESA_STACK_DUMP_DEFAULT 8192u
#define PESA_STACK_DUMP_MAX	65528u

#define PESA_FREQUENCY_MAX UINT64_MAX /* as many samples as kernel and PMU allow */

struct pesa_sampling {
	/* in the event's unit, raised to the least that the PMU can do; 0: by frequency, or the
	 * default */
	uint64_t period;
	uint64_t frequency; /* samples per second; 0: by period */
	enum pesa_callchain callchain;
	uint32_t stack_dump; /* in bytes, a multiple of 8 */
	bool inherit;	     /* sample children of tasks as well */
	bool backward;	     /* use an overwritable ring */
	bool tracking;	     /* with side-band records */
	bool enable_on_exec;
	bool system_wide;
	bool cgroups; /* samples have their control group */
};

/* Complete event->attr.  Returns an error with the limits if the PMU does not support it. */
struct pesa_error *pesa_event_attribute(struct pesa_event_name *event,
					const struct pesa_sampling *sampling);
/* The range of periods, in cycles, that the event's PMU supports; the PMU has capabilities. */
void pesa_event_periods(const struct pesa_event_name *event, uint64_t *least, uint64_t *most);
/* Return whether the event uses AutoRun, see autorun.h. */
bool pesa_event_is_autorun(const struct pesa_event_name *event);
/* An event without samples, for side-band records. */
void pesa_event_tracking(struct pesa_event_name *event, const struct pesa_sampling *sampling);

/* Open an event.  task -1: all tasks on the CPU.  Returns a descriptor, or -1 and errno. */
int pesa_event_open(struct perf_event_attr *attr, pid_t task, int cpu);
/* Open an event in a group.  cpu -1: all.  leader -1: none. */
int pesa_event_open_in(struct perf_event_attr *attr, pid_t task, int cpu, int leader);

/*
 * After a refusal (an errno), drop a property that the name does not demand: precision of the PC,
 * excluding guests (many PMUs cannot), for a task the kernel.  Returns false if nothing can be
 * dropped. The name of an event that lost the kernel gets the modifier u.
 */
bool pesa_event_relax(struct pesa_event_name *event, pid_t task, int refusal);

/* Explain an errno of pesa_event_open(), and what to do. */
struct pesa_error *pesa_event_refusal(const struct pesa_event_name *event, pid_t task, int cpu,
				      int refusal);
/* Explain an errno of mapping the event's ring of `bytes`. */
struct pesa_error *pesa_ring_refusal(size_t bytes, int refusal);

/* Maximum size in bytes of a sample of such an event in a ring. */
size_t pesa_event_sample_bytes(const struct perf_event_attr *attr);

/* A number from /proc/sys/kernel; `otherwise` if it cannot be read. */
long pesa_kernel_setting(const char *name, long otherwise);

/*
 * The PERF_SAMPLE_RAW payload of a sample of an event with this sample_type, and its size; NULL:
 * the sample has none, or is too short for its fields.
 */
const uint8_t *pesa_sample_raw(uint64_t sample_type, const uint8_t *record, size_t size,
			       uint32_t *raw_size);

#endif
