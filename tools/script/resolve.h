/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Resolves run-time addresses at the current point of a recording.
 *
 * It follows the recording's events (address spaces, names of threads) and maps an address of a
 * process to a binary, the address in it, and its function.  Memory grows with the number of
 * binaries and live threads, not with the length of the recording.
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
	const struct pesa_dso *dso;	  /* NULL: not mapped */
	uint64_t address;		  /* in the dso; the run-time address if there is no dso
				     * address */
	const struct pesa_symbol *symbol; /* NULL: none */
};

/*
 * `reader` provides build ids and must outlive the result; root: see
 * pesa_profile_options.symbol_root.
 */
struct pesa_error *script_resolver_create(const struct pesa_perfdata *reader, const char *root,
					  struct script_resolver **resolver);
void script_resolver_free(struct script_resolver *resolver);

/* Process an event; call it for all events in time order. */
/* Whether only script_resolver_apply() of an event that is no sample changes what addresses mean: not if
 * code is compiled while the program runs. */
bool script_resolver_is_steady(const struct script_resolver *resolver);
struct pesa_error *script_resolver_apply(struct script_resolver *resolver,
					 const struct pesa_event *event);

/* kernel: the sample was in kernel mode (PERF_RECORD_MISC_CPUMODE). */
struct pesa_error *script_resolve(struct script_resolver *resolver, uint32_t pid, bool kernel,
				  uint64_t address, struct script_place *place);
/* The name of a thread; NULL: unknown. */
const char *script_thread_name(struct script_resolver *resolver, uint32_t tid);

#endif
