/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options of `pesa mca`, see settings.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/mca/program.h"
#include "tools/mca/settings.h"
#include "tools/ui/safe_output.h"

#define ITERATIONS 100

struct option {
	const char *name;
	enum { FLAG, NUMBER, STRING, SPECIAL, STIMULI } kind;
	size_t offset; /* in struct mca_settings */
	const char *help;
};

#define AT(field) offsetof(struct mca_settings, field)

static const struct option options[] = {
	{"mcpu", STRING, AT(cpu),
	 "=NAME  processor, or a model file FILE[:NAME]; 'help' lists them"},
	{"mattr", SPECIAL, 0, "=+A,-B  extensions and tuning features on top of the processor's"},
	{"mtriple", STRING, AT(triple), "=riscv32|riscv64  for a processor that can be either"},
	{"march", STRING, AT(triple), "=riscv32|riscv64  the same"},
	{"iterations", NUMBER, AT(run.iterations), "=N  how often the block runs (100)"},
	{"dispatch", NUMBER, AT(run.dispatch_width), "=N  micro-ops dispatched per cycle"},
	{"register-file-size", NUMBER, AT(run.register_file_size), "=N  physical registers"},
	{"lqueue", NUMBER, AT(run.load_queue), "=N  size of the load queue"},
	{"squeue", NUMBER, AT(run.store_queue), "=N  size of the store queue"},
	{"call-latency", NUMBER, AT(call_latency), "=N  cycles that a call takes (100)"},
	{"noalias", FLAG, AT(no_alias), "[=false]  loads and stores do not alias (on)"},
	{"disable-im", FLAG, AT(disable_instruments), "  ignore LMUL, SEW and latency instruments"},
	{"skip-unsupported-instructions", SPECIAL, 0,
	 "=none|lack-sched|parse-failure|any\n"
	 "                  leave out instructions that the model lacks (lack-sched), that\n"
	 "                  cannot be assembled (parse-failure), or both (any)"},
	{"instruction-tables", SPECIAL, 0, "[=none|normal|full]  print the model, run nothing"},
	{"summary-view", FLAG, AT(summary), "[=false]  summary (on)"},
	{"instruction-info", FLAG, AT(information), "[=false]  instruction information (on)"},
	{"show-encoding", FLAG, AT(encodings), "  encodings in it"},
	{"show-barriers", FLAG, AT(barriers), "  memory barriers in it"},
	{"resource-pressure", FLAG, AT(pressure), "[=false]  resource pressure (on)"},
	{"timeline", FLAG, AT(timeline), "  timeline and average wait times"},
	{"timeline-max-iterations", NUMBER, AT(timeline_iterations), "=N  in the timeline (10)"},
	{"timeline-max-cycles", NUMBER, AT(timeline_cycles), "=N  in the timeline, 0: all (80)"},
	{"bottleneck-analysis", FLAG, AT(bottleneck),
	 "  causes of back end pressure, and the critical sequence"},
	{"dispatch-stats", FLAG, AT(dispatch_stats), "  dispatch statistics"},
	{"scheduler-stats", FLAG, AT(scheduler_stats), "  scheduler statistics"},
	{"retire-stats", FLAG, AT(retire_stats), "  retire control unit statistics"},
	{"register-file-stats", FLAG, AT(register_stats), "  register file statistics"},
	{"print-imm-hex", FLAG, AT(hexadecimal), "  immediate values in hexadecimal"},
	{"output-asm-variant", NUMBER, AT(assembly_variant), "=0  RISC-V assembly has one variant"},
	{"disable-cb", FLAG, AT(disable_behaviour),
	 "  no effect: RISC-V processors have no custom behaviour"},
	{"all-stats", SPECIAL, 0, "[=false]  all statistics"},
	{"all-views", SPECIAL, 0, "[=false]  all views"},
	{"symbol", STRING, AT(symbol), "=NAME  this function of an ELF file"},
	{"range", STRING, AT(range), "=A-B  these addresses of an ELF file (hexadecimal)"},
	{"hex", STRING, AT(hex), "='13050500 ...'  these bytes, in the order of memory"},
	{"branch-trace", STRING, AT(trace),
	 "=FILE  the path of an ELF file that FILE describes: entry, successor of each branch"},
	{"path-from", STRING, AT(profile),
	 "=PERF.DATA  a path as measured, from --symbol, --range or the hottest function"},
	{"path-length", NUMBER, AT(path_length), "=N  instructions of that path (10000)"},
	{"mispredict-rate", STIMULI, 0, "=SHARE  of conditional branches and indirect jumps"},
	{"mispredict-penalty", STIMULI, 0,
	 "=N  cycles that a mispredict costs beyond the branch's execution"},
	{"load-latency", STIMULI, 0, "=N | N:SHARE,...  cycles of scalar loads"},
	{"fetch-width", STIMULI, 0, "=N  instructions that the front end delivers per cycle"},
	{"taken-branches", STIMULI, 0, "=N  taken branches among these instructions"},
	{"fetch-buffer", STIMULI, 0,
	 "=N  instructions that the front end fetches ahead of dispatch"},
	{"set", STIMULI, 0, "=CLASS.latency=N  change the model (also .uops, .RESOURCE)"},
	{"what-if", STIMULI, 0, "=CLASS.latency=N  the same, shown beside the model as it is"},
	{"cycle-stack", FLAG, AT(cycle_stack),
	 "  cycles of each instruction by state and cause, as in a profile"},
	{"json", FLAG, AT(json), "  print JSON in llvm-mca's form (also --json)"},
	{"o", STRING, AT(output), "=FILE  where to print"},
};

static void usage(FILE *stream)
{
	fprintf(stream,
		"Usage: pesa mca -mcpu=NAME [OPTIONS] FILE.s | -\n"
		"       pesa mca -mcpu=NAME [OPTIONS] PROGRAM --symbol=NAME | --range=A-B | "
		"--branch-trace=FILE |\n"
		"                --path-from=PERF.DATA [--symbol=NAME]\n"
		"       pesa mca -mcpu=NAME [OPTIONS] --hex=BYTES\n\n"
		"Predict the cycles that a block of assembly takes on a processor, as llvm-mca does.\n"
		"Assembly is read by pesa itself; a source with lines that it does not know is\n"
		"assembled by the first of these in PATH that can: llvm-mc-22, llvm-mc, clang-22,\n"
		"clang, riscv64-linux-gnu-as, riscv64-unknown-elf-as.\n"
		"\nOptions (one dash or two):\n");
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		fprintf(stream, "  -%s%s\n", options[i].name, options[i].help);
	fprintf(stream,
		"\nExample:\n  echo 'mul a0, a0, a1' | pesa mca -mcpu=sifive-p670 -timeline "
		"-iterations=3 -\n");
}

static void list_processors(void)
{
	const char *name;

	printf("Processors:\n");
	for (unsigned int i = 0; (name = pesa_mca_builtin_processor(i)); i++)
		printf("  %s\n", name);
}

static int bad_value(const char *name, const char *value, const char *expected)
{
	safe_output_message("pesa mca: -%s=%s: expected %s", name, value ? value : "", expected);
	return 2;
}

static int parse_flag(const char *name, const char *value, bool *flag)
{
	if (!value || !*value || !strcmp(value, "true") || !strcmp(value, "TRUE") ||
	    !strcmp(value, "True") || !strcmp(value, "1"))
		*flag = true;
	else if (!strcmp(value, "false") || !strcmp(value, "FALSE") || !strcmp(value, "False") ||
		 !strcmp(value, "0"))
		*flag = false;
	else
		return bad_value(name, value, "true or false");
	return 0;
}

static int parse_attributes(struct mca_settings *settings, const char *value)
{
	char *rest, *item;

	free(settings->attributes);
	rest = settings->attributes = strdup(value);
	if (!rest) {
		fprintf(stderr, "pesa mca: out of memory\n");
		return 1;
	}
	settings->feature_count = 0;
	while ((item = strsep(&rest, ","))) {
		if (!*item)
			continue;
		if ((*item != '+' && *item != '-') || !item[1])
			return bad_value("mattr", item, "+NAME or -NAME");
		if (settings->feature_count == MCA_FEATURES_MAX)
			return bad_value("mattr", value, "fewer features");
		settings->features[settings->feature_count++] = item;
	}
	return 0;
}

static int parse_special(struct mca_settings *settings, const char *name, const char *value)
{
	bool on;

	if (!strcmp(name, "mattr"))
		return parse_attributes(settings, value ? value : "");
	if (!strcmp(name, "skip-unsupported-instructions")) {
		bool any = !strcmp(value, "any");

		settings->skip_lack_sched = any || !strcmp(value, "lack-sched");
		settings->skip_parse_failure = any || !strcmp(value, "parse-failure");
		if (!settings->skip_lack_sched && !settings->skip_parse_failure &&
		    strcmp(value, "none"))
			return bad_value(name, value, "none, lack-sched, parse-failure or any");
		return 0;
	}
	if (!strcmp(name, "instruction-tables")) {
		if (!value || !*value || !strcmp(value, "normal"))
			settings->tables = MCA_TABLES_NORMAL;
		else if (!strcmp(value, "full"))
			settings->tables = MCA_TABLES_FULL;
		else if (!strcmp(value, "none"))
			settings->tables = MCA_TABLES_NONE;
		else
			return bad_value(name, value, "none, normal or full");
		return 0;
	}
	if (parse_flag(name, value, &on))
		return 2;
	if (!strcmp(name, "all-views")) {
		settings->summary = settings->bottleneck = settings->pressure = on;
		settings->timeline = settings->information = on;
		settings->all_views_given = true;
	}
	settings->register_stats = settings->dispatch_stats = on;
	settings->scheduler_stats = settings->retire_stats = on;
	settings->all_stats_given = true;
	return 0;
}

static int parse_option(struct mca_settings *settings, char **argv, int *index)
{
	char *name = argv[*index] + 1 + (argv[*index][1] == '-'), *value = strchr(name, '=');
	size_t length = value ? (size_t)(value - name) : strlen(name);
	const struct option *option = NULL;
	unsigned long number;
	char *end;

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		if (strlen(options[i].name) == length && !strncmp(options[i].name, name, length))
			option = &options[i];
	if (!option) {
		safe_output_message("pesa mca: unknown option %s; 'pesa mca --help' lists them",
				    argv[*index]);
		return 2;
	}
	value = value ? value + 1 : NULL;
	if (!value && (option->kind == NUMBER || option->kind == STRING ||
		       option->kind == STIMULI || !strcmp(option->name, "mattr") ||
		       !strcmp(option->name, "skip-unsupported-instructions"))) {
		value = argv[++*index];
		if (!value)
			return bad_value(option->name, "", "a value");
	}
	switch (option->kind) {
	case FLAG:
		return parse_flag(option->name, value, (bool *)((char *)settings + option->offset));
	case STIMULI:
		return mca_stimuli_option(&settings->stimuli, option->name, value);
	case STRING:
		*(const char **)((char *)settings + option->offset) = value;
		return 0;
	case NUMBER:
		errno = 0;
		number = strtoul(value, &end, 10);
		if (errno || *end || end == value || *value == '-' || number > 2147483647)
			return bad_value(option->name, value, "a number from 0 to 2147483647");
		*(unsigned int *)((char *)settings + option->offset) = number;
		return 0;
	default:
		return parse_special(settings, option->name, value);
	}
}

/* Report options that cannot be combined, and missing ones, before any work is done. */
static int check_input(const struct mca_settings *settings)
{
	const char *const parts[] = {settings->symbol, settings->range, settings->hex,
				     settings->trace};
	unsigned int part_count = 0;

	if (settings->assembly_variant) {
		fprintf(stderr,
			"pesa mca: -output-asm-variant=%u: RISC-V assembly has only variant 0\n",
			settings->assembly_variant);
		return 2;
	}
	if (settings->tables != MCA_TABLES_NONE &&
	    (settings->stimuli.what_ifs || settings->stimuli.any || settings->cycle_stack)) {
		fprintf(stderr, "pesa mca: --instruction-tables runs nothing, so options such as "
				"--cycle-stack and --what-if have no effect with it\n");
		return 2;
	}
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		part_count += parts[i] != NULL;
	if (part_count > 1 || (settings->profile && (settings->hex || settings->trace))) {
		fprintf(stderr, "pesa mca: only one of --symbol, --range, --hex and --branch-trace "
				"is possible, and --path-from only with --symbol or --range\n");
		return 2;
	}
	if (settings->hex && settings->path) {
		safe_output_message("pesa mca: --hex is given, so there can be no input file %s",
				    settings->path);
		return 2;
	}
	part_count += settings->profile != NULL;
	if (part_count && !settings->hex && (!settings->path || !strcmp(settings->path, "-"))) {
		fprintf(stderr, "pesa mca: the name of the program is needed\n");
		return 2;
	}
	if (!settings->path_length || settings->path_length > MCA_PATH_MAX) {
		fprintf(stderr, "pesa mca: --path-length must be between 1 and %d\n", MCA_PATH_MAX);
		return 2;
	}
	return 0;
}

static bool is_path_option(const char *argument)
{
	argument += *argument == '-';
	argument += *argument == '-';
	return !strncmp(argument, "branch-trace", 12) || !strncmp(argument, "path-from", 9);
}

static const struct mca_settings defaults = {
	.timeline_cycles = 80,
	.path_length = 10000,
	.summary = true,
	.information = true,
	.pressure = true,
	.no_alias = true,
};

/* For completion by shells: the lines of tools/completion/options.h. */
static void list_options(void)
{
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		const char *help = options[i].help;
		size_t argument = strcspn(help, " ");
		const char *doc = help + argument + strspn(help + argument, " \n");

		/* "=N  text", "[=false]  text", "  text" */
		printf("--%s\t\t", options[i].name);
		if (*help == '[')
			printf("[%.*s]", (int)(argument - 3), help + 2);
		else if (argument)
			printf("%.*s", (int)(argument - 1), help + 1);
		printf("\t%.*s\n", (int)strcspn(doc, "\n"), doc);
	}
}

int mca_settings_parse(struct mca_settings *settings, int argc, char **argv)
{
	int status = 0;

	*settings = defaults;
	/* A path is long: show the cycle stacks by address, and the other views only if asked for. */
	for (int i = 1; i < argc; i++)
		if (is_path_option(argv[i])) {
			settings->information = settings->pressure = false;
			settings->cycle_stack = true;
		}
	for (int i = 1; i < argc && !status; i++) {
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-help") ||
		    !strcmp(argv[i], "-h") || !strcmp(argv[i], "-?")) {
			usage(stdout);
			return -1;
		}
		if (!strcmp(argv[i], "--list-opts")) {
			list_options();
			return -1;
		}
		if (argv[i][0] == '-' && argv[i][1]) {
			status = parse_option(settings, argv, &i);
		} else if (settings->path) {
			safe_output_message("pesa mca: two inputs, %s and %s; only one is possible",
					    settings->path, argv[i]);
			status = 2;
		} else {
			settings->path = argv[i];
		}
	}
	if (status)
		return status;
	if (settings->cpu && !strcmp(settings->cpu, "help")) {
		list_processors();
		return -1;
	}
	if (!settings->cpu) {
		fprintf(stderr, "pesa mca: -mcpu=NAME is needed; -mcpu=help lists the names\n");
		return 2;
	}
	status = check_input(settings);
	if (!settings->path)
		settings->path = settings->hex ? "--hex" : "-";
	if (!settings->run.iterations)
		settings->run.iterations = settings->trace || settings->profile ? 1 : ITERATIONS;
	settings->run.loads_alias_stores = !settings->no_alias;
	settings->run.pressure = settings->bottleneck;
	return status;
}

void mca_settings_free(struct mca_settings *settings)
{
	free(settings->attributes);
}
