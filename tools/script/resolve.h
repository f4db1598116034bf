/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Resolve: what a run-time address of a process is at this moment of a recording.
 *
 * Follows the events of a recording (address spaces, names of threads) and turns an address into a
 * binary, the address in it, and its function.  Memory grows with the number of binaries and of
 * living threads, not with the length of the recording.
 */
#ifndef TOOLS_SCRIPT_RESOLVE_H
#define TOOLS_SCRIPT_RESOLVE_H

#include <stdbool.h>
#include <stdint.h>

#include "pesa/error.h"
#include "pesa/perfdata.h"
#include "pesa/symbols.h"

struct script_resolver;

struct script_place {
	const struct pesa_dso *dso; /* NULL: in no mapping */
	uint64_t address;	    /* in the dso; as at run time where it has none of its own */
	const struct pesa_symbol *symbol; /* NULL: none */
};

/* `reader` tells build ids and must outlive the result; root as pesa_profile_options.symbol_root.
 */
struct pesa_error *script_resolver_create(const struct pesa_perfdata *reader, const char *root,
					  struct script_resolver **resolver);
void script_resolver_free(struct script_resolver *resolver);

/* Follow an event; to be called for each in time order. */
struct pesa_error *script_resolver_apply(struct script_resolver *resolver,
					 const struct pesa_event *event);

/* kernel: the processor was in the kernel (PERF_RECORD_MISC_CPUMODE). */
struct script_place script_resolve(struct script_resolver *resolver, uint32_t pid, bool kernel,
				   uint64_t address);
/* Name of a thread; NULL: never told. */
const char *script_thread_name(struct script_resolver *resolver, uint32_t tid);

#endif
