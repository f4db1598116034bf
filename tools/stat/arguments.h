/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Internals of `pesa stat`: the options are parsed in stat.c; the virtual core (virtual.c) or the
 * kernel (kernel.c) counts and fills a table (table.h), which is printed.
 */
#ifndef TOOLS_STAT_ARGUMENTS_H
#define TOOLS_STAT_ARGUMENTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "daemon/events/name.h"
#include "daemon/events/pmu.h"
#include "pesa/error.h"
#include "tools/record/event_options.h"

struct stat_arguments {
	char **program; /* NULL: none */
	char *events;	/* of all -e, owned; NULL: the defaults */
	const char *output, *json;
	bool per_thread, wants_json, list;
	bool topdown;	       /* the processor's top-down metrics, through the kernel */
	unsigned int detailed; /* how often -d was given */
	uint64_t repeat;       /* runs; 0: one */
	/* of the virtual core */
	const char *core, *sysroot, *cpu;
	bool sampled;	     /* count in windows, and estimate the rest */
	const char *virtual; /* the first option given that requires the virtual core; NULL: none */
	/* of the kernel */
	bool system_wide, has_cpus, no_inherit;
	struct pesa_cpu_set cpus;
	pid_t *processes, *threads;
	size_t process_count, thread_count;
	uint64_t interval, duration; /* ns */
	struct event_options names;  /* where event names are looked up */
	const char *kernel; /* the first option given that requires the kernel; NULL: none */
};

/* Return whether all names in a comma-separated list are events of the virtual core. */
bool stat_virtual_knows(const char *events);
/* Print all events of the virtual core. */
void stat_virtual_list(bool wants_json);
/* Run and print.  Returns the exit status. */
int stat_virtual(const struct stat_arguments *arguments, char **program);
int stat_kernel(const struct stat_arguments *arguments, char **program);

#define STAT_DETAILS 3 /* levels of -d */

/* The list of events: those of -e, or the defaults, and what -d adds.  The caller frees it.  NULL: out
 * of memory. */
char *stat_events(const struct stat_arguments *arguments, const char *defaults,
		  const char *const details[STAT_DETAILS]);

/* Join the words of a command by spaces; the caller frees it.  NULL: out of memory. */
char *stat_join(char *const *words);
/* The output stream: the file of -o, or standard error. */
struct pesa_error *stat_open(const struct stat_arguments *arguments, FILE **out);
/* Flush and close.  Returns an error if not everything was written. */
struct pesa_error *stat_close(const struct stat_arguments *arguments, FILE *out);

#endif
