// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/pesad/choice.h"

#include <string.h>
#include <unistd.h>

/* Without event files of this processor its own events have no names; that is no error. */
static void load_catalogue(struct pesad_choice *choice, const char *directory,
			   struct pesad_log *log)
{
	char id[PESA_CPU_ID_MAX];
	struct pesa_error *error;

	if (!pesa_cpu_id("", id) || access(directory, F_OK))
		return;
	error = pesa_event_catalogue_load(directory, id, &choice->catalogue);
	choice->has_catalogue = !error;
	pesad_log_error(log, PESAD_LOG_EVENTS, PESAD_LOG_WARNING, error);
	if (choice->has_catalogue && choice->catalogue.bad)
		pesad_log(log, PESAD_LOG_WARNING, "%s (%zu entries of event files make no sense)",
			  choice->catalogue.problem ? choice->catalogue.problem : directory,
			  choice->catalogue.bad);
}

static void choose_best(struct pesad_choice *choice, struct pesad_log *log)
{
	const struct pesa_event_source names = {
		.devices = PESA_PMU_DIRECTORY,
		.catalogue = choice->has_catalogue ? &choice->catalogue : NULL,
	};
	struct pesa_sampling_source *source = &choice->source;

	pesa_source_choose(&names, true, &PESA_SOURCE_KERNEL, source);
	choice->event_count = source->event_count;
	memcpy(choice->events, source->events, sizeof(choice->events));
	if (source->level == PESA_SOURCE_LEADER)
		pesa_source_joined_name(source, choice->joined, sizeof(choice->joined));
	pesad_log(log, PESAD_LOG_INFO, "the best source of samples is %s: %s%s%s%s",
		  pesad_choice_name(choice), pesa_source_level_meaning(source->level),
		  *source->why ? " (" : "", source->why,
		  source->level == PESA_SOURCE_DETAILS ? "" : "; see 'pesa doctor')");
}

void pesad_choice_make(struct pesad_choice *choice, const struct pesad_config *config,
		       struct pesad_log *log, struct pesa_hardware_options *options)
{
	*choice = (struct pesad_choice){.events = {config->collect.event}, .event_count = 1};
	load_catalogue(choice, config->collect.event_files, log);
	if (!strcmp(config->collect.event, PESAD_EVENT_BEST))
		choose_best(choice, log);
	options->events = choice->events;
	options->event_count = choice->event_count;
	options->joined = *choice->joined ? choice->joined : NULL;
	options->catalogue = choice->has_catalogue ? &choice->catalogue : NULL;
}

const char *pesad_choice_name(const struct pesad_choice *choice)
{
	return *choice->joined ? choice->joined : choice->events[0];
}

void pesad_choice_free(struct pesad_choice *choice)
{
	if (choice->has_catalogue)
		pesa_event_catalogue_free(&choice->catalogue);
}
