// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/record/hardware.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "decoder/base/number.h"
#include "tools/ui/profile_options.h"
#include "tools/ui/safe_output.h"
#include "tools/record/target_options.h"
#include "tools/ui/json.h"
#include "tools/record/virtual_core.h"

#define SECOND UINT64_C(1000000000)

void record_hardware_init(struct record_hardware *hardware)
{
	*hardware = (struct record_hardware){
		.options = {
			.devices = PESA_PMU_DIRECTORY,
			.events = hardware->events,
			.sampling = {.inherit = true, .stack_dump = PESA_STACK_DUMP_DEFAULT},
		}};
}

void record_hardware_free(struct record_hardware *hardware)
{
	pesa_event_list_free(&hardware->list);
	event_options_free(&hardware->names);
	free(hardware->processes);
	free(hardware->threads);
}

/* ---- Options ------------------------------------------------------------------------------- */

enum {
	KEY_INHERIT = 256,
	KEY_DURATION,
	KEY_SNAPSHOT,
	KEY_SWITCH_OUTPUT,
	KEY_CALL_GRAPH,
	KEY_CGROUPS,
	KEY_REQUIRE,
};

static const struct argp_option descriptions[] = {
	{NULL, 0, NULL, 0, "Through the kernel:", 2},
	{"event", 'e', "EVENTS", 0,
	 "What to sample, with commas between (default: the best source that works here), e.g. "
	 "pesa/cycles/u, cycles",
	 0},
	{"require", KEY_REQUIRE, "LEVEL", 0,
	 "Without -e: refuse sources that tell less than details (cycle stacks), pc (exact PCs), "
	 "cycles, leader (the processor's own events of cycles) or clock (time)",
	 0},
	{"all-cpus", 'a', NULL, 0, "Whatever runs, on all CPUs", 0},
	{"cpu-list", 'C', "CPUS", 0, "Whatever runs, on these: 0-3,8", 0},
	{"pid", 'p', "PIDS", 0, "Processes, with all their threads, until they end", 0},
	{"tid", 't', "TIDS", 0, "Threads", 0},
	{"inherit", KEY_INHERIT, NULL, 0,
	 "With the threads and processes that these make (default)", 0},
	{"no-inherit", 'i', NULL, 0, "Without the threads and processes that these make", 0},
	{NULL, 'g', "fp|dwarf[,SIZE]|lbr", OPTION_ARG_OPTIONAL,
	 "Call chains: by frame pointers, by SIZE bytes of the stack (default: 8192), or by the "
	 "call stack that the hardware keeps (RASEMU of Ssctr); without a mode exact ones on the "
	 "virtual core, and frame pointers through the kernel; the mode may be a word of its own",
	 0},
	{"call-graph", KEY_CALL_GRAPH, "MODE", 0, "The same as -g MODE", 0},
	{"all-cgroups", KEY_CGROUPS, NULL, 0, "Record the control group of each sample", 0},
	{"mmap-pages", 'm', "N", 0, "Pages of a CPU's ring, or a size: 2M (default: 512K)", 0},
	{"duration", KEY_DURATION, "TIME", 0, "End after so many seconds, or 500ms, 2m", 0},
	{"snapshot", KEY_SNAPSHOT, NULL, 0,
	 "Keep the newest samples only, and write them at SIGUSR2 and at the end", 0},
	{"switch-output", KEY_SWITCH_OUTPUT, "WHEN", OPTION_ARG_OPTIONAL,
	 "Begin a new file at SIGUSR2, or at a size (100M) or time (10s)", 0},
	{0},
};

static void set_ring(struct record_hardware *hardware, const char *text,
		     const struct argp_state *state)
{
	double page = (double)sysconf(_SC_PAGESIZE), bytes;

	if (!option_read_bytes(text, page, &bytes) || bytes > 1u << 30 || fmod(bytes, page) != 0 ||
	    ((uint64_t)bytes & ((uint64_t)bytes - 1)))
		profile_bad_value(
			state, "--mmap-pages", text,
			"a power of two of pages, or of bytes with B, K, M or G, of 1G at most");
	hardware->options.ring_bytes = (size_t)bytes;
}

static void set_switch(struct record_hardware *hardware, const char *text,
		       const struct argp_state *state)
{
	double value;

	if (!text || !strcmp(text, "signal"))
		hardware->options.switch_on_signal = true;
	else if (option_read_bytes(text, 0, &value))
		hardware->options.switch_bytes = (uint64_t)value;
	else if (option_read_time(text, 0, &value))
		hardware->options.switch_time = (uint64_t)value;
	else
		profile_bad_value(state, "--switch-output", text,
				  "a size (B, K, M, G), a time (ms, s, m, h, d), or 'signal'");
}

static bool is_callchain_mode(const char *word)
{
	return !strcmp(word, "fp") || !strcmp(word, "lbr") || !strcmp(word, "dwarf") ||
	       !strncmp(word, "dwarf,", 6);
}

static void set_callchain(struct record_hardware *hardware, const char *text,
			  struct argp_state *state)
{
	struct pesa_sampling *sampling = &hardware->options.sampling;
	uint64_t size = PESA_STACK_DUMP_DEFAULT;

	/* "-g dwarf": getopt knows an optional argument only in the same word. */
	if (!text && state->next < state->argc && is_callchain_mode(state->argv[state->next]))
		text = state->argv[state->next++];
	hardware->chains_named = text != NULL;
	if (!text || !strcmp(text, "fp")) {
		sampling->callchain = PESA_CALLCHAIN_FRAME_POINTER;
		return;
	}
	if (!strcmp(text, "lbr")) {
		sampling->callchain = PESA_CALLCHAIN_HARDWARE;
		return;
	}
	if (!is_callchain_mode(text))
		profile_bad_value(state, "-g", text, "fp, dwarf, dwarf,SIZE, lbr");
	if (text[5] && (!number_read(text + 6, 0, 8, PESA_STACK_DUMP_MAX, &size) || size % 8))
		profile_bad_value(state, "-g", text,
				  "dwarf,SIZE with a multiple of 8 from 8 to 65528 bytes");
	sampling->callchain = PESA_CALLCHAIN_DWARF;
	sampling->stack_dump = (uint32_t)size;
}

static void add_events(struct record_hardware *hardware, const char *text,
		       const struct argp_state *state)
{
	struct pesa_event_list *list = &hardware->list;
	struct pesa_error *error = pesa_event_list_add(list, text);

	if (error)
		profile_parse_failed(state, 2, error);
	if (list->count > PESA_HARDWARE_EVENTS_MAX)
		profile_bad_value(state, "--event", text, "1 to 16 events, separated by commas");
	if (list->items[list->count - 1].group != list->count - 1)
		profile_bad_value(state, "--event", text, "no groups: those are for pesa stat");
	for (size_t i = 0; i < list->count; i++)
		hardware->events[i] = list->items[i].name;
	hardware->options.event_count = (unsigned int)list->count;
}

/* Whether a list of events is cycles alone, which the virtual core samples anyway: "cycles:ppp". */
static bool only_cycles(const char *list)
{
	static const char *const names[] = {"cycles", "cpu-cycles", "pesa/cycles/"};

	for (;; list++) {
		size_t length = strcspn(list, ","), known = 0;

		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !known; i++)
			if (!strncmp(list, names[i], strlen(names[i])))
				known = strlen(names[i]);
		/* Modifiers follow a colon, or the slash of a PMU. */
		if (!known || (known != length && list[known] != ':' && list[known - 1] != '/') ||
		    known + strspn(list + known, ":upPH") != length)
			return false;
		list += length;
		if (!*list)
			return true;
	}
}

/* The option of a key, as messages name it; NULL: none of these. */
static const char *option_name(int key)
{
	static const struct {
		int key;
		const char *name;
	} names[] = {
		{'a', "-a"},
		{'e', "-e"},
		{'C', "-C"},
		{'p', "-p"},
		{'t', "-t"},
		{'m', "-m"},
		{KEY_INHERIT, "--inherit"},
		{'i', "--no-inherit"},
		{KEY_DURATION, "--duration"},
		{KEY_SNAPSHOT, "--snapshot"},
		{KEY_CGROUPS, "--all-cgroups"},
		{KEY_SWITCH_OUTPUT, "--switch-output"},
		{KEY_REQUIRE, "--require"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].key == key)
			return names[i].name;
	return NULL;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct record_hardware *hardware = state->input;
	struct pesa_hardware_options *result = &hardware->options;
	double nanoseconds;

	if (!hardware->asked && !(key == 'e' && only_cycles(argument)))
		hardware->asked = option_name(key);
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &hardware->names;
		return 0;
	case 'a':
		result->system_wide = true;
		return 0;
	case 'e':
		add_events(hardware, argument, state);
		return 0;
	case 'C':
		result->has_cpus = true;
		if (!pesa_cpu_set_parse(argument, &result->cpus))
			profile_bad_value(state, "--cpu-list", argument, "CPUs, as in 0-3,8");
		return 0;
	case 'p':
		option_add_numbers(state, "--pid", argument, &hardware->processes,
				   &result->process_count);
		return 0;
	case 't':
		option_add_numbers(state, "--tid", argument, &hardware->threads,
				   &result->thread_count);
		return 0;
	case 'g':
	case KEY_CALL_GRAPH:
		set_callchain(hardware, argument, state);
		return 0;
	case KEY_REQUIRE:
		if (!pesa_source_level_parse(argument, &hardware->require))
			profile_bad_value(state, "--require", argument, PESA_SOURCE_LEVEL_NAMES);
		hardware->has_require = true;
		return 0;
	case KEY_CGROUPS:
		result->sampling.cgroups = true;
		return 0;
	case 'm':
		set_ring(hardware, argument, state);
		return 0;
	case KEY_INHERIT:
	case 'i':
		result->sampling.inherit = key == KEY_INHERIT;
		return 0;
	case KEY_DURATION:
		if (!option_read_time(argument, 1e9, &nanoseconds))
			profile_bad_value(state, "--duration", argument, "seconds");
		result->duration = (uint64_t)nanoseconds;
		return 0;
	case KEY_SNAPSHOT:
		result->snapshot = true;
		return 0;
	case KEY_SWITCH_OUTPUT:
		set_switch(hardware, argument, state);
		return 0;
	case ARGP_KEY_END:
		if (!hardware->asked && hardware->names.directory)
			hardware->asked = "--event-directory";
		else if (!hardware->asked && hardware->names.cpu_id)
			hardware->asked = "--cpu-id";
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp record_hardware_argp = {
	.options = descriptions, .parser = parse, .children = event_options_children};
bool record_hardware_has_target(const struct record_hardware *hardware)
{
	const struct pesa_hardware_options *options = &hardware->options;

	return options->system_wide || options->has_cpus || options->process_count ||
	       options->thread_count;
}

/* Return whether the path is a regular file or does not exist. */
static bool is_file(const char *path)
{
	struct stat there;

	return strcmp(path, "-") && (stat(path, &there) || S_ISREG(there.st_mode));
}

const char *record_hardware_check(const struct record_hardware *hardware)
{
	const struct pesa_hardware_options *options = &hardware->options;
	bool tasks = options->process_count || options->thread_count;
	const char *wrong = NULL;

	if (tasks && (options->system_wide || options->has_cpus))
		wrong = "processes (-p, -t) and whole CPUs (-a, -C) exclude each other";
	else if (tasks && options->program)
		wrong = "processes (-p, -t) and a program to run exclude each other";
	else if (hardware->has_require && options->event_count)
		wrong = "--require is for the source that is chosen without -e";
	else if ((options->snapshot || options->switch_on_signal || options->switch_bytes ||
		  options->switch_time) &&
		 !is_file(options->output))
		wrong = "several files (--snapshot, --switch-output) cannot go to standard output, "
			"a pipe or a device";
	return wrong;
}

/* ---- Summary ------------------------------------------------------------------------------- */

static void print_problems(const struct pesa_hardware_options *options,
			   const struct pesa_hardware_summary *summary)
{
	const struct {
		uint64_t count;
		const char *what;
	} problems[] = {
		{summary->lost,
		 "samples were lost for want of room in a ring, or of time to read them: larger "
		 "rings (-m) or a longer period help"},
		{summary->discarded,
		 "samples were taken before the last one had been read and were lost: a longer "
		 "period helps"},
		{summary->filled,
		 "times a hart had no room for its samples, and took none until there was: larger "
		 "buffers (-m) or a longer period help"},
		{summary->throttled,
		 "times the kernel stopped sampling for a while because of its rate: see "
		 "/proc/sys/kernel/perf_event_max_sample_rate"},
		{summary->damaged, "bytes of the rings were no records and were passed over"},
		{summary->late_build_ids,
		 "maps have no build id: a file did not answer in time (a network file system, or "
		 "FUSE), and for a while after that none is read"},
	};

	if (summary->user_only)
		fprintf(stderr,
			"pesa record: only user mode was sampled: the kernel needs CAP_PERFMON or "
			"/proc/sys/kernel/perf_event_paranoid at 1 or less, it is %ld\n",
			pesa_kernel_setting("perf_event_paranoid", 2));
	if (summary->kernel_hidden)
		fprintf(stderr,
			"pesa record: the kernel hides its addresses "
			"(/proc/sys/kernel/kptr_restrict): its samples will have no names\n");
	if (summary->raised_period)
		fprintf(stderr,
			"pesa record: one sample every %" PRIu64
			" cycles, the least of the PMU; not every %" PRIu64 "\n",
			summary->raised_period, options->sampling.period);
	if (summary->shortest_period)
		fprintf(stderr,
			"pesa record: most of the time went into taking the samples, which are of "
			"little else: -c %" PRIu64
			" is the shortest period that measures what runs here\n",
			summary->shortest_period);
	if (*summary->unfollowed)
		safe_output_message("pesa record: CPUs that come online are not recorded: %s",
				    summary->unfollowed);
	if (summary->unfinished)
		fprintf(stderr,
			"pesa record: the program had not ended with the recording, and was ended\n");
	for (size_t i = 0; i < sizeof(problems) / sizeof(problems[0]); i++)
		if (problems[i].count)
			safe_output_message("pesa record: %" PRIu64 " %s", problems[i].count,
					    problems[i].what);
}

static void print_summary(const struct pesa_hardware_options *options,
			  const struct pesa_hardware_summary *summary)
{
	const char *file = strcmp(options->output, "-") ? summary->file : "standard output";

	if (summary->files > 1)
		safe_output_message(
			"[ pesa record: %" PRIu64 " samples in %u files, %.3f MB, the last is %s ]",
			summary->samples, summary->files, (double)summary->bytes / 1e6, file);
	else
		safe_output_message("[ pesa record: %" PRIu64 " samples in %s, %.3f MB ]",
				    summary->samples, file, (double)summary->bytes / 1e6);
}

/* The source that was chosen; NULL: -e named the events. */
static json_object *source_json(const struct record_hardware *hardware)
{
	const struct pesa_sampling_source *source = &hardware->source;
	json_object *one;

	if (!hardware->chosen)
		return NULL;
	one = json_object_new_object();
	json_object_object_add(one, "level", ui_json_string(pesa_source_level_name(source->level)));
	json_object_object_add(one, "meaning",
			       ui_json_string(pesa_source_level_meaning(source->level)));
	json_object_object_add(one, "why", *source->why ? ui_json_string(source->why) : NULL);
	return one;
}

static struct pesa_error *write_json(const struct record_hardware *hardware,
				     const struct pesa_hardware_summary *summary, const char *path,
				     int status)
{
	const struct pesa_hardware_options *options = &hardware->options;
	struct pesa_error *error;
	struct ui_json json;
	FILE *stream;

	error = ui_json_open(path, &stream);
	if (error)
		return error;
	ui_json_begin(&json, stream, "record");
	ui_json_array_begin(&json, "events");
	for (unsigned int i = 0; i < options->event_count; i++)
		ui_json_element(&json, ui_json_string(options->events[i]));
	ui_json_array_end(&json);
	ui_json_member(&json, "source", source_json(hardware));
	ui_json_member(&json, "output", ui_json_string(summary->file));
	ui_json_member(&json, "files", ui_json_count(summary->files));
	ui_json_member(&json, "bytes", ui_json_count(summary->bytes));
	ui_json_member(&json, "exit_status", ui_json_count((uint64_t)status));
	ui_json_member(&json, "samples", ui_json_count(summary->samples));
	ui_json_member(&json, "lost", ui_json_count(summary->lost));
	ui_json_member(&json, "discarded", ui_json_count(summary->discarded));
	ui_json_member(&json, "filled", ui_json_count(summary->filled));
	ui_json_member(&json, "throttled", ui_json_count(summary->throttled));
	ui_json_member(&json, "shortest_period",
		       summary->shortest_period ? ui_json_count(summary->shortest_period) : NULL);
	ui_json_member(&json, "damaged_bytes", ui_json_count(summary->damaged));
	ui_json_member(&json, "late_build_ids", ui_json_count(summary->late_build_ids));
	ui_json_member(&json, "user_only", json_object_new_boolean(summary->user_only));
	ui_json_member(&json, "kernel_hidden", json_object_new_boolean(summary->kernel_hidden));
	ui_json_member(&json, "ended", json_object_new_boolean(summary->unfinished));
	ui_json_member(&json, "unfollowed",
		       *summary->unfollowed ? ui_json_string(summary->unfollowed) : NULL);
	ui_json_end(&json);
	return ui_json_close(stream);
}

/* ---- The recording ------------------------------------------------------------------------- */

/* Tell what was chosen and what it means. */
static void print_source(const struct record_hardware *hardware)
{
	const struct pesa_sampling_source *source = &hardware->source;
	const struct pesa_hardware_options *options = &hardware->options;

	safe_output_message("pesa record: sampling %s: %s%s%s%s%s",
			    options->joined ? options->joined : options->events[0],
			    pesa_source_level_meaning(source->level),
			    source->level == PESA_SOURCE_CLOCK && options->sampling.period
				    ? "; -c counts nanoseconds"
				    : "",
			    *source->why ? " (" : "", source->why,
			    source->level == PESA_SOURCE_DETAILS ? "" : "; see 'pesa doctor')");
}

/* Choose what to sample, because no event was named. */
static struct pesa_error *choose_source(struct record_hardware *hardware)
{
	struct pesa_hardware_options *options = &hardware->options;
	struct pesa_sampling_source *source = &hardware->source;
	struct pesa_error *error = NULL;

	pesa_source_choose(&hardware->names.source, options->system_wide, &PESA_SOURCE_KERNEL,
			   source);
	hardware->chosen = true;
	if (hardware->has_require)
		error = pesa_source_require(source, hardware->require);
	for (unsigned int i = 0; i < source->event_count; i++)
		hardware->events[options->event_count++] = source->events[i];
	if (source->level == PESA_SOURCE_LEADER) {
		pesa_source_joined_name(source, hardware->joined, sizeof(hardware->joined));
		options->joined = hardware->joined;
	}
	return error;
}

int record_hardware_run(struct record_hardware *hardware, bool quiet, bool wants_json,
			const char *json)
{
	struct pesa_hardware_options *options = &hardware->options;
	struct pesa_hardware_summary summary;
	struct pesa_error *error;
	int status;

	options->events = hardware->events;
	options->processes = hardware->processes;
	options->threads = hardware->threads;
	/* CPUs were given: record all tasks on them, even if there is a program. */
	options->system_wide |= options->has_cpus;
	error = event_options_load(&hardware->names, "record");
	if (error)
		return profile_fail("record", error);
	options->catalogue = hardware->names.source.catalogue;
	if (!options->event_count) {
		error = choose_source(hardware);
		if (error)
			return profile_fail("record", error);
	}
	error = pesa_hardware_record(options, &summary);
	status = virtual_core_exit_status(summary.status);
	/* The error says why the program did not end, if it began. */
	summary.unfinished &= !error;
	if (!quiet && summary.files && hardware->chosen)
		print_source(hardware);
	if (!quiet && summary.files && !summary.samples && !hardware->chosen)
		fprintf(stderr,
			"pesa record: no sample was taken: what ran was too short, or the event's "
			"counter raises no interrupt: leave -e out, or see 'pesa doctor'\n");
	if (!quiet && summary.files)
		print_summary(options, &summary);
	print_problems(options, &summary);
	if (!error && wants_json)
		error = write_json(hardware, &summary, json, status);
	return error ? profile_fail("record", error) : status;
}
