// SPDX-License-Identifier: GPL-2.0-or-later
/* pesa record: sample a program, through the kernel or on the virtual core. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "decoder/base/number.h"
#include "decoder/base/terminal_text.h"
#include "pesa/record.h"
#include "tools/commands.h"
#include "tools/ui/output_files.h"
#include "tools/ui/output_name.h"
#include "tools/ui/paths.h"
#include "tools/ui/profile_options.h"
#include "tools/record/hardware.h"
#include "tools/ui/safe_output.h"
#include "tools/ui/json.h"
#include "tools/record/virtual_core.h"

#define DEFAULT_OUTPUT "perf.data"
#define SETTINGS_MAX   64u

struct arguments {
	const char *setting[SETTINGS_MAX];
	unsigned int settings;
	char *trace;			   /* NULL: none */
	char *output_named, *golden_named; /* expanded patterns */
	uint64_t trace_first, trace_last;
	const char *core, *output, *golden, *sysroot, *cpu, *json;
	uint32_t samplers; /* 1 << enum vcore_sampler */
	uint64_t period, frequency, jitter, seed;
	bool has_jitter, quiet, wants_json;
	int compression;
	const char *virtual; /* the first option given that requires the virtual core; NULL: none */
	struct record_hardware hardware;
};

static const char help[] =
	"Usage: pesa record [OPTIONS] [--] PROGRAM [ARGUMENTS...]\n"
	"       pesa record [OPTIONS] -a | -C CPUS | -p PIDS | -t TIDS\n"
	"\n"
	"Sample a program, processes or whole CPUs and write a perf.data file.  Where the kernel has the PMU\n"
	"pesa, the samples are the hardware's; with --core, and on hosts that are not RISC-V, a "
	"RISC-V program\n"
	"runs on the virtual core.\n"
	"\n"
	"  -o, --output FILE     the samples (perf.data); - for standard output; %p in it is the process,\n"
	"                        %h the host, %q{NAME} the environment variable, %% a percent sign\n"
	"  -c, --period CYCLES   one sample every so many cycles\n"
	"  -F, --frequency HZ    or so many samples a second\n"
	"  -z, --compression N   zstd level, 0 for none (1)\n"
	"  -q, --quiet           no summary\n"
	"      --json[=FILE]     the summary as JSON, to standard output or to FILE\n"
	"  -h, --help            this text\n"
	"\n"
	"Through the kernel:\n"
	"  -e, --event EVENTS    what to sample, with commas between (pesa/cycles/); e.g. "
	"pesa/cycles/u, cycles\n" EVENT_OPTIONS_HELP
	"  -a, --all-cpus        whatever runs, on all CPUs\n"
	"  -C, --cpu-list CPUS   whatever runs, on these: 0-3,8\n"
	"  -p, --pid PIDS        processes, with all their threads, until they end\n"
	"  -t, --tid TIDS        threads\n"
	"      --inherit         with the threads and processes that these make (the default)\n"
	"      --no-inherit      without them\n"
	"  -g [fp|dwarf[,SIZE]]  call chains, by frame pointers or by SIZE bytes of the stack (8192);\n"
	"                        also --call-graph MODE\n"
	"  -m, --mmap-pages N    pages of a CPU's ring, or a size: 2M (512K)\n"
	"      --duration TIME   end after so many seconds, or 500ms, 2m\n"
	"      --snapshot        keep the newest samples only, and write them at SIGUSR2 and at the end\n"
	"      --switch-output[=WHEN]  begin a new file at SIGUSR2, or at a size (100M) or time (10s)\n"
	"\n"
	"On the virtual core:\n"
	"      --core NAME       core description, see 'pesa list'; or a file (ooo-4)\n"
	"      --set KEY=VALUE   change a key of the core's description, or CLASS.latency,\n"
	"                        CLASS.RESOURCE, CLASS.uops of its processor model\n"
	"      --golden FILE     the exact profile as well: every cycle of every instruction\n"
	"      --pipeline-trace FILE[:FIRST-LAST]  the pipeline as a Kanata log, which Konata shows;\n"
	"                        of all instructions, or of these (from 1 on)\n"
	"      --jitter CYCLES   intervals vary by up to this either way (an eighth of the period)\n"
	"      --seed N          of the jitter (1)\n"
	"      --sampler NAMES   what hardware delivers: shpms (default), lcofi, last-commit,\n"
	"                        next-commit, dispatch; several, with commas, are events of the file\n"
	"      --sysroot DIR     where dynamic programs find their interpreter and libraries\n"
	"      --cpu NAME        the emulator's CPU, e.g. rv64,v=true\n"
	"\n"
	"The exit status is the program's, 128 + N when signal N killed it; 1 or 2 when it could not be\n"
	"recorded.  The emulator is qemu-riscv64, or what PESA_QEMU names.\n"
	"\n"
	"Examples:\n"
	"  pesa record -g -- ./bzip2 -k9 file && pesa report\n"
	"  pesa record -a --duration 10\n"
	"  pesa record --core ooo-4 -c 5000 --golden golden.data -- ./bzip2 -k9 file\n";

enum {
	OPTION_GOLDEN = 256,
	OPTION_TRACE,
	OPTION_CORE,
	OPTION_SET,
	OPTION_JITTER,
	OPTION_SEED,
	OPTION_SAMPLER,
	OPTION_SYSROOT,
	OPTION_CPU,
	OPTION_JSON
};

static const struct option options[] = {
	{"output", required_argument, NULL, 'o'},
	{"golden", required_argument, NULL, OPTION_GOLDEN},
	{"pipeline-trace", required_argument, NULL, OPTION_TRACE},
	{"core", required_argument, NULL, OPTION_CORE},
	{"set", required_argument, NULL, OPTION_SET},
	{"period", required_argument, NULL, 'c'},
	{"frequency", required_argument, NULL, 'F'},
	{"jitter", required_argument, NULL, OPTION_JITTER},
	{"seed", required_argument, NULL, OPTION_SEED},
	{"sampler", required_argument, NULL, OPTION_SAMPLER},
	{"sysroot", required_argument, NULL, OPTION_SYSROOT},
	{"cpu", required_argument, NULL, OPTION_CPU},
	{"compression", required_argument, NULL, 'z'},
	{"quiet", no_argument, NULL, 'q'},
	{"json", optional_argument, NULL, OPTION_JSON},
	{"help", no_argument, NULL, 'h'},
	RECORD_HARDWARE_OPTIONS,
	{NULL, 0, NULL, 0},
};

static int bad_number(const char *option, const char *text, const char *allowed)
{
	safe_output_message("pesa record: '%s' is no value for %s; allowed: %s", text, option,
			    allowed);
	return 2;
}

/* "FILE" or "FILE:FIRST-LAST".  Returns 0, else the exit status. */
static int set_trace(struct arguments *arguments, const char *text)
{
	const char *colon = strrchr(text, ':');
	char *end = NULL;

	arguments->trace_first = 1;
	arguments->trace_last = UINT64_MAX;
	if (colon && colon[1] >= '0' && colon[1] <= '9') {
		arguments->trace_first = strtoull(colon + 1, &end, 10);
		if (*end != '-' || end[1] < '0' || end[1] > '9')
			return bad_number("--pipeline-trace", text, "FILE or FILE:FIRST-LAST");
		arguments->trace_last = strtoull(end + 1, &end, 10);
		if (*end || !arguments->trace_first ||
		    arguments->trace_last < arguments->trace_first)
			return bad_number("--pipeline-trace", text,
					  "FILE or FILE:FIRST-LAST with 1 <= FIRST <= LAST");
	}
	free(arguments->trace);
	arguments->trace = end ? strndup(text, (size_t)(colon - text)) : strdup(text);
	if (!arguments->trace) {
		fprintf(stderr, "pesa record: out of memory\n");
		return 1;
	}
	return 0;
}

/* Add the samplers of a comma-separated list.  False: unknown name. */
static bool add_samplers(const char *list, uint32_t *samplers)
{
	static const char *const names[] = {
#define SAMPLER(id, name, event, summary) name,
		VCORE_SAMPLERS(SAMPLER)
#undef SAMPLER
	};
	size_t length;

	for (;; list += length + 1) {
		unsigned int i = 0;

		length = strcspn(list, ",");
		while (i < VCORE_SAMPLER_COUNT &&
		       (strlen(names[i]) != length || strncmp(names[i], list, length)))
			i++;
		if (i == VCORE_SAMPLER_COUNT) {
			safe_output_message(
				"pesa record: '%.*s' is no value for --sampler; allowed: shpms, "
				"lcofi, last-commit, next-commit, dispatch",
				(int)length, list);
			return false;
		}
		*samplers |= 1u << i;
		if (!list[length])
			return true;
	}
}

/* "-g dwarf": the mode may be a separate word, which getopt does not support. */
static const char *mode_of_callchain(int argc, char **argv)
{
	if (optarg || optind >= argc ||
	    (strcmp(argv[optind], "fp") && strcmp(argv[optind], "dwarf") &&
	     strncmp(argv[optind], "dwarf,", 6)))
		return optarg;
	return argv[optind++];
}

/* The name of an option that only the virtual core has; NULL: none. */
static const char *virtual_option(int option)
{
	static const struct {
		int option;
		const char *name;
	} names[] = {
		{OPTION_TRACE, "--pipeline-trace"},
		{OPTION_GOLDEN, "--golden"},
		{OPTION_CORE, "--core"},
		{OPTION_SET, "--set"},
		{OPTION_JITTER, "--jitter"},
		{OPTION_SEED, "--seed"},
		{OPTION_SAMPLER, "--sampler"},
		{OPTION_SYSROOT, "--sysroot"},
		{OPTION_CPU, "--cpu"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].option == option)
			return names[i].name;
	return NULL;
}

/* Returns -1 to continue, otherwise the exit status. */
static int parse(int argc, char **argv, struct arguments *arguments)
{
	const char *letters = "+o:c:F:z:qh" RECORD_HARDWARE_LETTERS;
	uint64_t number;
	int option, status;

	while ((option = getopt_long(argc, argv, letters, options, NULL)) != -1) {
		if (!arguments->virtual)
			arguments->virtual = virtual_option(option);
		switch (option) {
		case 'o':
			arguments->output = optarg;
			break;
		case OPTION_GOLDEN:
			arguments->golden = optarg;
			break;
		case OPTION_TRACE:
			status = set_trace(arguments, optarg);
			if (status)
				return status;
			break;
		case OPTION_CORE:
			arguments->core = optarg;
			break;
		case OPTION_SET:
			if (arguments->settings == SETTINGS_MAX) {
				fprintf(stderr, "pesa record: more than %u --set\n", SETTINGS_MAX);
				return 2;
			}
			arguments->setting[arguments->settings++] = optarg;
			break;
		case 'c':
			if (!number_read(optarg, 0, 0, UINT64_MAX, &arguments->period) ||
			    !arguments->period)
				return bad_number("--period", optarg, "a number of cycles");
			break;
		case 'F':
			if (!number_read(optarg, 0, 0, UINT64_MAX, &arguments->frequency) ||
			    !arguments->frequency)
				return bad_number("--frequency", optarg, "samples a second");
			break;
		case OPTION_JITTER:
			if (!number_read(optarg, 0, 0, UINT64_MAX, &arguments->jitter))
				return bad_number("--jitter", optarg,
						  "a number of cycles, 0 for none");
			arguments->has_jitter = true;
			break;
		case OPTION_SEED:
			if (!number_read(optarg, 0, 0, UINT64_MAX, &arguments->seed))
				return bad_number("--seed", optarg, "a number");
			break;
		case OPTION_SAMPLER:
			if (!add_samplers(optarg, &arguments->samplers))
				return 2;
			break;
		case OPTION_SYSROOT:
			arguments->sysroot = optarg;
			break;
		case OPTION_CPU:
			arguments->cpu = optarg;
			break;
		case 'z':
			if (!number_read(optarg, 0, 0, PESA_PERFDATA_COMPRESSION_MAX, &number))
				return bad_number("--compression", optarg, "0 to 22");
			arguments->compression = (int)number;
			break;
		case 'q':
			arguments->quiet = true;
			break;
		case OPTION_JSON:
			arguments->wants_json = true;
			arguments->json = optarg;
			break;
		case 'h':
			fputs(help, stdout);
			return 0;
		case '?':
			fprintf(stderr, "Try 'pesa record --help'.\n");
			return 2;
		default:
			status = record_hardware_option(
				&arguments->hardware, option,
				option == 'g' ? mode_of_callchain(argc, argv) : optarg);
			if (status)
				return status;
		}
	}
	if (optind == argc && !record_hardware_has_target(&arguments->hardware)) {
		fprintf(stderr, "pesa record: no program to run; try 'pesa record --help'\n");
		return 2;
	}
	if (arguments->period && arguments->frequency) {
		fprintf(stderr, "pesa record: give either --period or --frequency\n");
		return 2;
	}
	if (arguments->virtual && arguments->hardware.asked) {
		safe_output_message(
			"pesa record: %s is of the virtual core, %s of a recording through the kernel",
			arguments->virtual, arguments->hardware.asked);
		return 2;
	}
	return -1;
}

/* ---- What to run --------------------------------------------------------------------------- */

/* The sampling period and its jitter, by the core's limits. */
static struct pesa_error *set_period(struct arguments *arguments, const struct pesa_core *core)
{
	uint64_t longest = (1ull << core->counter_bits) - 1, period = arguments->period;
	uint64_t jitter;

	if (arguments->frequency)
		period = core->frequency / arguments->frequency;
	else if (!period)
		period = VIRTUAL_CORE_PERIOD;
	if (arguments->frequency && (period < core->minimum_period || period > longest))
		return pesa_error_create(
			PESA_ERROR_ARGUMENT,
			"%" PRIu64
			" samples a second are outside of what core %s can do at %" PRIu64
			" cycles a second: %" PRIu64 " to %" PRIu64,
			arguments->frequency, core->name, (uint64_t)core->frequency,
			(uint64_t)core->frequency / (longest + 1) + 1,
			(uint64_t)core->frequency / core->minimum_period);
	if (period < core->minimum_period || period > longest)
		return pesa_error_create(PESA_ERROR_ARGUMENT,
					 "a period of %" PRIu64
					 " cycles is outside of what core %s can "
					 "do: %u to %" PRIu64,
					 period, core->name, core->minimum_period, longest);
	jitter = arguments->has_jitter ? arguments->jitter : period / VIRTUAL_CORE_JITTER_DIVISOR;
	if (!arguments->has_jitter) {
		if (jitter > period - core->minimum_period)
			jitter = period - core->minimum_period;
		if (jitter > longest - period)
			jitter = longest - period;
	} else if (jitter > period - core->minimum_period || jitter > longest - period) {
		return pesa_error_create(PESA_ERROR_ARGUMENT,
					 "with a jitter of %" PRIu64
					 " cycles the period of %" PRIu64
					 " leaves what core %s can do: %u to %" PRIu64,
					 jitter, period, core->name, core->minimum_period, longest);
	}
	arguments->period = period;
	arguments->jitter = jitter;
	return NULL;
}

/* ---- Summary ------------------------------------------------------------------------------- */

/* `whole`: the recording is complete. */
static void print_summary(const struct arguments *arguments,
			  const struct pesa_vcore_summary *summary, bool whole)
{
	if (!whole) {
		fprintf(stderr,
			"[ pesa record: %" PRIu64 " samples of %" PRIu64 " cycles; %" PRIu64
			" instructions; not all of it could be written ]\n",
			summary->samples, summary->cycles, summary->instructions);
		return;
	}
	fprintf(stderr, "[ pesa record: %" PRIu64 " samples of %" PRIu64 " cycles in ",
		summary->samples, summary->cycles);
	terminal_text_print(stderr, arguments->output);
	if (arguments->golden) {
		fprintf(stderr, ", all %" PRIu64 " cycles in ",
			summary->golden_weight / PESA_CYCLE);
		terminal_text_print(stderr, arguments->golden);
	}
	fprintf(stderr, "; %" PRIu64 " instructions ]\n", summary->instructions);
}

static void add_number(json_object *object, const char *name, uint64_t value)
{
	json_object_object_add(object, name, json_object_new_uint64(value));
}

static int write_json(const struct arguments *arguments, const struct pesa_core *core,
		      const struct pesa_vcore_summary *summary, int status)
{
	json_object *root = json_object_new_object(), *harts = json_object_new_array();
	FILE *stream = ui_json_open("record", arguments->json);

	if (!stream) {
		json_object_put(root);
		json_object_put(harts);
		return 1;
	}
	json_object_object_add(root, "version", json_object_new_int(UI_JSON_VERSION));
	json_object_object_add(root, "command", json_object_new_string("record"));
	json_object_object_add(root, "core", json_object_new_string(core->name));
	json_object_object_add(root, "output", json_object_new_string(arguments->output));
	if (arguments->golden)
		json_object_object_add(root, "golden", json_object_new_string(arguments->golden));
	add_number(root, "period", arguments->period);
	add_number(root, "jitter", arguments->jitter);
	add_number(root, "seed", arguments->seed);
	add_number(root, "exit_status", (uint64_t)status);
	add_number(root, "cycles", summary->cycles);
	add_number(root, "instructions", summary->instructions);
	add_number(root, "samples", summary->samples);
	add_number(root, "lost", summary->lost);
	add_number(root, "unfinished", summary->unfinished);
	if (arguments->golden) {
		add_number(root, "golden_cycles", summary->golden_weight / PESA_CYCLE);
		add_number(root, "golden_remainder", summary->golden_weight % PESA_CYCLE);
		add_number(root, "golden_executions", summary->golden_executions);
		add_number(root, "golden_lost", summary->golden_lost);
	}
	add_number(root, "undecoded", summary->undecoded);
	add_number(root, "forced_turns", summary->forced_turns);
	add_number(root, "unrecorded_threads", summary->unwatched);
	add_number(root, "unrecorded_processes", summary->refused);
	add_number(root, "processes", summary->processes);
	for (uint32_t i = 0; i < summary->harts; i++) {
		const struct pesa_vcore_hart *hart = &summary->hart[i];
		json_object *one = json_object_new_object();

		add_number(one, "pid", hart->pid);
		add_number(one, "tid", hart->tid);
		add_number(one, "cycles", hart->cycles);
		add_number(one, "instructions", hart->instructions);
		add_number(one, "samples", hart->samples);
		add_number(one, "lost", hart->lost);
		add_number(one, "unfinished", hart->unfinished);
		json_object_array_add(harts, one);
	}
	json_object_object_add(root, "harts", harts);
	ui_json_print(stream, root, JSON_C_TO_STRING_PRETTY);
	fputc('\n', stream);
	json_object_put(root);
	return ui_json_close("record", stream) ? 0 : 1;
}

/* ---- The command --------------------------------------------------------------------------- */

/*
 * Create an empty pipeline trace, and make its path absolute, because the guest may change
 * directory.
 */
static struct pesa_error *empty_trace(struct arguments *arguments)
{
	FILE *stream = fopen(arguments->trace, "we");
	char *path = stream && !fclose(stream) ? realpath(arguments->trace, NULL) : NULL;

	if (!path)
		return pesa_error_system(errno, "cannot create %s", arguments->trace);
	free(arguments->trace);
	arguments->trace = path;
	return NULL;
}

static struct pesa_error *prepare(struct arguments *arguments, const char *program,
				  struct virtual_core *found, struct pesa_vcore_options *record)
{
	struct pesa_error *error =
		virtual_core_find(found, arguments->core, arguments->sysroot, program);

	for (unsigned int i = 0; !error && i < arguments->settings; i++)
		error = virtual_core_set(found, arguments->setting[i]);
	if (!error)
		error = set_period(arguments, &found->core);
	if (!error && arguments->trace)
		error = empty_trace(arguments);
	if (error)
		return error;
	record->core = &found->core;
	record->changes = found->changes;
	record->emulator = found->emulator;
	record->plugin = found->plugin;
	record->sysroot = found->sysroot;
	record->cpu = arguments->cpu;
	record->period = arguments->period;
	record->jitter = arguments->jitter;
	record->seed = arguments->seed;
	record->samplers = arguments->samplers ? arguments->samplers : 1u << VCORE_SAMPLER_SHPMS;
	record->output = arguments->output;
	record->golden = arguments->golden;
	record->trace = arguments->trace;
	record->trace_first = arguments->trace_first;
	record->trace_last = arguments->trace_last;
	record->compression = arguments->compression;
	return NULL;
}

static int record_virtual(int argc, char **argv, struct arguments *arguments, char **command)
{
	struct virtual_core found;
	struct pesa_vcore_options record = {.command = command};
	struct pesa_vcore_summary summary = {0};
	struct pesa_error *error;
	int status;

	(void)argc;
	error = prepare(arguments, argv[optind], &found, &record);
	if (error)
		return profile_fail("record", error);
	argv[optind] = found.program;
	record.program = argv + optind;
	error = pesa_vcore_record(&record, &summary);
	status = virtual_core_exit_status(summary.status);
	if (!error && !summary.harts)
		error = virtual_core_not_begun(&record, summary.status);
	if (!arguments->quiet && summary.harts)
		print_summary(arguments, &summary, !error);
	virtual_core_print_problems("record", &summary);
	if (!error && arguments->wants_json && write_json(arguments, &found.core, &summary, status))
		status = 1;
	if (summary.cut_traces)
		status = 1;
	pesa_vcore_summary_free(&summary);
	return error ? profile_fail("record", error) : status;
}

static int record_hardware(int argc, char **argv, struct arguments *arguments, char **command)
{
	struct pesa_hardware_options *record = &arguments->hardware.options;
	char program[PATH_MAX];
	int status;

	record->output = arguments->output;
	record->compression = arguments->compression;
	record->sampling.period = arguments->period;
	record->sampling.frequency = arguments->frequency;
	record->command = command;
	if (optind < argc)
		record->program = argv + optind;
	status = record_hardware_check(&arguments->hardware);
	if (status)
		return status;
	if (record->program && !pesa_path_program(argv[optind], program))
		return profile_fail("record",
				    pesa_error_create(PESA_ERROR_NOT_FOUND,
						      "no program '%s' that can be executed",
						      argv[optind]));
	return record_hardware_run(&arguments->hardware, arguments->quiet, arguments->wants_json,
				   arguments->json);
}

/*
 * Choose kernel or virtual core: by the options; otherwise the kernel if it has the PMU.  A RISC-V
 * machine without the PMU is an error; elsewhere a RISC-V program can only run on the virtual core.
 */
static struct pesa_error *choose_source(const struct arguments *arguments, bool *hardware)
{
	struct pesa_pmu pmu;
	struct pesa_error *error;

	*hardware = !arguments->virtual;
	if (arguments->virtual || arguments->hardware.options.event_count)
		return NULL;
	error = pesa_pmu_open(PESA_PMU_DIRECTORY, PESA_PMU_NAME, &pmu);
	if (!error || error->code != PESA_ERROR_NOT_FOUND)
		return error;
	pesa_error_free(error);
#ifndef __riscv
	if (!arguments->hardware.asked) {
		*hardware = false;
		return NULL;
	}
#endif
	return pesa_error_create(
		PESA_ERROR_NOT_FOUND,
		"this kernel has no PMU 'pesa': load its driver ('modprobe pesa'), run the program "
		"on the virtual core (--core ooo-4), or sample without it (-e cycles, -e cpu-clock)");
}

/*
 * Expand patterns in the output names, so that processes with the same command line write separate
 * files.
 */
static struct pesa_error *name_outputs(struct arguments *arguments)
{
	struct pesa_error *error = output_name(arguments->output, &arguments->output_named);

	if (!error && arguments->golden)
		error = output_name(arguments->golden, &arguments->golden_named);
	arguments->output = arguments->output_named;
	arguments->golden = arguments->golden_named;
	return error;
}

static struct pesa_error *check_outputs(const struct arguments *arguments)
{
	const struct output_file files[] = {
		{.path = arguments->output, .what = "the samples"},
		{.path = arguments->golden, .what = "the exact profile"},
		{.path = arguments->trace, .what = "the pipeline trace"},
		{.path = arguments->json, .what = "the summary"},
	};

	return output_files_check(files, sizeof(files) / sizeof(files[0]));
}

static void arguments_free(struct arguments *arguments)
{
	free(arguments->trace);
	free(arguments->output_named);
	free(arguments->golden_named);
	record_hardware_free(&arguments->hardware);
}

int pesa_command_record(int argc, char **argv)
{
	struct arguments arguments = {
		.core = VIRTUAL_CORE_DEFAULT,
		.output = DEFAULT_OUTPUT,
		.seed = 1,
		.compression = 1,
	};
	struct pesa_error *error;
	bool hardware;
	char **command;
	char *name = argv[0];
	int status;

	record_hardware_init(&arguments.hardware);
	argv[0] = (char *)"pesa record"; /* of getopt's messages */
	status = parse(argc, argv, &arguments);
	argv[0] = name;
	if (status >= 0) {
		arguments_free(&arguments);
		return status;
	}
	command = calloc((size_t)argc + 2, sizeof(*command));
	error = command ? name_outputs(&arguments) : pesa_error_no_memory();
	if (!error)
		error = check_outputs(&arguments);
	if (!error)
		error = choose_source(&arguments, &hardware);
	if (error) {
		status = profile_fail("record", error);
	} else {
		command[0] = (char *)"pesa";
		memcpy(command + 1, argv, (size_t)argc * sizeof(*command));
		status = (hardware ? record_hardware : record_virtual)(argc, argv, &arguments,
								       command);
	}
	free(command);
	arguments_free(&arguments);
	return status;
}
