/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the daemon samples: the event of its configuration, or the best source of the machine
 * (daemon/record/source.h), which may be two events of the processor that are one in the files.
 */
#ifndef DAEMON_PESAD_CHOICE_H
#define DAEMON_PESAD_CHOICE_H

#include "daemon/events/catalogue.h"
#include "daemon/pesad/base/config.h"
#include "daemon/pesad/base/log.h"
#include "daemon/record/record.h"
#include "daemon/record/source.h"

struct pesad_choice {
	struct pesa_event_catalogue catalogue; /* the processor's events; empty: no files of them */
	bool has_catalogue;
	struct pesa_sampling_source source; /* of "best" */
	const char *events[PESA_SOURCE_EVENTS_MAX];
	unsigned int event_count;
	char joined[256]; /* the name of both events in files; "": there is one event */
};

/*
 * Choose, say so in the log, and set the options' events.  Both must stay where they are; the choice
 * is freed by pesad_choice_free(), after the events are closed.
 */
void pesad_choice_make(struct pesad_choice *choice, const struct pesad_config *config,
		       struct pesad_log *log, struct pesa_hardware_options *options);
/* The name in messages. */
const char *pesad_choice_name(const struct pesad_choice *choice);
void pesad_choice_free(struct pesad_choice *choice);

#endif
