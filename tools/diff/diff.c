// SPDX-License-Identifier: GPL-2.0-or-later
/* pesa diff: what changed from one recording to another. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/base/terminal_text.h"
#include "tools/commands.h"
#include "tools/diff/rows.h"
#include "tools/ui/pager.h"
#include "tools/ui/text.h"

#define LIMIT_DEFAULT 0.1 /* percent, text only */
#define LABEL_COLUMNS 44

struct diff_options {
	struct profile_input_options input;
	struct diff_wanted wanted;
	const char *path[DIFF_SIDES];
	const char *old_symfs;
	double limit; /* percent; negative: not given */
};

enum { KEY_BY = PROFILE_KEY_FIRST_FREE, KEY_SHARES, KEY_OLD_SYMFS, KEY_SYMBOL };

static const struct argp_option options[] = {
	{"by", KEY_BY, "WHAT", 0, "A row for each symbol (default), line or insn", 0},
	{"symbol", KEY_SYMBOL, "NAME", 0,
	 "Only this function; its lines or instructions in the order of the code", 0},
	{"shares", KEY_SHARES, NULL, 0, "Compare shares: scale NEW to as many cycles as OLD has",
	 0},
	{"percent-limit", 'p', "PERCENT", 0,
	 "Leave out rows that did not change significantly and have less than PERCENT of all "
	 "cycles (default: 0.1; in JSON: 0)",
	 0},
	{"old-symfs", KEY_OLD_SYMFS, "DIRECTORY", 0, "Look for binaries of OLD below DIRECTORY", 1},
	{0},
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct diff_options *result = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		result->limit = -1;
		state->child_inputs[0] = &result->input;
		break;
	case KEY_BY:
		if (!strcmp(argument, "symbol"))
			result->wanted.by = DIFF_BY_SYMBOL;
		else if (!strcmp(argument, "line"))
			result->wanted.by = DIFF_BY_LINE;
		else if (!strcmp(argument, "insn"))
			result->wanted.by = DIFF_BY_INSN;
		else
			profile_usage_error(state, "--by takes symbol, line or insn, not '%s'",
					    argument);
		break;
	case KEY_SYMBOL:
		result->wanted.symbol = argument;
		break;
	case KEY_SHARES:
		result->wanted.shares = true;
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
		if (state->arg_num < DIFF_SIDES)
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
	.args_doc = "OLD NEW",
	.children = profile_input_children,
	.doc = "Show what changed from one recording to another: cycles, executions and exposed "
	       "cycles per execution of functions, lines or instructions, those of different "
	       "builds matched by name and by text; what changed significantly first.\vExample:\n"
	       "  pesa diff perf.data.old perf.data\n"
	       "  pesa diff --by insn --symbol main perf.data.old perf.data\n"
	       "\n"
	       "The manual page pesa-diff(1) explains every column.",
};

/* ---- What both are ------------------------------------------------------------------------- */

/* Retirements of all instructions: as counted, of the whole run; otherwise those that samples tell.
 */
static double instructions_of(const struct profile_input *input)
{
	bool whole = input->options->pid < 0 && input->options->tid < 0;
	double sum = 0;
	size_t count;
	const struct pesa_count *counts = pesa_profile_counts(input->profile, &count);

	for (size_t i = 0; whole && i < count; i++)
		if (!strcmp(counts[i].event, "INST.RET"))
			return (double)counts[i].value;
	for (size_t i = 0; i < pesa_profile_instruction_count(input->profile); i++)
		sum += (double)pesa_profile_instruction(input->profile, i)->executions;
	return sum;
}

static double all_cycles(const struct profile_input *input)
{
	return cycles_of(pesa_profile_totals(input->profile)->weight);
}

/* Notes on what makes the two hard to compare. */
static void each_note(const struct profile_input input[DIFF_SIDES], const struct diff_rows *rows,
		      void (*emit)(void *context, const char *note), void *context)
{
	const struct pesa_profile_totals *old = pesa_profile_totals(input[DIFF_OLD].profile);
	const struct pesa_profile_totals *new = pesa_profile_totals(input[DIFF_NEW].profile);
	const char *core[DIFF_SIDES] = {pesa_profile_capabilities(input[DIFF_OLD].profile)->core,
					pesa_profile_capabilities(input[DIFF_NEW].profile)->core};
	double work_old = instructions_of(&input[DIFF_OLD]),
	       work_new = instructions_of(&input[DIFF_NEW]);
	char note[512];

	if (strcmp(core[DIFF_OLD], core[DIFF_NEW])) {
		snprintf(note, sizeof(note), "cores differ: %s and %s",
			 *core[DIFF_OLD] ? core[DIFF_OLD] : "unknown",
			 *core[DIFF_NEW] ? core[DIFF_NEW] : "unknown");
		emit(context, note);
	}
	if (!old->exact && !new->exact && fabs(old->period - new->period) > 0.5) {
		snprintf(note, sizeof(note),
			 "periods differ, %.0f and %.0f: cycles are of the whole run either way, "
			 "intervals are wider where the period is longer",
			 old->period, new->period);
		emit(context, note);
	}
	if (old->skidding_samples || new->skidding_samples)
		emit(context, "PC is skidding: not exact; differences between instructions that "
			      "are near to each other mean nothing");
	if (input[DIFF_OLD].plain || input[DIFF_NEW].plain)
		emit(context,
		     "samples without details: by their PC alone; no executions, no cycles per execution");
	else if (work_old > 0 && fabs(work_new / work_old - 1) > 0.05) {
		snprintf(
			note, sizeof(note),
			"%.2f times as many instructions retired: if that is another input, and no "
			"other code, compare cycles per execution, or --shares",
			work_new / work_old);
		emit(context, note);
	}
	if (rows->scale != 1) {
		snprintf(note, sizeof(note),
			 "shares are compared: cycles of NEW are multiplied by %.4f", rows->scale);
		emit(context, note);
	}
}

/* ---- Text ---------------------------------------------------------------------------------- */

static void print_note(void *context, const char *note)
{
	fputs("  note: ", context);
	terminal_text_print(context, note);
	fputc('\n', context);
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
		ui_text_add(&line, ", %" PRIu64 " samples every %.0f, %" PRIu64 " lost",
			    totals->samples, totals->period, totals->lost);
	ui_print_line(terminal, ui_text_get(&line));
	ui_text_free(&line);
}

/* "+1.23M", "-456" */
static const char *signed_count(char buffer[UI_NUMBER_SIZE], double value)
{
	char digits[UI_NUMBER_SIZE];

	snprintf(buffer, UI_NUMBER_SIZE, "%s%.*s", value < 0 ? "-" : "+", UI_NUMBER_SIZE - 2,
		 ui_count(digits, fabs(value)));
	return buffer;
}

static void add_pair(struct ui_text *line, const struct diff_row *row, bool executions)
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
				    ui_count(number,
					     executions ? figures->executions : figures->cycles));
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

static void add_label(struct ui_text *line, const struct diff_options *wanted,
		      const struct diff_row *row, const struct ui_terminal *terminal)
{
	const struct diff_figures *old = &row->side[DIFF_OLD], *new = &row->side[DIFF_NEW];

	ui_text_add(line, "%s", !old->present ? "new  " : !new->present ? "gone " : "     ");
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

static void print_row(const struct diff_options *wanted, const struct diff_row *row,
		      const struct ui_terminal *terminal)
{
	char number[UI_NUMBER_SIZE];
	struct ui_text line = {0};
	double half = (row->cycles.high - row->cycles.low) / 2;

	ui_text_add(&line, "%s%8s%s%s ", row->cycles.significant ? ui_style(terminal, UI_HOT) : "",
		    signed_count(number, row->cycles.value), row->cycles.significant ? "*" : " ",
		    row->cycles.significant ? ui_style(terminal, UI_PLAIN) : "");
	ui_text_add(&line, "%s%s", terminal->utf8 ? "±" : "+-", ui_count(number, half));
	ui_text_pad(&line, 19);
	add_pair(&line, row, false);
	add_pair(&line, row, true);
	add_costs(&line, row);
	ui_text_pad(&line, 70);
	add_label(&line, wanted, row, terminal);
	ui_print_line(terminal, ui_text_get(&line));
	ui_text_free(&line);
}

static bool is_small(const struct diff_row *row, double limit)
{
	return !row->cycles.significant && !row->cost.significant &&
	       row->side[DIFF_OLD].cycles < limit && row->side[DIFF_NEW].cycles < limit;
}

static void print_text(const struct profile_input input[DIFF_SIDES],
		       const struct diff_options *wanted, const struct diff_rows *rows,
		       const struct ui_terminal *terminal)
{
	static const char *const titles[] = {"Function", "Line", "Instruction"};
	double old = all_cycles(&input[DIFF_OLD]), new = all_cycles(&input[DIFF_NEW]);
	double limit = (wanted->limit < 0 ? LIMIT_DEFAULT : wanted->limit) / 100 * old;
	const bool ordered = wanted->wanted.symbol && wanted->wanted.by != DIFF_BY_SYMBOL;
	size_t left_out = 0, significant = 0;

	print_side(&input[DIFF_OLD], "OLD", terminal);
	print_side(&input[DIFF_NEW], "NEW", terminal);
	fprintf(terminal->out, "  NEW takes %+.2f%% %s\n", old > 0 ? (new / old - 1) * 100 : 0,
		input[DIFF_NEW].time	? "time"
		: input[DIFF_NEW].plain ? "events"
					: "cycles");
	each_note(input, rows, print_note, terminal->out);
	for (size_t i = 0; i < rows->count; i++)
		significant += rows->row[i].cycles.significant || rows->row[i].cost.significant;
	fprintf(terminal->out,
		"  %zu of %zu rows changed significantly (*, false discovery rate 5%%)\n\n",
		significant, rows->count);
	fprintf(terminal->out, "%s%8s  %-8s%s %15s %15s %15s   %6s%s%s\n",
		ui_style(terminal, UI_BOLD), "Change", terminal->utf8 ? "±95%" : "+-95%",
		terminal->utf8 ? " " : "",
		input[DIFF_NEW].time	? "ns old, new"
		: input[DIFF_NEW].plain ? "Count old, new"
					: "Cycles old, new",
		"Execs old, new", "Cyc/exec o., n.", "", titles[wanted->wanted.by],
		ui_style(terminal, UI_PLAIN));
	for (size_t i = 0; i < rows->count; i++) {
		if (!ordered && is_small(&rows->row[i], limit))
			left_out++;
		else
			print_row(wanted, &rows->row[i], terminal);
	}
	if (left_out)
		fprintf(terminal->out,
			"          and %zu more without a significant change, below %g%% each "
			"(--percent-limit 0)\n",
			left_out, wanted->limit < 0 ? LIMIT_DEFAULT : wanted->limit);
	fputc('\n', terminal->out);
	for (unsigned int side = 0; side < DIFF_SIDES; side++)
		profile_print_problems(&input[side], terminal);
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static void json_note(void *context, const char *note)
{
	json_object_array_add(context, ui_json_string(note));
}

static json_object *side_json(const struct profile_input *input)
{
	const struct pesa_profile_totals *totals = pesa_profile_totals(input->profile);
	const struct pesa_capabilities *capabilities = pesa_profile_capabilities(input->profile);
	json_object *object = json_object_new_object();

	json_object_object_add(object, "input", ui_json_string(input->options->path));
	json_object_object_add(object, "cmdline",
			       ui_json_string(pesa_profile_cmdline(input->profile)));
	json_object_object_add(object, "event", ui_json_string(pesa_profile_event(input->profile)));
	json_object_object_add(object, "core",
			       capabilities->core[0] ? ui_json_string(capabilities->core) : NULL);
	json_object_object_add(object, "exact", json_object_new_boolean(totals->exact));
	json_object_object_add(object, "period", ui_json_number(totals->period));
	json_object_object_add(object, "samples", ui_json_count(totals->samples));
	json_object_object_add(object, "plain_samples", ui_json_count(totals->plain_samples));
	json_object_object_add(object, "skidding_samples", ui_json_count(totals->skidding_samples));
	json_object_object_add(object, "lost", ui_json_count(totals->lost));
	json_object_object_add(object, "cycles", ui_json_number(all_cycles(input)));
	json_object_object_add(object, "instructions", ui_json_number(instructions_of(input)));
	return object;
}

static json_object *interval_json(double low, double high)
{
	json_object *interval = json_object_new_array_ext(2);

	json_object_array_add(interval, ui_json_number(low));
	json_object_array_add(interval, ui_json_number(high));
	return interval;
}

static json_object *figures_json(const struct profile_input *input,
				 const struct diff_figures *figures)
{
	json_object *object;

	if (!figures->present)
		return NULL;
	object = json_object_new_object();
	json_object_object_add(
		object, "dso",
		ui_json_string(pesa_profile_dso(input->profile, figures->dso)->path));
	json_object_object_add(object, "address", ui_json_count(figures->address));
	json_object_object_add(object, "file", ui_json_string(figures->file));
	json_object_object_add(object, "line", figures->file ? ui_json_count(figures->line) : NULL);
	json_object_object_add(object, "cycles", ui_json_number(figures->cycles));
	json_object_object_add(object, "executions",
			       figures->has_executions ? ui_json_number(figures->executions)
						       : NULL);
	json_object_object_add(object, "cycles_per_execution",
			       figures->cost.enough ? ui_json_number(figures->cost.value) : NULL);
	json_object_object_add(object, "cycles_per_execution_interval",
			       profile_json_interval(figures->cost));
	return object;
}

static void add_change(json_object *object, const char *prefix, const struct diff_change *change)
{
	char name[64];

	snprintf(name, sizeof(name), "%s", prefix);
	json_object_object_add(object, name, change->known ? ui_json_number(change->value) : NULL);
	snprintf(name, sizeof(name), "%s_interval", prefix);
	json_object_object_add(object, name,
			       change->known ? interval_json(change->low, change->high) : NULL);
	snprintf(name, sizeof(name), "%s_p", prefix);
	json_object_object_add(object, name, change->known ? ui_json_number(change->p) : NULL);
	snprintf(name, sizeof(name), "%s_significant", prefix);
	json_object_object_add(object, name, json_object_new_boolean(change->significant));
}

static json_object *row_json(const struct profile_input input[DIFF_SIDES],
			     const struct diff_row *row)
{
	const bool both = row->side[DIFF_OLD].present && row->side[DIFF_NEW].present;
	json_object *object = json_object_new_object();

	json_object_object_add(object, "symbol", ui_json_string(row->function));
	if (row->text)
		json_object_object_add(object, "text", ui_json_string(row->text));
	if (row->old_text)
		json_object_object_add(object, "old_text", ui_json_string(row->old_text));
	json_object_object_add(object, "kind",
			       ui_json_string(both			    ? "both"
					      : row->side[DIFF_NEW].present ? "new"
									    : "gone"));
	add_change(object, "change", &row->cycles);
	add_change(object, "cost_change", &row->cost);
	json_object_object_add(object, "old", figures_json(&input[DIFF_OLD], &row->side[DIFF_OLD]));
	json_object_object_add(object, "new", figures_json(&input[DIFF_NEW], &row->side[DIFF_NEW]));
	return object;
}

static void print_json(const struct profile_input input[DIFF_SIDES],
		       const struct diff_options *wanted, const struct diff_rows *rows)
{
	static const char *const names[] = {"symbol", "line", "insn"};
	double limit = (wanted->limit < 0 ? 0 : wanted->limit) / 100 * all_cycles(&input[DIFF_OLD]);
	json_object *notes = json_object_new_array();
	struct ui_json json;

	each_note(input, rows, json_note, notes);
	ui_json_begin(&json, stdout, "diff");
	ui_json_member(&json, "old", side_json(&input[DIFF_OLD]));
	ui_json_member(&json, "new", side_json(&input[DIFF_NEW]));
	ui_json_member(&json, "scale", ui_json_number(rows->scale));
	ui_json_member(&json, "notes", notes);
	ui_json_member(&json, "by", ui_json_string(names[wanted->wanted.by]));
	ui_json_array_begin(&json, "rows");
	for (size_t i = 0; i < rows->count; i++)
		if (!is_small(&rows->row[i], limit))
			ui_json_element(&json, row_json(input, &rows->row[i]));
	ui_json_array_end(&json);
	profile_json_problems(&input[DIFF_NEW], &json);
	ui_json_end(&json);
}

/* ---- The subcommand ------------------------------------------------------------------------ */

static int show(const struct profile_input input[DIFF_SIDES], const struct diff_options *wanted)
{
	struct ui_terminal terminal = ui_terminal_open(wanted->input.colour);
	struct diff_rows rows;
	struct pesa_error *error = diff_rows_make(input, &wanted->wanted, &rows);
	int status;

	if (error) {
		diff_rows_free(&rows);
		return profile_fail("diff", error);
	}
	if (wanted->wanted.symbol && !rows.count) {
		profile_complain("diff", "no function '%s' has samples in either recording",
				 wanted->wanted.symbol);
		diff_rows_free(&rows);
		return 1;
	}
	if (wanted->input.json) {
		print_json(input, wanted, &rows);
	} else {
		ui_pager_start(&terminal, !wanted->input.no_pager);
		print_text(input, wanted, &rows, &terminal);
	}
	status = profile_finish("diff", &terminal, NULL);
	diff_rows_free(&rows);
	return status;
}

int pesa_command_diff(int argc, char **argv)
{
	struct diff_options wanted = {0};
	struct profile_input_options options_of[DIFF_SIDES];
	struct profile_input input[DIFF_SIDES];
	int status = profile_parse(&argp, "diff", argc, argv, &wanted);

	if (status)
		return status;
	for (unsigned int side = 0; side < DIFF_SIDES; side++) {
		options_of[side] = wanted.input;
		options_of[side].path = wanted.path[side];
		options_of[side].path_given = true;
	}
	if (wanted.old_symfs)
		options_of[DIFF_OLD].symbol_root = wanted.old_symfs;
	for (unsigned int side = 0; side < DIFF_SIDES; side++) {
		struct pesa_error *error;

		options_of[side].file = NULL;
		error = profile_open_archive(&options_of[side]);
		if (error)
			return profile_fail("diff", error);
	}
	if (!profile_input_open(&input[DIFF_OLD], &options_of[DIFF_OLD], "diff"))
		return 1;
	if (!profile_input_open(&input[DIFF_NEW], &options_of[DIFF_NEW], "diff")) {
		profile_input_close(&input[DIFF_OLD]);
		return 1;
	}
	status = !profile_has_cycles(&input[DIFF_OLD]) || !profile_has_cycles(&input[DIFF_NEW])
			 ? 1
			 : show(input, &wanted);
	if (input[DIFF_OLD].damaged || input[DIFF_NEW].damaged)
		status = 1;
	profile_input_close(&input[DIFF_NEW]);
	profile_input_close(&input[DIFF_OLD]);
	return status;
}
