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

#define DEFAULT_EVENT "pesa/cycles/"
#define SECOND	      UINT64_C(1000000000)

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

/* ---- Values of options --------------------------------------------------------------------- */

static int bad_value(const char *option, const char *text, const char *allowed)
{
	return option_bad_value("record", option, text, allowed);
}

static int set_ring(struct record_hardware *hardware, const char *text)
{
	double page = (double)sysconf(_SC_PAGESIZE), bytes;

	if (!option_read_bytes(text, page, &bytes) || bytes > 1u << 30 || fmod(bytes, page) != 0 ||
	    ((uint64_t)bytes & ((uint64_t)bytes - 1)))
		return bad_value(
			"--mmap-pages", text,
			"a power of two of pages, or of bytes with B, K, M or G, of 1G at most");
	hardware->options.ring_bytes = (size_t)bytes;
	return 0;
}

static int set_switch(struct record_hardware *hardware, const char *text)
{
	double value;

	if (!text || !strcmp(text, "signal")) {
		hardware->options.switch_on_signal = true;
	} else if (option_read_bytes(text, 0, &value)) {
		hardware->options.switch_bytes = (uint64_t)value;
	} else if (option_read_time(text, 0, &value)) {
		hardware->options.switch_time = (uint64_t)value;
	} else {
		return bad_value("--switch-output", text,
				 "a size (B, K, M, G), a time (ms, s, m, h, d), or 'signal'");
	}
	return 0;
}

static int set_callchain(struct record_hardware *hardware, const char *text)
{
	struct pesa_sampling *sampling = &hardware->options.sampling;
	uint64_t size = PESA_STACK_DUMP_DEFAULT;

	if (!text || !strcmp(text, "fp")) {
		sampling->callchain = PESA_CALLCHAIN_FRAME_POINTER;
		return 0;
	}
	if (strncmp(text, "dwarf", 5) || (text[5] && text[5] != ','))
		return bad_value("-g", text, "fp, dwarf, dwarf,SIZE");
	if (text[5] && (!number_read(text + 6, 0, 8, PESA_STACK_DUMP_MAX, &size) || size % 8))
		return bad_value("-g", text,
				 "dwarf,SIZE with a multiple of 8 from 8 to 65528 bytes");
	sampling->callchain = PESA_CALLCHAIN_DWARF;
	sampling->stack_dump = (uint32_t)size;
	return 0;
}

static int add_events(struct record_hardware *hardware, const char *text)
{
	struct pesa_event_list *list = &hardware->list;
	struct pesa_error *error = pesa_event_list_add(list, text);

	if (error) {
		safe_output_message("pesa record: %s", error->message);
		pesa_error_free(error);
		return 2;
	}
	if (list->count > PESA_HARDWARE_EVENTS_MAX)
		return bad_value("--event", text, "1 to 16 events, separated by commas");
	if (list->items[list->count - 1].group != list->count - 1)
		return bad_value("--event", text, "no groups: those are for pesa stat");
	for (size_t i = 0; i < list->count; i++)
		hardware->events[i] = list->items[i].name;
	hardware->options.event_count = (unsigned int)list->count;
	return 0;
}

int record_hardware_option(struct record_hardware *hardware, int option, const char *argument)
{
	static const struct {
		int option;
		const char *name;
	} names[] = {
		{'a', "-a"},
		{'e', "-e"},
		{'C', "-C"},
		{'p', "-p"},
		{'t', "-t"},
		{'g', "-g"},
		{RECORD_CALL_GRAPH, "--call-graph"},
		{'m', "-m"},
		{RECORD_INHERIT, "--inherit"},
		{RECORD_NO_INHERIT, "--no-inherit"},
		{RECORD_DURATION, "--duration"},
		{RECORD_SNAPSHOT, "--snapshot"},
		{RECORD_SWITCH_OUTPUT, "--switch-output"},
		{EVENT_OPTION_DIRECTORY, "--event-directory"},
		{EVENT_OPTION_CPU_ID, "--cpu-id"},
	};
	struct pesa_hardware_options *options = &hardware->options;
	double seconds;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !hardware->asked; i++)
		if (names[i].option == option)
			hardware->asked = names[i].name;
	switch (option) {
	case 'a':
		options->system_wide = true;
		return 0;
	case 'e':
		return add_events(hardware, argument);
	case 'C':
		options->has_cpus = true;
		if (!pesa_cpu_set_parse(argument, &options->cpus))
			return bad_value("--cpu-list", argument, "CPUs, as in 0-3,8");
		return 0;
	case 'p':
		return option_add_numbers("record", "--pid", argument, &hardware->processes,
					  &options->process_count);
	case 't':
		return option_add_numbers("record", "--tid", argument, &hardware->threads,
					  &options->thread_count);
	case 'g':
	case RECORD_CALL_GRAPH:
		return set_callchain(hardware, argument);
	case 'm':
		return set_ring(hardware, argument);
	case RECORD_INHERIT:
	case RECORD_NO_INHERIT:
		options->sampling.inherit = option == RECORD_INHERIT;
		return 0;
	case RECORD_DURATION:
		if (!option_read_time(argument, 1e9, &seconds))
			return bad_value("--duration", argument, "seconds");
		options->duration = (uint64_t)seconds;
		return 0;
	case RECORD_SNAPSHOT:
		options->snapshot = true;
		return 0;
	case RECORD_SWITCH_OUTPUT:
		return set_switch(hardware, argument);
	default:
		event_option(&hardware->names, option, argument);
		return 0;
	}
}

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

int record_hardware_check(const struct record_hardware *hardware)
{
	const struct pesa_hardware_options *options = &hardware->options;
	bool tasks = options->process_count || options->thread_count;
	const char *wrong = NULL;

	if (tasks && (options->system_wide || options->has_cpus))
		wrong = "processes (-p, -t) and whole CPUs (-a, -C) exclude each other";
	else if (tasks && options->program)
		wrong = "processes (-p, -t) and a program to run exclude each other";
	else if ((options->snapshot || options->switch_on_signal || options->switch_bytes ||
		  options->switch_time) &&
		 !is_file(options->output))
		wrong = "several files (--snapshot, --switch-output) cannot go to standard output, "
			"a pipe or a device";
	if (!wrong)
		return 0;
	safe_output_message("pesa record: %s", wrong);
	return 2;
}

/* ---- Summary ------------------------------------------------------------------------------- */

static void print_problems(const struct pesa_hardware_summary *summary)
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

static bool write_json(const struct pesa_hardware_options *options,
		       const struct pesa_hardware_summary *summary, const char *path, int status)
{
	FILE *stream = ui_json_open("record", path);
	struct ui_json json;

	if (!stream)
		return false;
	ui_json_begin(&json, stream, "record");
	ui_json_array_begin(&json, "events");
	for (unsigned int i = 0; i < options->event_count; i++)
		ui_json_element(&json, ui_json_string(options->events[i]));
	ui_json_array_end(&json);
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
	return ui_json_close("record", stream);
}

/* ---- The recording ------------------------------------------------------------------------- */

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
	if (!options->event_count)
		hardware->events[options->event_count++] = DEFAULT_EVENT;
	/* CPUs were given: record all tasks on them, even if there is a program. */
	options->system_wide |= options->has_cpus;
	error = event_options_load(&hardware->names, "record");
	if (error)
		return profile_fail("record", error);
	options->catalogue = hardware->names.source.catalogue;
	error = pesa_hardware_record(options, &summary);
	status = virtual_core_exit_status(summary.status);
	if (!quiet && summary.files)
		print_summary(options, &summary);
	print_problems(&summary);
	if (error) {
		safe_output_message("pesa record: %s", error->message);
		pesa_error_free(error);
		return 1;
	}
	if (wants_json && !write_json(options, &summary, json, status))
		return 1;
	return status;
}
