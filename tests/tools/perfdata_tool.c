// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Makes perf.data files of a known content, and prints the events of any perf.data file, one a
 * line, for tests that compare with stock perf.
 */
#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pesa/perfdata.h"
#include "pesa/record.h"
#include "tests/perfdata_stream.h"

static int fail(struct pesa_error *error)
{
	fprintf(stderr, "perfdata_tool: %s\n", error->message);
	pesa_error_free(error);
	return 1;
}

static int write_file(int argc, char **argv)
{
	struct stream stream = {.compression = 0, .samples = 1000, .threads = 2};
	struct pesa_error *error;
	bool killed = false;

	for (int i = 3; i < argc; i++) {
		if (!strncmp(argv[i], "-z", 2))
			stream.compression = argv[i][2] ? atoi(argv[i] + 2) : 1;
		else if (!strncmp(argv[i], "-n", 2))
			stream.samples = strtoull(argv[i] + 2, NULL, 0);
		else if (!strcmp(argv[i], "--killed"))
			killed = true;
		else if (!strcmp(argv[i], "--no-rounds"))
			stream.no_rounds = true;
		else if (!strcmp(argv[i], "--two-events"))
			stream.two_events = true;
		else if (!strcmp(argv[i], "--branches"))
			stream.branches = true;
		else if (!strncmp(argv[i], "--program=", 10))
			stream.program = argv[i] + 10;
	}
	error = stream_write(argv[2], &stream, killed);
	return error ? fail(error) : 0;
}

static void print_sample(const struct pesa_perfdata *reader, const struct pesa_sample *sample)
{
	printf("sample %s pid=%d tid=%d cpu=%" PRIu32 " time=%" PRIu64 " period=%" PRIu64
	       " ip=%" PRIx64 " address=%" PRIx64 " weight=%" PRIu64 " exact=%d raw=%" PRIu32
	       " branches=",
	       pesa_perfdata_attribute(reader, sample->attribute)->name, (int)sample->pid,
	       (int)sample->tid, sample->cpu, sample->time, sample->period, sample->ip,
	       sample->address, sample->weight, sample->exact_ip, sample->raw_size);
	for (uint64_t i = 0; i < sample->branch_count; i++) {
		struct pesa_branch_entry branch;

		memcpy(&branch, sample->branches + i * sizeof(branch), sizeof(branch));
		printf("%s%" PRIx64 "-%" PRIx64, i ? "," : "", branch.from, branch.to);
	}
	printf(" callchain=");
	for (uint64_t i = 0; i < sample->callchain_count; i++) {
		uint64_t address;

		memcpy(&address, sample->callchain + i * 8, sizeof(address));
		printf("%s%" PRIx64, i ? "," : "", address);
	}
	putchar('\n');
}

static void print_event(const struct pesa_perfdata *reader, const struct pesa_event *event)
{
	switch (event->type) {
	case PERF_RECORD_SAMPLE:
		print_sample(reader, &event->sample);
		break;
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		printf("mmap pid=%d tid=%d time=%" PRIu64 " address=%" PRIx64 " length=%" PRIx64
		       " offset=%" PRIx64 " data=%d build_id=",
		       (int)event->mmap.pid, (int)event->mmap.tid, event->time, event->mmap.address,
		       event->mmap.length, event->mmap.offset, event->mmap.data);
		for (unsigned int i = 0; i < event->mmap.build_id_size; i++)
			printf("%02x", event->mmap.build_id[i]);
		printf(" path=%s\n", event->mmap.path);
		break;
	case PERF_RECORD_COMM:
		printf("comm pid=%d tid=%d time=%" PRIu64 " exec=%d name=%s\n",
		       (int)event->comm.pid, (int)event->comm.tid, event->time, event->comm.exec,
		       event->comm.name);
		break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		printf("%s pid=%d tid=%d parent_pid=%d parent_tid=%d time=%" PRIu64 "\n",
		       event->type == PERF_RECORD_FORK ? "fork" : "exit", (int)event->task.pid,
		       (int)event->task.tid, (int)event->task.parent_pid,
		       (int)event->task.parent_tid, event->time);
		break;
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
		printf("lost count=%" PRIu64 " time=%" PRIu64 "\n", event->lost.count, event->time);
		break;
	default:
		printf("other type=%" PRIu32 " size=%" PRIu32 " time=%" PRIu64 "\n", event->type,
		       event->other.size, event->time);
	}
}

/* Print every event of a file, or with --summary only how many of what kind and the losses. */
static int dump_file(const char *path, bool summary)
{
	const struct pesa_perfdata_losses *losses;
	struct pesa_perfdata *reader;
	struct pesa_event event;
	uint64_t events = 0, samples = 0, unordered = 0, last = 0;
	struct pesa_error *error = pesa_perfdata_open(path, &reader);

	if (error)
		return fail(error);
	while (pesa_perfdata_next(reader, &event)) {
		events++;
		samples += event.type == PERF_RECORD_SAMPLE;
		unordered += event.time && event.time < last;
		last = event.time ? event.time : last;
		if (!summary)
			print_event(reader, &event);
	}
	losses = pesa_perfdata_losses(reader);
	if (summary) {
		const struct pesa_capabilities *capabilities = pesa_perfdata_capabilities(reader);

		printf("events=%" PRIu64 " samples=%" PRIu64 " unordered=%" PRIu64 " lost=%" PRIu64
		       " throttled=%" PRIu64 " damaged_records=%" PRIu64 " damaged_bytes=%" PRIu64
		       "\n",
		       events, samples, unordered, losses->lost, losses->throttled,
		       losses->damaged_records, losses->damaged_bytes);
		printf("arch=%s\nhostname=%s\ncmdline=%s\ncore=%s\ndamage=%s\n",
		       pesa_perfdata_arch(reader) ? pesa_perfdata_arch(reader) : "",
		       pesa_perfdata_hostname(reader) ? pesa_perfdata_hostname(reader) : "",
		       pesa_perfdata_cmdline(reader) ? pesa_perfdata_cmdline(reader) : "",
		       capabilities ? capabilities->core : "",
		       losses->damage ? losses->damage : "");
		for (unsigned int i = 0; i < pesa_perfdata_attribute_count(reader); i++)
			printf("event=%s\n", pesa_perfdata_attribute(reader, i)->name);
	}
	pesa_perfdata_close(reader);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc >= 3 && !strcmp(argv[1], "write"))
		return write_file(argc, argv);
	if (argc == 3 && !strcmp(argv[1], "dump"))
		return dump_file(argv[2], false);
	if (argc == 3 && !strcmp(argv[1], "summary"))
		return dump_file(argv[2], true);
	fprintf(stderr, "Usage: perfdata_tool write FILE [-zLEVEL] [-nSAMPLES] [--killed] "
			"[--no-rounds] [--branches] [--two-events] [--program=PATH]\n"
			"       perfdata_tool dump|summary FILE\n");
	return 2;
}
