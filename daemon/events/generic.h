/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Event names that pesa itself knows: software events that libpfm4 lacks, perf's names of cache
 * events, the standard RISC-V names, and tracepoints.
 *
 * Each function returns whether the name was found; if so, it has completed *event.
 */
#ifndef DAEMON_EVENTS_GENERIC_H
#define DAEMON_EVENTS_GENERIC_H

#include "daemon/events/name.h"

/* "alignment-faults", "dummy" */
bool pesa_event_software_find(const char *name, struct pesa_event_name *event);

/*
 * "l1d-read-miss", "LLC-refs", "iTLB": a cache, an operation (default: load), and accesses or
 * misses.
 */
bool pesa_event_cache_find(const char *name, struct pesa_event_name *event);

/*
 * A name of the RISC-V performance events specification, if a generic event has the same meaning.
 * (Example of one without: TLB lookups of loads and stores together.)
 */
bool pesa_event_standard_find(const char *name, struct pesa_event_name *event);
/* The inverse; NULL: none. */
const char *pesa_event_standard_of(const struct perf_event_attr *attr);

/* "sched:sched_switch" below `directory`. */
bool pesa_event_tracepoint_find(const char *directory, const char *name,
				struct pesa_event_name *event);

void pesa_event_software_each(pesa_event_function function, void *context);
void pesa_event_standard_each(pesa_event_function function, void *context);
void pesa_event_tracepoint_each(const char *directory, pesa_event_function function, void *context);

#endif
