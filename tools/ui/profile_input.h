/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Profile input: shared by all subcommands that read a profile.  Loads it with a progress bar,
 * prints its header (what was profiled, totals, losses), and reports problems.
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
	const char *command; /* subcommand name, for messages */
	struct pesa_profile *profile;
	struct pesa_symbols *symbols;
	struct cycle_stack stack; /* of the whole profile, sorted */
	uint64_t unattributed;	  /* weight for all reasons */
	bool plain;		  /* samples have only a PC: there are no cycle stacks */
	bool time;		  /* plain samples of a clock: in nanoseconds, not cycles */
	bool other;		  /* plain samples of an event that counts neither */
	bool damaged;		  /* part of the file was unreadable: exit status 1 */
};

/* Load the profile; close it only if there is no error.  Prints a line on damage. */
struct pesa_error *profile_input_open(struct profile_input *input,
				      const struct profile_input_options *options,
				      const char *command);
/* Also reports maps and dumps that were refused. */
void profile_input_close(struct profile_input *input);
/* Report maps of JIT code that were refused, in one line. */
void profile_report_refused_maps(const char *command, const struct pesa_symbols *symbols);
/* Report what JIT dumps lost, or why they were not read, in one line. */
void profile_report_dumps(const char *command, const struct pesa_spaces *spaces);
/* Return whether the profile has cycles; if not, print a line. */
bool profile_has_cycles(const struct profile_input *input);

/* Print what was profiled, the totals, losses and unattributed cycles by reason. */
void profile_print_header(const struct profile_input *input, const struct ui_terminal *terminal);
void profile_json_header(const struct profile_input *input, struct ui_json *json);
/* The same, with the name of a processor model in place of the recording's. */
void profile_json_header_for(const struct profile_input *input, struct ui_json *json,
			     const char *processor);

/* Report the problems with the profile's binaries found so far. */
void profile_print_problems(const struct profile_input *input, const struct ui_terminal *terminal);
void profile_json_problems(const struct profile_input *input, struct ui_json *json);

/*
 * For a writer of text or of JSON: the function that holds an address, NULL if there is none, and the
 * source line.  What has no memory is left out, as standard_output_lacks_part() says.
 */
const struct pesa_symbol *profile_symbol(const struct profile_input *input, uint32_t dso,
					 uint64_t address);
struct pesa_source profile_source(const struct profile_input *input, uint32_t dso,
				  uint64_t address);

/* Last part of a path, for display. */
const char *profile_base_name(const char *path);
/* "mainSort"; "[unknown]" for no symbol. */
const char *profile_symbol_name(const struct pesa_symbol *symbol);
/* "libc.so.6"; "[unmapped]" for UINT32_MAX, code in no binary. */
const char *profile_binary_name(const struct profile_input *input, uint32_t dso);
/* How often an instruction was executed, as estimated: what the samples or the control flow say. */
uint64_t profile_executions(const struct profile_input *input,
			    const struct pesa_instruction *instruction);
/* Share of all cycles of the profile. */
double profile_share(const struct profile_input *input, uint64_t weight);
/*
 * An amount of samples formatted for people: cycles; for plain samples the event's count, or the
 * time if the event is a clock.  And the title of its column, and its unit.
 */
const char *profile_amount(const struct profile_input *input, char buffer[UI_NUMBER_SIZE],
			   double value);
const char *profile_amount_title(const struct profile_input *input);
const char *profile_amount_unit(const struct profile_input *input);
/* ... of what a share is a part: "12 % of all cycles". */
const char *profile_whole(const struct profile_input *input);
/* The interval [low, high]; null if there are too few samples. */
json_object *profile_json_interval(struct pesa_estimate estimate);

#endif
