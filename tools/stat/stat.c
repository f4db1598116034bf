// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pesa stat: runs a program and counts events.  Options, and the choice between kernel and virtual
 * core.
 */
#include "tools/ui/safe_output.h"
#include "tools/stat/arguments.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/binary/program.h"
#include "decoder/base/number.h"
#include "tools/commands.h"
#include "tools/files/paths.h"
#include "tools/ui/profile_options.h"
#include "tools/record/target_options.h"
#include "tools/record/virtual_core.h"

/* ---- Options ------------------------------------------------------------------------------- */

enum {
	KEY_CORE = 256,
	KEY_PER_THREAD,
	KEY_LIST,
	KEY_SYSROOT,
	KEY_CPU,
	KEY_DURATION,
	KEY_TIMEOUT,
	KEY_TOPDOWN,
	KEY_SAMPLED,
};

static const struct argp_option options[] = {
	{"event", 'e', "EVENTS", 0, "What to count, with commas between; see 'pesa list'", 0},
	{"per-thread", KEY_PER_THREAD, NULL, 0, "Counts of each thread", 0},
	{"output", 'o', "FILE", 0, "The text to FILE instead of standard error", 0},
	{"detailed", 'd', NULL, 0, "Also loads, caches and TLBs; -dd and -ddd: more of them", 0},
	{"repeat", 'r', "N", 0, "Run the program N times: means, and their standard errors", 0},
	{"json", 'j', "FILE", OPTION_ARG_OPTIONAL, "JSON instead, to standard output or to FILE",
	 0},
	{"json-output", 0, NULL, OPTION_ALIAS, NULL, 0},
	{NULL, 0, NULL, 0,
	 "Through the kernel; events in braces, {a,b}, are a group and counted at the same time:",
	 2},
	{"all-cpus", 'a', NULL, 0, "Whatever runs, on all CPUs", 0},
	{"cpu-list", 'C', "CPUS", 0, "Whatever runs, on these: 0-3,8", 0},
	{"pid", 'p', "PIDS", 0, "Processes, with all their threads, until they end", 0},
	{"tid", 't', "TIDS", 0, "Threads", 0},
	{"interval", 'I', "MS", 0, "Counts of every MS milliseconds", 0},
	{"interval-print", 0, NULL, OPTION_ALIAS, NULL, 0},
	{"duration", KEY_DURATION, "TIME", 0, "End after so many seconds, or 500ms, 2m", 0},
	{"timeout", KEY_TIMEOUT, "MS", 0, "End after so many milliseconds", 0},
	{"topdown", KEY_TOPDOWN, NULL, 0,
	 "This processor's top-down metrics, each with its formula; of its event files, or of "
	 "generic events",
	 0},
	{"no-inherit", 'i', NULL, 0, "Without the threads and processes that are made meanwhile",
	 0},
	{NULL, 0, NULL, 0,
	 "On the virtual core, by the names of the RISC-V performance events specification, where "
	 "* and ? match, and 'all' is every one:",
	 3},
	{"core", KEY_CORE, "NAME", 0,
	 "Core description, see 'pesa list'; or a file (default: " VIRTUAL_CORE_DEFAULT ")", 0},
	{"list", KEY_LIST, NULL, 0, "Every event with what it counts; runs nothing", 0},
	{"sampled", KEY_SAMPLED, NULL, 0,
	 "Faster: only windows run through the pipeline, and counts are estimated from them; cycles "
	 "per instruction with a confidence interval",
	 0},
	{"sysroot", KEY_SYSROOT, "DIR", 0,
	 "Where dynamic programs find their interpreter and libraries", 0},
	{"cpu", KEY_CPU, "NAME", 0, "The emulator's CPU, e.g. rv64,v=true", 0},
	{0},
};

/* The name of an option that only the kernel, or only the virtual core, has; NULL: none. */
static const char *own_option(int key, bool of_kernel)
{
	static const struct {
		int key;
		bool kernel;
		const char *name;
	} names[] = {
		{KEY_CORE, false, "--core"},
		{KEY_SYSROOT, false, "--sysroot"},
		{KEY_CPU, false, "--cpu"},
		{KEY_SAMPLED, false, "--sampled"},
		{'a', true, "-a"},
		{'C', true, "-C"},
		{'p', true, "-p"},
		{'t', true, "-t"},
		{'I', true, "-I"},
		{KEY_DURATION, true, "--duration"},
		{KEY_TIMEOUT, true, "--timeout"},
		{KEY_TOPDOWN, true, "--topdown"},
		{'i', true, "--no-inherit"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].key == key && names[i].kernel == of_kernel)
			return names[i].name;
	return NULL;
}

static uint64_t read_count(const char *option, const char *text, uint64_t most,
			   const struct argp_state *state)
{
	uint64_t count;

	if (!number_read(text, 10, 1, most, &count))
		profile_bad_value(state, option, text, "a number from 1 on");
	return count;
}

/* Several -e are joined to one list. */
static void add_events(struct stat_arguments *arguments, const char *text,
		       const struct argp_state *state)
{
	char *events;
	int length = arguments->events ? asprintf(&events, "%s,%s", arguments->events, text)
				       : asprintf(&events, "%s", text);

	if (length < 0)
		profile_parse_failed(state, 1, pesa_error_no_memory());
	free(arguments->events);
	arguments->events = events;
}

/* Check for conflicting and missing options. */
static void check(struct stat_arguments *arguments, const struct argp_state *state)
{
	bool tasks = arguments->process_count || arguments->thread_count;
	bool cpus = arguments->system_wide || arguments->has_cpus;

	if (arguments->list)
		return;
	if (!arguments->kernel && arguments->names.directory)
		arguments->kernel = "--event-directory";
	else if (!arguments->kernel && arguments->names.cpu_id)
		arguments->kernel = "--cpu-id";
	if (!arguments->program && !tasks && !cpus)
		profile_usage_error(
			state, "no program to run: name it after '--', or a process with -p, or "
			       "all CPUs with -a");
	if (tasks && cpus)
		profile_usage_error(
			state, "processes (-p, -t) and whole CPUs (-a, -C) exclude each other");
	if (tasks && arguments->program)
		profile_usage_error(state,
				    "processes (-p, -t) and a program to run exclude each other");
	if (arguments->repeat && !arguments->program)
		profile_usage_error(state, "only a program can be run repeatedly (-r)");
	if (arguments->repeat && arguments->interval)
		profile_usage_error(state,
				    "repeated runs (-r) and intervals (-I) exclude each other");
	if (arguments->virtual && arguments->kernel)
		profile_usage_error(state,
				    "%s is of the virtual core, %s of counting through the kernel",
				    arguments->virtual, arguments->kernel);
}

static error_t parse_kernel(int key, char *argument, struct argp_state *state)
{
	struct stat_arguments *arguments = state->input;
	double nanoseconds;

	switch (key) {
	case 'a':
		arguments->system_wide = true;
		return 0;
	case 'C':
		arguments->has_cpus = true;
		if (!pesa_cpu_set_parse(argument, &arguments->cpus))
			profile_bad_value(state, "--cpu-list", argument, "CPUs, as in 0-3,8");
		return 0;
	case 'p':
		option_add_numbers(state, "--pid", argument, &arguments->processes,
				   &arguments->process_count);
		return 0;
	case 't':
		option_add_numbers(state, "--tid", argument, &arguments->threads,
				   &arguments->thread_count);
		return 0;
	case 'I':
		arguments->interval = read_count("--interval", argument, 86400000, state) * 1000000;
		return 0;
	case KEY_DURATION:
		if (!option_read_time(argument, 1e9, &nanoseconds))
			profile_bad_value(state, "--duration", argument, "seconds");
		arguments->duration = (uint64_t)nanoseconds;
		return 0;
	case KEY_TIMEOUT:
		arguments->duration = read_count("--timeout", argument, 86400000, state) * 1000000;
		return 0;
	case KEY_TOPDOWN:
		arguments->topdown = true;
		return 0;
	case 'i':
		arguments->no_inherit = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct stat_arguments *arguments = state->input;

	if (!arguments->virtual)
		arguments->virtual = own_option(key, false);
	if (!arguments->kernel)
		arguments->kernel = own_option(key, true);
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &arguments->names;
		return 0;
	case 'e':
		add_events(arguments, argument, state);
		return 0;
	case 'o':
		arguments->output = argument;
		return 0;
	case KEY_CORE:
		arguments->core = argument;
		return 0;
	case KEY_PER_THREAD:
		arguments->per_thread = true;
		return 0;
	case KEY_LIST:
		arguments->list = true;
		return 0;
	case KEY_SYSROOT:
		arguments->sysroot = argument;
		return 0;
	case KEY_CPU:
		arguments->cpu = argument;
		return 0;
	case KEY_SAMPLED:
		arguments->sampled = true;
		return 0;
	case 'd':
		arguments->detailed++;
		return 0;
	case 'r':
		arguments->repeat = read_count("--repeat", argument, 1000000, state);
		return 0;
	case 'j':
		arguments->wants_json = true;
		arguments->json = argument;
		return 0;
	case ARGP_KEY_ARG:
		arguments->program = profile_take_program(state);
		return 0;
	case ARGP_KEY_END:
		check(arguments, state);
		return 0;
	default:
		return parse_kernel(key, argument, state);
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.children = event_options_children,
	.args_doc = "[--] PROGRAM [ARGUMENTS...]\n-a | -C CPUS | -p PIDS | -t TIDS",
	.doc = "Count events: through the kernel; or, with --core and on hosts that are not "
	       "RISC-V, of a RISC-V program on the virtual core.\v"
	       "The exit status is the program's, 128 + N when signal N killed it; 1 or 2 when it "
	       "could not be run.  The emulator is qemu-riscv64, or what PESA_QEMU names.\n"
	       "\n"
	       "Examples:\n"
	       "  pesa stat -e '{cycles,instructions},page-faults' -r 5 -- ./program\n"
	       "  pesa stat --topdown -- ./program\n"
	       "  pesa stat --core ooo-4 -e 'INST.*,TOPDOWN.*' -- ./bzip2 -k9 file\n"
	       "\n"
	       "The manual page pesa-stat(1) explains all.",
};

/* ---- Who counts ---------------------------------------------------------------------------- */

#ifdef __riscv
/* Return whether the kernel has counters for this hart. */
static bool has_counters(void)
{
	struct pesa_pmu pmu;
	struct pesa_error *error = pesa_pmu_open(PESA_PMU_DIRECTORY, "cpu", &pmu);
	bool found = !error;

	pesa_error_free(error);
	return found;
}
#else
/* A RISC-V program, or a script for one. */
static bool is_riscv(const char *name)
{
	struct pesa_program program;
	char path[PATH_MAX];

	if (!pesa_path_program(name, path))
		return true; /* the virtual core reports what is missing */
	pesa_program_probe(path, &program);
	if (program.kind == PESA_PROGRAM_SCRIPT)
		pesa_program_probe(program.interpreter, &program);
	return program.kind == PESA_PROGRAM_RISCV;
}
#endif

/* Return whether the kernel may know every event. */
static bool kernel_knows(const struct stat_arguments *arguments)
{
	struct pesa_event_list list = {0};
	struct pesa_error *error = pesa_event_list_add(&list, arguments->events);
	bool known = !error;

	pesa_error_free(error);
	for (size_t i = 0; i < list.count && known; i++) {
		struct pesa_event_name name;

		error = pesa_event_resolve(&arguments->names.source, list.items[i].name, &name);
		known = !error;
		pesa_error_free(error);
	}
	pesa_event_list_free(&list);
	return known;
}

/*
 * The options decide; otherwise the kernel, on a RISC-V machine with counters; otherwise, for a
 * RISC-V program, the virtual core, unless only the kernel knows the events.
 */
static bool is_virtual(const struct stat_arguments *arguments)
{
	if (arguments->virtual || arguments->kernel)
		return arguments->virtual;
#ifdef __riscv
	if (has_counters())
		return false;
#else
	if (!is_riscv(arguments->program[0]))
		return false;
#endif
	return !arguments->events || stat_virtual_knows(arguments->events) ||
	       !kernel_knows(arguments);
}

int pesa_command_stat(int argc, char **argv)
{
	struct stat_arguments arguments = {.core = VIRTUAL_CORE_DEFAULT};
	struct pesa_error *error = NULL;
	int status = profile_parse_program(&argp, "stat", argc, argv, &arguments);

	if (!status && arguments.list) {
		stat_virtual_list(arguments.wants_json);
	} else if (!status) {
		if (!arguments.virtual)
			error = event_options_load(&arguments.names, "stat");
		if (error)
			status = profile_fail("stat", error);
		else if (is_virtual(&arguments))
			status = stat_virtual(&arguments, arguments.program);
		else
			status = stat_kernel(&arguments,
					     arguments.program ? arguments.program : argv + argc);
	}
	event_options_free(&arguments.names);
	free(arguments.events);
	free(arguments.processes);
	free(arguments.threads);
	return status;
}
