/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events whose names are ours to know: software events that libpfm4 lacks, the forms in which perf
 * takes the names of cache events, the standard RISC-V names, and tracepoints.
 *
 * Each function returns whether it knows the name, and then has completed *event.
 */
#ifndef DAEMON_EVENTS_GENERIC_H
#define DAEMON_EVENTS_GENERIC_H

#include "daemon/events/name.h"

/* "alignment-faults", "dummy" */
bool pesa_event_software_find(const char *name, struct pesa_event_name *event);

/*
 * "l1d-read-miss", "LLC-refs", "iTLB": a cache, what is done there (a load when it is not said),
 * and whether all are counted or those that miss.
 */
bool pesa_event_cache_find(const char *name, struct pesa_event_name *event);

/*
 * A name of the RISC-V performance events specification that a generic event counts.  Only where
 * the two mean the same: a TLB's lookups for loads and stores together are no generic event.
 */
bool pesa_event_standard_find(const char *name, struct pesa_event_name *event);
/* The other way round; NULL: none. */
const char *pesa_event_standard_of(const struct perf_event_attr *attr);

/* "sched:sched_switch", below `directory`. */
bool pesa_event_tracepoint_find(const char *directory, const char *name,
				struct pesa_event_name *event);

void pesa_event_software_each(pesa_event_function function, void *context);
void pesa_event_standard_each(pesa_event_function function, void *context);
void pesa_event_tracepoint_each(const char *directory, pesa_event_function function, void *context);

#endif
