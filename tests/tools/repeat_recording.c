/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes a long recording of a short one: its samples again and again, later each time, until there
 * are as many as wanted.
 *
 *   repeat_recording INPUT OUTPUT SAMPLES [COMPRESSION]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pesa/perfdata.h"

#define ROUND 4096 /* samples between rounds */

static void stop(struct pesa_error *error)
{
	if (!error)
		return;
	fprintf(stderr, "repeat_recording: %s\n", error->message);
	exit(1);
}

struct repeating {
	const char *path;
	struct pesa_perfdata_writer *writer;
	uint64_t written, wanted, first, last, shift;
};

static void start(struct repeating *repeating, const char *output, int compression)
{
	struct pesa_perfdata_writer_attribute attribute;
	struct pesa_perfdata *reader;
	char *command[] = {(char *)"repeated", NULL};
	struct pesa_perfdata_writer_options options = {
		.attributes = &attribute,
		.attribute_count = 1,
		.compression = compression,
		.command = command,
		.cpus = 1,
	};

	stop(pesa_perfdata_open(repeating->path, &reader));
	attribute = (struct pesa_perfdata_writer_attribute){
		.attr = pesa_perfdata_attribute(reader, 0)->attr,
		.name = pesa_perfdata_attribute(reader, 0)->name,
	};
	options.arch = pesa_perfdata_arch(reader);
	options.capabilities = pesa_perfdata_capabilities(reader);
	stop(pesa_perfdata_writer_create(output, &options, &repeating->writer));
	pesa_perfdata_close(reader);
}

static void copy_sample(struct repeating *repeating, const struct pesa_event *event)
{
	struct pesa_sample sample = event->sample;

	if (!repeating->first)
		repeating->first = sample.time;
	repeating->last = sample.time;
	sample.time += repeating->shift;
	sample.attribute = 0;
	stop(pesa_perfdata_write_sample(repeating->writer, &sample, event->misc));
	if (++repeating->written % ROUND == 0)
		stop(pesa_perfdata_write_round(repeating->writer));
}

/* Side-band records only the first time. */
static void pass(struct repeating *repeating, bool again)
{
	struct pesa_perfdata *reader;
	struct pesa_event event;

	stop(pesa_perfdata_open(repeating->path, &reader));
	while (repeating->written < repeating->wanted && pesa_perfdata_next(reader, &event)) {
		if (event.type == PERF_RECORD_SAMPLE)
			copy_sample(repeating, &event);
		else if (again)
			continue;
		else if (event.type == PERF_RECORD_MMAP || event.type == PERF_RECORD_MMAP2)
			stop(pesa_perfdata_write_mmap(repeating->writer, &event.mmap, event.time));
		else if (event.type == PERF_RECORD_COMM)
			stop(pesa_perfdata_write_comm(repeating->writer, event.comm.pid,
						      event.comm.tid, event.comm.name,
						      event.comm.exec, event.time));
	}
	pesa_perfdata_close(reader);
	repeating->shift += repeating->last - repeating->first + 1;
}

int main(int argc, char **argv)
{
	struct repeating repeating = {.path = argc > 1 ? argv[1] : NULL};
	uint64_t before;

	if (argc < 4) {
		fprintf(stderr, "usage: repeat_recording INPUT OUTPUT SAMPLES [COMPRESSION]\n");
		return 2;
	}
	repeating.wanted = strtoull(argv[3], NULL, 0);
	start(&repeating, argv[2], argc > 4 ? atoi(argv[4]) : 0);
	do {
		before = repeating.written;
		pass(&repeating, before != 0);
	} while (repeating.written < repeating.wanted && repeating.written != before);
	stop(pesa_perfdata_writer_finish(repeating.writer));
	return 0;
}
