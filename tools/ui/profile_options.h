/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Profile options: the options that every subcommand which reads a recording has, and the messages
 * that all of them give.
 */
#ifndef TOOLS_UI_PROFILE_OPTIONS_H
#define TOOLS_UI_PROFILE_OPTIONS_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#include "pesa/error.h"
#include "pesa/profile.h"
#include "tools/ui/terminal.h"

#define PROFILE_DEFAULT_PATH "perf.data"

struct profile_input_options {
	const char *path; /* "-": standard input */
	const char *file; /* the recording in the archive at path; NULL: path is a recording */
	bool path_given;
	const char *event, *symbol_root;
	int64_t pid, tid; /* -1: all */
	bool json, no_pager;
	enum ui_when colour;
	/* Set after parsing: who listens while the profile is loaded, NULL: nobody; and the files
	 * that the subcommand will write, which cannot be the recording. */
	const struct pesa_profile_listener *listener;
	const char *outputs[2];
};

/* Keys of options without a letter, shared by all that use the parser below. */
enum {
	PROFILE_KEY_PID = 0x1000,
	PROFILE_KEY_TID,
	PROFILE_KEY_EVENT,
	PROFILE_KEY_SYMFS,
	PROFILE_KEY_JSON,
	PROFILE_KEY_COLOR,
	PROFILE_KEY_NO_PAGER,
	PROFILE_KEY_FIRST_FREE,
};

/*
 * An argp child; its input is a struct profile_input_options, which it sets to the defaults first.
 * It refuses arguments that the parent does not take.
 */
extern const struct argp profile_input_argp;

/* Parse with exit status 2 for usage errors; `name` is the subcommand.  Returns 0 or the status. */
int profile_parse(const struct argp *argp, const char *name, int argc, char **argv, void *input);

/* Parse the argument of an option that is a percentage from 0 to 100. */
double profile_percent(const char *argument, const char *option, struct argp_state *state);

/*
 * Where the path names an archive (archive_open.h), set `file`, and `symbol_root` if it is not
 * given. The parser does it for -i; for paths that are named otherwise it is for the subcommand to
 * do.
 */
struct pesa_error *profile_open_archive(struct profile_input_options *options);

/* An error, with what to do, when the default file is not there, or an output is the file. */
struct pesa_error *profile_check_path(const struct profile_input_options *options);

/* One line on standard error: "pesa COMMAND: ...". */
void profile_complain(const char *command, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Say what an error says, and free it.  Returns 1, the exit status. */
int profile_fail(const char *command, struct pesa_error *error);

/*
 * Flush what was printed and end the pager.  Returns the exit status: 1, and a line, if not all was
 * written; `done` is false if it was not even printed.
 */
int profile_finish(const char *command, struct ui_terminal *terminal, bool done);

#endif
