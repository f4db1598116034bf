/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of `pesa stat`: one row per event with its count and a comparison.
 *
 * The kernel's generic events and the virtual core's events are both identified by their names in
 * the RISC-V performance events specification, so that one table of comparisons serves both: the
 * ratio of an event to its whole, if that was counted in the same modes.
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
	const char *standard; /* name by which it is compared */
	const char *unit;     /* unit of the value; NULL: none */
	unsigned int modes;   /* only rows with the same modes are compared */
	bool shown;
	bool scaled;	  /* the value is not a plain count: show its unit */
	bool is_clock;	  /* time in ms that tasks ran, or CPUs were observed */
	bool is_software; /* a software event of the kernel */
	bool unsupported; /* not supported here */
	bool uncounted;	  /* it never got a counter */
	double value;
	uint64_t count;
	double share;  /* fraction of the time for which it was counted, 0 to 1 */
	double spread; /* relative standard error of the mean of several runs; NAN: one run */
};

struct stat_table {
	struct stat_row *rows;
	size_t count;
	double seconds; /* elapsed time; NAN: not shown */
};

/* Print the rows, each after `prefix`. */
void stat_table_print(FILE *out, const struct stat_table *table, const char *prefix);
/* A list of objects: Documentation/json.md. */
json_object *stat_table_json(const struct stat_table *table);

#endif
