/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events that libpfm4 knows: the kernel's generic ones, raw ones, and those of the processor that
 * it finds itself on, in its own syntax ("cycles", "perf::PERF_COUNT_HW_CACHE_L1D:READ:MISS",
 * "r1a2", "icl::UOPS_ISSUED:ANY").
 *
 * The library is loaded when the first name is looked up: its tables take longer to relocate than
 * most subcommands run.
 */
#ifndef DAEMON_EVENTS_LIBRARY_H
#define DAEMON_EVENTS_LIBRARY_H

#include "daemon/events/name.h"

/*
 * Put what a name means into *event: attr, and has_modes where it says modes.
 * PESA_ERROR_NOT_FOUND: the library knows no such event; PESA_ERROR_ARGUMENT: it does, and not what
 * stands behind it; PESA_ERROR_SYSTEM: the library cannot be loaded.
 */
struct pesa_error *pesa_event_library_find(const char *name, struct pesa_event_name *event);

/* HARDWARE, SOFTWARE, CACHE and PROCESSOR.  Nothing without the library. */
void pesa_event_library_each(pesa_event_function function, void *context);

#endif
