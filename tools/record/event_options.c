// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/record/event_options.h"

#include <stdlib.h>

#include "tools/ui/paths.h"
#include "tools/ui/profile_options.h"

bool event_option(struct event_options *options, int option, const char *argument)
{
	if (option == EVENT_OPTION_DIRECTORY)
		options->directory = argument;
	else if (option == EVENT_OPTION_CPU_ID)
		options->cpu_id = argument;
	else
		return false;
	return true;
}

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
