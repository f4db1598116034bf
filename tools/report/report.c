/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pesa report: shows where the cycles went, by binary, function, source line or instruction. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "decoder/export/data.h"
#include "tools/commands.h"
#include "tools/ui/listing.h"
#include "tools/groups/groups.h"
#include "tools/ui/profile_input.h"
#include "tools/report/blocks.h"
#include "tools/report/calls.h"
#include "tools/report/filter.h"
#include "tools/report/html.h"
#include "tools/report/options.h"
#include "tools/report/report.h"
#include "tools/store/options.h"
#include "tools/table/groups.h"
#include "tools/ui/source_text.h"
#include "tools/ui/pager.h"
#include "tools/files/paths.h"
#include "tools/ui/text.h"

#define BAR_COLUMNS	20
#define BUCKETS_COLUMNS 60  /* of the largest buckets of a state */
#define LIMIT_DEFAULT	0.1 /* percent, text and page */
#define HUNDRED		100

/* The share below which rows are summed up in text and HTML. */
static double shown_limit(const struct report_options *wanted)
{
	return (wanted->limit < 0 ? LIMIT_DEFAULT : wanted->limit) / HUNDRED;
}

static struct profile_grouping grouping_of(const struct report_options *wanted,
					   const struct pesa_export *rows)
{
	return (struct profile_grouping){.keys = wanted->keys,
					 .choice = wanted->choice,
					 .children = wanted->children,
					 .slices = wanted->slices,
					 .rows = rows};
}

/* ---- Text ---------------------------------------------------------------------------------- */

/* One line for each state of the whole program. */
static void print_whole(const struct profile_input *input, const struct ui_terminal *terminal)
{
	const struct pesa_capabilities *capabilities = pesa_profile_capabilities(input->profile);
	struct ui_text line = {0};

	uint64_t whole = pesa_profile_totals(input->profile)->weight;

	for (unsigned int state = 0; state < PESA_STATE_COUNT; state++) {
		uint64_t weight = input->stack.state_weight[state];
		char share[UI_NUMBER_SIZE];

		ui_text_add(&line, "%9s  %-8s  ", ui_share(share, profile_share(input, weight)),
			    pesa_state_name(state));
		cycle_stack_bar(&line, terminal, &input->stack, state, whole, BAR_COLUMNS * 2);
		ui_text_add(&line, "  ");
		if (weight)
			cycle_stack_buckets(&line, terminal, &input->stack, capabilities, state,
					    whole, BUCKETS_COLUMNS);
		ui_print_line(terminal, ui_text_get(&line));
		ui_text_clear(&line);
	}
	ui_text_free(&line);
}

static struct pesa_error *print_table(struct group_table *table,
				      const struct profile_groups *groups, size_t rows,
				      const struct report_calls *calls)
{
	struct pesa_error *error = group_table_measure(table, groups, rows);
	struct ui_text line = {0};

	if (error || !groups->count)
		return error;
	if (!table->input->plain) {
		ui_text_add(&line, "%*s", 28, "");
		cycle_stack_legend(&line, table->terminal);
		ui_print_line(table->terminal, ui_text_get(&line));
		ui_text_clear(&line);
	}
	group_table_heading(table, &line);
	ui_print_line(table->terminal, ui_text_get(&line));
	for (size_t i = 0; i < rows && !error; i++) {
		ui_text_clear(&line);
		error = group_table_row(table, &groups->group[i], &line);
		ui_print_line(table->terminal, ui_text_get(&line));
		if (!error && calls)
			error = report_calls_below(calls, groups, &groups->group[i]);
	}
	ui_text_free(&line);
	return error;
}

/* What is recorded by whom, of keys that may be missing. */
static const struct {
	unsigned int key;
	const char *recorded_by;
} recorded[] = {
	{GROUP_BY_TIME,
	 "times: 'pesa record' and 'perf record -T' record them, an exact profile has none"},
	{GROUP_BY_COMM, "names of some threads: they began before the recording"},
	{GROUP_BY_CPU, "CPUs: 'pesa record' and 'perf record --sample-cpu' record them"},
	{GROUP_BY_CGROUP,
	 "control groups: 'pesa record --all-cgroups' and 'perf record --all-cgroups' record them"},
};

#define RECORDED (sizeof(recorded) / sizeof(*recorded))

/* Say which keys have nothing recorded, and that there are no call chains where they are asked for. */
static void print_not_recorded(const struct report_options *wanted,
			       const struct profile_groups *groups, const struct pesa_export *rows,
			       const struct ui_terminal *terminal)
{
	for (size_t i = 0; i < RECORDED; i++)
		if (groups->not_recorded & recorded[i].key)
			fprintf(terminal->out, "  the recording lacks %s\n",
				recorded[i].recorded_by);
	if ((wanted->children || wanted->graph || wanted->root) && !profile_calls_recorded(rows))
		fprintf(terminal->out,
			"  the recording lacks call chains: 'pesa record -g' records them\n");
}

/* Move the groups below a share of all cycles to the end, and keep the order of the others.  Returns
 * how many these are. */
static size_t choose_rows(const struct profile_input *input, const struct profile_groups *groups,
			  struct profile_group *left, double limit)
{
	size_t rows = 0, below = 0;

	for (size_t i = 0; i < groups->count; i++) {
		const struct profile_group group = groups->group[i];

		if (profile_share(input, profile_group_weight(groups, &group)) >= limit)
			groups->group[rows++] = group;
		else
			left[below++] = group;
	}
	for (size_t i = 0; i < below; i++)
		groups->group[rows + i] = left[i];
	return rows;
}

/* A line with a sum of own cycles: the head of what is said about it. */
static void print_sum(const struct profile_input *input, const struct profile_groups *groups,
		      uint64_t weight, const struct ui_terminal *terminal)
{
	char share[UI_NUMBER_SIZE], cycles[UI_NUMBER_SIZE];

	if (groups->children)
		fprintf(terminal->out, "%8s ", "");
	fprintf(terminal->out, "%8s %8s  ", ui_share(share, profile_share(input, weight)),
		profile_amount(input, cycles, cycles_of(weight)));
}

/* How callers and callees are shown. */
static struct report_calls calls_of(const struct report_options *wanted,
				    const struct profile_input *input,
				    const struct pesa_export *rows,
				    const struct ui_terminal *terminal)
{
	bool alone = wanted->root;

	return (struct report_calls){
		.input = input,
		.rows = rows,
		.terminal = terminal,
		.kind = alone ? wanted->root_kind : wanted->graph_kind,
		.limit = alone && wanted->limit >= 0 ? wanted->limit / HUNDRED
						     : wanted->graph_limit / HUNDRED,
	};
}

static struct pesa_error *
print_text(const struct profile_input *input, const struct report_options *wanted,
	   const struct profile_groups *groups, const struct pesa_export *exported,
	   struct listing_isas *isas, struct source_texts *sources,
	   const struct plain_estimate *plain, const struct ui_terminal *terminal)
{
	double limit = shown_limit(wanted);
	struct group_table table = {.input = input,
				    .terminal = terminal,
				    .isas = isas,
				    .sources = sources,
				    .keys = wanted->keys,
				    .children = wanted->children};
	const struct report_calls calls = calls_of(wanted, input, exported, terminal);
	struct profile_group *left = calloc(groups->count + 1, sizeof(*left));
	struct pesa_error *error;
	uint64_t rest = 0;
	size_t rows;

	if (!left)
		return pesa_error_no_memory();
	rows = choose_rows(input, groups, left, limit);
	free(left);

	profile_print_header(input, terminal);
	plain_estimate_print(plain, terminal);
	fputc('\n', terminal->out);
	if (!input->plain) {
		print_whole(input, terminal);
		fputc('\n', terminal->out);
	}
	for (size_t i = rows; i < groups->count; i++)
		rest += groups->group[i].weight;
	error = print_table(&table, groups, rows, wanted->graph ? &calls : NULL);
	if (rows < groups->count) {
		print_sum(input, groups, rest, terminal);
		fprintf(terminal->out, "in %zu more below %g%% each (--percent-limit 0)\n",
			groups->count - rows, limit * HUNDRED);
	}
	if (input->unattributed) {
		print_sum(input, groups, input->unattributed, terminal);
		fprintf(terminal->out, "unattributed\n");
	}
	print_not_recorded(wanted, groups, exported, terminal);
	fputc('\n', terminal->out);
	profile_print_problems(input, terminal);
	return error;
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static bool below(const struct profile_input *input, const struct report_options *wanted,
		  uint64_t weight)
{
	return wanted->limit > 0 && profile_share(input, weight) * HUNDRED < wanted->limit;
}

static struct pesa_error *json_groups(const struct profile_input *input,
				      const struct report_options *wanted, struct ui_json *json,
				      const char *name, unsigned int keys)
{
	const struct profile_grouping grouping = {.keys = keys, .choice = wanted->choice};
	struct profile_groups groups;
	struct pesa_error *error = profile_groups_make_by(input, &grouping, &groups);

	if (error)
		return error;
	ui_json_array_begin(json, name);
	for (size_t i = 0; i < groups.count; i++)
		if (!below(input, wanted, groups.group[i].weight))
			ui_json_element(json, profile_group_json(input, &groups, &groups.group[i]));
	ui_json_array_end(json);
	profile_groups_free(&groups);
	return NULL;
}

static struct pesa_error *json_instructions(const struct profile_input *input,
					    const struct report_options *wanted,
					    struct ui_json *json, struct listing_isas *isas)
{
	const struct profile_grouping grouping = {.keys = GROUP_BY_INSN, .choice = wanted->choice};
	struct profile_groups groups;
	struct pesa_error *error = profile_groups_make_by(input, &grouping, &groups);

	if (error)
		return error;
	ui_json_array_begin(json, "instructions");
	for (size_t i = 0; i < groups.count; i++) {
		const struct profile_group *group = &groups.group[i];
		struct listing_row row = {.instruction = group->instruction};
		json_object *one;

		if (below(input, wanted, group->weight))
			continue;
		row.address = group->instruction->address;
		listing_decode(input, isas, group->dso, &row);
		error = listing_json(input, group->dso, &row, &one);
		if (error)
			break;
		json_object_object_add(one, "symbol",
				       ui_json_string(profile_symbol_name(group->symbol)));
		if (wanted->keys & GROUP_BY_LINE) {
			struct pesa_source source = profile_source(input, group->dso, row.address);

			json_object_object_add(one, "file", ui_json_string(source.file));
			json_object_object_add(one, "line",
					       source.file ? ui_json_count(source.line) : NULL);
		}
		ui_json_element(json, one);
	}
	ui_json_array_end(json);
	profile_groups_free(&groups);
	return error;
}

/* The members that keys of tasks and children need: see Documentation/json.md. */
static struct pesa_error *json_rows(const struct profile_input *input,
				    const struct report_options *wanted,
				    const struct pesa_export *rows, struct ui_json *json)
{
	const struct profile_grouping grouping = grouping_of(wanted, rows);
	const struct report_calls calls = calls_of(wanted, input, rows, NULL);
	struct profile_groups groups;
	struct pesa_error *error = profile_groups_make_by(input, &grouping, &groups);
	struct ui_text keys = {0};

	if (error)
		return error;
	ui_json_array_begin(json, "groups");
	for (size_t i = 0; i < groups.count && !error; i++) {
		const struct profile_group *group = &groups.group[i];
		json_object *one;

		if (below(input, wanted, profile_group_weight(&groups, group)))
			continue;
		one = profile_group_json(input, &groups, group);
		if (wanted->graph)
			error = report_calls_json(&calls, &groups, group, one);
		ui_json_element(json, one);
	}
	ui_json_array_end(json);
	profile_keys_add(&keys, wanted->keys);
	ui_json_member(json, "sort", ui_json_string(ui_text_get(&keys)));
	ui_text_clear(&keys);
	profile_keys_add(&keys, groups.not_recorded);
	ui_json_member(json, "not_recorded", ui_json_string(ui_text_get(&keys)));
	if (rows)
		ui_json_member(json, "call_chains",
			       json_object_new_boolean(profile_calls_recorded(rows)));
	ui_text_free(&keys);
	profile_groups_free(&groups);
	return error;
}

static struct pesa_error *json_calls(const struct profile_input *input,
				     const struct report_options *wanted,
				     const struct pesa_export *rows, struct ui_json *json)
{
	struct report_calls calls = calls_of(wanted, input, rows, NULL);
	struct profile_groups functions;
	struct pesa_error *error = profile_groups_make_functions(input, rows, &functions);

	if (error)
		return error;
	calls.limit = wanted->limit < 0 ? 0 : calls.limit;
	error = report_calls_of_json(&calls, &functions, wanted->root, json);
	profile_groups_free(&functions);
	return error;
}

static struct pesa_error *print_json(const struct profile_input *input,
				     const struct report_options *wanted,
				     const struct pesa_export *rows, struct listing_isas *isas,
				     const struct plain_estimate *plain)
{
	struct pesa_error *error;
	struct ui_json json;

	ui_json_begin(&json, stdout, "report");
	profile_json_header(input, &json);
	plain_estimate_json(plain, &json);
	error = json_groups(input, wanted, &json, "functions", GROUP_BY_DSO | GROUP_BY_SYMBOL);
	if (!error && wanted->keys == GROUP_BY_DSO)
		error = json_groups(input, wanted, &json, "dsos", GROUP_BY_DSO);
	if (!error && wanted->keys & GROUP_BY_LINE && !(wanted->keys & GROUP_BY_INSN))
		error = json_groups(input, wanted, &json, "lines",
				    GROUP_BY_DSO | GROUP_BY_SYMBOL | GROUP_BY_LINE);
	if (!error && wanted->keys & GROUP_BY_INSN)
		error = json_instructions(input, wanted, &json, isas);
	if (!error &&
	    (wanted->children || wanted->graph || wanted->keys & (GROUP_BY_TASK | GROUP_BY_FILE)))
		error = json_rows(input, wanted, rows, &json);
	if (!error && wanted->root)
		error = json_calls(input, wanted, rows, &json);
	profile_json_problems(input, &json);
	ui_json_end(&json);
	return error;
}

/* ---- The subcommand ------------------------------------------------------------------------ */

/* The timed blocks, in place of functions. */
static struct pesa_error *print_blocks(const struct profile_input *input,
				       const struct report_options *wanted,
				       struct listing_isas *isas,
				       const struct pesa_timed_blocks *timed,
				       struct ui_terminal *terminal)
{
	const struct block_table table = {
		.input = input, .terminal = terminal, .isas = isas, .timed = timed};
	struct pesa_error *error;
	struct ui_json json;

	if (!block_table_has_samples(&table))
		return pesa_error_create(
			PESA_ERROR_NOT_FOUND,
			"%s: no branch stack has cycle counts: 'perf record -b' records them on "
			"hardware with Ssctr or LBRs, and 'pesa record --core NAME --set "
			"sample.ctr_depth=32' on the virtual core",
			wanted->input.path);
	if (!wanted->input.json) {
		ui_pager_start(terminal, !wanted->input.no_pager);
		profile_print_header(input, terminal);
		error = report_blocks(&table, shown_limit(wanted));
		profile_print_problems(input, terminal);
		return error;
	}
	ui_json_begin(&json, stdout, "report");
	profile_json_header(input, &json);
	error = report_blocks_json(&table, wanted->limit > 0 ? wanted->limit / HUNDRED : 0, &json);
	profile_json_problems(input, &json);
	ui_json_end(&json);
	return error;
}

/* The tree of one function, in place of a table. */
static struct pesa_error *print_calls(const struct profile_input *input,
				      const struct report_options *wanted,
				      const struct pesa_export *rows,
				      const struct ui_terminal *terminal)
{
	const struct report_calls calls = calls_of(wanted, input, rows, terminal);
	struct profile_groups functions;
	struct pesa_error *error = profile_groups_make_functions(input, rows, &functions);

	if (error)
		return error;
	profile_print_header(input, terminal);
	fputc('\n', terminal->out);
	error = report_calls_of(&calls, &functions, wanted->root);
	print_not_recorded(wanted, &functions, rows, terminal);
	profile_print_problems(input, terminal);
	profile_groups_free(&functions);
	return error;
}

static struct pesa_error *group_and_print(const struct profile_input *input,
					  const struct report_options *wanted,
					  const struct pesa_export *rows, struct listing_isas *isas,
					  const struct plain_estimate *plain,
					  struct ui_terminal *terminal)
{
	const struct profile_grouping grouping = grouping_of(wanted, rows);
	struct source_texts *sources = source_texts_create(wanted->input.symbol_root);
	struct pesa_error *error = sources ? NULL : pesa_error_no_memory();
	struct profile_groups groups = {0};

	if (!error)
		error = profile_groups_make_by(input, &grouping, &groups);
	if (!error) {
		ui_pager_start(terminal, !wanted->input.no_pager);
		error = wanted->root ? print_calls(input, wanted, rows, terminal)
				     : print_text(input, wanted, &groups, rows, isas, sources,
						  plain, terminal);
	}
	source_texts_free(sources);
	profile_groups_free(&groups);
	return error;
}

/* Show the report on the terminal, or as text where that cannot be drawn on. */
static struct pesa_error *show_on(report_screen *screen, const struct profile_input *input,
				  const struct report_options *wanted,
				  const struct pesa_export *rows, struct listing_isas *isas,
				  const struct plain_estimate *plain, struct ui_terminal *terminal)
{
	const struct report_view view = {.input = input,
					 .rows = rows,
					 .isas = isas,
					 .grouping = grouping_of(wanted, rows),
					 .limit = shown_limit(wanted)};
	struct pesa_error *error = screen(&view, terminal);

	if (!error || error->code != PESA_ERROR_UNSUPPORTED)
		return error;
	profile_fail("report", error);
	return group_and_print(input, wanted, rows, isas, plain, terminal);
}

/* Returns the exit status. */
static int report(const struct profile_input *input, const struct report_options *wanted,
		  const struct pesa_export *rows, struct listing_isas *isas,
		  const struct plain_estimate *plain, const struct pesa_timed_blocks *timed,
		  report_screen *screen)
{
	struct ui_terminal terminal = ui_terminal_open(wanted->input.colour);
	bool has_samples = pesa_profile_totals(input->profile)->weight;
	struct pesa_error *error;
	int status = 0;

	if (wanted->html && has_samples) {
		error = report_write_html(input, rows, isas, shown_limit(wanted), wanted->html);
		if (error)
			status = profile_fail("report", error);
	}
	if (timed && has_samples)
		error = print_blocks(input, wanted, isas, timed, &terminal);
	else if (wanted->input.json)
		error = print_json(input, wanted, rows, isas, plain);
	else if (screen && has_samples)
		error = show_on(screen, input, wanted, rows, isas, plain, &terminal);
	else
		error = group_and_print(input, wanted, rows, isas, plain, &terminal);
	return profile_finish("report", &terminal, error) || status;
}

/*
 * Rows of instructions are as in pesa annotate: estimates where the PC skids.  Sums by function are not:
 * those of the samples are nearer to the truth (Documentation/plain-samples.md).
 */
static struct pesa_error *estimate(struct profile_input *input, const struct report_options *wanted,
				   struct plain_estimate *plain)
{
	struct pesa_error *error;

	if (wanted->raw || !report_has_estimates(wanted) ||
	    !pesa_profile_totals(input->profile)->weight)
		return NULL;
	error = plain_estimate_open(plain, input, &wanted->plain);
	if (!error && !plain->deskid && (wanted->plain.cpu || wanted->plain.calibration))
		error = pesa_error_create(
			PESA_ERROR_ARGUMENT,
			"%s is for samples whose PC skids, of which this recording "
			"has none",
			wanted->plain.cpu ? "--mcpu" : "--calibration");
	return error;
}

static int show(const struct report_options *wanted, const struct pesa_export *rows,
		struct pesa_timed_blocks *timed, const struct sample_filter *filter,
		report_screen *screen)
{
	struct plain_estimate plain = {0};
	struct profile_input input;
	struct listing_isas *isas;
	struct pesa_error *error;
	int status;

	error = profile_input_open(&input, &wanted->input, "report");
	if (error)
		return profile_fail("report", error);
	error = filter ? filter_check(filter, wanted->input.path) : NULL;
	if (!error && timed)
		error = pesa_timed_blocks_finish(timed, input.profile);
	if (error) {
		profile_input_close(&input);
		return profile_fail("report", error);
	}
	isas = listing_isas_create(&input);
	error = isas ? estimate(&input, wanted, &plain) : pesa_error_no_memory();
	status = error ? profile_fail("report", error)
		       : report(&input, wanted, rows, isas, &plain, timed, screen);
	if (!profile_has_cycles(&input) || input.damaged)
		status = 1;
	listing_isas_free(isas);
	plain_estimate_close(&plain);
	profile_input_close(&input);
	return status;
}

/* Show the samples that are wanted. */
static int show_filtered(struct report_options *wanted, const struct pesa_export *rows,
			 struct pesa_timed_blocks *timed, report_screen *screen)
{
	const char *path = wanted->input.file ? wanted->input.file : wanted->input.path;
	struct sample_filter filter;
	struct pesa_error *error;
	int status;

	if (!filter_is_wanted(&wanted->filter))
		return show(wanted, rows, timed, NULL, screen);
	error = profile_check_path(&wanted->input);
	if (error)
		return profile_fail("report", error);
	error = filter_make(&wanted->filter, path, &filter);
	if (error) {
		status = error->code == PESA_ERROR_ARGUMENT ? 2 : 1;
		profile_fail("report", error);
		return status;
	}
	wanted->input.filter = &filter.filter;
	status = show(wanted, rows, timed, &filter, screen);
	filter_free(&filter);
	return status;
}

/* Whether the report is to be shown on a terminal, and can be. */
static bool is_interactive(const struct report_options *wanted)
{
	const char *terminal = getenv("TERM");

	return !wanted->text && !wanted->html && !wanted->input.json && !wanted->input.no_pager &&
	       !wanted->graph && !wanted->root && !wanted->block && isatty(STDIN_FILENO) &&
	       isatty(STDOUT_FILENO) && terminal && *terminal && strcmp(terminal, "dumb") != 0;
}

/* Run the program that shows it.  Returns if that is impossible, after a message. */
static void run_screen(char **argv)
{
	struct pesa_error *error = pesa_path_run("pesa-report", argv);

	profile_complain("report", "%s (--stdio prints text)", error->message);
	pesa_error_free(error);
}

int report_command(int argc, char **argv, report_screen *screen)
{
	struct report_options wanted = {0};
	struct pesa_timed_blocks *timed = NULL;
	struct pesa_export *rows = NULL;
	int status = report_options_parse(argc, argv, &wanted);
	struct pesa_error *error;
	bool interactive;

	if (status)
		return status;
	interactive = is_interactive(&wanted);
	if (interactive && !screen) {
		run_screen(argv);
		return 1;
	}
	error = store_choose(&wanted.input, &wanted.store);
	if (error)
		return profile_fail("report", error);
	if (interactive || report_needs_rows(&wanted)) {
		rows = pesa_export_create();
		if (!rows)
			return profile_fail("report", pesa_error_no_memory());
		if (wanted.html || wanted.keys & GROUP_BY_TIME)
			export_keep_slices(rows);
		wanted.input.listener = pesa_export_listener(rows);
		wanted.input.outputs[0] = wanted.html;
	}
	if (wanted.block) {
		timed = pesa_timed_blocks_create();
		if (!timed)
			return profile_fail("report", pesa_error_no_memory());
		wanted.input.listener = pesa_timed_blocks_listener(timed);
	}
	status = show_filtered(&wanted, rows, timed, interactive ? screen : NULL);
	pesa_timed_blocks_free(timed);
	pesa_export_free(rows);
	return status;
}

int pesa_command_report(int argc, char **argv)
{
	return report_command(argc, argv, NULL);
}
