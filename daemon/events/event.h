/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events: what is asked of the kernel, and what its refusals mean.
 *
 * pesa_event_attribute() makes the perf_event_attr of a recording; pesa_event_open() opens it for
 * one task on one CPU.  A refusal is an errno, which pesa_event_refusal() turns into one line that
 * says what to do: which privilege is missing, what the limits of a period are, who holds the
 * counter.
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
	PESA_CALLCHAIN_DWARF, /* registers and a piece of the stack, unwound by who reads them */
};

#define PESA_STACK_DUMP_DEFAULT 8192u
#define PESA_STACK_DUMP_MAX	65528u

struct pesa_sampling {
	uint64_t period;    /* of the event's units; 0: by frequency, or the default */
	uint64_t frequency; /* samples a second; 0: by period */
	enum pesa_callchain callchain;
	uint32_t stack_dump; /* bytes, a multiple of 8 */
	bool inherit;	     /* tasks that a task makes are sampled with it */
	bool backward;	     /* into an overwritable ring */
	bool tracking;	     /* side-band records come with it */
	bool enable_on_exec;
	bool system_wide;
};

/* Complete event->attr.  Refuses what the PMU cannot do, with its limits. */
struct pesa_error *pesa_event_attribute(struct pesa_event_name *event,
					const struct pesa_sampling *sampling);
/* The periods that the event's PMU, which has capabilities, can do: cycles. */
void pesa_event_periods(const struct pesa_event_name *event, uint64_t *least, uint64_t *most);
/* Whether the hart writes the event's samples to memory itself, see autorun.h. */
bool pesa_event_is_autorun(const struct pesa_event_name *event);
/* An event that samples nothing and only brings side-band records. */
void pesa_event_tracking(struct pesa_event_name *event, const struct pesa_sampling *sampling);

/* Open.  task -1: whatever runs on the CPU.  Returns a descriptor, or -1 and errno. */
int pesa_event_open(struct perf_event_attr *attr, pid_t task, int cpu);
/* The same in a group.  cpu -1: on all.  leader -1: none. */
int pesa_event_open_in(struct perf_event_attr *attr, pid_t task, int cpu, int leader);

/*
 * Ask for less after a refusal (an errno), where the name did not insist: a PC that is less
 * precise, guests as well (many PMUs cannot tell), of a task user mode only.  False: there is
 * nothing to give up.  Names of events that lost the kernel get the modifier u.
 */
bool pesa_event_relax(struct pesa_event_name *event, pid_t task, int refusal);

/* What an errno of pesa_event_open() means, and what to do. */
struct pesa_error *pesa_event_refusal(const struct pesa_event_name *event, pid_t task, int cpu,
				      int refusal);
/* What an errno of mapping the event's ring means.  `bytes` of one ring. */
struct pesa_error *pesa_ring_refusal(size_t bytes, int refusal);

/* Bytes that a sample of an event with these attributes takes at most in a ring. */
size_t pesa_event_sample_bytes(const struct perf_event_attr *attr);

/* A number of /proc/sys/kernel, `otherwise` when it cannot be read. */
long pesa_kernel_setting(const char *name, long otherwise);

/*
 * The PERF_SAMPLE_RAW payload of a sample of an event with this sample_type, and its size; NULL: it
 * has none, or the sample is shorter than its fields.
 */
const uint8_t *pesa_sample_raw(uint64_t sample_type, const uint8_t *record, size_t size,
			       uint32_t *raw_size);

#endif
