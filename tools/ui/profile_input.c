/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <math.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pesa/space.h"
#include "pesa/control_flow.h"
#include "tools/ui/large_pages.h"
#include "tools/ui/profile_input.h"
#include "tools/ui/progress.h"
#include "tools/ui/standard_output.h"
#include "tools/ui/text.h"

/* Minimum share of all cycles at which a binary without symbols is mentioned. */
#define NOTE_SHARE 0.001

/* ---- Loading ------------------------------------------------------------------------------- */

/* Make the cycle stack of the whole profile. */
static struct pesa_error *add_up(struct profile_input *input)
{
	struct pesa_error *error = NULL;

	for (size_t i = 0; i < pesa_profile_instruction_count(input->profile) && !error; i++)
		error = cycle_stack_add(&input->stack, pesa_profile_instruction(input->profile, i));
	cycle_stack_sort(&input->stack);
	return error;
}

/* Take executions from the control flow. */
static struct pesa_error *use_flow(struct profile_input *input)
{
	struct pesa_control_flow *flow = NULL;
	struct pesa_error *error =
		pesa_control_flow_create(input->profile, input->symbols, true, &flow);

	if (!error)
		error = pesa_control_flow_apply(flow, input->profile);
	pesa_control_flow_free(flow);
	return error;
}

static struct pesa_error *load(struct profile_input *input)
{
	const struct profile_input_options *wanted = input->options;
	struct pesa_profile_options load_options;
	struct ui_progress progress;
	struct pesa_error *error;

	error = profile_check_path(wanted);
	if (error)
		return error;
	large_pages_for_heap();
	pesa_profile_options_default(&load_options);
	load_options.event = wanted->event;
	load_options.pid = wanted->pid;
	load_options.tid = wanted->tid;
	load_options.symbol_root = wanted->symbol_root;
	load_options.listener = wanted->listener;
	load_options.filter = wanted->filter;
	load_options.progress = ui_progress_update;
	load_options.progress_context = &progress;
	ui_progress_start(&progress, "reading the profile");
	error = pesa_profile_load(wanted->file ? wanted->file : wanted->path, &load_options,
				  &input->profile);
	ui_progress_finish(&progress);
	if (!error)
		error = pesa_symbols_create(input->profile, wanted->symbol_root, &input->symbols);
	if (!error && wanted->flow)
		error = use_flow(input);
	if (!error)
		error = add_up(input);
	return error;
}

struct pesa_error *profile_input_open(struct profile_input *input,
				      const struct profile_input_options *wanted,
				      const char *command)
{
	const struct pesa_profile_totals *totals;
	const struct pesa_perfdata_losses *losses;
	struct pesa_error *error;

	*input = (struct profile_input){.options = wanted, .command = command};
	error = load(input);
	if (error) {
		profile_input_close(input);
		return error;
	}
	totals = pesa_profile_totals(input->profile);
	losses = pesa_profile_losses(input->profile);
	input->plain = totals->samples && totals->plain_samples == totals->samples;
	input->time = input->plain && totals->is_time;
	input->other = input->plain && !totals->is_time && !totals->is_cycles;
	for (unsigned int i = 0; i < PESA_UNATTRIBUTED_REASONS; i++)
		input->unattributed += totals->unattributed[i];
	if (losses->damage || losses->damaged_records || losses->damaged_bytes) {
		profile_complain(command,
				 "%s: damaged, the rest is used: %s (%" PRIu64 " records, %" PRIu64
				 " bytes not read)",
				 wanted->path,
				 losses->damage ? losses->damage : "unreadable records",
				 losses->damaged_records, losses->damaged_bytes);
		input->damaged = true;
	}
	return NULL;
}

void profile_report_refused_maps(const char *command, const struct pesa_symbols *symbols)
{
	const char *first;
	size_t count = symbols ? pesa_symbols_refused(symbols, &first) : 0;

	if (count)
		profile_complain(command, "%zu map%s of code made at run time not read: %s", count,
				 count == 1 ? "" : "s", first);
}

void profile_report_dumps(const char *command, const struct pesa_spaces *spaces)
{
	const char *first = NULL;
	size_t count = 0;

	for (size_t i = 0; i < pesa_spaces_dump_count(spaces); i++) {
		struct pesa_spaces_dump dump = pesa_spaces_dump(spaces, i);

		first = first ? first : dump.problem;
		count += dump.problem != NULL;
	}
	if (count)
		profile_complain(command, "%zu jitdump%s with a problem: %s", count,
				 count == 1 ? "" : "s", first);
}

void profile_input_close(struct profile_input *input)
{
	cycle_stack_free(&input->stack);
	profile_report_refused_maps(input->command, input->symbols);
	if (input->profile)
		profile_report_dumps(input->command, pesa_profile_spaces(input->profile));
	pesa_symbols_free(input->symbols);
	pesa_profile_free(input->profile);
	input->symbols = NULL;
	input->profile = NULL;
}

bool profile_has_cycles(const struct profile_input *input)
{
	const struct pesa_profile_totals *totals = pesa_profile_totals(input->profile);

	if (totals->weight)
		return true;
	if (totals->lost)
		profile_complain(input->command, "%s: no samples, %" PRIu64 " were lost",
				 input->options->path, totals->lost);
	else
		profile_complain(input->command, "%s: no samples%s", input->options->path,
				 input->options->filter ? " of those that are wanted"
				 : input->options->pid >= 0 || input->options->tid >= 0
					 ? " of that process or thread: did the program run for "
					   "less than a period?"
					 : ": did the program run for less than a period?");
	return false;
}

const char *profile_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

const char *profile_symbol_name(const struct pesa_symbol *symbol)
{
	return symbol ? symbol->name : "[unknown]";
}

const char *profile_binary_name(const struct profile_input *input, uint32_t dso)
{
	return dso == UINT32_MAX ? "[unmapped]"
				 : profile_base_name(pesa_profile_dso(input->profile, dso)->path);
}

double profile_share(const struct profile_input *input, uint64_t weight)
{
	uint64_t all = pesa_profile_totals(input->profile)->weight;

	return all ? (double)weight / (double)all : 0;
}

const char *profile_amount(const struct profile_input *input, char buffer[UI_NUMBER_SIZE],
			   double value)
{
	return input->time ? ui_time(buffer, value) : ui_count(buffer, value);
}

const char *profile_amount_title(const struct profile_input *input)
{
	return input->time ? "Time" : input->other ? "Counted" : "Cycles";
}

const char *profile_amount_unit(const struct profile_input *input)
{
	return input->time ? "of time" : input->other ? "counted" : "cycles";
}

const char *profile_whole(const struct profile_input *input)
{
	return input->time ? "time" : input->other ? "that was counted" : "cycles";
}

json_object *profile_json_interval(struct pesa_estimate estimate)
{
	json_object *interval;

	if (!estimate.enough)
		return NULL;
	interval = json_object_new_array_ext(2);
	json_object_array_add(interval, ui_json_number(estimate.low));
	json_object_array_add(interval, ui_json_number(estimate.high));
	return interval;
}

/* ---- Header, totals and losses ------------------------------------------------------------- */

/* How often a sample was taken: the frequency that was asked for, and what became of it. */
static void print_period(const struct profile_input *input, struct ui_text *line)
{
	const struct pesa_profile_totals *totals = pesa_profile_totals(input->profile);
	char number[UI_NUMBER_SIZE];

	ui_text_add(line, ", sampled ");
	if (totals->frequency)
		ui_text_add(line, "at %" PRIu64 " Hz, ", totals->frequency);
	if (input->time)
		ui_text_add(line, "every %s", ui_time(number, totals->period));
	else
		ui_text_add(line, "every %.0f%s", totals->period, input->other ? "" : " cycles");
}

static void print_subject(const struct profile_input *input, struct ui_text *line,
			  const struct ui_terminal *terminal)
{
	const struct pesa_capabilities *capabilities = pesa_profile_capabilities(input->profile);
	const struct pesa_profile_totals *totals = pesa_profile_totals(input->profile);
	const char *command = pesa_profile_cmdline(input->profile);
	const char *arch = pesa_profile_arch(input->profile);
	const char *event = pesa_profile_event(input->profile);

	ui_text_add(line, "%s", ui_style(terminal, UI_BOLD));
	ui_text_add_safe(line, "%s", command ? command : input->options->path);
	ui_text_add(line, "%s", ui_style(terminal, UI_PLAIN));
	ui_print_line(terminal, ui_text_get(line));
	ui_text_clear(line);
	ui_text_add_safe(line, "  event %s", event ? event : "unknown");
	if (capabilities && capabilities->core[0])
		ui_text_add_safe(line, ", core %s", capabilities->core);
	if (capabilities && capabilities->model[0])
		ui_text_add_safe(line, ", model %s", capabilities->model);
	if (arch)
		ui_text_add_safe(line, ", %s", arch);
	if (totals->exact)
		ui_text_add(line, ", exact: every cycle counted");
	else if (totals->period > 0)
		print_period(input, line);
	ui_print_line(terminal, ui_text_get(line));
	ui_text_clear(line);
}

static void print_totals(const struct profile_input *input, struct ui_text *line,
			 const struct ui_terminal *terminal)
{
	const struct pesa_profile_totals *totals = pesa_profile_totals(input->profile);
	const struct pesa_perfdata_losses *losses = pesa_profile_losses(input->profile);
	char number[UI_NUMBER_SIZE];

	/* The unit of a plain event follows from the event's name, which is printed above. */
	ui_text_add(line, "  %s %s", profile_amount(input, number, cycles_of(totals->weight)),
		    profile_amount_unit(input));
	if (totals->samples || totals->lost || !totals->exact)
		ui_text_add(line, ", %" PRIu64 " samples (%" PRIu64 " distinct), %" PRIu64 " lost",
			    totals->samples, totals->distinct_records, totals->lost);
	if (totals->plain_samples)
		ui_text_add(line, ", %" PRIu64 " without details: by their PC alone%s",
			    totals->plain_samples, input->plain ? ", no cycle stacks" : "");
	if (input->plain && !totals->skidding_samples)
		ui_text_add(line, ", PC is exact");
	else if (totals->is_tagged)
		ui_text_add(line, ", PC is not exact");
	else if (totals->skidding_samples == totals->samples && totals->samples)
		ui_text_add(line, ", PC is skidding: not exact");
	else if (totals->skidding_samples)
		ui_text_add(line, ", %" PRIu64 " with a skidding PC: not exact",
			    totals->skidding_samples);
	if (totals->impossible)
		ui_text_add(line, ", %" PRIu64 " unreadable raw records", totals->impossible);
	if (totals->cut_call_stacks)
		ui_text_add(line,
			    ", %" PRIu64 " of %" PRIu64
			    " call chains are cut: the hardware keeps %" PRIu32 " calls",
			    totals->cut_call_stacks, totals->call_stacks,
			    pesa_profile_capabilities(input->profile)->ctr_depth);
	if (losses->throttled)
		ui_text_add(line, ", throttled %" PRIu64 " times", losses->throttled);
	if (losses->damaged_records || losses->damaged_bytes)
		ui_text_add(line, ", damaged: %" PRIu64 " records, %" PRIu64 " bytes not read",
			    losses->damaged_records, losses->damaged_bytes);
	ui_print_line(terminal, ui_text_get(line));
	ui_text_clear(line);
	ui_text_add(line, "  unattributed %s",
		    ui_share(number, profile_share(input, input->unattributed)));
	for (unsigned int i = 0, shown = 0; i < PESA_UNATTRIBUTED_REASONS; i++)
		if (totals->unattributed[i])
			ui_text_add(
				line, "%s %s %s", shown++ ? "," : ":", pesa_unattributed_name(i),
				ui_share(number, profile_share(input, totals->unattributed[i])));
	ui_print_line(terminal, ui_text_get(line));
	ui_text_clear(line);
}

void profile_print_header(const struct profile_input *input, const struct ui_terminal *terminal)
{
	struct ui_text line = {0};

	print_subject(input, &line, terminal);
	print_totals(input, &line, terminal);
	ui_text_free(&line);
}

void profile_json_header(const struct profile_input *input, struct ui_json *json)
{
	const struct pesa_capabilities *capabilities = pesa_profile_capabilities(input->profile);

	profile_json_header_for(input, json, capabilities ? capabilities->model : "");
}

void profile_json_header_for(const struct profile_input *input, struct ui_json *json,
			     const char *processor)
{
	const struct pesa_capabilities *capabilities = pesa_profile_capabilities(input->profile);
	const struct pesa_profile_totals *totals = pesa_profile_totals(input->profile);
	const struct pesa_perfdata_losses *losses = pesa_profile_losses(input->profile);
	json_object *unattributed = json_object_new_object();
	json_object *core =
		capabilities && capabilities->core[0] ? ui_json_string(capabilities->core) : NULL;
	json_object *model = *processor ? ui_json_string(processor) : NULL;

	ui_json_member(json, "input", ui_json_string(input->options->path));
	ui_json_member(json, "cmdline", ui_json_string(pesa_profile_cmdline(input->profile)));
	ui_json_member(json, "arch", ui_json_string(pesa_profile_arch(input->profile)));
	ui_json_member(json, "event", ui_json_string(pesa_profile_event(input->profile)));
	ui_json_member(json, "core", core);
	ui_json_member(json, "model", model);
	ui_json_member(json, "exact", json_object_new_boolean(totals->exact));
	ui_json_member(json, "unit",
		       ui_json_string(input->time    ? "nanoseconds"
				      : input->other ? "events"
						     : "cycles"));
	ui_json_member(json, "period", ui_json_number(totals->period));
	ui_json_member(json, "frequency",
		       totals->frequency ? ui_json_count(totals->frequency) : NULL);
	ui_json_member(json, "samples", ui_json_count(totals->samples));
	ui_json_member(json, "plain_samples", ui_json_count(totals->plain_samples));
	ui_json_member(json, "skidding_samples", ui_json_count(totals->skidding_samples));
	ui_json_member(json, "distinct_records", ui_json_count(totals->distinct_records));
	ui_json_member(json, "lost", ui_json_count(totals->lost));
	ui_json_member(json, "impossible_records", ui_json_count(totals->impossible));
	ui_json_member(json, "call_stacks", ui_json_count(totals->call_stacks));
	ui_json_member(json, "cut_call_stacks", ui_json_count(totals->cut_call_stacks));
	ui_json_member(json, "throttled", ui_json_count(losses->throttled));
	ui_json_member(json, "damaged_records", ui_json_count(losses->damaged_records));
	ui_json_member(json, "damaged_bytes", ui_json_count(losses->damaged_bytes));
	ui_json_member(json, "damage", ui_json_string(losses->damage));
	ui_json_member(json, "cycles", ui_json_number(cycles_of(totals->weight)));
	for (unsigned int i = 0; i < PESA_UNATTRIBUTED_REASONS; i++)
		json_object_object_add(unattributed, pesa_unattributed_name(i),
				       ui_json_number(cycles_of(totals->unattributed[i])));
	ui_json_member(json, "unattributed", unattributed);
	ui_json_member(json, "stack", cycle_stack_json(&input->stack, capabilities));
}

/* ---- Places in what is written --------------------------------------------------------------- */

/* A part of the output is left out because of an error: a lack of memory. */
static void leave_out(struct pesa_error *error)
{
	pesa_error_free(error);
	standard_output_lacks_part();
}

const struct pesa_symbol *profile_symbol(const struct profile_input *input, uint32_t dso,
					 uint64_t address)
{
	const struct pesa_symbol *symbol = NULL;
	struct pesa_error *error = pesa_symbols_find(input->symbols, dso, address, &symbol);

	if (error)
		leave_out(error);
	return symbol;
}

struct pesa_source profile_source(const struct profile_input *input, uint32_t dso, uint64_t address)
{
	struct pesa_source source = {0};
	struct pesa_error *error = pesa_symbols_source(input->symbols, dso, address, &source);

	if (error)
		leave_out(error);
	return source;
}

/* ---- Problems ------------------------------------------------------------------------------ */

/*
 * Without the code of the dso, only the oldest instruction of a sampled cycle is known.  A plain
 * sample has only one instruction, so nothing is missing from it.
 */
static void emit_problem(const struct profile_input *input, const struct pesa_dso *dso,
			 void (*emit)(void *context, const char *problem), void *context)
{
	bool first = dso->status == PESA_DSO_NO_FILE || dso->status == PESA_DSO_DAMAGED;
	char *text;

	if (!first || input->plain) {
		emit(context, dso->problem);
		return;
	}
	if (asprintf(&text, "%s: only the oldest instruction of a cycle is attributed",
		     dso->problem) < 0) {
		standard_output_lacks_part();
		return;
	}
	emit(context, text);
	free(text);
}

/*
 * Report what is wrong with a dso; missing symbols only if the dso has at least this share of the
 * cycles.
 */
static void each_problem(const struct profile_input *input, double share,
			 void (*emit)(void *context, const char *problem), void *context)
{
	size_t count = pesa_profile_instruction_count(input->profile), i = 0;
	uint32_t named_pid = 0;

	for (unsigned int dso = 0; dso < pesa_profile_dso_count(input->profile); dso++) {
		const struct pesa_dso *what = pesa_profile_dso(input->profile, dso);
		struct pesa_error *error;
		const char *problem;
		uint64_t weight = 0;
		size_t first = i;

		while (i < count && pesa_profile_instruction(input->profile, i)->dso == dso)
			weight += pesa_profile_instruction(input->profile, i++)->weight;
		if (what->problem)
			emit_problem(input, what, emit, context);
		if (i == first || profile_share(input, weight) < share)
			continue;
		/* All versions of overwritten code are named by one file: report it once. */
		if (what->kind == PESA_DSO_JIT && what->pid == named_pid)
			continue;
		named_pid = what->kind == PESA_DSO_JIT ? what->pid : 0;
		error = pesa_symbols_problem(input->symbols, dso, &problem);
		if (error) {
			leave_out(error);
			continue;
		}
		if (problem && what->problem && !strcmp(problem, what->problem))
			continue;
		if (problem)
			emit(context, problem);
	}
}

static void print_problem(void *context, const char *problem)
{
	const struct ui_terminal *terminal = context;

	struct ui_text line = {0};

	ui_text_add_safe(&line, "note: %s", problem);
	fprintf(terminal->out, "%s\n", ui_text_get(&line));
	ui_text_free(&line);
}

void profile_print_problems(const struct profile_input *input, const struct ui_terminal *terminal)
{
	each_problem(input, NOTE_SHARE, print_problem, (void *)terminal);
}

static void json_problem(void *context, const char *problem)
{
	ui_json_element(context, ui_json_string(problem));
}

void profile_json_problems(const struct profile_input *input, struct ui_json *json)
{
	const struct pesa_spaces *spaces = pesa_profile_spaces(input->profile);

	ui_json_array_begin(json, "problems");
	each_problem(input, 0, json_problem, json);
	for (size_t i = 0; i < pesa_spaces_dump_count(spaces); i++)
		if (pesa_spaces_dump(spaces, i).problem)
			json_problem(json, pesa_spaces_dump(spaces, i).problem);
	ui_json_array_end(json);
}

uint64_t profile_executions(const struct profile_input *input,
			    const struct pesa_instruction *instruction)
{
	return (uint64_t)llround(
		pesa_estimate_executions(input->profile, instruction, PROFILE_CONFIDENCE).value);
}
