/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The catalogue: the events of one processor, from a directory of event files (file.h).
 *
 * With a map, mapfile.csv, the directory has the kernel's layout: files next to the map define
 * standard events, to which ArchStdEvent refers; the files of a processor are in the directory that
 * the map has for its id.  Without a map all files of the directory are used, for any processor.
 */
#ifndef DAEMON_EVENTS_CATALOGUE_H
#define DAEMON_EVENTS_CATALOGUE_H

#include "daemon/events/file.h"
#include "daemon/events/name.h"

#define PESA_CPU_ID_MAX 80u

struct pesa_event_catalogue {
	struct pesa_event_file events;	 /* of the processor: complete, sorted by name */
	struct pesa_event_file standard; /* standard events, for ArchStdEvent */
	char *directory; /* the selected directory; NULL: the map has none for the id */
	size_t bad;	 /* number of invalid entries and lines */
	char *problem;	 /* the first of them; NULL: none */
};

/*
 * The id MVENDORID-MARCHID-MIMPID of this machine's processor, from /proc/cpuinfo below `root`.
 * False: there is none, as on machines that are not RISC-V.
 */
bool pesa_cpu_id(const char *root, char id[PESA_CPU_ID_MAX]);

/* `id` NULL: unknown, which is an error if the directory has a map. */
struct pesa_error *pesa_event_catalogue_load(const char *directory, const char *id,
					     struct pesa_event_catalogue *catalogue);
void pesa_event_catalogue_free(struct pesa_event_catalogue *catalogue);

/* Case-insensitive.  NULL: not found. */
const struct pesa_event_definition *
pesa_event_catalogue_find(const struct pesa_event_catalogue *catalogue, const char *name);
/* The event whose overflows stand for cycles of these modes.  NULL: the files name none. */
const struct pesa_event_definition *
pesa_event_catalogue_leader(const struct pesa_event_catalogue *catalogue,
			    enum pesa_event_cycles cycles);
/* Resolve the event with the PMU that it belongs to. */
struct pesa_error *pesa_event_catalogue_resolve(const struct pesa_event_definition *definition,
						const char *devices, struct pesa_event_name *event);
void pesa_event_catalogue_each(const struct pesa_event_catalogue *catalogue,
			       pesa_event_function function, void *context);

#endif
