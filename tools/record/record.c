// SPDX-License-Identifier: GPL-2.0-or-later
/* pesa record: sample a program, through the kernel or on the virtual core. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "decoder/base/number.h"
#include "decoder/binary/program.h"
#include "pesa/record.h"
#include "pesa/why.h"
#include "tools/commands.h"
#include "tools/ui/output_files.h"
#include "tools/ui/output_name.h"
#include "tools/files/paths.h"
#include "tools/ui/profile_options.h"
#include "tools/ui/progress.h"
#include "tools/ui/text.h"
#include "tools/record/hardware.h"
#include "tools/ui/safe_output.h"
#include "tools/record/sampled.h"
#include "tools/record/summary.h"
#include "tools/record/virtual_core.h"

#define DEFAULT_OUTPUT	    "perf.data"
#define SETTINGS_MAX	    64u
#define COMPRESSION_DEFAULT 1
#define SKID_MAX	    1000 /* instructions */

struct arguments {
	const char *setting[SETTINGS_MAX];
	unsigned int settings;
	char *trace;			   /* NULL: none */
	char **program;			   /* NULL: none */
	char *output_named, *golden_named; /* expanded patterns */
	struct pesa_core_ideal_places ideal;
	uint64_t trace_first, trace_last;
	const char *core, *output, *golden, *sysroot, *cpu;
	uint32_t samplers; /* 1 << enum vcore_sampler */
	bool skids;
	uint32_t skid_low, skid_high; /* instructions */
	uint64_t period, frequency, jitter, seed;
	bool has_period; /* the user chose it, or the frequency */
	bool has_jitter;
	bool sampled;
	struct profile_summary_options printed;
	int compression;
	const char *virtual; /* the first option given that requires the virtual core; NULL: none */
	struct record_hardware hardware;
};

/* ---- Options ------------------------------------------------------------------------------- */

enum {
	KEY_GOLDEN = 256,
	KEY_TRACE,
	KEY_CORE,
	KEY_SET,
	KEY_IDEAL,
	KEY_JITTER,
	KEY_SEED,
	KEY_SAMPLER,
	KEY_SKID,
	KEY_SYSROOT,
	KEY_CPU,
	KEY_SAMPLED,
};

static const struct argp_option options[] = {
	{"output", 'o', "FILE", 0,
	 "The samples (default: perf.data); '-' is standard output; %p in it is the process, %h "
	 "the host, %q{NAME} the environment variable, %% a percent sign",
	 0},
	{"period", 'c', "CYCLES", 0, "One sample every so many cycles", 0},
	{"count", 0, NULL, OPTION_ALIAS, NULL, 0},
	{"frequency", 'F', "HZ", 0, "So many samples a second; 'max' for as many as can be taken",
	 0},
	{"compression", 'z', "N", OPTION_ARG_OPTIONAL, "zstd level, 0 for none (default: 1)", 0},
	{"compression-level", 0, NULL, OPTION_ALIAS, NULL, 0},
	{NULL, 0, NULL, 0, "On the virtual core:", 3},
	{"core", KEY_CORE, "NAME", 0,
	 "Core description, see 'pesa list'; or a file (default: " VIRTUAL_CORE_DEFAULT ")", 0},
	{"set", KEY_SET, "KEY=VALUE", 0,
	 "Change a key of the core's description, or CLASS.latency, CLASS.RESOURCE, CLASS.uops of "
	 "its processor model",
	 0},
	{"ideal", KEY_IDEAL, "KIND[@ADDRESS]", 0,
	 "For experiments: the loads at this run-time address (default: all) hit, its branch is "
	 "predicted, its latency is 1, or it needs no unit; KIND is hit, predict, latency or unit",
	 0},
	{"golden", KEY_GOLDEN, "FILE", 0,
	 "The exact profile as well: every cycle of every instruction", 0},
	{"pipeline-trace", KEY_TRACE, "FILE[:FIRST-LAST]", 0,
	 "The pipeline as a Kanata log, which Konata shows; of all instructions, or of these "
	 "(from 1 on)",
	 0},
	{"jitter", KEY_JITTER, "CYCLES", 0,
	 "Intervals vary by up to this either way (default: an eighth of the period)", 0},
	{"seed", KEY_SEED, "N", 0, "Seed of the jitter (default: 1)", 0},
	{"sampler", KEY_SAMPLER, "NAMES", 0,
	 "What hardware delivers: shpms (default), lcofi, last-commit, next-commit, dispatch; "
	 "several, with commas, are events of the file",
	 0},
	{"skid", KEY_SKID, "LOW-HIGH", 0,
	 "Of the sampler lcofi: interrupts are taken at retirement, LOW to HIGH instructions behind "
	 "the oldest one, drawn for each sample (default: where the front end is)",
	 0},
	{"sampled", KEY_SAMPLED, NULL, 0,
	 "Faster: only windows run through the pipeline, the rest through caches, TLBs and "
	 "predictors (default period: 1000000)",
	 0},
	{"sysroot", KEY_SYSROOT, "DIR", 0,
	 "Where dynamic programs find their interpreter and libraries", 0},
	{"cpu", KEY_CPU, "NAME", 0, "The emulator's CPU, e.g. rv64,v=true", 0},
	{0},
};

/* "FILE" or "FILE:FIRST-LAST". */
static void set_trace(struct arguments *arguments, const char *text, const struct argp_state *state)
{
	const char *colon = strrchr(text, ':');
	char *end = NULL;

	arguments->trace_first = 1;
	arguments->trace_last = UINT64_MAX;
	if (colon && colon[1] >= '0' && colon[1] <= '9') {
		arguments->trace_first = strtoull(colon + 1, &end, 10);
		if (*end != '-' || end[1] < '0' || end[1] > '9')
			profile_bad_value(state, "--pipeline-trace", text,
					  "FILE or FILE:FIRST-LAST");
		arguments->trace_last = strtoull(end + 1, &end, 10);
		if (*end || !arguments->trace_first ||
		    arguments->trace_last < arguments->trace_first)
			profile_bad_value(state, "--pipeline-trace", text,
					  "FILE or FILE:FIRST-LAST with 1 <= FIRST <= LAST");
	}
	free(arguments->trace);
	arguments->trace = end ? strndup(text, (size_t)(colon - text)) : strdup(text);
	if (!arguments->trace)
		profile_parse_failed(state, 1, pesa_error_no_memory());
}

/* "LOW-HIGH", or a number. */
static void set_skid(struct arguments *arguments, const char *text, const struct argp_state *state)
{
	char *end;
	unsigned long low = strtoul(text, &end, 10), high = low;
	bool fits = *text >= '0' && *text <= '9';

	if (fits && *end == '-' && end[1] >= '0' && end[1] <= '9')
		high = strtoul(end + 1, &end, 10);
	if (!fits || *end || low > high || high > SKID_MAX)
		profile_bad_value(state, "--skid", text,
				  "LOW-HIGH or a number, of instructions, 1000 at most");
	arguments->skids = true;
	arguments->skid_low = (uint32_t)low;
	arguments->skid_high = (uint32_t)high;
}

/* Add the samplers of a comma-separated list. */
static void add_samplers(struct arguments *arguments, const char *list,
			 const struct argp_state *state)
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
		if (i == VCORE_SAMPLER_COUNT)
			profile_usage_error(state,
					    "'%.*s' is no value for --sampler; allowed: shpms, "
					    "lcofi, last-commit, next-commit, dispatch",
					    (int)length, list);
		arguments->samplers |= 1u << i;
		if (!list[length])
			return;
	}
}

_Static_assert((int)PESA_CORE_IDEAL_COUNT == (int)PESA_WHY_CHANGES, "a kind for each change");

/* Add KIND or KIND@ADDRESS. */
static void add_ideal(struct arguments *arguments, const char *text, const struct argp_state *state)
{
	struct pesa_core_ideal_place place = {.address = PESA_CORE_IDEAL_ANYWHERE};
	size_t length = strcspn(text, "@");

	for (; place.kind < PESA_CORE_IDEAL_COUNT; place.kind++) {
		const char *name = pesa_why_change_name((enum pesa_why_change)place.kind);

		if (strlen(name) == length && !strncmp(name, text, length))
			break;
	}
	if (place.kind == PESA_CORE_IDEAL_COUNT ||
	    (text[length] && !number_read(text + length + 1, 0, 0, UINT64_MAX - 1, &place.address)))
		profile_bad_value(state, "--ideal", text,
				  "hit, predict, latency or unit, with @ADDRESS or without");
	if (arguments->ideal.count == PESA_CORE_IDEALS_MAX)
		profile_usage_error(state, "more than %u --ideal", PESA_CORE_IDEALS_MAX);
	arguments->ideal.place[arguments->ideal.count++] = place;
}

/* An option of the virtual core, as messages name it; NULL: another option. */
static const char *virtual_option(int key)
{
	static const struct {
		int key;
		const char *name;
	} names[] = {
		{KEY_TRACE, "--pipeline-trace"},
		{KEY_GOLDEN, "--golden"},
		{KEY_CORE, "--core"},
		{KEY_SET, "--set"},
		{KEY_IDEAL, "--ideal"},
		{KEY_JITTER, "--jitter"},
		{KEY_SEED, "--seed"},
		{KEY_SAMPLER, "--sampler"},
		{KEY_SKID, "--skid"},
		{KEY_SYSROOT, "--sysroot"},
		{KEY_CPU, "--cpu"},
		{KEY_SAMPLED, "--sampled"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].key == key)
			return names[i].name;
	return NULL;
}

/* A number of at least `least`. */
static uint64_t read_number(const char *option, const char *text, uint64_t least,
			    const char *allowed, const struct argp_state *state)
{
	uint64_t number;

	if (!number_read(text, 0, 0, UINT64_MAX, &number) || number < least)
		profile_bad_value(state, option, text, allowed);
	return number;
}

static error_t parse_virtual(int key, char *argument, struct argp_state *state)
{
	struct arguments *arguments = state->input;

	if (!arguments->virtual)
		arguments->virtual = virtual_option(key);
	switch (key) {
	case KEY_GOLDEN:
		arguments->golden = argument;
		return 0;
	case KEY_TRACE:
		set_trace(arguments, argument, state);
		return 0;
	case KEY_CORE:
		arguments->core = argument;
		return 0;
	case KEY_SET:
		if (arguments->settings == SETTINGS_MAX)
			profile_usage_error(state, "more than %u --set", SETTINGS_MAX);
		arguments->setting[arguments->settings++] = argument;
		return 0;
	case KEY_IDEAL:
		add_ideal(arguments, argument, state);
		return 0;
	case KEY_JITTER:
		arguments->jitter = read_number("--jitter", argument, 0,
						"a number of cycles, 0 for none", state);
		arguments->has_jitter = true;
		return 0;
	case KEY_SAMPLED:
		arguments->sampled = true;
		return 0;
	case KEY_SEED:
		arguments->seed = read_number("--seed", argument, 0, "a number", state);
		return 0;
	case KEY_SAMPLER:
		add_samplers(arguments, argument, state);
		return 0;
	case KEY_SKID:
		set_skid(arguments, argument, state);
		return 0;
	case KEY_SYSROOT:
		arguments->sysroot = argument;
		return 0;
	case KEY_CPU:
		arguments->cpu = argument;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* What a sampled recording cannot give is refused. */
static void check_sampled(const struct arguments *arguments, const struct argp_state *state)
{
	const char *with = NULL;

	if (arguments->golden)
		with = "--golden";
	else if (arguments->trace)
		with = "--pipeline-trace";
	else if (arguments->samplers & ~(1u << VCORE_SAMPLER_SHPMS))
		with = "--sampler";
	else if (arguments->hardware.options.sampling.callchain != PESA_CALLCHAIN_NONE)
		with = "-g";
	if (arguments->sampled && with)
		profile_usage_error(
			state,
			"%s needs every cycle, of which --sampled leaves out most: give "
			"one of the two",
			with);
}

/* Check for conflicting and missing options. */
static void check(const struct arguments *arguments, const struct argp_state *state)
{
	if (!arguments->program && !record_hardware_has_target(&arguments->hardware))
		profile_usage_error(
			state, "no program to run: name it after '--', or a process with -p, or "
			       "all CPUs with -a");
	if (arguments->period && arguments->frequency)
		profile_usage_error(state, "give either --period or --frequency");
	check_sampled(arguments, state);
	if (arguments->virtual && arguments->hardware.asked)
		profile_usage_error(
			state, "%s is of the virtual core, %s of a recording through the kernel",
			arguments->virtual, arguments->hardware.asked);
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct arguments *arguments = state->input;
	uint64_t number;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &arguments->printed;
		state->child_inputs[1] = &arguments->hardware;
		return 0;
	case 'o':
		arguments->output = argument;
		return 0;
	case 'c':
		arguments->has_period = true;
		arguments->period =
			read_number("--period", argument, 1, "a number of cycles", state);
		return 0;
	case 'F':
		arguments->has_period = true;
		arguments->frequency = !strcmp(argument, "max")
					       ? PESA_FREQUENCY_MAX
					       : read_number("--frequency", argument, 1,
							     "samples a second, or max", state);
		return 0;
	case 'z':
		/* "-z 3": getopt knows an optional argument only in the same word. */
		if (!argument && state->next < state->argc &&
		    number_read(state->argv[state->next], 0, 0, PESA_PERFDATA_COMPRESSION_MAX,
				&number))
			state->next++;
		else if (!argument)
			number = COMPRESSION_DEFAULT;
		else if (!number_read(argument, 0, 0, PESA_PERFDATA_COMPRESSION_MAX, &number))
			profile_bad_value(state, "--compression", argument, "0 to 22");
		arguments->compression = (int)number;
		return 0;
	case ARGP_KEY_ARG:
		arguments->program = profile_take_program(state);
		return 0;
	case ARGP_KEY_END:
		check(arguments, state);
		return 0;
	default:
		return parse_virtual(key, argument, state);
	}
}

static const struct argp_child children[] = {
	{&profile_summary_argp, 0, NULL, 0}, {&record_hardware_argp, 0, NULL, 0}, {0}};

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.children = children,
	.args_doc = "[--] PROGRAM [ARGUMENTS...]\n-a | -C CPUS | -p PIDS | -t TIDS",
	.doc = "Sample a program, processes or whole CPUs and write a perf.data file.  The kernel "
	       "takes the samples, from the best source that works here, which is named: the PMU "
	       "pesa, cycles, or a clock.  With --core, and on hosts that are not RISC-V, a RISC-V "
	       "program runs on the virtual core.\v"
	       "The exit status is the program's, 128 + N when signal N killed it; 1 or 2 when it "
	       "could not be recorded.  The emulator is qemu-riscv64, or what PESA_QEMU "
	       "names.\n"
	       "\n"
	       "Examples:\n"
	       "  pesa record -g -- ./bzip2 -k9 file && pesa report\n"
	       "  pesa record -a --duration 10\n"
	       "  pesa record --core ooo-4 -c 5000 --golden golden.data -- ./bzip2 -k9 file\n"
	       "\n"
	       "The manual page pesa-record(1) explains all.",
};

/* ---- What to run --------------------------------------------------------------------------- */

static void note_period(uint64_t wanted, uint64_t least, const char *what)
{
	safe_output_message("pesa record: one sample every %" PRIu64 " cycles, the least of %s; "
			    "not every %" PRIu64,
			    least, what, wanted);
}

/* The sampling period and its jitter, by the core's limits. */
static struct pesa_error *set_period(struct arguments *arguments, const struct pesa_core *core)
{
	uint64_t longest = (1ull << core->counter_bits) - 1, period = arguments->period;
	uint64_t jitter;

	if (arguments->frequency == PESA_FREQUENCY_MAX)
		period = core->minimum_period;
	else if (arguments->frequency)
		period = core->frequency / arguments->frequency;
	else if (!period)
		period = arguments->sampled ? SAMPLED_PERIOD : VIRTUAL_CORE_PERIOD;
	if (!arguments->frequency && period < core->minimum_period) {
		note_period(period, core->minimum_period, core->name);
		period = core->minimum_period;
	}
	if (arguments->frequency && (period < core->minimum_period || period > longest))
		return pesa_error_create(
			PESA_ERROR_ARGUMENT,
			"%" PRIu64
			" samples a second are outside of what core %s can do at %" PRIu64
			" cycles a second: %" PRIu64 " to %" PRIu64,
			arguments->frequency, core->name, (uint64_t)core->frequency,
			(uint64_t)core->frequency / (longest + 1) + 1,
			(uint64_t)core->frequency / core->minimum_period);
	if (arguments->sampled && period < SAMPLED_PERIOD_LEAST)
		return pesa_error_create(PESA_ERROR_ARGUMENT,
					 "--sampled saves nothing with a period of %" PRIu64
					 " cycles: leave it out, or take %u cycles or more",
					 period, SAMPLED_PERIOD_LEAST);
	if (period > longest)
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

/* Chains of the virtual core are exact unless they are to be found as hardware finds them. */
static uint32_t call_chains_of(const struct record_hardware *hardware)
{
	switch (hardware->options.sampling.callchain) {
	case PESA_CALLCHAIN_FRAME_POINTER:
		return hardware->chains_named ? VCORE_CALL_CHAINS_FRAME_POINTER
					      : VCORE_CALL_CHAINS_EXACT;
	case PESA_CALLCHAIN_DWARF:
		return VCORE_CALL_CHAINS_DWARF;
	default:
		return VCORE_CALL_CHAINS_NONE;
	}
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
	record->ideal = arguments->ideal;
	record->emulator = found->emulator;
	record->plugin = found->plugin;
	record->sysroot = found->sysroot;
	record->cpu = arguments->cpu;
	record->call_chains = call_chains_of(&arguments->hardware);
	record->stack_dump = arguments->hardware.options.sampling.stack_dump;
	record->period = arguments->period;
	record->jitter = arguments->jitter;
	record->seed = arguments->seed;
	record->sampled = arguments->sampled;
	record->samplers = arguments->samplers ? arguments->samplers : 1u << VCORE_SAMPLER_SHPMS;
	record->skids = arguments->skids;
	record->skid_low = arguments->skid_low;
	record->skid_high = arguments->skid_high;
	record->output = arguments->output;
	record->golden = arguments->golden;
	record->trace = arguments->trace;
	record->trace_first = arguments->trace_first;
	record->trace_last = arguments->trace_last;
	record->compression = arguments->compression;
	return NULL;
}

static void show_progress(void *context, const struct pesa_vcore_progress *so_far)
{
	struct ui_progress *progress = context;
	char instructions[UI_NUMBER_SIZE], cycles[UI_NUMBER_SIZE], samples[UI_NUMBER_SIZE];
	char line[160];

	if (!ui_progress_is_due(progress))
		return;
	snprintf(line, sizeof(line),
		 "[ pesa record: %s instructions, %s cycles, %s samples, %.0f s ]",
		 ui_count(instructions, (double)so_far->instructions),
		 ui_count(cycles, (double)so_far->cycles),
		 ui_count(samples, (double)so_far->samples), ui_progress_seconds(progress));
	ui_progress_draw(progress, line);
}

static int record_virtual(struct arguments *arguments, char **command)
{
	struct virtual_core found;
	struct pesa_vcore_options record = {.command = command};
	struct pesa_vcore_summary summary = {0};
	struct ui_progress progress = {0};
	struct record_run run;
	struct pesa_error *error;
	int status;

	if (arguments->hardware.options.sampling.callchain == PESA_CALLCHAIN_HARDWARE)
		return profile_fail(
			"record",
			pesa_error_create(
				PESA_ERROR_UNSUPPORTED,
				"-g lbr: the virtual core keeps no call stack of limited depth: -g "
				"without a mode records exact call chains"));
	error = prepare(arguments, arguments->program[0], &found, &record);
	if (error)
		return profile_fail("record", error);
	arguments->program[0] = found.program;
	record.program = arguments->program;
	if (!arguments->printed.quiet)
		ui_progress_start(&progress, "recording");
	if (progress.wanted) {
		record.progress = show_progress;
		record.progress_context = &progress;
	}
	error = pesa_vcore_record(&record, &summary);
	ui_progress_finish(&progress);
	status = virtual_core_exit_status(summary.status);
	if (!error && !summary.harts)
		error = virtual_core_not_begun(&record, summary.status);
	run = (struct record_run){
		.output = arguments->output,
		.golden = arguments->golden,
		.json = arguments->printed.json,
		.period = arguments->period,
		.jitter = arguments->jitter,
		.seed = arguments->seed,
		.has_period = arguments->has_period,
		.sampled = arguments->sampled,
	};
	if (!arguments->printed.quiet && summary.harts)
		record_print_summary(&run, &summary, !error);
	if (!arguments->printed.quiet && !error)
		record_hint_period(&run, &summary, &found.core);
	virtual_core_print_problems("record", &summary);
	if (!error && arguments->printed.wants_json)
		error = record_write_json(&run, &found.core, &summary, status);
	if (summary.cut_traces)
		status = 1;
	pesa_vcore_summary_free(&summary);
	return error ? profile_fail("record", error) : status;
}

static int record_hardware(struct arguments *arguments, char **command)
{
	struct pesa_hardware_options *record = &arguments->hardware.options;
	char program[PATH_MAX];
	const char *wrong;

	record->output = arguments->output;
	record->compression = arguments->compression;
	record->sampling.period = arguments->period;
	record->sampling.frequency = arguments->frequency;
	record->command = command;
	record->program = arguments->program;
	wrong = record_hardware_check(&arguments->hardware);
	if (wrong) {
		profile_complain("record", "%s", wrong);
		return 2;
	}
	if (record->program) {
		struct pesa_error *error = pesa_path_find_program(record->program[0], program);

		if (error)
			return profile_fail("record", error);
	}
	return record_hardware_run(&arguments->hardware, arguments->printed.quiet,
				   arguments->printed.wants_json, arguments->printed.json);
}

/*
 * Choose kernel or virtual core.  The options decide; without any, the kernel records on a RISC-V
 * machine.  Elsewhere it records this machine's own programs, and with cycles named (-e) all that
 * is not for RISC-V.
 */
static bool is_for_hardware(const struct arguments *arguments)
{
	bool hardware = true;

	if (arguments->virtual)
		return false;
	if (arguments->hardware.asked)
		return true;
#ifndef __riscv
	struct pesa_program probed = {.kind = PESA_PROGRAM_OTHER};
	char path[PATH_MAX];

	if (arguments->program && pesa_path_program(arguments->program[0], path))
		pesa_program_probe(path, &probed);
	hardware = arguments->hardware.options.event_count ? probed.kind != PESA_PROGRAM_RISCV
							   : probed.kind == PESA_PROGRAM_FOREIGN;
#endif
	return hardware;
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
		{.path = arguments->printed.json, .what = "the summary"},
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
		.compression = COMPRESSION_DEFAULT,
	};
	struct pesa_error *error;
	char **command;
	int status;

	record_hardware_init(&arguments.hardware);
	status = profile_parse_program(&argp, "record", argc, argv, &arguments);
	if (status) {
		arguments_free(&arguments);
		return status;
	}
	command = calloc((size_t)argc + 2, sizeof(*command));
	error = command ? name_outputs(&arguments) : pesa_error_no_memory();
	if (!error)
		error = check_outputs(&arguments);
	if (error) {
		status = profile_fail("record", error);
	} else {
		command[0] = (char *)"pesa";
		memcpy(command + 1, argv, (size_t)argc * sizeof(*command));
		status = (is_for_hardware(&arguments) ? record_hardware
						      : record_virtual)(&arguments, command);
	}
	free(command);
	arguments_free(&arguments);
	return status;
}
