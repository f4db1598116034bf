/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The catalogue: the events of one processor, from a directory of event files (file.h).
 *
 * With a map, mapfile.csv, the directory is made as the kernel's: files beside the map define
 * standard events, which are nothing but names that ArchStdEvent refers to; the files of the
 * processor are in the directory that the map has for its id.  Without a map all files of the
 * directory are the processor's, whichever it is.
 */
#ifndef DAEMON_EVENTS_CATALOGUE_H
#define DAEMON_EVENTS_CATALOGUE_H

#include "daemon/events/file.h"
#include "daemon/events/name.h"

#define PESA_CPU_ID_MAX 80u

struct pesa_event_catalogue {
	struct pesa_event_file events; /* of the processor: complete, in the order of their names */
	struct pesa_event_file standard; /* that ArchStdEvent refers to */
	char *directory; /* whose files were read; NULL: the map has none for the id */
	size_t bad;	 /* entries and lines that make no sense */
	char *problem;	 /* the first of them; NULL: none */
};

/*
 * The id MVENDORID-MARCHID-MIMPID of this machine's processor as /proc/cpuinfo below `root` has it.
 * False: it has none, as on machines that are not RISC-V.
 */
bool pesa_cpu_id(const char *root, char id[PESA_CPU_ID_MAX]);

/* `id` NULL: not known, which is an error where the directory has a map. */
struct pesa_error *pesa_event_catalogue_load(const char *directory, const char *id,
					     struct pesa_event_catalogue *catalogue);
void pesa_event_catalogue_free(struct pesa_event_catalogue *catalogue);

/* In whatever case.  NULL: there is none. */
const struct pesa_event_definition *
pesa_event_catalogue_find(const struct pesa_event_catalogue *catalogue, const char *name);
/* What it means to the PMU that it is of. */
struct pesa_error *pesa_event_catalogue_resolve(const struct pesa_event_definition *definition,
						const char *devices, struct pesa_event_name *event);
void pesa_event_catalogue_each(const struct pesa_event_catalogue *catalogue,
			       pesa_event_function function, void *context);

#endif
