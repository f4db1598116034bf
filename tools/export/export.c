/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pesa export: converts a recording to the formats of other tools. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pesa/export.h"
#include "pesa/timed_blocks.h"
#include "tools/commands.h"
#include "tools/export/csv.h"
#include "tools/export/pgo.h"
#include "tools/groups/groups.h"
#include "tools/store/options.h"
#include "tools/ui/profile_input.h"
#include "tools/ui/safe_output.h"

#define FORMAT_NAMES                                                                           \
	"pprof, folded, speedscope, firefox, csv, or for compilers llvm-sample, llvm-binary, " \
	"gcc-afdo, bolt, bolt-basic, bolt-preaggregated, autofdo-text, branch-stack"

/* What writes the format. */
enum writer { WRITES_STACKS, WRITES_CSV, WRITES_PGO };

struct export_options {
	struct profile_input_options input;
	struct store_wanted store;
	struct pesa_export_options export;
	bool format_given;
	enum writer writer;
	enum pesa_pgo_format pgo; /* of WRITES_PGO; export.format is of WRITES_STACKS */
	bool by_given;
	const char *dso;    /* of WRITES_PGO; NULL: not chosen */
	const char *output; /* NULL, "-": standard output */
};

enum { KEY_BY = PROFILE_KEY_FIRST_FREE, KEY_STATES };

/* The values of --by, and the rows of csv for each. */
static const struct {
	const char *name;
	unsigned int keys;
} bys[] = {
	[PESA_EXPORT_BY_SYMBOL] = {"symbol", GROUP_BY_DSO | GROUP_BY_SYMBOL},
	[PESA_EXPORT_BY_LINE] = {"line", GROUP_BY_LINE},
	[PESA_EXPORT_BY_INSN] = {"insn", GROUP_BY_INSN},
};

#define BYS (sizeof(bys) / sizeof(*bys))

static const struct argp_option options[] = {
	{"format", 'f', "FORMAT", 0, FORMAT_NAMES, 0},
	{"output", 'o', "FILE", 0, "Write FILE instead of standard output", 0},
	{"dso", 'd', "NAME", 0, "For compilers: only this binary (name or path)", 0},
	{"by", KEY_BY, "WHAT", 0,
	 "symbol, line or insn: what a row of csv is (default: insn), or what stands above the "
	 "innermost function in folded and speedscope (default: symbol, nothing)",
	 0},
	{"states", KEY_STATES, NULL, 0,
	 "folded, speedscope: above that, state of the retire stage and causes", 0},
	{0},
};

static bool is_stdout(const struct export_options *wanted)
{
	return !wanted->output || !strcmp(wanted->output, "-");
}

static void parse_format(struct export_options *wanted, const char *name, struct argp_state *state)
{
	wanted->format_given = true;
	if (!strcmp(name, "csv"))
		wanted->writer = WRITES_CSV;
	else if (pesa_pgo_format_parse(name, &wanted->pgo))
		wanted->writer = WRITES_PGO;
	else if (pesa_export_format_parse(name, &wanted->export.format))
		wanted->writer = WRITES_STACKS;
	else
		profile_usage_error(state, "--format takes " FORMAT_NAMES ", not '%s'", name);
}

static void parse_by(struct export_options *wanted, const char *name, struct argp_state *state)
{
	for (unsigned int i = 0; i < BYS; i++) {
		if (strcmp(name, bys[i].name))
			continue;
		wanted->export.by = (enum pesa_export_by)i;
		wanted->by_given = true;
		return;
	}
	profile_usage_error(state, "--by takes symbol, line or insn, not '%s'", name);
}

/* Refuse options that the format ignores. */
static void check(struct export_options *wanted, struct argp_state *state)
{
	const bool csv = wanted->writer == WRITES_CSV;
	const bool stacks = wanted->writer == WRITES_STACKS &&
			    (wanted->export.format == PESA_EXPORT_FOLDED ||
			     wanted->export.format == PESA_EXPORT_SPEEDSCOPE);

	if (!wanted->format_given)
		profile_usage_error(state, "which format? --format takes " FORMAT_NAMES);
	if (wanted->input.json && is_stdout(wanted))
		profile_usage_error(state, "--json says what was exported: name a file with -o");
	if (wanted->dso && wanted->writer != WRITES_PGO)
		profile_usage_error(state, "--dso is for the formats of compilers");
	if (wanted->by_given && !stacks && !csv)
		profile_usage_error(state, "--by is for folded, speedscope and csv");
	if (wanted->export.states && !stacks)
		profile_usage_error(state, "--states is for folded and speedscope");
	if (csv && !wanted->by_given)
		wanted->export.by = PESA_EXPORT_BY_INSN;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct export_options *result = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &result->input;
		state->child_inputs[1] = &result->store;
		break;
	case 'f':
		parse_format(result, argument, state);
		break;
	case 'o':
		result->output = argument;
		break;
	case 'd':
		result->dso = argument;
		break;
	case KEY_BY:
		parse_by(result, argument, state);
		break;
	case KEY_STATES:
		result->export.states = true;
		break;
	case ARGP_KEY_END:
		check(result, state);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.children = store_input_children,
	.doc = "Write a recording in a format that other tools read.\vExample:\n"
	       "  pesa export --format pprof -i perf.data -o profile.pb.gz\n"
	       "  pesa export --format folded --states -o stacks.folded\n"
	       "  pesa export --format csv --by line -o lines.csv\n"
	       "  pesa export --format llvm-sample -o program.prof   # clang -fprofile-sample-use=\n"
	       "  pesa export --format gcc-afdo -o program.afdo      # gcc -fauto-profile=\n"
	       "  pesa export --format llvm-sample -i /var/lib/pesa --since -1d -d program -o "
	       "program.prof\n"
	       "\n"
	       "The manual page pesa-export(1) explains every format.",
};

/* ---- Output -------------------------------------------------------------------------------- */

static bool is_binary(const struct export_options *wanted)
{
	switch (wanted->writer) {
	case WRITES_STACKS:
		return wanted->export.format == PESA_EXPORT_PPROF;
	case WRITES_PGO:
		return pesa_pgo_format_is_binary(wanted->pgo);
	default:
		return false;
	}
}

/* A file that lacks what failed would be taken for a whole one. */
static void remove_output(const struct export_options *wanted)
{
	struct stat status;

	if (!is_stdout(wanted) && !stat(wanted->output, &status) && S_ISREG(status.st_mode))
		unlink(wanted->output);
}

/* Open standard output or a new file.  NULL: failed, after a message. */
static FILE *open_output(const struct export_options *wanted)
{
	FILE *out;

	if (is_stdout(wanted))
		return is_binary(wanted) ? safe_output_binary() : stdout;
	out = fopen(wanted->output, "we");
	if (!out)
		profile_complain("export", "cannot write %s: %s", wanted->output, strerror(errno));
	return out;
}

static const char *format_name(const struct export_options *wanted)
{
	switch (wanted->writer) {
	case WRITES_CSV:
		return "csv";
	case WRITES_PGO:
		return pesa_pgo_format_name(wanted->pgo);
	default:
		return pesa_export_format_name(wanted->export.format);
	}
}

/* Print as JSON what was exported; the export itself is in a file. */
static struct pesa_error *print_json(const struct export_options *wanted,
				     const struct pesa_export *rows,
				     const struct profile_input *input,
				     const struct pesa_pgo_summary *summary)
{
	struct ui_json json;

	ui_json_begin(&json, stdout, "export");
	profile_json_header(input, &json);
	ui_json_member(&json, "format", ui_json_string(format_name(wanted)));
	ui_json_member(&json, "output", ui_json_string(wanted->output));
	if (wanted->writer == WRITES_PGO)
		export_pgo_json(input, summary, &json);
	else
		ui_json_member(&json, "rows",
			       wanted->writer == WRITES_CSV
				       ? NULL
				       : ui_json_count(pesa_export_count(rows)));
	profile_json_problems(input, &json);
	ui_json_end(&json);
	return ui_json_close(stdout);
}

/* Stacks; and inclusive cycles, which instructions do not have. */
static bool needs_rows(const struct export_options *wanted)
{
	return wanted->writer == WRITES_STACKS ||
	       (wanted->writer == WRITES_CSV && wanted->export.by != PESA_EXPORT_BY_INSN);
}

static struct pesa_error *write_rows(const struct export_options *wanted, struct pesa_export *rows,
				     const struct profile_input *input, FILE *out,
				     struct pesa_pgo_summary *summary)
{
	switch (wanted->writer) {
	case WRITES_CSV:
		return export_csv(input, bys[wanted->export.by].keys,
				  needs_rows(wanted) ? rows : NULL, out);
	case WRITES_PGO:
		return export_pgo(input, wanted->pgo, wanted->dso, out, summary);
	default:
		return pesa_export_write(rows, input->profile, input->symbols, &wanted->export,
					 out);
	}
}

static int export_to(const struct export_options *wanted, struct pesa_export *rows,
		     const struct profile_input *input, FILE *out)
{
	struct pesa_pgo_summary summary = {0};
	struct pesa_error *error = write_rows(wanted, rows, input, out, &summary);
	bool failed = ferror(out) != 0;

	failed |= (is_stdout(wanted) ? fflush(out) : fclose(out)) != 0;
	if (!error && failed)
		error = pesa_error_system(errno, "the export could not be written in full");
	if (error)
		remove_output(wanted);
	if (!error && wanted->writer == WRITES_PGO)
		export_pgo_complain(input, &summary);
	if (!error && wanted->input.json)
		error = print_json(wanted, rows, input, &summary);
	return error ? profile_fail("export", error) : 0;
}

/* Report lost and missing data. */
static void say_what_is_missing(const struct export_options *wanted,
				const struct profile_input *input)
{
	const struct pesa_profile_totals *totals = pesa_profile_totals(input->profile);

	if (input->plain && wanted->writer != WRITES_PGO)
		profile_complain("export",
				 "%s: its samples tell only their PC: no executions, states or "
				 "causes are exported%s",
				 input->options->path,
				 input->time ? "; what counts as cycles are nanoseconds" : "");
	if (totals->lost)
		profile_complain("export", "%s: %llu samples were lost in the recording",
				 input->options->path, (unsigned long long)totals->lost);
	if (wanted->writer == WRITES_PGO)
		export_pgo_say_what_is_unread(input);
}

/* Plain samples with branch stacks: what these tell is measured. */
static struct pesa_error *use_paths(const struct profile_input *input,
				    struct pesa_timed_blocks *timed)
{
	struct pesa_error *error;

	if (!timed || !input->plain || !pesa_timed_blocks_totals(timed)->samples)
		return NULL;
	error = pesa_timed_blocks_finish(timed, input->profile);
	return error ? error : pesa_timed_blocks_apply(timed, input->profile);
}

static int export(struct export_options *wanted, struct pesa_export *rows)
{
	struct pesa_timed_blocks *timed = NULL;
	struct profile_input input;
	struct pesa_error *error;
	int status = 1;
	FILE *out;

	if (!is_stdout(wanted))
		wanted->input.outputs[0] = wanted->output;
	if (needs_rows(wanted))
		wanted->input.listener = pesa_export_listener(rows);
	if (wanted->writer == WRITES_PGO) {
		timed = pesa_timed_blocks_create();
		if (!timed)
			return profile_fail("export", pesa_error_no_memory());
		wanted->input.listener = pesa_timed_blocks_listener(timed);
	}
	error = store_choose(&wanted->input, &wanted->store);
	if (!error)
		error = profile_input_open(&input, &wanted->input, "export");
	if (error) {
		pesa_timed_blocks_free(timed);
		return profile_fail("export", error);
	}
	error = use_paths(&input, timed);
	pesa_timed_blocks_free(timed);
	if (error) {
		profile_input_close(&input);
		return profile_fail("export", error);
	}
	if (profile_has_cycles(&input)) {
		say_what_is_missing(wanted, &input);
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
	if (is_binary(&wanted) && is_stdout(&wanted) && isatty(STDOUT_FILENO)) {
		profile_complain("export",
				 "%s is binary and standard output is a terminal: name a file with "
				 "-o, or redirect it",
				 format_name(&wanted));
		return 2;
	}
	rows = pesa_export_create();
	if (!rows)
		return profile_fail("export", pesa_error_no_memory());
	status = export(&wanted, rows);
	pesa_export_free(rows);
	return status;
}
