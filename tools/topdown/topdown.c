// SPDX-License-Identifier: GPL-2.0-or-later
/* pesa topdown: shows what the core's slots were used for, and what they were lost to. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/base/number.h"
#include "tools/commands.h"
#include "tools/groups/groups.h"
#include "tools/topdown/view.h"
#include "tools/ui/pager.h"
#include "tools/ui/text.h"

#define NAME_COLUMNS	26
#define BAR_COLUMNS	24
#define LABEL_COLUMNS	40
#define HOTTEST_DEFAULT 3
#define SLICES_DEFAULT	20
#define WORTH		0.02  /* minimum share of all slots of a node that is explained */
#define ROWS_LEAST	0.001 /* minimum share of a row in text output */
#define PLAIN_ROWS	20

struct topdown_options {
	struct profile_input_options input;
	enum topdown_by by;
	unsigned int level, hottest, slices;
	const char *html;
};

static const char *const by_names[TOPDOWN_BY_COUNT] = {
	[TOPDOWN_BY_NOTHING] = "nothing", [TOPDOWN_BY_SYMBOL] = "symbol",
	[TOPDOWN_BY_LINE] = "line",	  [TOPDOWN_BY_THREAD] = "thread",
	[TOPDOWN_BY_CPU] = "cpu",	  [TOPDOWN_BY_TIME] = "time",
};

enum { KEY_BY = PROFILE_KEY_FIRST_FREE, KEY_LEVEL, KEY_HTML, KEY_SLICES };

static const struct argp_option options[] = {
	{"by", KEY_BY, "WHAT", 0, "Also for each symbol, line, thread, cpu, or slice of time", 0},
	{"level", KEY_LEVEL, "LEVEL", 0, "Levels of the hierarchy: 1, 2 or 3 (default: 2)", 0},
	{"top", 'n', "COUNT", 0, "Instructions shown of each node (default: 3)", 0},
	{"slices", KEY_SLICES, "COUNT", 0,
	 "Of --by time: at most COUNT slices, at least half of that (default: 20)", 0},
	{"html", KEY_HTML, "FILE", 0, "Write a page to FILE, which needs no other file", 0},
	{0},
};

static unsigned int parse_number(const char *text, unsigned int low, unsigned int high,
				 const char *option, struct argp_state *state)
{
	uint64_t value = low;

	if (!number_read(text, 10, low, high, &value))
		profile_usage_error(state, "%s is a number from %u to %u, not '%s'", option, low,
				    high, text);
	return (unsigned int)value;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct topdown_options *result = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		result->level = 2;
		result->hottest = HOTTEST_DEFAULT;
		result->slices = SLICES_DEFAULT;
		state->child_inputs[0] = &result->input;
		break;
	case KEY_BY:
		for (result->by = TOPDOWN_BY_SYMBOL; result->by < TOPDOWN_BY_COUNT; result->by++)
			if (!strcmp(argument, by_names[result->by]))
				return 0;
		profile_usage_error(state, "--by takes symbol, line, thread, cpu or time, not '%s'",
				    argument);
		break;
	case KEY_LEVEL:
		result->level = parse_number(argument, 1, PESA_TOPDOWN_LEVELS, "--level", state);
		break;
	case 'n':
		result->hottest = parse_number(argument, 0, TOPDOWN_HOTTEST_MAX, "--top", state);
		break;
	case KEY_SLICES:
		result->slices =
			parse_number(argument, 2, PESA_TOPDOWN_SLICES_MAX, "--slices", state);
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
	.doc = "Show what the slots of the core were used and lost for: retiring, bad speculation, "
	       "frontend bound, backend bound, and what is below these; with the instructions that "
	       "each costs most, and what to look at next.\vExample:\n"
	       "  pesa topdown --by symbol -i perf.data\n"
	       "\n"
	       "The manual page pesa-topdown(1) explains every column.",
};

/* ---- Text ---------------------------------------------------------------------------------- */

/* "±0.35", or "" where there is none. */
static const char *half_width(struct pesa_estimate estimate, const struct ui_terminal *terminal,
			      char buffer[UI_NUMBER_SIZE])
{
	double half = (estimate.high - estimate.low) / 2;

	if (!estimate.enough)
		snprintf(buffer, UI_NUMBER_SIZE, "too few");
	else if (half > 0)
		snprintf(buffer, UI_NUMBER_SIZE, "%s%.2f", terminal->utf8 ? "±" : "+-", half * 100);
	else
		buffer[0] = '\0';
	return buffer;
}

static void add_bar(struct ui_text *line, const struct ui_terminal *terminal, double share,
		    unsigned int columns)
{
	unsigned int filled = (unsigned int)(share * columns + 0.5);

	for (unsigned int i = 0; i < filled; i++)
		ui_text_add(line, "%s", terminal->utf8 ? "█" : "#");
}

static enum ui_style style_of(enum pesa_topdown_node node)
{
	while (pesa_topdown_nodes[node].level > 1)
		node = pesa_topdown_nodes[node].parent;
	switch (node) {
	case PESA_TOPDOWN_RETIRING:
		return UI_RETIRING;
	case PESA_TOPDOWN_BAD:
		return UI_FLUSHED;
	case PESA_TOPDOWN_FRONTEND:
		return UI_DRAINED;
	case PESA_TOPDOWN_BACKEND:
		return UI_STALLED;
	default:
		return UI_PLAIN;
	}
}

static void print_node(const struct topdown_view *view, const struct ui_terminal *terminal,
		       enum pesa_topdown_node node)
{
	const struct pesa_topdown_node_facts *facts = &pesa_topdown_nodes[node];
	struct pesa_estimate share = pesa_topdown_share(view->topdown, node, PROFILE_CONFIDENCE);
	char number[UI_NUMBER_SIZE];
	struct ui_text line = {0};

	ui_text_add(&line, "  %*s%s", (int)(2 * (facts->level - 1)), "", facts->name);
	ui_text_pad(&line, NAME_COLUMNS);
	ui_text_add(&line, "%8s  ", ui_share(number, share.value));
	ui_text_add(&line, "%s", half_width(share, terminal, number));
	ui_text_pad(&line, NAME_COLUMNS + 18);
	if (view->has_counts) {
		const double counted[] = {view->counted.retire[node], view->counted.dispatch[node]};

		for (unsigned int i = 0; i < 2; i++)
			ui_text_add(&line, " %10s",
				    isnan(counted[i]) ? "" : ui_share(number, counted[i]));
		ui_text_add(&line, "  ");
	}
	ui_text_add(&line, "%s", ui_style(terminal, style_of(node)));
	add_bar(&line, terminal, share.value, BAR_COLUMNS);
	ui_text_add(&line, "%s", ui_style(terminal, UI_PLAIN));
	ui_print_line(terminal, ui_text_get(&line));
	ui_text_free(&line);
}

static void print_split(const struct topdown_view *view, const struct ui_terminal *terminal)
{
	const struct pesa_topdown_counted *counted = &view->counted;
	char a[UI_NUMBER_SIZE], b[UI_NUMBER_SIZE], c[UI_NUMBER_SIZE], d[UI_NUMBER_SIZE];

	if (!view->has_counts || !counted->has_split || isnan(counted->mispredict_share))
		return;
	fprintf(terminal->out,
		"\n  Bad speculation at dispatch: %.2f%% of it mispredicts, (A + C W) / (A + B + (C + D) W);\n"
		"  slots issued on wrong paths behind mispredicts A %s, clears B %s; cycles of "
		"recovery C %s, D %s; W %g\n",
		counted->mispredict_share * 100, ui_count(a, (double)counted->issued_mispredicts),
		ui_count(b, (double)counted->issued_clears),
		ui_count(c, (double)counted->recovery_mispredicts),
		ui_count(d, (double)counted->recovery_clears), counted->width);
}

static void print_tree(const struct topdown_view *view, const struct ui_terminal *terminal)
{
	bool recorded;
	unsigned int width = pesa_topdown_width(view->topdown, &recorded);
	double lost =
		pesa_topdown_share(view->topdown, PESA_TOPDOWN_SLOTS, PROFILE_CONFIDENCE).value;
	char number[UI_NUMBER_SIZE];
	uint64_t silent, cycles = pesa_topdown_cycles(view->topdown, &silent);

	fprintf(terminal->out, "\n  %u slots a cycle%s, %s slots\n\n", width,
		recorded ? "" : " (the most that retired together: the recording does not tell)",
		ui_count(number, (double)cycles * width));
	if (silent)
		fprintf(terminal->out,
			"  %s of the cycles are of samples that tell nothing of slots\n",
			ui_share(number, (double)silent / ((double)cycles + (double)silent)));
	fprintf(terminal->out, "%s  %-*s%8s  %-8s%s%s\n", ui_style(terminal, UI_BOLD),
		NAME_COLUMNS - 2, "", "Share", terminal->utf8 ? "±95%" : "+-95%",
		view->has_counts ? "       Counted   Dispatch" : "", ui_style(terminal, UI_PLAIN));
	for (unsigned int i = PESA_TOPDOWN_SLOTS + 1; i < PESA_TOPDOWN_NODES_COUNT; i++) {
		enum pesa_topdown_node node = (enum pesa_topdown_node)i;

		if (!topdown_is_shown(view, node))
			continue;
		print_node(view, terminal, node);
		if (pesa_topdown_nodes[node].level == 1)
			lost -= pesa_topdown_share(view->topdown, node, PROFILE_CONFIDENCE).value;
	}
	if (pesa_profile_totals(view->input->profile)->exact)
		fprintf(terminal->out,
			"  %-*s%8s  lost in cycles in which others retired: an exact profile tells not to whom\n",
			NAME_COLUMNS - 2, "Not recorded", ui_share(number, lost));
	print_split(view, terminal);
}

static void print_instruction(const struct topdown_view *view, const struct ui_terminal *terminal,
			      const struct pesa_topdown_instruction *instruction,
			      enum pesa_topdown_node node)
{
	struct pesa_estimate share = topdown_instruction_share(view, instruction, node);
	struct topdown_location location;
	char number[UI_NUMBER_SIZE];
	struct ui_text line = {0};

	topdown_locate(view, instruction, &location);
	ui_text_add(&line, "  %8s  ", ui_share(number, share.value));
	ui_text_add(&line, "%s", half_width(share, terminal, number));
	ui_text_pad(&line, 20);
	ui_text_add(&line, "%8" PRIx64 "  %s", instruction->address, location.row.text);
	ui_text_pad(&line, 58);
	ui_text_add_name(&line, location.name, LABEL_COLUMNS, terminal->utf8);
	if (location.source.file)
		ui_text_add_safe(&line, "  %s:%u", profile_base_name(location.source.file),
				 location.source.line);
	ui_print_line(terminal, ui_text_get(&line));
	ui_text_free(&line);
}

static void print_explained(const struct topdown_view *view, const struct ui_terminal *terminal)
{
	enum pesa_topdown_node nodes[PESA_TOPDOWN_NODES_COUNT];
	const struct pesa_topdown_instruction *hottest[TOPDOWN_HOTTEST_MAX];
	size_t count = topdown_last_nodes(view, nodes);
	char number[UI_NUMBER_SIZE];

	for (size_t i = 0; i < count; i++) {
		struct pesa_estimate share =
			pesa_topdown_share(view->topdown, nodes[i], PROFILE_CONFIDENCE);
		size_t found;

		if (i && share.value < WORTH)
			break;
		fprintf(terminal->out, "\n%s%s %s%s\n", ui_style(terminal, UI_BOLD),
			pesa_topdown_nodes[nodes[i]].name, ui_share(number, share.value),
			ui_style(terminal, UI_PLAIN));
		ui_print_wrapped(terminal, topdown_advice(nodes[i]), 2, 100);
		found = topdown_hottest(view, nodes[i], hottest);
		for (size_t j = 0; j < found; j++)
			print_instruction(view, terminal, hottest[j], nodes[i]);
	}
}

/* The columns of rows: nodes of the selected level, at most the second. */
static size_t row_nodes(const struct topdown_view *view,
			enum pesa_topdown_node nodes[PESA_TOPDOWN_NODES_COUNT])
{
	struct topdown_view columns = *view;
	size_t count = 0;

	if (columns.level > 2)
		columns.level = 2;
	for (unsigned int i = PESA_TOPDOWN_SLOTS + 1; i < PESA_TOPDOWN_NODES_COUNT; i++)
		if (topdown_is_last(&columns, (enum pesa_topdown_node)i))
			nodes[count++] = (enum pesa_topdown_node)i;
	return count;
}

static const char *short_name(enum pesa_topdown_node node)
{
	static const char *const names[PESA_TOPDOWN_NODES_COUNT] = {
		[PESA_TOPDOWN_RETIRING] = "Retiring",	[PESA_TOPDOWN_BAD] = "Bad spec",
		[PESA_TOPDOWN_MISPREDICTS] = "Mispred", [PESA_TOPDOWN_CLEARS] = "Clears",
		[PESA_TOPDOWN_FRONTEND] = "Frontend",	[PESA_TOPDOWN_LATENCY] = "FE lat",
		[PESA_TOPDOWN_BANDWIDTH] = "FE band",	[PESA_TOPDOWN_BACKEND] = "Backend",
		[PESA_TOPDOWN_MEMORY] = "Memory",	[PESA_TOPDOWN_CORE] = "Core",
	};

	return names[node];
}

static void print_rows(const struct topdown_view *view, const struct ui_terminal *terminal)
{
	enum pesa_topdown_node nodes[PESA_TOPDOWN_NODES_COUNT];
	size_t count = row_nodes(view, nodes), left_out = 0;
	char number[UI_NUMBER_SIZE];
	struct ui_text line = {0};

	ui_text_add(&line, "\n%s%9s", ui_style(terminal, UI_BOLD), "Share");
	for (size_t i = 0; i < count; i++)
		ui_text_add(&line, " %9s", short_name(nodes[i]));
	ui_text_add(&line, "  %s%s", "of the slots of each", ui_style(terminal, UI_PLAIN));
	ui_print_line(terminal, ui_text_get(&line));
	for (size_t i = 0; i < view->rows; i++) {
		const struct topdown_row *row = &view->row[i];
		double part = topdown_row_part(view, row);

		if (view->by != TOPDOWN_BY_TIME && part < ROWS_LEAST) {
			left_out++;
			continue;
		}
		ui_text_clear(&line);
		ui_text_add(&line, "%9s", ui_share(number, part));
		for (size_t j = 0; j < count; j++) {
			struct pesa_estimate share = topdown_row_share(view, row, nodes[j]);

			ui_text_add(&line, " %9s",
				    share.enough ? ui_share(number, share.value) : "too few");
		}
		ui_text_add(&line, "  ");
		ui_text_add_name(&line, row->label, LABEL_COLUMNS, terminal->utf8);
		ui_print_line(terminal, ui_text_get(&line));
	}
	if (left_out)
		fprintf(terminal->out, "          and %zu more below %g%% each\n", left_out,
			ROWS_LEAST * 100);
	ui_text_free(&line);
}

static void print_text(const struct topdown_view *view, const struct ui_terminal *terminal)
{
	profile_print_header(view->input, terminal);
	print_tree(view, terminal);
	print_explained(view, terminal);
	if (view->by != TOPDOWN_BY_NOTHING)
		print_rows(view, terminal);
	fputc('\n', terminal->out);
	profile_print_problems(view->input, terminal);
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static json_object *instructions_json(const struct topdown_view *view, enum pesa_topdown_node node)
{
	const struct pesa_topdown_instruction *hottest[TOPDOWN_HOTTEST_MAX];
	size_t found = topdown_hottest(view, node, hottest);
	json_object *array = json_object_new_array();

	for (size_t i = 0; i < found; i++) {
		const struct pesa_topdown_instruction *one = hottest[i];
		struct pesa_estimate share = topdown_instruction_share(view, one, node);
		const struct pesa_source *source;
		struct topdown_location location;
		json_object *object = json_object_new_object();

		topdown_locate(view, one, &location);
		source = &location.source;
		json_object_object_add(object, "address", ui_json_count(one->address));
		json_object_object_add(object, "text", ui_json_string(location.row.text));
		json_object_object_add(
			object, "symbol",
			ui_json_string(location.symbol ? location.symbol->name : NULL));
		json_object_object_add(object, "dso", ui_json_string(location.dso));
		json_object_object_add(object, "file", ui_json_string(source->file));
		json_object_object_add(object, "line",
				       source->file ? ui_json_count(source->line) : NULL);
		json_object_object_add(object, "slots", ui_json_count(one->slots[node]));
		json_object_object_add(object, "share", ui_json_number(share.value));
		json_object_object_add(object, "interval", profile_json_interval(share));
		json_object_array_add(array, object);
	}
	return array;
}

static json_object *node_json(const struct topdown_view *view, enum pesa_topdown_node node)
{
	const struct pesa_topdown_node_facts *facts = &pesa_topdown_nodes[node];
	struct pesa_estimate share = pesa_topdown_share(view->topdown, node, PROFILE_CONFIDENCE);
	json_object *object = json_object_new_object();

	json_object_object_add(object, "key", ui_json_string(facts->key));
	json_object_object_add(object, "name", ui_json_string(facts->name));
	json_object_object_add(object, "level", json_object_new_int(facts->level));
	json_object_object_add(
		object, "parent",
		ui_json_string(facts->level > 1 ? pesa_topdown_nodes[facts->parent].key : NULL));
	json_object_object_add(object, "slots",
			       ui_json_count(pesa_topdown_slots(view->topdown, node)));
	json_object_object_add(object, "share", ui_json_number(share.value));
	json_object_object_add(object, "interval", profile_json_interval(share));
	json_object_object_add(object, "counted",
			       ui_json_number(view->has_counts ? view->counted.retire[node] : NAN));
	json_object_object_add(
		object, "counted_dispatch",
		ui_json_number(view->has_counts ? view->counted.dispatch[node] : NAN));
	json_object_object_add(object, "advice", ui_json_string(topdown_advice(node)));
	json_object_object_add(object, "instructions", instructions_json(view, node));
	return object;
}

static void add_row_identity(const struct topdown_view *view, const struct topdown_row *row,
			     json_object *object)
{
	switch (view->by) {
	case TOPDOWN_BY_SYMBOL:
		json_object_object_add(object, "symbol",
				       ui_json_string(row->symbol ? row->symbol->name : NULL));
		json_object_object_add(
			object, "dso",
			ui_json_string(pesa_profile_dso(view->input->profile, row->dso)->path));
		break;
	case TOPDOWN_BY_LINE:
		json_object_object_add(object, "file", ui_json_string(row->source.file));
		json_object_object_add(object, "line",
				       row->source.file ? ui_json_count(row->source.line) : NULL);
		break;
	case TOPDOWN_BY_THREAD:
		json_object_object_add(object, "pid", ui_json_count(row->group.pid));
		json_object_object_add(object, "tid", ui_json_count(row->group.tid));
		break;
	case TOPDOWN_BY_CPU:
		json_object_object_add(object, "cpu", ui_json_count(row->group.cpu));
		break;
	default:
		json_object_object_add(object, "start", ui_json_count(row->group.start));
		json_object_object_add(object, "end", ui_json_count(row->group.end));
	}
}

static json_object *row_json(const struct topdown_view *view, const struct topdown_row *row)
{
	json_object *object = json_object_new_object(), *nodes = json_object_new_object();

	add_row_identity(view, row, object);
	json_object_object_add(object, "slots", ui_json_count(row->slots[PESA_TOPDOWN_SLOTS]));
	json_object_object_add(object, "share", ui_json_number(topdown_row_part(view, row)));
	for (unsigned int i = PESA_TOPDOWN_SLOTS + 1; i < PESA_TOPDOWN_NODES_COUNT; i++) {
		enum pesa_topdown_node node = (enum pesa_topdown_node)i;
		struct pesa_estimate share;
		json_object *one;

		if (!topdown_is_shown(view, node))
			continue;
		share = topdown_row_share(view, row, node);
		one = json_object_new_object();
		json_object_object_add(one, "share", ui_json_number(share.value));
		json_object_object_add(one, "interval", profile_json_interval(share));
		json_object_object_add(nodes, pesa_topdown_nodes[node].key, one);
	}
	json_object_object_add(object, "nodes", nodes);
	return object;
}

static json_object *split_json(const struct topdown_view *view)
{
	const struct pesa_topdown_counted *counted = &view->counted;
	json_object *object;

	if (!view->has_counts || !counted->has_split)
		return NULL;
	object = json_object_new_object();
	json_object_object_add(object, "issued_mispredicts",
			       ui_json_count(counted->issued_mispredicts));
	json_object_object_add(object, "issued_clears", ui_json_count(counted->issued_clears));
	json_object_object_add(object, "recovery_mispredicts",
			       ui_json_count(counted->recovery_mispredicts));
	json_object_object_add(object, "recovery_clears", ui_json_count(counted->recovery_clears));
	json_object_object_add(object, "width", ui_json_number(counted->width));
	json_object_object_add(object, "mispredict_share",
			       ui_json_number(counted->mispredict_share));
	return object;
}

static void print_json(const struct topdown_view *view, bool possible)
{
	bool recorded;
	unsigned int width = pesa_topdown_width(view->topdown, &recorded);
	struct ui_json json;
	uint64_t silent;

	ui_json_begin(&json, stdout, "topdown");
	profile_json_header(view->input, &json);
	ui_json_member(&json, "possible", json_object_new_boolean(possible));
	ui_json_member(&json, "width", width ? ui_json_count(width) : NULL);
	ui_json_member(&json, "width_told", json_object_new_boolean(recorded));
	ui_json_member(&json, "told_cycles",
		       ui_json_count(pesa_topdown_cycles(view->topdown, &silent)));
	ui_json_member(&json, "silent_cycles", ui_json_count(silent));
	ui_json_member(&json, "split", split_json(view));
	ui_json_array_begin(&json, "nodes");
	for (unsigned int i = PESA_TOPDOWN_SLOTS + 1; possible && i < PESA_TOPDOWN_NODES_COUNT; i++)
		if (topdown_is_shown(view, (enum pesa_topdown_node)i))
			ui_json_element(&json, node_json(view, (enum pesa_topdown_node)i));
	ui_json_array_end(&json);
	if (view->by != TOPDOWN_BY_NOTHING) {
		ui_json_member(&json, "by", ui_json_string(by_names[view->by]));
		ui_json_array_begin(&json, "rows");
		for (size_t i = 0; possible && i < view->rows; i++)
			ui_json_element(&json, row_json(view, &view->row[i]));
		ui_json_array_end(&json);
	}
	profile_json_problems(view->input, &json);
	ui_json_end(&json);
}

/* ---- Profiles without details -------------------------------------------------------------- */

/* For a plain profile: show only where the cycles went. */
static struct pesa_error *print_plain(const struct profile_input *input,
				      const struct ui_terminal *terminal)
{
	const char *event = pesa_profile_event(input->profile);
	struct profile_groups groups;
	struct pesa_error *error =
		profile_groups_make(input, GROUP_BY_DSO | GROUP_BY_SYMBOL, &groups);
	char number[UI_NUMBER_SIZE];
	struct ui_text line = {0};

	if (error)
		return error;
	profile_print_header(input, terminal);
	ui_text_add_safe(&line, "%s", event ? event : "this event");
	fprintf(terminal->out,
		"\n  The samples of %s tell their PC and nothing of slots: top-down is not possible.\n"
		"  Possible are: where it was counted, by function (below), line or instruction "
		"(pesa report,\n  pesa annotate), and what changed between two recordings (pesa diff).\n"
		"  Top-down takes samples with details: hardware with shpmsdetails, or 'pesa "
		"record --core NAME'.\n\n",
		ui_text_get(&line));
	for (size_t i = 0; i < groups.count && i < PLAIN_ROWS; i++) {
		const struct profile_group *group = &groups.group[i];

		ui_text_clear(&line);
		ui_text_add_safe(
			&line, "%9s  %s  %s", ui_share(number, profile_share(input, group->weight)),
			group->symbol && group->symbol->name ? group->symbol->name : "[unknown]",
			profile_base_name(pesa_profile_dso(input->profile, group->dso)->path));
		fprintf(terminal->out, "%s\n", ui_text_get(&line));
	}
	fputc('\n', terminal->out);
	ui_text_free(&line);
	profile_print_problems(input, terminal);
	profile_groups_free(&groups);
	return NULL;
}

/* ---- The subcommand ------------------------------------------------------------------------ */

static enum pesa_topdown_by group_by(enum topdown_by by)
{
	static const enum pesa_topdown_by groups[TOPDOWN_BY_COUNT] = {
		[TOPDOWN_BY_THREAD] = PESA_TOPDOWN_BY_THREAD,
		[TOPDOWN_BY_CPU] = PESA_TOPDOWN_BY_CPU,
		[TOPDOWN_BY_TIME] = PESA_TOPDOWN_BY_TIME,
	};

	return groups[by];
}

static int show(struct topdown_view *view, const struct topdown_options *wanted)
{
	struct ui_terminal terminal = ui_terminal_open(wanted->input.colour);
	const bool possible = pesa_topdown_cycles(view->topdown, NULL) != 0;
	struct pesa_error *error = NULL;

	if (!possible && wanted->html) {
		profile_complain(
			"topdown",
			"%s: its samples tell nothing of slots: there is nothing to write to %s",
			wanted->input.path, wanted->html);
		return 1;
	}
	if (wanted->html) {
		error = topdown_write_html(view, wanted->html);
		if (error)
			return profile_fail("topdown", error);
	}
	if (wanted->input.json) {
		print_json(view, possible);
	} else {
		ui_pager_start(&terminal, !wanted->input.no_pager);
		if (possible)
			print_text(view, &terminal);
		else
			error = print_plain(view->input, &terminal);
	}
	return profile_finish("topdown", &terminal, error);
}

static struct pesa_error *make_view(struct topdown_view *view, struct pesa_topdown *topdown)
{
	struct pesa_error *error;

	view->isas = listing_isas_create(view->input);
	error = view->isas ? pesa_topdown_finish(topdown, view->input->profile)
			   : pesa_error_no_memory();
	return error ? error : topdown_view_make(view);
}

static int topdown(struct topdown_options *wanted, struct pesa_topdown *topdown)
{
	struct profile_input input;
	struct pesa_error *error;
	struct topdown_view view = {.input = &input,
				    .topdown = topdown,
				    .by = wanted->by,
				    .level = wanted->level,
				    .hottest = wanted->hottest};
	int status;

	wanted->input.listener = pesa_topdown_listener(topdown);
	wanted->input.outputs[0] = wanted->html;
	error = profile_input_open(&input, &wanted->input, "topdown");
	if (error)
		return profile_fail("topdown", error);
	if (!profile_has_cycles(&input)) {
		status = 1;
	} else {
		error = make_view(&view, topdown);
		status = error ? profile_fail("topdown", error) : show(&view, wanted);
	}
	if (input.damaged)
		status = 1;
	topdown_view_free(&view);
	listing_isas_free(view.isas);
	profile_input_close(&input);
	return status;
}

int pesa_command_topdown(int argc, char **argv)
{
	struct topdown_options wanted = {0};
	struct pesa_topdown *accumulated;
	int status = profile_parse(&argp, "topdown", argc, argv, &wanted);

	if (status)
		return status;
	accumulated = pesa_topdown_create(group_by(wanted.by), wanted.slices);
	if (!accumulated)
		return profile_fail("topdown", pesa_error_no_memory());
	status = topdown(&wanted, accumulated);
	pesa_topdown_free(accumulated);
	return status;
}
