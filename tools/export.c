/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pesa export: a recording in the formats that other tools read. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "pesa/export.h"
#include "tools/commands.h"
#include "tools/profile_input.h"

struct export_options {
	struct profile_input_options input;
	struct pesa_export_options export;
	bool format_given;
	const char *output; /* NULL, "-": standard output */
};

static bool is_stdout(const struct export_options *wanted)
{
	return !wanted->output || !strcmp(wanted->output, "-");
}

static const struct argp_option options[] = {
	{"format", 'f', "FORMAT", 0, "pprof", 0},
	{"output", 'o', "FILE", 0, "Write FILE instead of standard output", 0},
	{0},
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct export_options *result = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &result->input;
		break;
	case 'f':
		if (!pesa_export_format_parse(argument, &result->export.format))
			argp_error(state, "--format takes pprof, not '%s'", argument);
		result->format_given = true;
		break;
	case 'o':
		result->output = argument;
		break;
	case ARGP_KEY_END:
		if (!result->format_given)
			argp_error(state, "which format? --format takes pprof");
		if (result->input.json && is_stdout(result))
			argp_error(state, "--json says what was exported: name a file with -o");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp_child children[] = {{&profile_input_argp, 0, NULL, 0}, {0}};
static const struct argp argp = {
	.options = options,
	.parser = parse,
	.children = children,
	.doc = "Write a recording in a format that other tools read."
	       "\v"
	       "Example:\n"
	       "  pesa export --format pprof -i perf.data -o profile.pb.gz\n"
	       "  pprof -top profile.pb.gz\n"
	       "\n"
	       "The manual page pesa-export(1) explains every format.",
};

/* Standard output, or a file that is made.  NULL: one line has said why. */
static FILE *open_output(const struct export_options *wanted)
{
	FILE *out;

	if (is_stdout(wanted)) {
		if (wanted->export.format == PESA_EXPORT_PPROF && isatty(STDOUT_FILENO)) {
			profile_complain("export",
					 "%s is binary and standard output is a terminal: "
					 "name a file with -o, or redirect it",
					 pesa_export_format_name(wanted->export.format));
			return NULL;
		}
		return stdout;
	}
	out = fopen(wanted->output, "we");
	if (!out)
		profile_complain("export", "cannot write %s: %s", wanted->output, strerror(errno));
	return out;
}

/* What was exported, for programs; the export itself is in a file. */
static int print_json(const struct export_options *wanted, const struct pesa_export *rows,
		      const struct profile_input *input)
{
	struct ui_json json;

	ui_json_begin(&json, stdout, "export");
	profile_json_header(input, &json);
	ui_json_member(&json, "format",
		       ui_json_string(pesa_export_format_name(wanted->export.format)));
	ui_json_member(&json, "output", ui_json_string(wanted->output));
	ui_json_member(&json, "rows", ui_json_count(pesa_export_count(rows)));
	profile_json_problems(input, &json);
	ui_json_end(&json);
	return ui_json_close("export", stdout) ? 0 : 1;
}

static int export_to(const struct export_options *wanted, struct pesa_export *rows,
		     const struct profile_input *input, FILE *out)
{
	struct pesa_error *error =
		pesa_export_write(rows, input->profile, input->symbols, &wanted->export, out);
	int closed = out == stdout ? fflush(out) : fclose(out);

	if (!error && closed)
		error = pesa_error_system(errno, "the export could not be written in full");
	if (error)
		return profile_fail("export", error);
	return wanted->input.json ? print_json(wanted, rows, input) : 0;
}

static int export(struct export_options *wanted, struct pesa_export *rows)
{
	struct profile_input input;
	int status = 1;
	FILE *out;

	wanted->input.listener = pesa_export_listener(rows);
	if (!profile_input_open(&input, &wanted->input, "export"))
		return 1;
	if (profile_has_cycles(&input)) {
		out = open_output(wanted);
		if (out)
			status = export_to(wanted, rows, &input, out);
	}
	if (input.damaged)
		status = 1;
	profile_input_close(&input);
	return status;
}

int pesa_command_export(int argc, char **argv)
{
	struct export_options wanted = {0};
	struct pesa_export *rows;
	int status = profile_parse(&argp, "export", argc, argv, &wanted);

	if (status)
		return status;
	rows = pesa_export_create();
	if (!rows) {
		profile_complain("export", "out of memory");
		return 1;
	}
	status = export(&wanted, rows);
	pesa_export_free(rows);
	return status;
}
