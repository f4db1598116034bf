/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/completion/options.h"
#include "tools/perf/perf.h"
#include "tools/files/archive_open.h"
#include "tools/files/fleet_open.h"
#include "tools/ui/output_files.h"
#include "tools/ui/profile_options.h"
#include "tools/ui/safe_output.h"
#include "tools/ui/pager.h"

static const struct argp_option options[] = {
	{"input", 'i', "FILE", 0,
	 "Read FILE instead of perf.data; '-' is standard input; clickhouse://HOST/DATABASE is a "
	 "database of many machines (see pesa store)",
	 1},
	{"event", PROFILE_KEY_EVENT, "NAME", 0, "Only this event of the file", 1},
	{"pid", PROFILE_KEY_PID, "PID", 0, "Only this process", 1},
	{"tid", PROFILE_KEY_TID, "TID", 0, "Only this thread", 1},
	{"symfs", PROFILE_KEY_SYMFS, "DIRECTORY", 0, "Look for binaries below DIRECTORY", 1},
	{"json", PROFILE_KEY_JSON, NULL, 0, "Print JSON (schemas: pesa's Documentation/json.md)",
	 2},
	{"color", PROFILE_KEY_COLOR, "auto|always|never", 0,
	 "Colour: auto (default: on a terminal, unless NO_COLOR is set), always, never", 2},
	{"no-pager", PROFILE_KEY_NO_PAGER, NULL, 0, "Do not show long output in a pager", 2},
	{0},
};

static int64_t parse_id(const char *text, const char *what, struct argp_state *state)
{
	char *end;
	long value;

	errno = 0;
	value = strtol(text, &end, 10);
	if (errno || end == text || *end || value < 0 || value > INT32_MAX)
		profile_usage_error(state, "'%s' is no %s", text, what);
	return value;
}

double profile_percent(const char *argument, const char *option, struct argp_state *state)
{
	char *end;
	double percent = strtod(argument, &end);

	if (end == argument || *end || !(percent >= 0 && percent <= 100))
		profile_usage_error(state, "%s is a number from 0 to 100, not '%s'", option,
				    argument);
	return percent;
}

struct pesa_error *profile_open_archive(struct profile_input_options *wanted)
{
	const char *directory, *recording;
	struct pesa_error *error = fleet_open(wanted->path, &wanted->file);

	if (error || wanted->file)
		return error;
	error = archive_open(wanted->path, &directory, &recording);
	if (error || !directory)
		return error;
	wanted->file = recording;
	if (!wanted->symbol_root)
		wanted->symbol_root = directory;
	return NULL;
}

static void open_archive(struct profile_input_options *wanted, struct argp_state *state)
{
	struct pesa_error *error;

	if (fleet_is_url(wanted->path) && (wanted->pid >= 0 || wanted->tid >= 0))
		error = pesa_error_create(PESA_ERROR_ARGUMENT,
					  "%s: a database has no process numbers: choose with "
					  "service=, host= or a time",
					  wanted->path);
	else
		error = profile_open_archive(wanted);
	if (error)
		profile_parse_failed(state, 1, error);
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct profile_input_options *result = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		*result = (struct profile_input_options){
			.path = PROFILE_DEFAULT_PATH, .pid = -1, .tid = -1, .colour = UI_AUTO};
		break;
	case 'i':
		result->path = argument;
		result->path_given = true;
		break;
	case PROFILE_KEY_EVENT:
		result->event = argument;
		break;
	case PROFILE_KEY_PID:
		result->pid = parse_id(argument, "process id", state);
		break;
	case PROFILE_KEY_TID:
		result->tid = parse_id(argument, "thread id", state);
		break;
	case PROFILE_KEY_SYMFS:
		result->symbol_root = argument;
		break;
	case PROFILE_KEY_JSON:
		result->json = true;
		break;
	case PROFILE_KEY_COLOR:
		if (!ui_when_parse(argument, &result->colour))
			profile_usage_error(state, "--color is auto, always or never, not '%s'",
					    argument);
		break;
	case PROFILE_KEY_NO_PAGER:
		result->no_pager = true;
		break;
	case ARGP_KEY_SUCCESS:
		open_archive(result, state);
		break;
	case ARGP_KEY_ARG:
		profile_usage_error(state, "unexpected argument '%s'; the file is named with -i",
				    argument);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

const struct argp profile_input_argp = {.options = options, .parser = parse};
const struct argp_child profile_input_children[] = {{&profile_input_argp, 0, NULL, 0}, {0}};

/* ---- The parser of all subcommands --------------------------------------------------------- */

static const struct argp_option summary_options[] = {
	{"quiet", 'q', NULL, 0, "No summary", 1},
	{"json", PROFILE_KEY_JSON, "FILE", OPTION_ARG_OPTIONAL,
	 "The summary as JSON, to standard output or to FILE (schemas: pesa's "
	 "Documentation/json.md)",
	 1},
	{0},
};

static error_t parse_summary(int key, char *argument, struct argp_state *state)
{
	struct profile_summary_options *result = state->input;

	switch (key) {
	case 'q':
		result->quiet = true;
		return 0;
	case PROFILE_KEY_JSON:
		result->wants_json = true;
		result->json = argument;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp profile_summary_argp = {.options = summary_options, .parser = parse_summary};
const struct argp_child profile_summary_children[] = {{&profile_summary_argp, 0, NULL, 0}, {0}};

/* ---- Options of perf -------------------------------------------------------------------------- */

#define PERF_OPTIONS_MAX 256
#define PERF_NAME_MAX	 32
#define KEY_PERF	 0x4000 /* + twice the index in the table; + 1: its negation */

/* The options of perf that a subcommand lacks, for the parser. */
struct perf_parser {
	const struct perf_option *table;
	struct argp_option option[PERF_OPTIONS_MAX + 1];
	char negation[PERF_OPTIONS_MAX][PERF_NAME_MAX];
};

static void add_perf_option(struct perf_parser *parser, unsigned int *count, unsigned int index)
{
	const struct perf_option *row = &parser->table[index];
	const int key = KEY_PERF + 2 * (int)index;
	char *negation = parser->negation[*count];

	parser->option[(*count)++] = (struct argp_option){
		.name = row->name,
		.key = row->letter ? row->letter : key,
		.arg = row->argument == PERF_FLAG ? NULL : "ARGUMENT",
		.flags = OPTION_HIDDEN | (row->argument == PERF_OPTIONAL ? OPTION_ARG_OPTIONAL : 0),
	};
	if (row->argument != PERF_FLAG || !strncmp(row->name, "no-", 3))
		return;
	snprintf(negation, PERF_NAME_MAX, "no-%s", row->name);
	parser->option[(*count)++] =
		(struct argp_option){.name = negation, .key = key + 1, .flags = OPTION_HIDDEN};
}

static void make_perf_options(struct perf_parser *parser, const char *command)
{
	unsigned int count = 0;

	*parser = (struct perf_parser){.table = perf_options(command)};
	for (unsigned int i = 0; parser->table[i].name && count + 2 <= PERF_OPTIONS_MAX; i++)
		add_perf_option(parser, &count, i);
}

/* A letter means one option of a table. */
static const struct perf_option *perf_option_of(const struct perf_parser *parser, int key)
{
	const struct perf_option *table = parser->table;

	for (unsigned int i = 0; table[i].name; i++)
		if (table[i].letter ? key == table[i].letter : key == KEY_PERF + 2 * (int)i)
			return &table[i];
	return NULL;
}

/* "--fields (-F)" */
static void refuse(const struct perf_option *row, const struct argp_state *state)
{
	if (row->letter)
		profile_usage_error(state, "perf's --%s (-%c): %s", row->name, row->letter,
				    row->answer);
	profile_usage_error(state, "perf's --%s: %s", row->name, row->answer);
}

static error_t parse_perf(int key, char *argument __attribute__((unused)), struct argp_state *state)
{
	const struct perf_option *row = perf_option_of(state->input, key);
	bool negation = key >= KEY_PERF && key < KEY_PERF + 2 * PERF_OPTIONS_MAX;

	if (row && row->answer)
		refuse(row, state);
	return row || negation ? 0 : ARGP_ERR_UNKNOWN;
}

/* ---- The parser ---------------------------------------------------------------------------------- */

enum { KEY_LIST_OPTIONS = 0x3fff };

static const struct argp_option root_options[] = {
	{NULL, 'h', NULL, OPTION_HIDDEN, NULL, -1}, /* argp has -? and --help */
	/* for completion by shells, as perf has it */
	{"list-opts", KEY_LIST_OPTIONS, NULL, OPTION_HIDDEN, NULL, -1},
	{0},
};

struct root_input {
	const struct argp *argp; /* of the subcommand */
	void *input;		 /* its input */
	struct perf_parser perf;
};

static error_t parse_root(int key, char *argument __attribute__((unused)), struct argp_state *state)
{
	struct root_input *root = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		/* getopt has printed the error; argp's "Try ..." would be a second line. */
		state->err_stream = NULL;
		state->child_inputs[0] = root->input;
		state->child_inputs[1] = &root->perf;
		return 0;
	case 'h':
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		return 0;
	case KEY_LIST_OPTIONS:
		completion_list_options(root->argp, stdout);
		exit(0);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int parse_all(const struct argp *argp, const char *name, int argc, char **argv,
		     unsigned int flags, void *input)
{
	struct root_input top = {.argp = argp, .input = input};
	const struct argp perf = {.options = top.perf.option, .parser = parse_perf};
	const struct argp_child children[] = {{argp, 0, NULL, 0}, {&perf, 0, NULL, 0}, {0}};
	const struct argp root = {
		.options = root_options, .parser = parse_root, .children = children};
	char program[64], *saved = argv[0];
	int failed;

	make_perf_options(&top.perf, name);
	snprintf(program, sizeof(program), "pesa %s", name);
	argv[0] = program; /* getopt's messages start with it */
	failed = argp_parse(&root, argc, argv, flags, NULL, &top);
	argv[0] = saved;
	return failed ? 2 : 0;
}

int profile_parse(const struct argp *argp, const char *name, int argc, char **argv, void *input)
{
	return parse_all(argp, name, argc, argv, 0, input);
}

int profile_parse_program(const struct argp *argp, const char *name, int argc, char **argv,
			  void *input)
{
	return parse_all(argp, name, argc, argv, ARGP_IN_ORDER, input);
}

char **profile_take_program(struct argp_state *state)
{
	char **program = state->argv + state->next - 1;

	state->next = state->argc;
	return program;
}

void profile_usage_error(const struct argp_state *state, const char *format, ...)
{
	struct pesa_error *error;
	va_list arguments;

	va_start(arguments, format);
	error = pesa_error_vcreate(PESA_ERROR_ARGUMENT, format, arguments);
	va_end(arguments);
	profile_parse_failed(state, 2, error);
}

void profile_bad_value(const struct argp_state *state, const char *option, const char *text,
		       const char *allowed)
{
	profile_usage_error(state, "'%s' is no value for %s; allowed: %s", text, option, allowed);
}

void profile_parse_failed(const struct argp_state *state, int status, struct pesa_error *error)
{
	safe_output_message("%s: %s", state->name, error->message);
	pesa_error_free(error);
	exit(status);
}

/* ---- Messages ------------------------------------------------------------------------------ */

void profile_complain(const char *command, const char *format, ...)
{
	struct pesa_error *error;
	va_list arguments;

	va_start(arguments, format);
	error = pesa_error_vcreate(PESA_ERROR_OTHER, format, arguments);
	va_end(arguments);
	safe_output_message("pesa %s: %s", command, error->message);
	pesa_error_free(error);
}

int profile_fail(const char *command, struct pesa_error *error)
{
	profile_complain(command, "%s", error->message);
	pesa_error_free(error);
	return 1;
}

int profile_finish(const char *command, struct ui_terminal *terminal, struct pesa_error *error)
{
	struct pesa_error *unwritten = ui_pager_finish(terminal);

	if (error)
		pesa_error_free(unwritten);
	else
		error = unwritten;
	return error ? profile_fail(command, error) : 0;
}

struct pesa_error *profile_check_path(const struct profile_input_options *wanted)
{
	if (wanted->path_given || !access(wanted->path, F_OK)) {
		const struct output_file files[] = {
			{.path = wanted->path, .what = "the recording", .read = true},
			{.path = wanted->outputs[0], .what = "the output"},
			{.path = wanted->outputs[1], .what = "the output"},
		};

		return output_files_check(files, sizeof(files) / sizeof(files[0]));
	}
	return pesa_error_create(
		PESA_ERROR_NOT_FOUND,
		"there is no %s here: record one with 'pesa record -- PROGRAM', or name a file with -i",
		wanted->path);
}
