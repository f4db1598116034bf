/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Event files: the events of processors as JSON, in the format of the Linux kernel's
 * tools/perf/pmu-events/arch/riscv.
 *
 * A file is an array of objects, one per event: EventName; EventCode, the value of the PMU's term
 * `event`, or ConfigCode, all of perf_event_attr.config; ArchStdEvent, the name of a standard event
 * whose members are the default; BriefDescription, PublicDescription; Unit, the PMU; ScaleUnit,
 * "64Bytes"; SampleAfterValue, a period; SampleCycles, ours, see below.  Entries with a MetricExpr
 * are formulas: MetricName, MetricGroup, BriefDescription.  Documentation/events.md describes them all.
 *
 * A map, mapfile.csv, maps processor ids MVENDORID-MARCHID-MIMPID to directories: a line has a
 * pattern (an extended regular expression that must match the whole id), a version, the directory,
 * and "core" or the name of another unit.
 *
 * Invalid entries are skipped and counted, and the first is reported with file and line.
 */
#ifndef DAEMON_EVENTS_FILE_H
#define DAEMON_EVENTS_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pesa/error.h"

/*
 * The cycles that an event counts, where event files say so (SampleCycles): its overflows can stand
 * for those of `cycles`.
 */
enum pesa_event_cycles {
	PESA_EVENT_CYCLES_NONE,
	PESA_EVENT_CYCLES_USER,	      /* in user mode */
	PESA_EVENT_CYCLES_SUPERVISOR, /* in supervisor mode: the kernel */
};

struct pesa_event_definition {
	char *name;	   /* NULL: as in `standard` */
	char *standard;	   /* from ArchStdEvent; NULL: none */
	char *description; /* NULL: none */
	char *pmu;	   /* NULL: not given */
	char *terms;	   /* "event=0x101", "config=0x8000000000000005"; NULL: as in `standard` */
	char unit[32];	   /* unit of scaled counts; "": a number of events */
	double scale;	   /* 0: not given */
	uint64_t period;   /* 0: not given */
	enum pesa_event_cycles cycles;
	bool deprecated;
};

/* A formula over events (metric.h), from MetricName, MetricExpr, ... */
struct pesa_metric_definition {
	char *name;
	char *group;	   /* names with ';' between: "TopdownL1"; NULL: none */
	char *expression;  /* as in the file, and understood */
	char *description; /* NULL: none */
};

struct pesa_event_file {
	struct pesa_event_definition *definitions;
	size_t count;
	struct pesa_metric_definition *metrics;
	size_t metric_count;
	size_t bad;    /* invalid entries, and a missing end */
	char *problem; /* the first of them: file, line, problem; NULL: none */
};

/* `path` is used in messages.  Fails only if out of memory. */
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
/* The first row for this processor's core; NULL: none. */
const struct pesa_event_map_row *pesa_event_map_find(const struct pesa_event_map *map,
						     const char *id);
void pesa_event_map_free(struct pesa_event_map *map);

#endif
