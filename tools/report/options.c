// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/report/options.h"

#include <stdlib.h>
#include <string.h>

#include "decoder/export/data.h"
#include "tools/store/options.h"

#define SLICES_DEFAULT	    20
#define GRAPH_LIMIT_DEFAULT 0.5 /* percent, as perf's */

enum {
	KEY_HTML = PROFILE_KEY_FIRST_FREE,
	KEY_BLOCK,
	KEY_STDIO,
	KEY_UNIT,
	KEY_CGROUP,
	KEY_TIME,
	KEY_BY,
	KEY_SLICES,
	KEY_CHILDREN,
	KEY_NO_CHILDREN,
	KEY_CALLER,
	KEY_CALLEE,
	KEY_FLOW,
	KEY_RAW,
	KEY_CALIBRATION,
	KEY_MCPU,
};

static const struct argp_option options[] = {
	{"sort", 's', "KEYS", 0,
	 "One row for each combination of these keys, with commas between: " GROUP_KEY_NAMES
	 " (default: dso,sym)",
	 0},
	{"fields", 'F', "KEYS", 0, "The same; perf's figures (overhead, sample) are always shown",
	 0},
	{"by", KEY_BY, "WHAT", 0,
	 "One row for each symbol, line, thread, cpu, or for each thread and CPU in slices of time",
	 0},
	{"slices", KEY_SLICES, "COUNT", 0,
	 "Of the key time: at most COUNT slices, at least half of that (default: 20)", 0},
	{"dsos", 'd', "BINARIES", 0, "Only rows of these binaries, with commas between", 0},
	{"symbols", 'S', "FUNCTIONS", 0,
	 "Only rows of these functions, with commas between; of all cycles", 0},
	{"children", KEY_CHILDREN, NULL, 0,
	 "Also the cycles of what a function called (inclusive), and sort by these", 0},
	{"no-children", KEY_NO_CHILDREN, NULL, 0, "Own cycles only (default)", 0},
	{"call-graph", 'g', "ORDER", OPTION_ARG_OPTIONAL,
	 "Below each row the functions that called it (callee, default) or that it called (caller), "
	 "with at least 0.5 %, or the percentage after a comma",
	 0},
	{"inverted", 'G', NULL, 0, "The same as --children -g caller", 0},
	{"caller", KEY_CALLER, "FUNCTION", 0, "Only what FUNCTION called, as a tree", 0},
	{"callee", KEY_CALLEE, "FUNCTION", 0, "Only who called FUNCTION, as a tree", 0},
	{"block", KEY_BLOCK, NULL, 0,
	 "Blocks of code between two transfers of control, with the cycles that timed branches "
	 "(Ssctr, LBR) tell: how many an execution took, and their distribution",
	 0},
	{"total-cycles", 0, NULL, OPTION_ALIAS, NULL, 0},
	{"time", KEY_TIME, "RANGE", 0,
	 "Only samples of START,STOP in seconds, or of a part of the time: 10%-20%, 10%/2", 0},
	{"cpu", 'C', "CPUS", 0, "Only samples of these CPUs: 0-3,8", 0},
	{"cgroup", KEY_CGROUP, "PATH", 0, "Only samples of this control group and those below it",
	 0},
	{"unit", KEY_UNIT, "NAME", 0, "Only samples of this unit of systemd: ssh", 0},
	{"flow", KEY_FLOW, NULL, 0,
	 "Take executions from the control flow of the program: all blocks and branches estimated "
	 "together, with narrower intervals",
	 0},
	{"raw", KEY_RAW, NULL, 0,
	 "Instructions of samples whose PC skids: cycles by that PC, as sampled, instead of the "
	 "estimates of pesa annotate",
	 0},
	{"calibration", KEY_CALIBRATION, "FILE", 0, PLAIN_CALIBRATION_HELP, 0},
	{"mcpu", KEY_MCPU, "NAME", 0,
	 "Of samples whose PC skids: the processor model (default: the one that the recording "
	 "names, or a generic one)",
	 0},
	{"percent-limit", 'p', "PERCENT", 0,
	 "Sum up rows below PERCENT of all cycles in one (default: 0.1; in JSON: 0)", 0},
	{"html", KEY_HTML, "FILE", 0,
	 "Write a page to FILE, too: a flame graph, the functions, and source and instructions of "
	 "those with at least --percent-limit of all cycles",
	 0},
	{"stdio", KEY_STDIO, NULL, 0, "Print text, also on a terminal", 0},
	{0},
};

/* What `pesa topdown --by` takes, as keys. */
static unsigned int parse_by(const char *argument, struct argp_state *state)
{
	static const struct {
		const char *name;
		unsigned int keys;
	} known[] = {
		{"symbol", GROUP_BY_DSO | GROUP_BY_SYMBOL},
		{"line", GROUP_BY_DSO | GROUP_BY_SYMBOL | GROUP_BY_LINE},
		{"thread", GROUP_BY_COMM | GROUP_BY_PID | GROUP_BY_TID},
		{"cpu", GROUP_BY_CPU},
		{"time", GROUP_BY_TIME | GROUP_BY_COMM | GROUP_BY_TID | GROUP_BY_CPU},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strcmp(argument, known[i].name))
			return known[i].keys;
	profile_bad_value(state, "--by", argument, "symbol, line, thread, cpu, time");
}

/* perf's "graph,0.5,caller": the order and a percentage; words that change nothing here are passed over. */
static void parse_graph(struct report_options *result, const char *argument,
			struct argp_state *state)
{
	static const char *const passed[] = {"graph", "fractal", "function", "percent", "period"};
	char word[32];

	result->graph = true;
	/* "-g caller", as perf takes it: getopt knows an optional argument only in the same word. */
	if (!argument && state->next < state->argc && *state->argv[state->next] != '-')
		argument = state->argv[state->next++];
	while (argument && *argument) {
		size_t length = strcspn(argument, ","), i;
		char *end;

		snprintf(word, sizeof(word), "%.*s", (int)length, argument);
		for (i = 0; i < sizeof(passed) / sizeof(*passed) && strcmp(word, passed[i]);)
			i++;
		if (!strcmp(word, "caller"))
			result->graph_kind = CALL_TREE_CALLEES;
		else if (!strcmp(word, "callee"))
			result->graph_kind = CALL_TREE_CALLERS;
		else if (!strcmp(word, "none"))
			result->graph = false;
		else if (word[0] >= '0' && word[0] <= '9' &&
			 (result->graph_limit = strtod(word, &end), !*end) &&
			 result->graph_limit <= 100)
			;
		else if (i == sizeof(passed) / sizeof(*passed))
			profile_bad_value(state, "--call-graph", argument,
					  "callee, caller, none, and a percentage");
		argument += length;
		argument += *argument == ',';
	}
}

static unsigned int parse_slices(const char *argument, struct argp_state *state)
{
	char *end;
	unsigned long count = strtoul(argument, &end, 10);

	if (end == argument || *end || count < 2 || count > EXPORT_SLICES)
		profile_usage_error(state, "--slices is a number from 2 to %u, not '%s'",
				    EXPORT_SLICES, argument);
	return (unsigned int)count;
}

static void set_root(struct report_options *result, const char *name, enum call_tree_kind kind,
		     struct argp_state *state)
{
	if (result->root)
		profile_usage_error(state,
				    "--caller and --callee name one function: there are two");
	result->root = name;
	result->root_kind = kind;
}

/* Refuse what does not go together. */
static void check(const struct report_options *result, struct argp_state *state)
{
	if (result->block && (report_needs_rows(result) || result->keys & GROUP_BY_INSN ||
			      result->choice.binaries || result->choice.functions))
		profile_usage_error(state, "--block has rows of its own, and goes with neither "
					   "--html, call chains, --dsos, --symbols nor the keys "
					   "insn, of tasks, CPUs and time");
	if (result->children && result->keys & GROUP_BY_INSN)
		profile_usage_error(state,
				    "--children has no rows of instructions: a call chain names "
				    "functions and lines; leave out the key insn");
	if (result->choice.binaries && !(result->keys & (GROUP_BY_DSO | GROUP_BY_INSN)))
		profile_usage_error(state, "--dsos chooses rows: add the key dso to --sort");
	if (result->choice.functions && !(result->keys & (GROUP_BY_SYMBOL | GROUP_BY_INSN)))
		profile_usage_error(state, "--symbols chooses rows: add the key sym to --sort");
	if ((result->choice.binaries || result->choice.functions) && (result->html || result->root))
		profile_usage_error(state, "--dsos and --symbols choose rows of the text: the page "
					   "of --html and the trees of --caller and --callee have "
					   "all functions");
	if ((result->plain.cpu || result->plain.calibration) &&
	    (result->raw || !report_has_estimates(result)))
		profile_usage_error(state, "--mcpu and --calibration are for estimates of "
					   "instructions: --sort insn shows them, without --raw, "
					   "--html, call chains, and keys of tasks, CPUs and time");
	if (result->graph && !(result->keys & GROUP_BY_SYMBOL))
		profile_usage_error(state,
				    "--call-graph is of functions: add the key sym to --sort");
	if (result->graph && result->graph_kind == CALL_TREE_CALLEES && !result->children)
		profile_usage_error(state, "what a function called is no part of its own cycles: "
					   "--call-graph caller needs --children");
}

static error_t parse_plain(int key, char *argument, struct report_options *result)
{
	switch (key) {
	case KEY_RAW:
		result->raw = true;
		return 0;
	case KEY_CALIBRATION:
		result->plain.calibration = argument;
		return 0;
	case KEY_MCPU:
		result->plain.cpu = argument;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse_filter(int key, char *argument, struct report_options *result)
{
	switch (key) {
	case KEY_TIME:
		result->filter.time = argument;
		return 0;
	case 'C':
		result->filter.cpus = argument;
		return 0;
	case KEY_CGROUP:
		result->filter.cgroup = argument;
		return 0;
	case KEY_UNIT:
		result->filter.unit = argument;
		return 0;
	default:
		return parse_plain(key, argument, result);
	}
}

static error_t parse_calls(int key, char *argument, struct argp_state *state,
			   struct report_options *result)
{
	switch (key) {
	case KEY_CHILDREN:
		result->children = true;
		return 0;
	case KEY_NO_CHILDREN:
		result->children = false;
		return 0;
	case 'G':
		result->children = result->graph = true;
		result->graph_kind = CALL_TREE_CALLEES;
		return 0;
	case 'g':
		parse_graph(result, argument, state);
		return 0;
	case KEY_CALLER:
		set_root(result, argument, CALL_TREE_CALLEES, state);
		return 0;
	case KEY_CALLEE:
		set_root(result, argument, CALL_TREE_CALLERS, state);
		return 0;
	default:
		return parse_filter(key, argument, result);
	}
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct report_options *result = state->input;
	unsigned int keys;

	switch (key) {
	case ARGP_KEY_INIT:
		result->keys = GROUP_BY_DSO | GROUP_BY_SYMBOL;
		result->slices = SLICES_DEFAULT;
		result->limit = -1;
		result->graph_limit = GRAPH_LIMIT_DEFAULT;
		state->child_inputs[0] = &result->input;
		state->child_inputs[1] = &result->store;
		break;
	case 's':
	case 'F':
		if (!profile_keys_parse(argument, &keys))
			profile_usage_error(state, "--%s takes " GROUP_KEY_NAMES ", not '%s'",
					    key == 's' ? "sort" : "fields", argument);
		if (keys)
			result->keys = keys;
		break;
	case KEY_BY:
		result->keys = parse_by(argument, state);
		break;
	case 'd':
		result->choice.binaries = argument;
		break;
	case 'S':
		result->choice.functions = argument;
		break;
	case KEY_SLICES:
		result->slices = parse_slices(argument, state);
		break;
	case 'p':
		result->limit = profile_percent(argument, "--percent-limit", state);
		break;
	case KEY_HTML:
		result->html = argument;
		break;
	case KEY_BLOCK:
		result->block = true;
		break;
	case KEY_STDIO:
		result->text = true;
		break;
	case KEY_FLOW:
		result->input.flow = true;
		break;
	case ARGP_KEY_END:
		check(result, state);
		break;
	default:
		return parse_calls(key, argument, state, result);
	}
	return 0;
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.children = store_input_children,
	.doc = "Show where the cycles of a recorded program went: for each function its share, "
	       "cycles, executions and cycle stack.  On a terminal it is interactive (?: help); "
	       "with --stdio, --no-pager or --html, and in a pipe, it is text.\vExample:\n"
	       "  pesa report --sort dso,sym -i perf.data\n"
	       "  pesa report --sort comm,srcline --percent-limit 1\n"
	       "  pesa report --children -g caller\n"
	       "  pesa report --callee memcmp\n"
	       "  pesa report --by time\n"
	       "  pesa report --time 90%-100% --html report.html\n"
	       "  pesa report --block -p 1\n"
	       "  pesa report -i /var/lib/pesa --since -1h --unit ssh\n"
	       "\n"
	       "The manual page pesa-report(1) explains every column.",
};

int report_options_parse(int argc, char **argv, struct report_options *result)
{
	return profile_parse(&argp, "report", argc, argv, result);
}

bool report_needs_rows(const struct report_options *result)
{
	return result->html || result->graph || result->root ||
	       profile_grouping_needs_rows(result->keys, result->children);
}

bool report_has_estimates(const struct report_options *result)
{
	return result->keys & GROUP_BY_INSN && !report_needs_rows(result);
}
