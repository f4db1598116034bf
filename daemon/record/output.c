// SPDX-License-Identifier: GPL-2.0-or-later
/* Recording through the kernel: files, and the records written to them.  See session.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "daemon/events/catalogue.h"
#include "decoder/base/clock.h"
#include "daemon/record/cgroups.h"
#include "daemon/record/session.h"
#include "daemon/record/sideband.h"
#include "decoder/base/read_file.h"
#include "pesa/record.h"

/* ---- Files --------------------------------------------------------------------------------- */

/* The CPU's name in /proc/cpuinfo; "": none. */
static void cpu_description(char *text, size_t size)
{
	static const char *const keys[] = {"model name", "uarch", "isa", "cpu"};
	struct pesa_error *error;
	char *information;
	size_t length;

	*text = '\0';
	error = pesa_read_file("/proc/cpuinfo", &information, &length);
	if (error) {
		pesa_error_free(error);
		return;
	}
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]) && !*text; i++) {
		for (const char *line = information; line; line = strchr(line, '\n')) {
			size_t key = strlen(keys[i]);

			line += *line == '\n';
			if (strncmp(line, keys[i], key) || !strchr("\t :", line[key]))
				continue;
			line += strcspn(line, ":\n");
			if (*line != ':')
				break;
			line += 1 + strspn(line + 1, " \t");
			snprintf(text, size, "%.*s", (int)strcspn(line, "\n"), line);
			break;
		}
	}
	free(information);
}

struct pesa_error *hardware_writer_create(const struct hardware *hardware, const char *path,
					  bool keep_previous, struct pesa_perfdata_writer **writer)
{
	struct pesa_perfdata_writer_attribute attributes[PESA_HARDWARE_EVENTS_MAX + 1] = {0};
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct pesa_perfdata_writer_options options = {
		.attributes = attributes,
		.compression = hardware->options->compression,
		.command = hardware->options->command,
		.cpus = cpus > 0 ? (unsigned int)cpus : 1,
		.keep_previous = keep_previous,
	};
	char description[256], cpu_id[PESA_CPU_ID_MAX];
	struct utsname names;

	for (unsigned int i = 0; i < hardware->event_count; i++) {
		const struct hardware_event *event = &hardware->events[i];

		if (event->joins)
			continue;
		attributes[event->attribute] = (struct pesa_perfdata_writer_attribute){
			.attr = event->name.attr,
			.name = !i && hardware->options->joined ? hardware->options->joined
								: event->name.name,
			.ids = event->ids,
			.id_count = event->id_count,
		};
		options.attribute_count = event->attribute + 1;
		if (event->name.pmu.has_capabilities && !options.capabilities) {
			options.capabilities = &event->name.pmu.capabilities;
			options.pmu = event->name.pmu.name;
		}
	}
	if (!uname(&names))
		options.arch = names.machine;
	cpu_description(description, sizeof(description));
	if (*description)
		options.cpu_description = description;
	if (pesa_cpu_id("", cpu_id))
		options.cpu_id = cpu_id;
	return pesa_perfdata_writer_create(path, &options, writer);
}

struct pesa_error *hardware_output_open(struct hardware *hardware)
{
	hardware->opened = pesa_monotonic();
	return hardware_writer_create(hardware, hardware->options->output, true, &hardware->writer);
}

/* Rename FILE to FILE.YYYYMMDDhhmmssNN, as perf does on --switch-output. */
static struct pesa_error *rename_file(struct hardware *hardware)
{
	struct pesa_hardware_summary *summary = hardware->summary;
	const char *path = hardware->options->output;
	struct timespec now;
	struct tm parts;
	char text[32];

	clock_gettime(CLOCK_REALTIME, &now);
	localtime_r(&now.tv_sec, &parts);
	strftime(text, sizeof(text), "%Y%m%d%H%M%S", &parts);
	snprintf(summary->file, sizeof(summary->file), "%s.%s%02ld", path, text,
		 now.tv_nsec / 10000000);
	/* There may already be a file of the same hundredth of a second. */
	for (unsigned int i = 1; !access(summary->file, F_OK) && i < 1000; i++)
		snprintf(summary->file, sizeof(summary->file), "%s.%s%02ld.%u", path, text,
			 now.tv_nsec / 10000000, i);
	if (rename(path, summary->file))
		return pesa_error_system(errno, "cannot rename %s to %s", path, summary->file);
	return NULL;
}

struct pesa_error *hardware_output_finish(struct hardware *hardware)
{
	struct pesa_hardware_summary *summary = hardware->summary;
	struct pesa_error *error = pesa_perfdata_writer_finish(hardware->writer);
	struct stat status;

	hardware->writer = NULL;
	snprintf(summary->file, sizeof(summary->file), "%s", hardware->options->output);
	if (!error && hardware->renames)
		error = rename_file(hardware);
	if (error)
		return error;
	summary->files++;
	if (strcmp(summary->file, "-") && !stat(summary->file, &status))
		summary->bytes += (uint64_t)status.st_size;
	return NULL;
}

/* ---- Records ------------------------------------------------------------------------------- */

/* A failure of the next file does not affect the current one. */
static void write_next(struct hardware *hardware, const uint8_t *bytes, size_t size)
{
	if (!hardware->next)
		return;
	hardware->next_error = pesa_perfdata_write_raw(hardware->next, bytes, size);
	if (!hardware->next_error)
		return;
	pesa_perfdata_writer_abandon(hardware->next);
	hardware->next = NULL;
}

/* Copy a record so that it can be changed. */
static uint8_t *own(struct hardware *hardware, const uint8_t *bytes, size_t size)
{
	if (bytes != hardware->record)
		memcpy(hardware->record, bytes, size);
	return hardware->record;
}

/* Replace the kernel's event id by the id in the file header. */
static void renumber(const struct hardware *hardware, uint8_t *record, size_t size)
{
	const size_t first = sizeof(struct perf_event_header), word = sizeof(uint64_t);
	struct perf_event_header header;
	size_t places[2], count = 0;

	memcpy(&header, record, sizeof(header));
	/* PERF_SAMPLE_IDENTIFIER is first in a sample and last in all other records. */
	places[count++] = header.type == PERF_RECORD_SAMPLE ? first : size - word;
	if (header.type == PERF_RECORD_LOST)
		places[count++] = first;
	else if (header.type == PERF_RECORD_THROTTLE || header.type == PERF_RECORD_UNTHROTTLE)
		places[count++] = first + word;
	for (size_t i = 0; i < count; i++) {
		const struct hardware_id *known;
		uint64_t id;

		if (places[i] < first || places[i] + word > size)
			continue;
		memcpy(&id, record + places[i], sizeof(id));
		known = hardware_find_id(hardware, id);
		if (known)
			memcpy(record + places[i], &known->file_id, sizeof(known->file_id));
	}
}

/* A sample begins with event id, address, pid and tid. */
static bool wanted(const struct hardware *hardware, const uint8_t *bytes, size_t size)
{
	const size_t at = sizeof(struct perf_event_header) + 2 * sizeof(uint64_t);
	uint32_t task[2];

	if (!hardware->wants || size < at + sizeof(task))
		return true;
	memcpy(task, bytes + at, sizeof(task));
	return hardware->wants(hardware->wants_context, task[0], task[1]);
}

/*
 * Write a sample.  If it has a raw record of the PMU pesa, its PC is exact: set the flag, which the
 * kernel leaves to the architecture.
 */
static struct pesa_error *take_sample(struct hardware *hardware, const uint8_t *bytes, size_t size)
{
	struct perf_event_header header;
	const struct hardware_event *event;
	const struct hardware_id *known;
	struct pesa_record record;
	const uint8_t *raw;
	uint32_t raw_size;
	uint64_t id;

	if (!wanted(hardware, bytes, size)) {
		hardware->unwanted++;
		return NULL;
	}
	hardware->summary->samples++;
	if (size < sizeof(header) + sizeof(id))
		return pesa_perfdata_write_raw(hardware->writer, bytes, size);
	memcpy(&id, bytes + sizeof(header), sizeof(id));
	known = hardware_find_id(hardware, id);
	event = known ? &hardware->events[known->event] : NULL;
	raw = event && event->name.pmu.has_capabilities
		      ? pesa_sample_raw(event->name.attr.sample_type, bytes, size, &raw_size)
		      : NULL;
	if (!raw || raw_size < sizeof(record))
		return pesa_perfdata_write_raw(hardware->writer, bytes, size);
	memcpy(&record, raw, sizeof(record));
	if (record.version != PESA_RECORD_VERSION)
		return pesa_perfdata_write_raw(hardware->writer, bytes, size);
	hardware->summary->discarded +=
		record.flags >> PESA_RECORD_LOST_SHIFT & PESA_RECORD_LOST_MASK;
	bytes = own(hardware, bytes, size);
	memcpy(&header, bytes, sizeof(header));
	header.misc |= PERF_RECORD_MISC_EXACT_IP;
	memcpy(hardware->record, &header, sizeof(header));
	return pesa_perfdata_write_raw(hardware->writer, hardware->record, size);
}

/* Remember child processes: the next file begins with their side band. */
static struct pesa_error *note_fork(struct hardware *hardware, const uint8_t *bytes, size_t size)
{
	uint32_t task[4]; /* pid, ppid, tid, ptid */

	if (!hardware->renames || hardware->options->system_wide ||
	    size < sizeof(struct perf_event_header) + sizeof(task))
		return NULL;
	memcpy(task, bytes + sizeof(struct perf_event_header), sizeof(task));
	if (task[0] != task[2])
		return NULL;
	if (hardware->made_count == hardware->made_room) {
		size_t room = hardware->made_room ? hardware->made_room * 2 : 64;
		pid_t *grown = realloc(hardware->made, room * sizeof(*grown));

		if (!grown)
			return pesa_error_no_memory();
		hardware->made = grown;
		hardware->made_room = room;
	}
	hardware->made[hardware->made_count++] = (pid_t)task[0];
	return NULL;
}

/* Convert AutoRun records to samples of the file. */
static struct pesa_error *take_autorun(struct hardware *hardware, struct hardware_ring *ring,
				       const uint8_t *bytes, size_t size)
{
	const struct pesa_event_name *name = &hardware->events[0].name;
	const struct pesa_autorun_event event = {
		.period = name->attr.sample_period,
		.ct_targets = name->pmu.capabilities.ct_targets,
		.scrubbed = name->attr.exclude_kernel,
		.cpu = ring->cpu,
	};
	uint64_t samples = ring->autorun.samples, discarded = ring->autorun.discarded;
	struct pesa_error *error;
	bool full;

	error = pesa_autorun_take(&ring->autorun, &event, bytes, size, hardware->writer, &full);
	hardware->summary->samples += ring->autorun.samples - samples;
	hardware->summary->discarded += ring->autorun.discarded - discarded;
	hardware->summary->filled += full;
	/* The kernel stopped the events of the CPU when the buffer was full: enable them again. */
	for (size_t i = 0; full && i < hardware->descriptor_count; i++)
		if (hardware->descriptors[i].cpu == ring->cpu)
			ioctl(hardware->descriptors[i].descriptor, PERF_EVENT_IOC_ENABLE, 0);
	return error;
}

static struct pesa_error *take_record(struct hardware *hardware, const uint8_t *bytes, size_t size)
{
	struct perf_event_header header;
	struct pesa_error *error = NULL;
	uint64_t lost[2]; /* id, count */

	memcpy(&header, bytes, sizeof(header));
	if (hardware->renumbered) {
		bytes = own(hardware, bytes, size);
		renumber(hardware, hardware->record, size);
	}
	switch (header.type) {
	case PERF_RECORD_SAMPLE:
		return take_sample(hardware, bytes, size);
	case PERF_RECORD_MMAP2:
		bytes = own(hardware, bytes, size);
		pesa_sideband_complete("", hardware->reader, hardware->record, size);
		break;
	case PERF_RECORD_LOST:
		if (size >= sizeof(header) + sizeof(lost)) {
			memcpy(lost, bytes + sizeof(header), sizeof(lost));
			hardware->lost_records += lost[1];
		}
		break;
	case PERF_RECORD_THROTTLE:
		hardware->summary->throttled++;
		break;
	case PERF_RECORD_FORK:
		error = note_fork(hardware, bytes, size);
		break;
	default:
		break;
	}
	/* Losses belong to one file; the side band belongs to both. */
	if (header.type != PERF_RECORD_LOST && header.type != PERF_RECORD_THROTTLE &&
	    header.type != PERF_RECORD_UNTHROTTLE)
		write_next(hardware, bytes, size);
	return error ? error : pesa_perfdata_write_raw(hardware->writer, bytes, size);
}

struct pesa_error *hardware_take(struct hardware *hardware, struct hardware_ring *ring, bool *any)
{
	struct pesa_error *error = NULL;
	struct perf_event_header header;
	const uint8_t *record;
	size_t size;

	pesa_ring_begin(&ring->ring);
	while (!error && (record = pesa_ring_next(&ring->ring, &size))) {
		memcpy(&header, record, sizeof(header));
		if (ring->autorun.data && header.type == PERF_RECORD_AUX) {
			error = take_autorun(hardware, ring, record, size);
		} else {
			if (ring->autorun.data && header.type == PERF_RECORD_SWITCH_CPU_WIDE)
				error = pesa_autorun_switch(&ring->autorun, record, size);
			if (!error)
				error = take_record(hardware, record, size);
		}
		*any = true;
	}
	pesa_ring_end(&ring->ring);
	return error;
}

/* ---- Side band ----------------------------------------------------------------------------- */

/* Unwinding stacks needs the maps of data as well. */
static bool wants_data(const struct hardware *hardware)
{
	return hardware->options->sampling.callchain == PESA_CALLCHAIN_DWARF;
}

/* Forget processes that have ended: later files do not need them. */
static struct pesa_error *write_made(struct hardware *hardware)
{
	struct pesa_error *error = NULL;
	size_t kept = 0;

	for (size_t i = 0; i < hardware->made_count && !error; i++) {
		if (pesa_process_of("", hardware->made[i]) != hardware->made[i])
			continue;
		hardware->made[kept++] = hardware->made[i];
		error = pesa_sideband_process("", hardware->made[i], wants_data(hardware),
					      hardware->reader, hardware->writer);
	}
	if (!error)
		hardware->made_count = kept;
	return error;
}

struct pesa_error *hardware_sideband_kernel(struct hardware *hardware)
{
	bool user_only = true;

	for (unsigned int i = 0; i < hardware->event_count; i++)
		user_only &= hardware->events[i].name.attr.exclude_kernel;
	if (user_only)
		return NULL;
	return pesa_sideband_kernel("", hardware->writer, &hardware->summary->kernel_hidden);
}

struct pesa_error *hardware_sideband_tasks(struct hardware *hardware)
{
	struct pesa_error *error = NULL;

	if (hardware->options->sampling.cgroups)
		error = pesa_sideband_cgroups("", hardware->writer);
	if (error)
		return error;
	if (!hardware->tasks.count)
		return pesa_sideband_all("", wants_data(hardware), hardware->reader,
					 hardware->writer);
	for (size_t i = 0; i < hardware->tasks.count && !error; i++) {
		pid_t process = pesa_process_of("", hardware->tasks.task[i]);
		bool seen = !process;

		/* Before its exec, the program's process is a copy of the recorder. */
		seen |= process == hardware->workload.process && hardware->workload.go >= 0;
		for (size_t j = 0; j < i && !seen; j++)
			seen = pesa_process_of("", hardware->tasks.task[j]) == process;
		if (!seen)
			error = pesa_sideband_process("", process, wants_data(hardware),
						      hardware->reader, hardware->writer);
	}
	return error ? error : write_made(hardware);
}
