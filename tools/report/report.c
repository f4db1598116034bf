/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pesa report: shows where the cycles went, by binary, function, source line or instruction. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/commands.h"
#include "tools/ui/listing.h"
#include "tools/ui/profile_groups.h"
#include "tools/ui/profile_input.h"
#include "tools/report/html.h"
#include "tools/ui/source_text.h"
#include "tools/ui/pager.h"
#include "tools/ui/text.h"

#define BAR_COLUMNS 20
/* on narrow terminals first the bar is shortened, then the name of the binary */
#define BAR_LEAST	8
#define DSO_LEAST	8
#define DSO_MAX		28
#define LABEL_MAX	48 /* columns: longer names push what follows to the right */
#define SOURCE_COLUMN	20 /* of a label, where the text of a source line begins */
#define LABEL_LEAST	16
#define FIGURES_COLUMNS 32  /* share, cycles, executions and the blanks between columns */
#define BUCKETS_LEAST	26  /* columns that names leave to them on a terminal */
#define BUCKETS_COLUMNS 60  /* of the largest buckets where the width is unlimited */
#define HOT_SHARE	0.1 /* of all cycles: in the colour of what is hot */
#define LIMIT_DEFAULT	0.1 /* percent, text and page */

struct report_options {
	struct profile_input_options input;
	unsigned int keys;
	double limit; /* percent; negative: not given */
	const char *html;
};

enum { KEY_HTML = PROFILE_KEY_FIRST_FREE };

static const struct argp_option options[] = {
	{"sort", 's', "KEYS", 0,
	 "One row for each dso, symbol, line, insn or any of them joined by commas (default: dso,symbol)",
	 0},
	{"percent-limit", 'p', "PERCENT", 0,
	 "Sum up rows below PERCENT of all cycles in one (default: 0.1; in JSON: 0)", 0},
	{"html", KEY_HTML, "FILE", 0,
	 "Write a page to FILE, too: a flame graph, the functions, and source and instructions of "
	 "those with at least --percent-limit of all cycles",
	 0},
	{0},
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct report_options *result = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		result->keys = GROUP_BY_DSO | GROUP_BY_SYMBOL;
		result->limit = -1;
		state->child_inputs[0] = &result->input;
		break;
	case 's':
		result->keys = profile_keys_parse(argument);
		if (!result->keys)
			profile_usage_error(state,
					    "--sort takes dso, symbol, line and insn, not '%s'",
					    argument);
		break;
	case 'p':
		result->limit = profile_percent(argument, "--percent-limit", state);
		break;
	case KEY_HTML:
		result->html = argument;
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.children = profile_input_children,
	.doc = "Show where the cycles of a recorded program went: for each function its share, "
	       "cycles, executions and cycle stack.\vExample:\n"
	       "  pesa report --sort dso,symbol -i perf.data\n"
	       "  pesa report --sort line --percent-limit 1\n"
	       "  pesa report --html report.html\n"
	       "\n"
	       "The manual page pesa-report(1) explains every column.",
};

/* The share below which rows are summed up in text and HTML. */
static double shown_limit(const struct report_options *wanted)
{
	return (wanted->limit < 0 ? LIMIT_DEFAULT : wanted->limit) / 100;
}

/* ---- Text ---------------------------------------------------------------------------------- */

struct table {
	const struct profile_input *input;
	const struct ui_terminal *terminal;
	struct listing_isas *isas;
	struct source_texts *sources;
	unsigned int keys;
	size_t rows; /* groups at or above the limit */
	size_t dso_width, label_width, bar_width;
};

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

/* "file.c:12  its text"; the text only if the row is a single line. */
static void add_line(struct table *table, const struct profile_group *group, const char *separator,
		     struct ui_text *line)
{
	const struct pesa_source *source = &group->source;
	const char *text = source_text_line(table->sources, source->file, source->line);
	struct ui_text blanks = {0};
	size_t column;

	ui_text_add_safe(line, "%s%s:%u", separator, profile_base_name(source->file), source->line);
	if (!text || table->keys & (GROUP_BY_INSN | GROUP_BY_SYMBOL))
		return;
	ui_text_pad(line, SOURCE_COLUMN);
	column = ui_columns(ui_text_get(line));
	/* Replace tabs by blanks in a cell. */
	ui_text_add_source(&blanks, text + strspn(text, " \t"));
	for (size_t i = 0; i < blanks.length; i++)
		if (blanks.text[i] == '\t')
			blanks.text[i] = ' ';
	ui_text_add_cut(line, ui_text_get(&blanks), column < LABEL_MAX ? LABEL_MAX - column : 1,
			table->terminal->utf8);
	ui_text_free(&blanks);
}

static void add_place(struct table *table, const struct profile_group *group, struct ui_text *line)
{
	const char *separator = "";

	if (table->keys & GROUP_BY_INSN) {
		const struct pesa_instruction *instruction = group->instruction;
		struct listing_row row = {.address = instruction->address};

		listing_decode(table->input, table->isas, instruction->dso, &row);
		ui_text_add(line, "%" PRIx64 "  %s", row.address, row.text);
		separator = "  ";
	}
	if (table->keys & GROUP_BY_LINE) {
		if (group->source.file)
			add_line(table, group, separator, line);
		else
			ui_text_add(line, "%s[no line]", separator);
		separator = "  ";
	}
	if (table->keys & (GROUP_BY_SYMBOL | GROUP_BY_INSN)) {
		ui_text_add(line, "%s", separator);
		ui_text_add_name(line, group->symbol ? group->symbol->name : "[unknown]", LABEL_MAX,
				 table->terminal->utf8);
	}
}

/* Executions and the bar; nothing for a profile without cycle stacks. */
static void add_stack(const struct table *table, const struct profile_group *group,
		      struct ui_text *line)
{
	const struct pesa_profile *profile = table->input->profile;
	char number[UI_NUMBER_SIZE];

	if (table->input->plain) {
		ui_text_add(line, " ");
		return;
	}
	if (!group->has_executions)
		ui_text_add(line, "%8s  ", "");
	else if (!group->entry ||
		 !pesa_estimate_executions(profile, group->entry, PROFILE_CONFIDENCE).enough)
		ui_text_add(line, "%8s  ", "too few");
	else
		ui_text_add(line, "%8s  ", ui_count(number, (double)group->entry->executions));
	cycle_stack_bar(line, table->terminal, &group->stack, CYCLE_STATE_ALL, group->weight,
			(unsigned int)table->bar_width);
	ui_text_add(line, "  ");
}

static void add_buckets(const struct table *table, const struct profile_group *group,
			struct ui_text *line)
{
	size_t column = ui_columns(ui_text_get(line)), width = table->terminal->width;
	size_t room = !width ? BUCKETS_COLUMNS : width > column ? width - column : 0;

	if (!table->input->plain && room > 12)
		cycle_stack_buckets(line, table->terminal, &group->stack,
				    pesa_profile_capabilities(table->input->profile),
				    CYCLE_STATE_ALL, group->weight, (unsigned int)room);
}

static void print_row(struct table *table, const struct profile_group *group, struct ui_text *line)
{
	const struct ui_terminal *terminal = table->terminal;
	double share = profile_share(table->input, group->weight);
	char number[UI_NUMBER_SIZE], cycles[UI_NUMBER_SIZE];
	struct ui_text place = {0};
	size_t column;

	ui_text_add(line, "%s%8s%s %8s ", share >= HOT_SHARE ? ui_style(terminal, UI_HOT) : "",
		    ui_share(number, share), share >= HOT_SHARE ? ui_style(terminal, UI_PLAIN) : "",
		    profile_amount(table->input, cycles, cycles_of(group->weight)));
	add_stack(table, group, line);
	column = ui_columns(ui_text_get(line));
	if (table->keys & (GROUP_BY_DSO | GROUP_BY_INSN)) {
		const char *path = pesa_profile_dso(table->input->profile, group->dso)->path;

		ui_text_add_cut(line, profile_base_name(path),
				terminal->width ? table->dso_width : 0, terminal->utf8);
		column += table->dso_width + 2;
		ui_text_pad(line, column);
	}
	add_place(table, group, &place);
	ui_text_add_cut(line, ui_text_get(&place), terminal->width ? table->label_width : 0,
			terminal->utf8);
	ui_text_free(&place);
	ui_text_pad(line, column + table->label_width + 2);
	add_buckets(table, group, line);
	ui_print_line(terminal, ui_text_get(line));
	ui_text_clear(line);
}

/* Reduce the width of a column down to `least`, while the line is wider than the terminal. */
static void make_room(size_t *part, size_t least, size_t line, size_t width)
{
	size_t excess = line > width ? line - width : 0;

	if (*part > least)
		*part = *part > least + excess ? *part - excess : least;
}

static void measure(struct table *table, const struct profile_groups *groups)
{
	struct ui_text line = {0};
	size_t taken;

	table->dso_width = strlen("Binary");
	table->label_width = strlen("Function");
	for (size_t i = 0; i < table->rows; i++) {
		const struct profile_group *group = &groups->group[i];
		const char *path = pesa_profile_dso(table->input->profile, group->dso)->path;
		size_t columns;

		ui_text_clear(&line);
		ui_text_add_safe(&line, "%s", profile_base_name(path));
		columns = ui_columns(ui_text_get(&line));
		if (columns > table->dso_width)
			table->dso_width = columns;
		ui_text_clear(&line);
		add_place(table, group, &line);
		columns = ui_columns(ui_text_get(&line));
		if (columns > table->label_width)
			table->label_width = columns;
	}
	if (table->dso_width > DSO_MAX)
		table->dso_width = DSO_MAX;
	if (table->label_width > LABEL_MAX)
		table->label_width = LABEL_MAX;
	/* On a terminal, shorten names in favour of the cycle stacks. */
	taken = FIGURES_COLUMNS + BAR_COLUMNS + table->dso_width + 2 + BUCKETS_LEAST;
	if (table->terminal->width && table->label_width + taken > table->terminal->width)
		table->label_width = table->terminal->width > taken + LABEL_LEAST
					     ? table->terminal->width - taken
					     : LABEL_LEAST;
	table->bar_width = BAR_COLUMNS;
	if (table->terminal->width) {
		taken = FIGURES_COLUMNS + table->dso_width + 2 + table->label_width;
		make_room(&table->bar_width, BAR_LEAST, taken + BAR_COLUMNS,
			  table->terminal->width);
		make_room(&table->dso_width, DSO_LEAST, taken + table->bar_width,
			  table->terminal->width);
	}
	ui_text_free(&line);
}

static void print_heading(const struct table *table, struct ui_text *line)
{
	static const struct {
		unsigned int key;
		const char *title;
	} titles[] = {
		{GROUP_BY_INSN, "Instruction"},
		{GROUP_BY_LINE, "Line"},
		{GROUP_BY_SYMBOL, "Function"},
	};
	const char *title = "";

	for (size_t i = 0; i < sizeof(titles) / sizeof(*titles) && !*title; i++)
		if (table->keys & titles[i].key)
			title = titles[i].title;
	ui_text_add(line, "%s%8s %8s ", ui_style(table->terminal, UI_BOLD), "Share",
		    profile_amount_title(table->input));
	if (table->input->plain)
		ui_text_add(line, " ");
	else
		ui_text_add(line, "%8s  %-*s  ", table->keys == GROUP_BY_DSO ? "" : "Execs",
			    (int)table->bar_width, "Stack");
	if (table->keys & (GROUP_BY_DSO | GROUP_BY_INSN))
		ui_text_add(line, "%-*s  ", (int)table->dso_width, "Binary");
	ui_text_add(line, "%-*s  %s%s", (int)table->label_width, title,
		    table->input->plain ? "" : "Largest buckets",
		    ui_style(table->terminal, UI_PLAIN));
	ui_print_line(table->terminal, ui_text_get(line));
	ui_text_clear(line);
}

static void print_text(const struct profile_input *input, const struct report_options *wanted,
		       const struct profile_groups *groups, struct listing_isas *isas,
		       struct source_texts *sources, const struct ui_terminal *terminal)
{
	double limit = shown_limit(wanted);
	struct table table = {.input = input,
			      .terminal = terminal,
			      .isas = isas,
			      .sources = sources,
			      .keys = wanted->keys};
	struct ui_text line = {0};
	uint64_t rest = 0;

	profile_print_header(input, terminal);
	fputc('\n', terminal->out);
	if (!input->plain) {
		print_whole(input, terminal);
		fputc('\n', terminal->out);
	}
	while (table.rows < groups->count &&
	       profile_share(input, groups->group[table.rows].weight) >= limit)
		table.rows++;
	for (size_t i = table.rows; i < groups->count; i++)
		rest += groups->group[i].weight;
	measure(&table, groups);
	if (groups->count && !input->plain) {
		ui_text_add(&line, "%*s", 28, "");
		cycle_stack_legend(&line, terminal);
		ui_print_line(terminal, ui_text_get(&line));
		ui_text_clear(&line);
	}
	if (groups->count)
		print_heading(&table, &line);
	for (size_t i = 0; i < table.rows; i++)
		print_row(&table, &groups->group[i], &line);
	if (table.rows < groups->count) {
		char share[UI_NUMBER_SIZE], cycles[UI_NUMBER_SIZE];

		fprintf(terminal->out, "%8s %8s  in %zu more below %g%% each (--percent-limit 0)\n",
			ui_share(share, profile_share(input, rest)),
			profile_amount(input, cycles, cycles_of(rest)), groups->count - table.rows,
			limit * 100);
	}
	if (input->unattributed) {
		char share[UI_NUMBER_SIZE], cycles[UI_NUMBER_SIZE];

		fprintf(terminal->out, "%8s %8s  unattributed\n",
			ui_share(share, profile_share(input, input->unattributed)),
			profile_amount(input, cycles, cycles_of(input->unattributed)));
	}
	ui_text_free(&line);
	fputc('\n', terminal->out);
	profile_print_problems(input, terminal);
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static bool below(const struct profile_input *input, const struct report_options *wanted,
		  uint64_t weight)
{
	return wanted->limit > 0 && profile_share(input, weight) * 100 < wanted->limit;
}

static struct pesa_error *json_groups(const struct profile_input *input,
				      const struct report_options *wanted, struct ui_json *json,
				      const char *name, unsigned int keys)
{
	struct profile_groups groups;
	struct pesa_error *error = profile_groups_make(input, keys, &groups);

	if (error)
		return error;
	ui_json_array_begin(json, name);
	for (size_t i = 0; i < groups.count; i++)
		if (!below(input, wanted, groups.group[i].weight))
			ui_json_element(json, profile_group_json(input, &groups.group[i], keys));
	ui_json_array_end(json);
	profile_groups_free(&groups);
	return NULL;
}

static struct pesa_error *json_instructions(const struct profile_input *input,
					    const struct report_options *wanted,
					    struct ui_json *json, struct listing_isas *isas)
{
	struct profile_groups groups;
	struct pesa_error *error = profile_groups_make(input, GROUP_BY_INSN, &groups);

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
		json_object_object_add(
			one, "symbol",
			ui_json_string(group->symbol ? group->symbol->name : "[unknown]"));
		if (wanted->keys & GROUP_BY_LINE) {
			struct pesa_source source =
				pesa_symbols_source(input->symbols, group->dso, row.address);

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

static struct pesa_error *print_json(const struct profile_input *input,
				     const struct report_options *wanted, struct listing_isas *isas)
{
	struct pesa_error *error;
	struct ui_json json;

	ui_json_begin(&json, stdout, "report");
	profile_json_header(input, &json);
	error = json_groups(input, wanted, &json, "functions", GROUP_BY_DSO | GROUP_BY_SYMBOL);
	if (!error && wanted->keys == GROUP_BY_DSO)
		error = json_groups(input, wanted, &json, "dsos", GROUP_BY_DSO);
	if (!error && wanted->keys & GROUP_BY_LINE && !(wanted->keys & GROUP_BY_INSN))
		error = json_groups(input, wanted, &json, "lines",
				    GROUP_BY_DSO | GROUP_BY_SYMBOL | GROUP_BY_LINE);
	if (!error && wanted->keys & GROUP_BY_INSN)
		error = json_instructions(input, wanted, &json, isas);
	profile_json_problems(input, &json);
	ui_json_end(&json);
	return error;
}

/* ---- The subcommand ------------------------------------------------------------------------ */

static struct pesa_error *group_and_print(const struct profile_input *input,
					  const struct report_options *wanted,
					  struct listing_isas *isas, struct ui_terminal *terminal)
{
	struct source_texts *sources = source_texts_create(wanted->input.symbol_root);
	struct pesa_error *error = sources ? NULL : pesa_error_no_memory();
	struct profile_groups groups = {0};

	if (!error)
		error = profile_groups_make(input, wanted->keys, &groups);
	if (!error) {
		ui_pager_start(terminal, !wanted->input.no_pager);
		print_text(input, wanted, &groups, isas, sources, terminal);
	}
	source_texts_free(sources);
	profile_groups_free(&groups);
	return error;
}

/* Returns the exit status. */
static int report(const struct profile_input *input, const struct report_options *wanted,
		  const struct pesa_export *rows, struct listing_isas *isas)
{
	struct ui_terminal terminal = ui_terminal_open(wanted->input.colour);
	struct pesa_error *error;
	int status = 0;

	if (wanted->html && pesa_profile_totals(input->profile)->weight) {
		error = report_write_html(input, rows, isas, shown_limit(wanted), wanted->html);
		if (error)
			status = profile_fail("report", error);
	}
	error = wanted->input.json ? print_json(input, wanted, isas)
				   : group_and_print(input, wanted, isas, &terminal);
	return profile_finish("report", &terminal, error) || status;
}

static int show(const struct report_options *wanted, const struct pesa_export *rows)
{
	struct profile_input input;
	struct listing_isas *isas;
	int status;

	if (!profile_input_open(&input, &wanted->input, "report"))
		return 1;
	isas = listing_isas_create(&input);
	status = isas ? report(&input, wanted, rows, isas)
		      : profile_fail("report", pesa_error_no_memory());
	if (!profile_has_cycles(&input) || input.damaged)
		status = 1;
	listing_isas_free(isas);
	profile_input_close(&input);
	return status;
}

int pesa_command_report(int argc, char **argv)
{
	struct report_options wanted = {0};
	struct pesa_export *rows = NULL;
	int status = profile_parse(&argp, "report", argc, argv, &wanted);

	if (status)
		return status;
	if (wanted.html) {
		rows = pesa_export_create();
		if (!rows)
			return profile_fail("report", pesa_error_no_memory());
		wanted.input.listener = pesa_export_listener(rows);
		wanted.input.outputs[0] = wanted.html;
	}
	status = show(&wanted, rows);
	pesa_export_free(rows);
	return status;
}
