/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where event names are looked up: the options of every subcommand with -e, and the event files
 * selected by options, environment, or installation.
 */
#ifndef TOOLS_RECORD_EVENT_OPTIONS_H
#define TOOLS_RECORD_EVENT_OPTIONS_H

#include <argp.h>

#include "daemon/events/catalogue.h"
#include "daemon/events/name.h"

struct event_options {
	const char *directory, *cpu_id; /* NULL: not said */
	struct pesa_event_catalogue catalogue;
	struct pesa_event_source source; /* set by event_options_load() */
};

/* The argp children of such a subcommand: one.  Its input is a struct event_options. */
extern const struct argp_child event_options_children[];

/*
 * Load the event files and complete options->source.  A requested directory that cannot be read is
 * an error; invalid entries are reported, with `command` as prefix.
 */
struct pesa_error *event_options_load(struct event_options *options, const char *command);
void event_options_free(struct event_options *options);

#endif
