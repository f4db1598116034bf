/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events that libpfm4 knows, in its own syntax: the kernel's generic events, raw events, and those
 * of the current processor ("cycles", "perf::PERF_COUNT_HW_CACHE_L1D:READ:MISS", "r1a2",
 * "icl::UOPS_ISSUED:ANY").
 *
 * The library is loaded on the first lookup: relocating its tables takes longer than most
 * subcommands run.
 */
#ifndef DAEMON_EVENTS_LIBRARY_H
#define DAEMON_EVENTS_LIBRARY_H

#include "daemon/events/name.h"

/*
 * Resolve a name into event->attr, and event->has_modes if it selects modes.  PESA_ERROR_NOT_FOUND:
 * not an event of the library; PESA_ERROR_ARGUMENT: the event exists, but its attributes are wrong;
 * PESA_ERROR_SYSTEM: the library cannot be loaded.
 */
struct pesa_error *pesa_event_library_find(const char *name, struct pesa_event_name *event);

/* List HARDWARE, SOFTWARE, CACHE and PROCESSOR events.  Does nothing without the library. */
void pesa_event_library_each(pesa_event_function function, void *context);

#endif
