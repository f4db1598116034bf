/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Event files: the events of processors, as JSON, in the form of the Linux kernel's
 * tools/perf/pmu-events/arch/riscv.
 *
 * A file is an array of objects, each an event: EventName; EventCode, the value of the term `event`
 * of the PMU, or ConfigCode, all of perf_event_attr.config; ArchStdEvent, the name of an event
 * whose members stand for those that are missing; BriefDescription, PublicDescription; Unit, the
 * PMU; ScaleUnit, "64Bytes"; SampleAfterValue, a period.  Documentation/events.md has all.
 *
 * A map, mapfile.csv, says which directory of files is a processor's, by its id
 * MVENDORID-MARCHID-MIMPID: each line is a pattern (an extended regular expression that the whole
 * id must match), a version, the directory, and "core" or the name of another unit.
 *
 * What makes no sense is passed over, counted, and the first of it told with file and line.
 */
#ifndef DAEMON_EVENTS_FILE_H
#define DAEMON_EVENTS_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pesa/error.h"

struct pesa_event_definition {
	char *name;	   /* NULL: that of `standard` */
	char *standard;	   /* of ArchStdEvent; NULL: none */
	char *description; /* NULL: none */
	char *pmu;	   /* NULL: not said */
	char *terms;	 /* "event=0x101", "config=0x8000000000000005"; NULL: those of `standard` */
	char unit[32];	 /* of scaled counts; "": a number of events */
	double scale;	 /* 0: not said */
	uint64_t period; /* 0: not said */
	bool deprecated;
};

struct pesa_event_file {
	struct pesa_event_definition *definitions;
	size_t count;
	size_t metrics; /* entries that are formulas, which are passed over */
	size_t bad;	/* entries that make no sense, and ends that are missing */
	char *problem;	/* the first of them: file, line, what; NULL: none */
};

/* `path` is for messages.  Fails for want of memory only. */
struct pesa_error *pesa_event_file_parse(const char *path, const char *text, size_t size,
					 struct pesa_event_file *file);
void pesa_event_file_free(struct pesa_event_file *file);

struct pesa_event_map_row {
	char *pattern, *directory, *type;
};

struct pesa_event_map {
	struct pesa_event_map_row *rows;
	size_t count;
	size_t bad;
	char *problem;
};

struct pesa_error *pesa_event_map_parse(const char *path, const char *text, size_t size,
					struct pesa_event_map *map);
/* The first row of this processor's core; NULL: none. */
const struct pesa_event_map_row *pesa_event_map_find(const struct pesa_event_map *map,
						     const char *id);
void pesa_event_map_free(struct pesa_event_map *map);

#endif
