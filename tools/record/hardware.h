/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pesa record through the kernel: its options, its run, its summary.
 */
#ifndef TOOLS_RECORD_HARDWARE_H
#define TOOLS_RECORD_HARDWARE_H

#include <argp.h>
#include <stdbool.h>

#include "daemon/record/record.h"
#include "daemon/record/source.h"
#include "tools/record/event_options.h"

struct record_hardware {
	struct pesa_hardware_options options;
	const char *events[PESA_HARDWARE_EVENTS_MAX];
	struct pesa_event_list list; /* owns the strings of `events` */
	struct event_options names;  /* where event names are looked up */
	pid_t *processes, *threads;
	bool chains_named; /* -g said how chains are to be found */
	bool has_require;
	enum pesa_source_level require;	    /* the worst source that the user accepts */
	struct pesa_sampling_source source; /* chosen without -e; valid if `chosen` */
	bool chosen;
	char joined[2 * 128]; /* name of the event whose parts several events count */
	const char *asked;    /* the first option given that requires the kernel */
};

void record_hardware_init(struct record_hardware *hardware);
void record_hardware_free(struct record_hardware *hardware);

/* These options; the input is a struct record_hardware. */
extern const struct argp record_hardware_argp;

/* Return whether the options name a target; if not, there must be a program. */
bool record_hardware_has_target(const struct record_hardware *hardware);
/* Return what is wrong with the combination of options; NULL: nothing. */
const char *record_hardware_check(const struct record_hardware *hardware);

/*
 * Record and print the summary.  `options` are complete except for the default events.  Returns the
 * exit status.
 */
int record_hardware_run(struct record_hardware *hardware, bool quiet, bool wants_json,
			const char *json);

#endif
