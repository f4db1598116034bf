// SPDX-License-Identifier: GPL-2.0-or-later
/* pesa diff: what changed from one recording to another. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/base/terminal_text.h"
#include "tools/commands.h"
#include "tools/diff/html.h"
#include "tools/diff/json.h"
#include "tools/diff/rows.h"
#include "tools/diff/sides.h"
#include "tools/ui/pager.h"
#include "tools/groups/groups.h"
#include "tools/ui/text.h"

#define LIMIT_DEFAULT  0.1 /* percent, text only */
#define LABEL_COLUMNS  44
#define BINARY_COLUMNS 16

struct diff_options {
	struct profile_input_options input;
	struct diff_wanted wanted;
	const char *path[DIFF_SIDES];
	const char *old_symfs;
	double limit; /* percent; negative: not given */
	const char *html;
};

enum { KEY_SHARES = PROFILE_KEY_FIRST_FREE, KEY_OLD_SYMFS, KEY_HTML };

static const struct argp_option options[] = {
	{"by", 's', "symbol|line|insn", 0, "A row for each of these (default: symbol)", 0},
	{"sort", 0, NULL, OPTION_ALIAS, NULL, 0},
	{"symbol", 'S', "NAME", 0,
	 "Only this function; its lines or instructions in the order of the code", 0},
	{"symbols", 0, NULL, OPTION_ALIAS, NULL, 0},
	{"shares", KEY_SHARES, NULL, 0, "Compare shares: scale NEW to as many cycles as OLD has",
	 0},
	{"percent-limit", 'p', "PERCENT", 0,
	 "Leave out rows that did not change significantly and have less than PERCENT of all "
	 "cycles (default: 0.1; in JSON: 0)",
	 0},
	{"html", KEY_HTML, "FILE", 0,
	 "Write a page to FILE, too: two flame graphs and the changes with their significance", 0},
	{"old-symfs", KEY_OLD_SYMFS, "DIRECTORY", 0, "Look for binaries of OLD below DIRECTORY", 1},
	{0},
};

/* The finest of perf's keys decides: a row has its binary and function in any case. */
static enum diff_by parse_by(const char *argument, const struct argp_state *state)
{
	unsigned int keys;

	if (!profile_keys_parse(argument, &keys) || keys == GROUP_BY_DSO)
		profile_usage_error(state, "--by takes symbol, line or insn, not '%s'", argument);
	return keys & GROUP_BY_INSN   ? DIFF_BY_INSN
	       : keys & GROUP_BY_LINE ? DIFF_BY_LINE
				      : DIFF_BY_SYMBOL;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct diff_options *result = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		result->limit = -1;
		state->child_inputs[0] = &result->input;
		break;
	case 's':
		result->wanted.by = parse_by(argument, state);
		break;
	case 'S':
		result->wanted.symbol = argument;
		break;
	case KEY_SHARES:
		result->wanted.shares = true;
		break;
	case KEY_HTML:
		result->html = argument;
		break;
	case KEY_OLD_SYMFS:
		result->old_symfs = argument;
		break;
	case 'p':
		result->limit = profile_percent(argument, "--percent-limit", state);
		break;
	case ARGP_KEY_ARG:
		if (state->arg_num >= DIFF_SIDES)
			profile_usage_error(state, "two recordings are compared; '%s' is one more",
					    argument);
		result->path[state->arg_num] = argument;
		break;
	case ARGP_KEY_END:
		if (!state->arg_num) { /* as perf does; pesa record keeps the first of them */
			result->path[DIFF_OLD] = "perf.data.old";
			result->path[DIFF_NEW] = "perf.data";
		}
		if (state->arg_num == 1)
			profile_usage_error(state, "name two recordings: OLD and NEW");
		if (result->input.path_given)
			profile_usage_error(state,
					    "the recordings are named without -i: OLD and NEW");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "[OLD NEW]",
	.children = profile_input_children,
	.doc = "Show what changed from one recording to another: cycles, executions and exposed "
	       "cycles per execution of functions, lines or instructions, those of different "
	       "builds matched by name and by text; what changed significantly first.  Without names: perf.data.old and "
	       "perf.data.\vExample:\n"
	       "  pesa diff perf.data.old perf.data\n"
	       "  pesa diff --by insn --symbol main perf.data.old perf.data\n"
	       "  pesa diff --html diff.html perf.data.old perf.data\n"
	       "\n"
	       "The manual page pesa-diff(1) explains every column.",
};

/* ---- Text ---------------------------------------------------------------------------------- */

static void print_note(void *context, const char *note)
{
	fputs("  note: ", context);
	terminal_text_print(context, note);
	fputc('\n', context);
}

static const char *whole_number(char buffer[UI_NUMBER_SIZE], double value)
{
	snprintf(buffer, UI_NUMBER_SIZE, "%.0f", value);
	return buffer;
}

static void print_side(const struct profile_input *input, const char *title,
		       const struct ui_terminal *terminal)
{
	const struct pesa_profile_totals *totals = pesa_profile_totals(input->profile);
	const char *command = pesa_profile_cmdline(input->profile);
	char cycles[UI_NUMBER_SIZE], instructions[UI_NUMBER_SIZE];
	struct ui_text line = {0};

	ui_text_add(&line, "%s%s%s ", ui_style(terminal, UI_BOLD), title,
		    ui_style(terminal, UI_PLAIN));
	ui_text_add_safe(&line, "%s: %s", input->options->path, command ? command : "");
	ui_print_line(terminal, ui_text_get(&line));
	ui_text_clear(&line);
	ui_text_add(&line, "    %s %s", profile_amount(input, cycles, all_cycles(input)),
		    profile_amount_unit(input));
	if (!input->plain)
		ui_text_add(&line, ", %s instructions",
			    ui_count(instructions, instructions_of(input)));
	if (totals->exact)
		ui_text_add(&line, ", exact");
	else
		ui_text_add(&line, ", %" PRIu64 " samples every %s, %" PRIu64 " lost",
			    totals->samples,
			    input->time ? ui_time(cycles, totals->period)
					: whole_number(cycles, totals->period),
			    totals->lost);
	ui_print_line(terminal, ui_text_get(&line));
	ui_text_free(&line);
}

/* "+1.23M", "-456", "+12.3ms" */
static const char *signed_amount(const struct profile_input *input, char buffer[UI_NUMBER_SIZE],
				 double value)
{
	char digits[UI_NUMBER_SIZE];

	snprintf(buffer, UI_NUMBER_SIZE, "%s%.*s", value < 0 ? "-" : "+", UI_NUMBER_SIZE - 2,
		 profile_amount(input, digits, fabs(value)));
	return buffer;
}

/* What the functions that print rows have in common. */
struct printing {
	const struct profile_input *input; /* of both sides */
	const struct diff_options *wanted;
	const struct ui_terminal *terminal;
	bool cycles, executions, cost; /* pairs of columns that are shown */
	size_t binary_columns;	       /* 0: not shown */
};

/* Widths of the columns. */
#define CHANGE_COLUMNS 19 /* with its interval */
#define PAIR_COLUMNS   16 /* old and new */
#define STATE_COLUMNS  8  /* mark of the cost; "new", "gone" */
#define LABEL_LEAST    28

static void add_pair(struct ui_text *line, const struct printing *printing,
		     const struct diff_row *row, bool executions)
{
	for (unsigned int side = 0; side < DIFF_SIDES; side++) {
		const struct diff_figures *figures = &row->side[side];
		char number[UI_NUMBER_SIZE];

		if (!figures->present || (executions && !figures->has_executions))
			ui_text_add(line, " %7s", "-");
		else if (executions && figures->samples < PESA_ESTIMATE_SAMPLES_MIN)
			ui_text_add(line, " %7s", "few");
		else
			ui_text_add(line, " %7s",
				    executions ? ui_count(number, figures->executions)
					       : profile_amount(&printing->input[side], number,
								figures->cycles));
	}
}

static void add_costs(struct ui_text *line, const struct diff_row *row)
{
	for (unsigned int side = 0; side < DIFF_SIDES; side++) {
		const struct pesa_estimate *cost = &row->side[side].cost;

		if (cost->enough)
			ui_text_add(line, " %7.2f", cost->value);
		else
			ui_text_add(line, " %7s", "");
	}
	ui_text_add(line, "%s", row->cost.significant ? "*" : " ");
}

/* The binary of a row, of both sides the newer one. */
static const char *binary_of(const struct printing *printing, const struct diff_row *row)
{
	enum diff_side side = row->side[DIFF_NEW].present ? DIFF_NEW : DIFF_OLD;

	return profile_base_name(
		pesa_profile_dso(printing->input[side].profile, row->side[side].dso)->path);
}

static void add_label(struct ui_text *line, const struct printing *printing,
		      const struct diff_row *row)
{
	const struct diff_figures *old = &row->side[DIFF_OLD], *new = &row->side[DIFF_NEW];
	const struct diff_options *wanted = printing->wanted;
	const struct ui_terminal *terminal = printing->terminal;
	size_t column;

	ui_text_add(line, "%s", !old->present ? "new  " : !new->present ? "gone " : "     ");
	if (printing->binary_columns) {
		column = ui_columns(ui_text_get(line));
		ui_text_add_cut(line, binary_of(printing, row), printing->binary_columns,
				terminal->utf8);
		ui_text_pad(line, column + printing->binary_columns + 2);
	}
	if (row->text) {
		const struct diff_figures *place = new->present ? new : old;

		ui_text_add(line, "%7" PRIx64 "  %-32s ", place->address, row->text);
		if (row->old_text)
			ui_text_add(line, "(was %s) ", row->old_text);
	} else if (wanted->wanted.by == DIFF_BY_LINE) {
		const struct diff_figures *place = new->present ? new : old;

		if (place->file)
			ui_text_add_safe(line, "%s:%u", profile_base_name(place->file),
					 place->line);
		else
			ui_text_add(line, "[no line]");
		if (old->present && new->present && old->line != new->line)
			ui_text_add(line, " (was %u)", old->line);
		ui_text_add(line, "  ");
	}
	ui_text_add_name(line, row->function, LABEL_COLUMNS, terminal->utf8);
}

static size_t figure_columns(const struct printing *printing)
{
	return CHANGE_COLUMNS +
	       PAIR_COLUMNS * ((size_t)printing->cycles + printing->executions + printing->cost);
}

static void print_row(const struct printing *printing, const struct diff_row *row)
{
	const struct ui_terminal *terminal = printing->terminal;
	char number[UI_NUMBER_SIZE];
	struct ui_text line = {0};
	double half = (row->cycles.high - row->cycles.low) / 2;

	ui_text_add(&line, "%s%8s%s%s ", row->cycles.significant ? ui_style(terminal, UI_HOT) : "",
		    signed_amount(printing->input, number, row->cycles.value),
		    row->cycles.significant ? "*" : " ",
		    row->cycles.significant ? ui_style(terminal, UI_PLAIN) : "");
	ui_text_add(&line, "%s%s", terminal->utf8 ? "±" : "+-",
		    profile_amount(printing->input, number, half));
	ui_text_pad(&line, CHANGE_COLUMNS);
	if (printing->cycles)
		add_pair(&line, printing, row, false);
	if (printing->executions)
		add_pair(&line, printing, row, true);
	if (printing->cost)
		add_costs(&line, row);
	ui_text_pad(&line, figure_columns(printing) + 3);
	add_label(&line, printing, row);
	ui_print_line(terminal, ui_text_get(&line));
	ui_text_free(&line);
}

static bool is_same(const struct diff_row *row)
{
	const struct diff_figures *old = &row->side[DIFF_OLD], *new = &row->side[DIFF_NEW];

	return old->cycles == new->cycles && old->executions == new->executions;
}

/* The widest name of a binary, up to BINARY_COLUMNS. */
static size_t binary_columns(const struct printing *printing, const struct diff_rows *rows)
{
	size_t widest = strlen("Binary");
	struct ui_text text = {0};

	for (size_t i = 0; i < rows->count && widest < BINARY_COLUMNS; i++) {
		size_t columns;

		ui_text_clear(&text);
		ui_text_add_safe(&text, "%s", binary_of(printing, &rows->row[i]));
		columns = ui_columns(ui_text_get(&text));
		widest = columns > widest ? columns : widest;
	}
	ui_text_free(&text);
	return widest < BINARY_COLUMNS ? widest : BINARY_COLUMNS;
}

/* Choose what is shown besides the change: on a narrow terminal figures and the binary are left out before
 * the names are cut. */
static void choose_columns(struct printing *printing, const struct diff_rows *rows)
{
	const size_t width = printing->terminal->width;
	bool *const pairs[] = {&printing->executions, &printing->cost, &printing->cycles};

	printing->cycles = true;
	/* Samples that tell only their PC have neither. */
	printing->executions = printing->cost =
		!printing->input[DIFF_OLD].plain || !printing->input[DIFF_NEW].plain;
	printing->binary_columns = binary_columns(printing, rows);
	for (size_t i = 0; width && i <= sizeof(pairs) / sizeof(*pairs); i++) {
		size_t binary = printing->binary_columns ? printing->binary_columns + 2 : 0;

		if (figure_columns(printing) + STATE_COLUMNS + binary + LABEL_LEAST <= width)
			return;
		if (i < sizeof(pairs) / sizeof(*pairs))
			*pairs[i] = false;
		else
			printing->binary_columns = 0;
	}
}

/*
 * The rows of functions in the order of their code, runs of rows without cycles as one line.
 */
static void print_ordered(const struct printing *printing, const struct diff_rows *rows)
{
	for (size_t i = 0; i < rows->count;) {
		size_t run = 0;

		while (i + run < rows->count && diff_row_is_unsampled(&rows->row[i + run]))
			run++;
		if (run)
			fprintf(printing->terminal->out, "%*s%zu without cycles\n", 12, "", run);
		else
			print_row(printing, &rows->row[i]);
		i += run ? run : 1;
	}
}

/* The rows, largest change first; the rest is counted. */
static void print_changes(const struct printing *printing, const struct diff_rows *rows,
			  double limit)
{
	const double percent =
		printing->wanted->limit < 0 ? LIMIT_DEFAULT : printing->wanted->limit;
	size_t small = 0, same = 0;

	for (size_t i = 0; i < rows->count; i++) {
		const struct diff_row *row = &rows->row[i];

		if (is_same(row))
			same++;
		else if (diff_is_small(row, limit))
			small++;
		else
			print_row(printing, row);
	}
	if (same)
		fprintf(printing->terminal->out, "          and %zu more that did not change\n",
			same);
	if (small)
		fprintf(printing->terminal->out,
			"          and %zu more without a significant change, below %g%% each "
			"(--percent-limit 0)\n",
			small, percent);
}

static void print_heading(const struct printing *printing)
{
	static const char *const titles[] = {"Function", "Line", "Instruction"};
	const struct profile_input *new = &printing->input[DIFF_NEW];
	const struct ui_terminal *terminal = printing->terminal;
	struct ui_text line = {0};

	ui_text_add(&line, "%s%8s  %s", ui_style(terminal, UI_BOLD), "Change",
		    terminal->utf8 ? "±95%" : "+-95%");
	ui_text_pad(&line, CHANGE_COLUMNS - 1);
	if (printing->cycles)
		ui_text_add(&line, " %15s",
			    new->time	 ? "Time old, new"
			    : new->other ? "Count old, new"
					 : "Cycles old, new");
	if (printing->executions)
		ui_text_add(&line, " %15s", "Execs old, new");
	if (printing->cost)
		ui_text_add(&line, " %15s", "Cyc/exec o., n.");
	ui_text_pad(&line, figure_columns(printing) + STATE_COLUMNS);
	if (printing->binary_columns)
		ui_text_add(&line, "%-*s  ", (int)printing->binary_columns, "Binary");
	ui_text_add(&line, "%s%s", titles[printing->wanted->wanted.by],
		    ui_style(terminal, UI_PLAIN));
	ui_print_line(terminal, ui_text_get(&line));
	ui_text_free(&line);
}

static void print_text(const struct profile_input input[DIFF_SIDES],
		       const struct diff_options *wanted, const struct diff_rows *rows,
		       const struct ui_terminal *terminal)
{
	double old = all_cycles(&input[DIFF_OLD]), new = all_cycles(&input[DIFF_NEW]);
	double limit = (wanted->limit < 0 ? LIMIT_DEFAULT : wanted->limit) / 100 * old;
	const bool ordered = wanted->wanted.symbol && wanted->wanted.by != DIFF_BY_SYMBOL;
	struct printing printing = {.input = input, .wanted = wanted, .terminal = terminal};
	size_t significant = 0;

	print_side(&input[DIFF_OLD], "OLD", terminal);
	print_side(&input[DIFF_NEW], "NEW", terminal);
	fprintf(terminal->out, "  NEW takes %+.2f%% %s\n", old > 0 ? (new / old - 1) * 100 : 0,
		input[DIFF_NEW].time	? "time"
		: input[DIFF_NEW].other ? "events"
					: "cycles");
	diff_each_note(input, rows, print_note, terminal->out);
	for (size_t i = 0; i < rows->count; i++)
		significant += rows->row[i].cycles.significant || rows->row[i].cost.significant;
	fprintf(terminal->out,
		"  %zu of %zu rows changed significantly (*, false discovery rate 5%%)\n\n",
		significant, rows->count);
	choose_columns(&printing, rows);
	print_heading(&printing);
	if (ordered)
		print_ordered(&printing, rows);
	else
		print_changes(&printing, rows, limit);
	fputc('\n', terminal->out);
	for (unsigned int side = 0; side < DIFF_SIDES; side++)
		profile_print_problems(&input[side], terminal);
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static void print_json(const struct profile_input input[DIFF_SIDES],
		       const struct diff_options *wanted, const struct diff_rows *rows)
{
	double limit = (wanted->limit < 0 ? 0 : wanted->limit) / 100 * all_cycles(&input[DIFF_OLD]);
	struct ui_json json;

	ui_json_begin(&json, stdout, "diff");
	diff_json(&json, input, wanted->wanted.by, rows, limit);
	ui_json_end(&json);
}

/* ---- The subcommand ------------------------------------------------------------------------ */

static int write_page(const struct profile_input input[DIFF_SIDES],
		      const struct pesa_export *const samples[DIFF_SIDES],
		      const struct diff_options *wanted, const struct diff_rows *rows)
{
	double limit = (wanted->limit < 0 ? LIMIT_DEFAULT : wanted->limit) / 100;
	struct pesa_error *error =
		diff_write_html(input, samples, wanted->wanted.by, rows, limit, wanted->html);

	return error ? profile_fail("diff", error) : 0;
}

static int show(const struct profile_input input[DIFF_SIDES],
		const struct pesa_export *const samples[DIFF_SIDES],
		const struct diff_options *wanted)
{
	struct ui_terminal terminal = ui_terminal_open(wanted->input.colour);
	struct diff_rows rows;
	struct pesa_error *error = diff_rows_make(input, &wanted->wanted, &rows);
	int status, page = 0;

	if (error) {
		diff_rows_free(&rows);
		return profile_fail("diff", error);
	}
	if (wanted->wanted.symbol && !rows.count) {
		profile_complain("diff", "no function '%s' has samples in either recording%s%s%s",
				 wanted->wanted.symbol, rows.nearest ? "; do you mean '" : "",
				 rows.nearest ? rows.nearest : "", rows.nearest ? "'?" : "");
		diff_rows_free(&rows);
		return 1;
	}
	if (wanted->html)
		page = write_page(input, samples, wanted, &rows);
	if (wanted->input.json) {
		print_json(input, wanted, &rows);
	} else {
		ui_pager_start(&terminal, !wanted->input.no_pager);
		print_text(input, wanted, &rows, &terminal);
	}
	status = profile_finish("diff", &terminal, NULL);
	diff_rows_free(&rows);
	return status || page;
}

/* Load both, and show them. */
static int load_and_show(struct profile_input_options options_of[DIFF_SIDES],
			 const struct pesa_export *const samples[DIFF_SIDES],
			 const struct diff_options *wanted)
{
	struct profile_input input[DIFF_SIDES];
	struct pesa_error *error;
	int status;

	error = profile_input_open(&input[DIFF_OLD], &options_of[DIFF_OLD], "diff");
	if (error)
		return profile_fail("diff", error);
	error = profile_input_open(&input[DIFF_NEW], &options_of[DIFF_NEW], "diff");
	if (error) {
		profile_input_close(&input[DIFF_OLD]);
		return profile_fail("diff", error);
	}
	status = !profile_has_cycles(&input[DIFF_OLD]) || !profile_has_cycles(&input[DIFF_NEW])
			 ? 1
			 : show(input, samples, wanted);
	if (input[DIFF_OLD].damaged || input[DIFF_NEW].damaged)
		status = 1;
	profile_input_close(&input[DIFF_NEW]);
	profile_input_close(&input[DIFF_OLD]);
	return status;
}

int pesa_command_diff(int argc, char **argv)
{
	struct diff_options wanted = {0};
	struct profile_input_options options_of[DIFF_SIDES];
	struct pesa_export *samples[DIFF_SIDES] = {NULL, NULL};
	int status = profile_parse(&argp, "diff", argc, argv, &wanted);
	struct pesa_error *error = NULL;

	if (status)
		return status;
	for (unsigned int side = 0; side < DIFF_SIDES && !error; side++) {
		options_of[side] = wanted.input;
		options_of[side].path = wanted.path[side];
		options_of[side].path_given = true;
		options_of[side].file = NULL;
		if (side == DIFF_OLD && wanted.old_symfs)
			options_of[side].symbol_root = wanted.old_symfs;
		error = profile_open_archive(&options_of[side]);
		samples[side] = wanted.html ? pesa_export_create() : NULL;
		if (!error && wanted.html && !samples[side])
			error = pesa_error_no_memory();
		if (samples[side])
			options_of[side].listener = pesa_export_listener(samples[side]);
		options_of[side].outputs[0] = wanted.html;
	}
	status = error ? profile_fail("diff", error)
		       : load_and_show(options_of, (const struct pesa_export *const *)samples,
				       &wanted);
	for (unsigned int side = 0; side < DIFF_SIDES; side++)
		pesa_export_free(samples[side]);
	return status;
}
