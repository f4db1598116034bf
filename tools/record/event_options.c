// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/record/event_options.h"

#include <stdlib.h>

#include "tools/files/paths.h"
#include "tools/ui/profile_options.h"

enum { KEY_DIRECTORY = 256, KEY_CPU_ID };

static const struct argp_option descriptions[] = {
	{"event-directory", KEY_DIRECTORY, "DIR", 0,
	 "Event files of processors, see pesa-list(1) (default: PESA_EVENTS, or those that come "
	 "with pesa)",
	 2},
	{"cpu-id", KEY_CPU_ID, "ID", 0,
	 "Processor of the event files: MVENDORID-MARCHID-MIMPID (default: this machine's)", 2},
	{0},
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct event_options *result = state->input;

	switch (key) {
	case KEY_DIRECTORY:
		result->directory = argument;
		return 0;
	case KEY_CPU_ID:
		result->cpu_id = argument;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp event_options_argp = {.options = descriptions, .parser = parse};
const struct argp_child event_options_children[] = {{&event_options_argp, 0, NULL, 0}, {0}};

struct pesa_error *event_options_load(struct event_options *options, const char *command)
{
	const char *directory = options->directory ? options->directory : getenv("PESA_EVENTS");
	const char *id = options->cpu_id;
	char installed[PATH_MAX], own[PESA_CPU_ID_MAX];
	struct pesa_error *error;

	options->source = (struct pesa_event_source){.devices = PESA_PMU_DIRECTORY,
						     .tracepoints = PESA_TRACEPOINT_DIRECTORY};
	if (!id && pesa_cpu_id("", own))
		id = own;
	if (!directory || !*directory) {
		/* The event files that come with pesa are for RISC-V processors. */
		if (!id || !pesa_path_data("events", installed))
			return NULL;
		directory = installed;
	}
	error = pesa_event_catalogue_load(directory, id, &options->catalogue);
	if (error)
		return error;
	options->source.catalogue = &options->catalogue;
	if (options->catalogue.bad)
		profile_complain(command, "%s (%zu entries of event files make no sense)",
				 options->catalogue.problem ? options->catalogue.problem
							    : directory,
				 options->catalogue.bad);
	return NULL;
}

void event_options_free(struct event_options *options)
{
	pesa_event_catalogue_free(&options->catalogue);
}
