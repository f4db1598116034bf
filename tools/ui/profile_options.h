/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Options: the one parser of all subcommands, the options that several of them share, and their
 * messages.
 *
 * A subcommand describes its options as a struct argp and calls profile_parse() or
 * profile_parse_program().  Shared options are argp children: those of a recording that is read
 * (profile_input_children) and those of a summary (profile_summary_children).  Every usage error is
 * one line, "pesa COMMAND: ...", and exit status 2.  A parser reports its errors with
 * profile_usage_error(), because argp_error() prints a second line.
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
	const char *file; /* the recording in the archive `path`; NULL: path is a recording */
	bool path_given;
	const char *event, *symbol_root;
	int64_t pid, tid; /* -1: all */
	bool json, no_pager;
	bool flow; /* executions are those of the control flow (pesa/control_flow.h); set by the
		    * subcommand */
	enum ui_when colour;
	/*
	 * Set by the subcommand after parsing: a listener for the samples that are loaded, or NULL;
	 * and its output files, none of which may be the recording.
	 */
	const struct pesa_profile_listener *listener;
	const struct pesa_profile_filter *filter; /* NULL: all samples */
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
 * The argp child of a command that reads a profile; its input is a struct profile_input_options, which
 * it sets to the defaults first.  It rejects arguments that the parent does not accept.
 */
extern const struct argp profile_input_argp;
/* For commands without another argp child. */
extern const struct argp_child profile_input_children[];

/* The options -q and --json[=FILE] of a command that prints a summary. */
struct profile_summary_options {
	bool quiet, wants_json;
	const char *json; /* NULL: standard output */
};

/* The argp child of such a command; its input is a struct profile_summary_options. */
extern const struct argp profile_summary_argp;
/* For commands without another argp child. */
extern const struct argp_child profile_summary_children[];

/*
 * Parse the command line, with -h and --help; `name` is the subcommand.  Returns 0, or 2 after a
 * usage error.  A parser may also exit on a usage error.
 */
int profile_parse(const struct argp *argp, const char *name, int argc, char **argv, void *input);
/*
 * The same for a command that runs a program: options end at the first word that is not an option.
 * The parser gets this word as ARGP_KEY_ARG and calls profile_take_program(), which returns it and
 * all words after it.
 */
int profile_parse_program(const struct argp *argp, const char *name, int argc, char **argv,
			  void *input);
char **profile_take_program(struct argp_state *state);

/* Print one line and exit with status 2. */
void profile_usage_error(const struct argp_state *state, const char *format, ...)
	__attribute__((noreturn, format(printf, 2, 3)));
/* The same for an invalid argument `text` of an option; `allowed` describes the valid ones. */
void profile_bad_value(const struct argp_state *state, const char *option, const char *text,
		       const char *allowed) __attribute__((noreturn));
/* Print and free an error that is not the user's, and exit with `status`. */
void profile_parse_failed(const struct argp_state *state, int status, struct pesa_error *error)
	__attribute__((noreturn));

/* Parse the argument of an option that is a percentage from 0 to 100. */
double profile_percent(const char *argument, const char *option, struct argp_state *state);

/*
 * If the path is an archive (archive_open.h), set `file`, and `symbol_root` unless given.  The
 * parser does this for -i; for other paths the subcommand has to call it.
 */
struct pesa_error *profile_open_archive(struct profile_input_options *options);

/* Return an error, with a hint, if the default file is missing, or if an output is the input. */
struct pesa_error *profile_check_path(const struct profile_input_options *options);

/* One line on standard error: "pesa COMMAND: ...". */
void profile_complain(const char *command, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Print an error and free it.  Returns 1, the exit status. */
int profile_fail(const char *command, struct pesa_error *error);

/*
 * Flush the output and end the pager.  Prints and frees `error`, that of the output, or NULL.
 * Returns the exit status: 1, after a message, if there was an error or not everything was written.
 */
int profile_finish(const char *command, struct ui_terminal *terminal, struct pesa_error *error);

#endif
