/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What users of perf type: options and subcommands of perf that pesa does not have.
 *
 * An option either has no effect, because what it asks for is always so (--stdio) or cannot matter
 * (--vmlinux where no kernel is read), or it is answered in one line with what pesa has in its
 * place.  Options that pesa has are not here: those of a subcommand are in its own table, which is
 * searched first.  The options are those of perf 6.1 to 6.12 (`perf COMMAND -h`).
 *
 * This room is a leaf: tables and their lookup.  tools/ui/profile_options.c adds the options to the
 * parser of each subcommand, tools/start/commands.c prints the answers for subcommands.
 */
#ifndef TOOLS_PERF_PERF_H
#define TOOLS_PERF_PERF_H

#include <stddef.h>

/* Whether an option takes an argument. */
enum perf_argument {
	PERF_FLAG,     /* none; --no-NAME is accepted, too, and has no effect */
	PERF_ARGUMENT, /* always */
	PERF_OPTIONAL, /* in the same word: --NAME=ARGUMENT */
};

struct perf_option {
	const char *name;   /* without "--"; NULL: the end of a table */
	const char *answer; /* the rest of a message that begins with the option; NULL: no effect */
	enum perf_argument argument;
	char letter; /* 0: none */
};

/* The options of perf's subcommand `command` that pesa's lacks.  Never NULL. */
const struct perf_option *perf_options(const char *command);

/* What to use in place of perf's subcommand `command`; NULL: perf has none of that name. */
const char *perf_command_answer(const char *command);

#endif
