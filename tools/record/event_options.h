/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where event names are looked up: the options of every subcommand with -e, and the event files
 * selected by options, environment, or installation.
 */
#ifndef TOOLS_RECORD_EVENT_OPTIONS_H
#define TOOLS_RECORD_EVENT_OPTIONS_H

#include "daemon/events/catalogue.h"
#include "daemon/events/name.h"

/* Values of getopt_long() that do not collide with other options. */
enum { EVENT_OPTION_DIRECTORY = 1024, EVENT_OPTION_CPU_ID };

#define EVENT_OPTIONS                                                         \
	{"event-directory", required_argument, NULL, EVENT_OPTION_DIRECTORY}, \
	{                                                                     \
		"cpu-id", required_argument, NULL, EVENT_OPTION_CPU_ID        \
	}

#define EVENT_OPTIONS_HELP                                                          \
	"      --event-directory DIR  event files of processors, see pesa-list(1) " \
	"(PESA_EVENTS, or those\n"                                                  \
	"                        that come with pesa)\n"                            \
	"      --cpu-id ID       their processor: MVENDORID-MARCHID-MIMPID (this machine's)\n"

struct event_options {
	const char *directory, *cpu_id; /* NULL: not said */
	struct pesa_event_catalogue catalogue;
	struct pesa_event_source source; /* set by event_options_load() */
};

/* Process one of the options above.  False: another option. */
bool event_option(struct event_options *options, int option, const char *argument);

/*
 * Load the event files and complete options->source.  A requested directory that cannot be read is
 * an error; invalid entries are reported, with `command` as prefix.
 */
struct pesa_error *event_options_load(struct event_options *options, const char *command);
void event_options_free(struct event_options *options);

#endif
