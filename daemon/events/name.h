/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of events: the argument of -e, and the perf_event_attr that it means.
 *
 * A name is looked up in this order; the first source that has it defines it:
 *
 *   PMU/TERM=VALUE,.../       a PMU of sysfs, by its terms or the names in its events/
 *   EventName of event files  of this processor (catalogue.h)
 *   SYSTEM:NAME               a tracepoint
 *   generic and raw events    cycles, L1-dcache-load-misses, page-faults, r1a2; and those of the
 *                             processors that libpfm4 knows, in its syntax (library.h)
 *   standard RISC-V events    CYCLES.HART, INST.RET: the generic event that counts the same
 *   NAME                      of a PMU's events/, without the PMU: of the first that has it
 *
 * Behind a name stand modifiers, after a colon, or after the last slash of a PMU's:
 *
 *   u k h   only user mode, kernel, hypervisor          p pp ppp   how precise the PC is to be
 *   H G     only the host, guests                       P          as precise as the PMU can
 *   I       not when idle                               D          always counted, or an error
 *   e       alone on the PMU
 *
 * A list of events has commas between them; events in braces, {a,b}, are a group: they are counted
 * at the same time or not at all.  Modifiers after the closing brace apply to all events in it.
 */
#ifndef DAEMON_EVENTS_NAME_H
#define DAEMON_EVENTS_NAME_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/events/pmu.h"
#include "pesa/error.h"

#define PESA_TRACEPOINT_DIRECTORY "/sys/kernel/tracing/events"

struct pesa_event_catalogue;

/* Where to look up names. */
struct pesa_event_source {
	const char *devices;			      /* PMUs; see PESA_PMU_DIRECTORY */
	const char *tracepoints;		      /* see PESA_TRACEPOINT_DIRECTORY */
	const struct pesa_event_catalogue *catalogue; /* event files; NULL: none */
};

struct pesa_event_name {
	struct perf_event_attr attr; /* type, config to config2, exclude bits, precise_ip, ... */
	bool has_modes;		     /* the name selects the modes to count */
	bool has_precision;	     /* the name selects the precision of the PC */
	unsigned int max_precise;    /* if it does not: precision to try first, reduced when
				      * refused */
	bool has_guest;		     /* the name selects host or guests */
	bool user_only;		     /* the kernel was excluded, see pesa_event_relax() */
	bool is_pmu;		     /* the event is of `pmu`, a PMU in sysfs */
	struct pesa_pmu pmu;
	double scale;	 /* factor of counts; 1: a number of events */
	char unit[32];	 /* unit of the scaled count; "": none */
	uint64_t period; /* period from its description; 0: none */
	char name[128];	 /* as written by the user */
};

/*
 * Resolve an event's name.  PESA_ERROR_NOT_FOUND: no such event; the message has the most similar
 * name.
 */
struct pesa_error *pesa_event_resolve(const struct pesa_event_source *source, const char *name,
				      struct pesa_event_name *event);
/* The same without event files. */
struct pesa_error *pesa_event_parse(const char *devices, const char *name,
				    struct pesa_event_name *event);

/* ---- Lists --------------------------------------------------------------------------------- */

struct pesa_event_item {
	char *name;	    /* including the modifiers of its group */
	unsigned int group; /* items of a group have the same number, counted from 0 */
};

struct pesa_event_list {
	struct pesa_event_item *items;
	size_t count;
};

/* Parse a list and append its items to `list`. */
struct pesa_error *pesa_event_list_add(struct pesa_event_list *list, const char *text);
void pesa_event_list_free(struct pesa_event_list *list);

/* ---- All that there are -------------------------------------------------------------------- */

enum pesa_event_kind {
	PESA_EVENT_HARDWARE,
	PESA_EVENT_SOFTWARE,
	PESA_EVENT_CACHE,
	PESA_EVENT_PMU,
	PESA_EVENT_FILE,
	PESA_EVENT_STANDARD,
	PESA_EVENT_PROCESSOR, /* of the processors that libpfm4 supports */
	PESA_EVENT_TRACEPOINT,
	PESA_EVENT_KINDS
};

struct pesa_event_entry {
	enum pesa_event_kind kind;
	const char *name, *alias; /* NULL: no alias */
	const char *description;  /* NULL: none */
	const char *terms;	  /* the terms of an alias; NULL: the kernel's number */
};

typedef void (*pesa_event_function)(void *context, const struct pesa_event_entry *entry);

/* There are many tracepoints: list them only with `tracepoints`. */
void pesa_event_each(const struct pesa_event_source *source, bool tracepoints,
		     pesa_event_function function, void *context);

#endif
