/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pesa record through the kernel: its options, its run, its summary.
 */
#ifndef TOOLS_RECORD_HARDWARE_H
#define TOOLS_RECORD_HARDWARE_H

#include <stdbool.h>

#include "daemon/record/record.h"
#include "tools/record/event_options.h"

/* Long options without a letter. */
enum {
	RECORD_INHERIT = 512,
	RECORD_NO_INHERIT,
	RECORD_DURATION,
	RECORD_SNAPSHOT,
	RECORD_SWITCH_OUTPUT,
	RECORD_CALL_GRAPH,
};

#define RECORD_HARDWARE_LETTERS "ae:C:p:t:g::m:"
#define RECORD_HARDWARE_OPTIONS                                                                    \
	{"all-cpus", no_argument, NULL, 'a'}, {"event", required_argument, NULL, 'e'},             \
		{"cpu-list", required_argument, NULL, 'C'}, {"pid", required_argument, NULL, 'p'}, \
		{"tid", required_argument, NULL, 't'},                                             \
		{"mmap-pages", required_argument, NULL, 'm'},                                      \
		{"call-graph", required_argument, NULL, RECORD_CALL_GRAPH},                        \
		{"inherit", no_argument, NULL, RECORD_INHERIT}, EVENT_OPTIONS,                     \
		{"no-inherit", no_argument, NULL, RECORD_NO_INHERIT},                              \
		{"duration", required_argument, NULL, RECORD_DURATION},                            \
		{"snapshot", no_argument, NULL, RECORD_SNAPSHOT},                                  \
	{                                                                                          \
		"switch-output", optional_argument, NULL, RECORD_SWITCH_OUTPUT                     \
	}

struct record_hardware {
	struct pesa_hardware_options options;
	const char *events[PESA_HARDWARE_EVENTS_MAX];
	struct pesa_event_list list; /* what `events` points into */
	struct event_options names;  /* where they are looked up */
	pid_t *processes, *threads;
	const char *asked; /* the first option that only a recording through the kernel has */
};

void record_hardware_init(struct record_hardware *hardware);
void record_hardware_free(struct record_hardware *hardware);

/* Take one of the options above.  0: taken; else the exit status, and the error has been said. */
int record_hardware_option(struct record_hardware *hardware, int option, const char *argument);
/* Whether the words before the program say what to record, or there must be a program. */
bool record_hardware_has_target(const struct record_hardware *hardware);
/* Options that exclude each other.  0: fine; else the exit status. */
int record_hardware_check(const struct record_hardware *hardware);

/* Record and tell.  `options` are complete but for the events' default.  The exit status. */
int record_hardware_run(struct record_hardware *hardware, bool quiet, bool wants_json,
			const char *json);

#endif
