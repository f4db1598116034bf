// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pesa stat: runs a program and counts events.  Options, and the choice between kernel and virtual
 * core.
 */
#include "tools/ui/safe_output.h"
#include "tools/stat/arguments.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/binary/program.h"
#include "decoder/base/number.h"
#include "tools/commands.h"
#include "tools/ui/paths.h"
#include "tools/ui/profile_options.h"
#include "tools/record/target_options.h"
#include "tools/record/virtual_core.h"

static const char help[] =
	"Usage: pesa stat [OPTIONS] [--] PROGRAM [ARGUMENTS...]\n"
	"       pesa stat [OPTIONS] -a | -C CPUS | -p PIDS | -t TIDS\n"
	"\n"
	"Count events: through the kernel; or, with --core and on hosts that are not RISC-V, of a RISC-V\n"
	"program on the virtual core.\n"
	"\n"
	"  -e, --event EVENTS    what to count, with commas between; see 'pesa list'\n"
	"      --per-thread      counts of each thread\n"
	"  -o, --output FILE     the text to FILE (standard error)\n"
	"      --json[=FILE]     JSON instead, to standard output or to FILE\n"
	"  -h, --help            this text\n"
	"\n"
	"Through the kernel; events in braces, {a,b}, are a group and counted at the same time:\n"
	"  -a, --all-cpus        whatever runs, on all CPUs\n"
	"  -C, --cpu-list CPUS   whatever runs, on these: 0-3,8\n"
	"  -p, --pid PIDS        processes, with all their threads, until they end\n"
	"  -t, --tid TIDS        threads\n"
	"  -r, --repeat N        run the program N times: means, and their standard errors\n"
	"  -I, --interval MS     counts of every MS milliseconds\n"
	"      --duration TIME   end after so many seconds, or 500ms, 2m\n" EVENT_OPTIONS_HELP
	"      --no-inherit      without the threads and processes that are made meanwhile\n"
	"\n"
	"On the virtual core, by the names of the RISC-V performance events specification, where * and ?\n"
	"match, and 'all' is every one:\n"
	"      --core NAME       core description, see 'pesa list'; or a file (ooo-4)\n"
	"      --list            every event with what it counts; runs nothing\n"
	"      --sysroot DIR     where dynamic programs find their interpreter and libraries\n"
	"      --cpu NAME        the emulator's CPU, e.g. rv64,v=true\n"
	"\n"
	"The exit status is the program's, 128 + N when signal N killed it; 1 or 2 when it could not be\n"
	"run.  The emulator is qemu-riscv64, or what PESA_QEMU names.\n"
	"\n"
	"Examples:\n"
	"  pesa stat -e '{cycles,instructions},page-faults' -r 5 -- ./program\n"
	"  pesa stat --core ooo-4 -e 'INST.*,TOPDOWN.*' -- ./bzip2 -k9 file\n";

enum {
	OPTION_CORE = 256,
	OPTION_PER_THREAD,
	OPTION_LIST,
	OPTION_SYSROOT,
	OPTION_CPU,
	OPTION_JSON,
	OPTION_DURATION,
	OPTION_NO_INHERIT
};

#define LETTERS "+e:o:haC:p:t:r:I:"

static const struct option options[] = {
	{"event", required_argument, NULL, 'e'},
	{"core", required_argument, NULL, OPTION_CORE},
	{"per-thread", no_argument, NULL, OPTION_PER_THREAD},
	{"list", no_argument, NULL, OPTION_LIST},
	{"sysroot", required_argument, NULL, OPTION_SYSROOT},
	{"cpu", required_argument, NULL, OPTION_CPU},
	{"output", required_argument, NULL, 'o'},
	{"json", optional_argument, NULL, OPTION_JSON},
	{"all-cpus", no_argument, NULL, 'a'},
	{"cpu-list", required_argument, NULL, 'C'},
	{"pid", required_argument, NULL, 'p'},
	{"tid", required_argument, NULL, 't'},
	{"repeat", required_argument, NULL, 'r'},
	{"interval", required_argument, NULL, 'I'},
	{"duration", required_argument, NULL, OPTION_DURATION},
	{"no-inherit", no_argument, NULL, OPTION_NO_INHERIT},
	EVENT_OPTIONS,
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

/* ---- Options ------------------------------------------------------------------------------- */

/* The name of an option that only the kernel, or only the virtual core, has; NULL: none. */
static const char *own_option(int option, bool of_kernel)
{
	static const struct {
		int option;
		bool kernel;
		const char *name;
	} names[] = {
		{OPTION_CORE, false, "--core"},
		{OPTION_SYSROOT, false, "--sysroot"},
		{OPTION_CPU, false, "--cpu"},
		{'a', true, "-a"},
		{'C', true, "-C"},
		{'p', true, "-p"},
		{'t', true, "-t"},
		{'r', true, "-r"},
		{'I', true, "-I"},
		{OPTION_DURATION, true, "--duration"},
		{OPTION_NO_INHERIT, true, "--no-inherit"},
		{EVENT_OPTION_DIRECTORY, true, "--event-directory"},
		{EVENT_OPTION_CPU_ID, true, "--cpu-id"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].option == option && names[i].kernel == of_kernel)
			return names[i].name;
	return NULL;
}

static int read_count(const char *option, const char *text, uint64_t most, uint64_t *count)
{
	if (!number_read(text, 10, 1, most, count))
		return option_bad_value("stat", option, text, "a number from 1 on");
	return 0;
}

/* Several -e are joined to one list.  Returns 0, otherwise the exit status. */
static int add_events(struct stat_arguments *arguments, const char *text)
{
	char *events;
	int length = arguments->events ? asprintf(&events, "%s,%s", arguments->events, text)
				       : asprintf(&events, "%s", text);

	if (length < 0) {
		fprintf(stderr, "pesa stat: out of memory\n");
		return 1;
	}
	free(arguments->events);
	arguments->events = events;
	return 0;
}

/* Returns 0, else the exit status. */
static int kernel_option(struct stat_arguments *arguments, int option)
{
	double nanoseconds;
	int status;

	switch (option) {
	case 'a':
		arguments->system_wide = true;
		return 0;
	case 'C':
		arguments->has_cpus = true;
		if (!pesa_cpu_set_parse(optarg, &arguments->cpus))
			return option_bad_value("stat", "--cpu-list", optarg, "CPUs, as in 0-3,8");
		return 0;
	case 'p':
		return option_add_numbers("stat", "--pid", optarg, &arguments->processes,
					  &arguments->process_count);
	case 't':
		return option_add_numbers("stat", "--tid", optarg, &arguments->threads,
					  &arguments->thread_count);
	case 'r':
		return read_count("--repeat", optarg, 1000000, &arguments->repeat);
	case 'I':
		status = read_count("--interval", optarg, 86400000, &arguments->interval);
		arguments->interval *= 1000000;
		return status;
	case OPTION_DURATION:
		if (!option_read_time(optarg, 1e9, &nanoseconds))
			return option_bad_value("stat", "--duration", optarg, "seconds");
		arguments->duration = (uint64_t)nanoseconds;
		return 0;
	case OPTION_NO_INHERIT:
		arguments->no_inherit = true;
		return 0;
	default:
		event_option(&arguments->names, option, optarg);
		return 0;
	}
}

/* Check for conflicting and missing options.  Returns 0, otherwise the exit status. */
static int check(const struct stat_arguments *arguments, bool has_program)
{
	bool tasks = arguments->process_count || arguments->thread_count;
	bool cpus = arguments->system_wide || arguments->has_cpus;
	const char *wrong = NULL;

	if (!has_program && !tasks && !cpus)
		wrong = "no program to run; try 'pesa stat --help'";
	else if (tasks && cpus)
		wrong = "processes (-p, -t) and whole CPUs (-a, -C) exclude each other";
	else if (tasks && has_program)
		wrong = "processes (-p, -t) and a program to run exclude each other";
	else if (arguments->repeat && !has_program)
		wrong = "only a program can be run repeatedly (-r)";
	else if (arguments->repeat && arguments->interval)
		wrong = "repeated runs (-r) and intervals (-I) exclude each other";
	if (wrong) {
		safe_output_message("pesa stat: %s", wrong);
		return 2;
	}
	if (!arguments->virtual || !arguments->kernel)
		return 0;
	safe_output_message(
		"pesa stat: %s is of the virtual core, %s of counting through the kernel",
		arguments->virtual, arguments->kernel);
	return 2;
}

/* Returns -1 to continue, otherwise the exit status. */
static int parse(int argc, char **argv, struct stat_arguments *arguments)
{
	int option, status;

	while ((option = getopt_long(argc, argv, LETTERS, options, NULL)) != -1) {
		if (!arguments->virtual)
			arguments->virtual = own_option(option, false);
		if (!arguments->kernel)
			arguments->kernel = own_option(option, true);
		switch (option) {
		case 'e':
			status = add_events(arguments, optarg);
			if (status)
				return status;
			break;
		case 'o':
			arguments->output = optarg;
			break;
		case OPTION_CORE:
			arguments->core = optarg;
			break;
		case OPTION_PER_THREAD:
			arguments->per_thread = true;
			break;
		case OPTION_LIST:
			arguments->list = true;
			break;
		case OPTION_SYSROOT:
			arguments->sysroot = optarg;
			break;
		case OPTION_CPU:
			arguments->cpu = optarg;
			break;
		case OPTION_JSON:
			arguments->wants_json = true;
			arguments->json = optarg;
			break;
		case 'h':
			fputs(help, stdout);
			return 0;
		case '?':
			fprintf(stderr, "Try 'pesa stat --help'.\n");
			return 2;
		default:
			status = kernel_option(arguments, option);
			if (status)
				return status;
		}
	}
	if (arguments->list) {
		stat_virtual_list(arguments->wants_json);
		return 0;
	}
	status = check(arguments, optind < argc);
	return status ? status : -1;
}

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
static bool is_virtual(const struct stat_arguments *arguments, const char *program)
{
	if (arguments->virtual || arguments->kernel)
		return arguments->virtual;
#ifdef __riscv
	(void)program;
	if (has_counters())
		return false;
#else
	if (!is_riscv(program))
		return false;
#endif
	return !arguments->events || stat_virtual_knows(arguments->events) ||
	       !kernel_knows(arguments);
}

int pesa_command_stat(int argc, char **argv)
{
	struct stat_arguments arguments = {.core = VIRTUAL_CORE_DEFAULT};
	struct pesa_error *error = NULL;
	char *name = argv[0];
	int status;

	argv[0] = (char *)"pesa stat"; /* of getopt's messages */
	status = parse(argc, argv, &arguments);
	argv[0] = name;
	if (status < 0 && !arguments.virtual)
		error = event_options_load(&arguments.names, "stat");
	if (error)
		status = profile_fail("stat", error);
	if (status < 0)
		status = is_virtual(&arguments, argv[optind])
				 ? stat_virtual(&arguments, argv + optind)
				 : stat_kernel(&arguments, argv + optind);
	event_options_free(&arguments.names);
	free(arguments.events);
	free(arguments.processes);
	free(arguments.threads);
	return status;
}
