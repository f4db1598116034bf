/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What follows from what a machine has (machine.h): which part of counting and sampling is there,
 * what its lack means for results, and the command or configuration line that mends it.
 *
 * A lack that only other hardware mends has no such line.
 */
#ifndef DAEMON_MACHINE_FINDINGS_H
#define DAEMON_MACHINE_FINDINGS_H

#include "daemon/machine/machine.h"
#include "daemon/record/source.h"

enum machine_state {
	MACHINE_GOOD,	 /* as good as can be */
	MACHINE_NOTE,	 /* could be better, but nothing is wrong */
	MACHINE_LACK,	 /* something is missing, and `mend` says how it comes */
	MACHINE_UNKNOWN, /* it could not be found out */
	MACHINE_STATES
};

const char *machine_state_name(enum machine_state state); /* "good", "note", ... */

struct machine_finding {
	const char *subject; /* "kernel option PERF_EVENTS" */
	enum machine_state state;
	char value[1152];
	char effect[320]; /* what it means; "": nothing to say */
	char mend[320];	  /* "": nothing mends it, or nothing has to */
};

#define MACHINE_FINDINGS_MAX 48u

struct machine_findings {
	struct machine_finding finding[MACHINE_FINDINGS_MAX];
	size_t count;
};

/* What is known beside the machine's files. */
struct machine_knowledge {
	const struct pesa_sampling_source *source; /* what was chosen by trying; NULL: not tried */
	bool counts;	      /* cycles are counted, whether sampled or not; by trying, too */
	bool event_files;     /* there are event files for this processor */
	bool debuginfod;      /* DEBUGINFOD_URLS is set */
	const char *emulator; /* why the virtual core cannot be used; NULL: it can */
	char *faults;	      /* text of events/firmware.csv, which is changed; NULL: none */
};

void machine_judge(const struct machine *machine, const struct machine_knowledge *knowledge,
		   struct machine_findings *findings);

/* What a subcommand can do here. */
struct machine_ability {
	const char *command;
	const char *able; /* "yes", "in part", "no" */
	const char *text; /* in words */
};

#define MACHINE_ABILITIES_MAX 24u

/* Returns the number of abilities. */
size_t machine_abilities(const struct machine_knowledge *knowledge,
			 struct machine_ability abilities[MACHINE_ABILITIES_MAX]);

#endif
