/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Profile input: what every subcommand that reads a profile has in common: loading
 * with a progress bar, what was profiled, totals and losses, and what went wrong.
 */
#ifndef TOOLS_UI_PROFILE_INPUT_H
#define TOOLS_UI_PROFILE_INPUT_H

#include <stdbool.h>

#include "pesa/estimate.h"
#include "pesa/profile.h"
#include "pesa/symbols.h"
#include "tools/ui/cycle_stack.h"
#include "tools/ui/profile_options.h"
#include "tools/ui/json.h"
#include "tools/ui/terminal.h"

#define PROFILE_CONFIDENCE 0.95

struct profile_input {
	const struct profile_input_options *options;
	const char *command; /* name of the subcommand, for messages */
	struct pesa_profile *profile;
	struct pesa_symbols *symbols;
	struct cycle_stack stack; /* of the whole profile, sorted */
	uint64_t unattributed;	  /* weight, all reasons */
	bool plain;		  /* no sample tells more than its PC: there are no cycle stacks */
	bool time;		  /* plain samples of a clock: nanoseconds, not cycles */
	bool damaged;		  /* part of the file could not be read: exit status 1 */
};

/* Load.  Prints one line on failure and on damage.  Returns false on failure. */
bool profile_input_open(struct profile_input *input, const struct profile_input_options *options,
			const char *command);
/* Tells of maps and dumps that were refused. */
void profile_input_close(struct profile_input *input);
/* One line on maps of code made at run time that were refused, if any was. */
void profile_tell_refused_maps(const char *command, const struct pesa_symbols *symbols);
/* One line on what dumps of such code lost, or why they were not read. */
void profile_tell_dumps(const char *command, const struct pesa_spaces *spaces);
/* Is there anything in it?  If not, one line says so. */
bool profile_has_cycles(const struct profile_input *input);

/* What was profiled, the totals, losses and unattributed cycles by reason. */
void profile_print_header(const struct profile_input *input, const struct ui_terminal *terminal);
void profile_json_header(const struct profile_input *input, struct ui_json *json);
/* With another processor model than the one that the recording names. */
void profile_json_header_beside(const struct profile_input *input, struct ui_json *json,
				const char *processor);

/* What went wrong with the binaries of the profile, as far as it has come up. */
void profile_print_problems(const struct profile_input *input, const struct ui_terminal *terminal);
void profile_json_problems(const struct profile_input *input, struct ui_json *json);

/* Last part of a path, for display. */
const char *profile_base_name(const char *path);
/* Share of all cycles of the profile. */
double profile_share(const struct profile_input *input, uint64_t weight);
/* [low, high], null where there are too few samples. */
/* What the samples count, as people read it: cycles, or of plain samples what their event counts or
 * the time that a clock measures; the title of its column, and the unit behind it. */
const char *profile_amount(const struct profile_input *input, char buffer[UI_NUMBER_SIZE],
			   double value);
const char *profile_amount_title(const struct profile_input *input);
const char *profile_amount_unit(const struct profile_input *input);
json_object *profile_json_interval(struct pesa_estimate estimate);

#endif
