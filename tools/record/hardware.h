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
	struct pesa_event_list list; /* owns the strings of `events` */
	struct event_options names;  /* where event names are looked up */
	pid_t *processes, *threads;
	const char *asked; /* the first option given that requires the kernel */
};

void record_hardware_init(struct record_hardware *hardware);
void record_hardware_free(struct record_hardware *hardware);

/* Process one of the options above.  0: done; otherwise the exit status, after a message. */
int record_hardware_option(struct record_hardware *hardware, int option, const char *argument);
/* Return whether the options name a target; if not, there must be a program. */
bool record_hardware_has_target(const struct record_hardware *hardware);
/* Check for conflicting options.  0: none; otherwise the exit status. */
int record_hardware_check(const struct record_hardware *hardware);

/*
 * Record and print the summary.  `options` are complete except for the default events.  Returns the
 * exit status.
 */
int record_hardware_run(struct record_hardware *hardware, bool quiet, bool wants_json,
			const char *json);

#endif
