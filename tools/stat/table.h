/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of `pesa stat`: a row for each event, with what its count is set against.
 *
 * Whoever counted fills it.  Events are known by their names in the RISC-V performance events
 * specification, also the kernel's generic ones, so that one list of comparisons serves all: what
 * part of its whole an event is, where the whole was counted in the same modes.
 */
#ifndef TOOLS_STAT_TABLE_H
#define TOOLS_STAT_TABLE_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct stat_row {
	const char *name;     /* as it is shown */
	const char *standard; /* by which it is compared */
	const char *unit;     /* of the value; NULL: none */
	unsigned int modes;   /* rows of other modes are not compared with it */
	bool shown;
	bool scaled;	  /* the value is not the count: it is shown with its unit */
	bool is_clock;	  /* msec that tasks ran, or CPUs were watched */
	bool is_software; /* of the kernel: nothing that instructions do */
	bool unsupported; /* nothing here counts it */
	bool uncounted;	  /* its turn never came */
	double value;
	uint64_t count;
	double share;  /* of the time that it was counted, 0 to 1 */
	double spread; /* relative standard error of the mean of several runs; NAN: one run */
};

struct stat_table {
	struct stat_row *rows;
	size_t count;
	double seconds; /* that passed meanwhile; NAN: of no interest */
};

/* The rows that are shown; `prefix` in front of each. */
void stat_table_print(FILE *out, const struct stat_table *table, const char *prefix);
/* A list of objects: Documentation/json.md. */
json_object *stat_table_json(const struct stat_table *table);

#endif
