/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside `pesa stat`: who counts fills a table (table.h), the virtual core (virtual.c) or
 * the kernel (kernel.c); the options are parsed in stat.c, and the table is printed in one
 * form.
 */
#ifndef TOOLS_STAT_ARGUMENTS_H
#define TOOLS_STAT_ARGUMENTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "daemon/events/name.h"
#include "daemon/events/pmu.h"
#include "tools/record/event_options.h"

struct stat_arguments {
	char *events; /* of all -e, owned; NULL: the default ones */
	const char *output, *json;
	bool per_thread, wants_json, list;
	/* of the virtual core */
	const char *core, *sysroot, *cpu;
	const char *virtual; /* the first option that only the virtual core has; NULL: none */
	/* of the kernel */
	bool system_wide, has_cpus, no_inherit;
	struct pesa_cpu_set cpus;
	pid_t *processes, *threads;
	size_t process_count, thread_count;
	uint64_t repeat, interval, duration; /* runs; ns; ns */
	struct event_options names;	     /* where events are looked up */
	const char *kernel; /* the first option that only the kernel has; NULL: none */
};

/* Whether every name of a comma list is an event of the virtual core. */
bool stat_virtual_knows(const char *events);
/* Print all events of the virtual core. */
void stat_virtual_list(bool wants_json);
/* Run and print.  The exit status. */
int stat_virtual(const struct stat_arguments *arguments, char **program);
int stat_kernel(const struct stat_arguments *arguments, char **program);

/* The words of a command, joined by spaces, owned by the caller; NULL: out of memory. */
char *stat_join(char *const *words);
/* Where the text goes: FILE of -o, or standard error.  NULL: one line has been said. */
FILE *stat_open(const struct stat_arguments *arguments);
/* Flush, close.  The exit status. */
int stat_close(const struct stat_arguments *arguments, FILE *out);

#endif
