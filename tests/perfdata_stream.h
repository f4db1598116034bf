/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A realistic stream of samples for tests and benchmarks: threads that run loops of a program's
 * text, with records as a 4-wide core would give them.  Deterministic; everything follows from the
 * options.
 */
#ifndef TESTS_PERFDATA_STREAM_H
#define TESTS_PERFDATA_STREAM_H

#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pesa/csr.h"
#include "pesa/perfdata.h"
#include "pesa/record.h"

struct stream {
	int compression;
	uint64_t samples;
	unsigned int threads;
	bool no_rounds, branches, two_events;
	const char *program; /* that is mapped, NULL: one that does not exist */
};

#define STREAM_TEXT    0x10000ull
#define STREAM_PERIOD  10007
#define STREAM_ROUND   4096 /* samples between rounds */
#define STREAM_THREAD0 4242

static inline uint64_t stream_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Few hot places, many warm ones: addresses as a profile has them. */
static inline uint64_t stream_address(uint64_t *state)
{
	uint64_t random = stream_random(state);
	unsigned int magnitude = 1 + (random & 15);

	return STREAM_TEXT + ((random >> 8) & ((1u << magnitude) - 1)) * 2;
}

static inline void stream_record(struct pesa_record *record, uint64_t *state)
{
	uint64_t random = stream_random(state), details = 0;
	unsigned int instret = random & 7;

	memset(record, 0, sizeof(*record));
	record->version = PESA_RECORD_VERSION;
	record->xlen = 64;
	record->size = htole16(sizeof(*record));
	record->pc = htole64(stream_address(state));
	if (instret && instret <= 4) {
		details = instret;
		if ((random >> 8 & 3) == 0) {
			details |= 1ull << PESA_DETAILS_CTS_SHIFT |
				   (uint64_t)(1 + (random >> 10) % instret)
					   << PESA_DETAILS_CTOFFSET1_SHIFT;
			record->bt[0] = htole64(stream_address(state));
		}
	} else {
		details = (uint64_t)(1 + (random >> 8) % 3) << PESA_DETAILS_RSTATE_SHIFT;
		if (random >> 12 & 1)
			details |= 1ull << PESA_DETAILS_CAUSEOFFSET_SHIFT |
				   (uint64_t)(random >> 13 & 0x1f) << PESA_DETAILS_CAUSE_SHIFT;
	}
	record->flags = htole32(PESA_RECORD_HAS_DATA | PESA_RECORD_HAS_DETAILS |
				(record->bt[0] ? PESA_RECORD_HAS_BT1 : 0));
	record->details = htole64(details);
}

static inline struct pesa_error *stream_samples(struct pesa_perfdata_writer *writer,
						const struct stream *stream)
{
	uint64_t state = 0x9e3779b97f4a7c15ull, time = 1000000;
	struct pesa_error *error = NULL;

	for (uint64_t i = 0; !error && i < stream->samples; i++) {
		unsigned int thread = stream_random(&state) % stream->threads;
		struct pesa_branch_entry branches[8];
		struct pesa_record record;
		struct pesa_sample sample = {
			.pid = STREAM_THREAD0,
			.tid = STREAM_THREAD0 + thread,
			.cpu = thread,
			.attribute = stream->two_events && i % 3 == 0,
			.period = STREAM_PERIOD,
			.exact_ip = true,
			.raw = (const uint8_t *)&record,
			.raw_size = sizeof(record),
		};

		time += STREAM_PERIOD + stream_random(&state) % 64;
		/* threads are drained one after the other: not quite in order */
		sample.time = time - (thread ? 50000 * thread : 0);
		stream_record(&record, &state);
		sample.ip = le64toh(record.pc);
		if (stream->branches) {
			for (unsigned int j = 0; j < 8; j++)
				branches[j] = (struct pesa_branch_entry){stream_address(&state),
									 stream_address(&state), 0};
			sample.branches = (const uint8_t *)branches;
			sample.branch_count = 8;
		}
		error = pesa_perfdata_write_sample(writer, &sample, PERF_RECORD_MISC_USER);
		if (!error && !stream->no_rounds && i % STREAM_ROUND == STREAM_ROUND - 1)
			error = pesa_perfdata_write_round(writer);
	}
	return error;
}

static inline struct pesa_error *stream_start(struct pesa_perfdata_writer *writer,
					      const struct stream *stream)
{
	struct pesa_mmap mmap = {
		.pid = STREAM_THREAD0,
		.tid = STREAM_THREAD0,
		.address = STREAM_TEXT,
		.length = 0x40000,
		.protection = PROT_READ | PROT_EXEC,
		.flags = MAP_PRIVATE,
		.build_id_size = PESA_BUILD_ID_MAX,
		.path = stream->program ? stream->program : "/nonexistent/program",
	};
	struct pesa_error *error;

	for (unsigned int i = 0; i < PESA_BUILD_ID_MAX; i++)
		mmap.build_id[i] = 0xa0 + i;
	error = pesa_perfdata_write_comm(writer, STREAM_THREAD0, STREAM_THREAD0, "program", true,
					 1000);
	if (!error)
		error = pesa_perfdata_write_mmap(writer, &mmap, 2000);
	for (unsigned int i = 1; !error && i < stream->threads; i++)
		error = pesa_perfdata_write_fork(writer, STREAM_THREAD0, STREAM_THREAD0,
						 STREAM_THREAD0 + i, STREAM_THREAD0, 3000 + i);
	return error;
}

static inline struct pesa_error *stream_write(const char *path, const struct stream *stream,
					      bool killed)
{
	struct pesa_perfdata_writer_attribute attributes[2],
		attribute = {
			.attr =
				{
					.type = 42,
					.size = sizeof(attribute.attr),
					.sample_period = STREAM_PERIOD,
					.sample_type =
						PERF_SAMPLE_IP | PERF_SAMPLE_TID |
						PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
						PERF_SAMPLE_PERIOD | PERF_SAMPLE_RAW |
						(stream->branches ? PERF_SAMPLE_BRANCH_STACK : 0) |
						(stream->two_events ? PERF_SAMPLE_IDENTIFIER : 0),
					.branch_sample_type =
						stream->branches ? PERF_SAMPLE_BRANCH_USER |
									   PERF_SAMPLE_BRANCH_ANY
								 : 0,
					.sample_id_all = 1,
					.exclude_kernel = 1,
					.precise_ip = 3,
					.mmap = 1,
					.mmap2 = 1,
					.comm = 1,
					.comm_exec = 1,
					.task = 1,
					.build_id = 1,
				},
			.name = "pesa/cycles/",
		};
	char *command[] = {(char *)"pesa", (char *)"record", (char *)"--", (char *)"./program",
			   NULL};
	struct pesa_capabilities capabilities;
	struct pesa_perfdata_writer_options options = {
		.attributes = attributes,
		.attribute_count = stream->two_events ? 2 : 1,
		.compression = stream->compression,
		.arch = "riscv64",
		.cpu_description = "a core that is only a test",
		.command = command,
		.capabilities = &capabilities,
		.cpus = stream->threads,
	};
	struct pesa_perfdata_writer *writer;
	struct pesa_error *error;

	attributes[0] = attributes[1] = attribute;
	attributes[1].attr.config = 1;
	attributes[1].name = "pesa/instructions/";
	pesa_capabilities_default(&capabilities);
	capabilities.retire_width = 4;
	strcpy(capabilities.core, "test-core");
	strcpy(capabilities.model, "test-model");
	error = pesa_perfdata_writer_create(path, &options, &writer);
	if (error)
		return error;
	error = stream_start(writer, stream);
	if (!error)
		error = stream_samples(writer, stream);
	if (!error && killed)
		error = pesa_perfdata_writer_flush(writer);
	if (!error && !killed)
		error = pesa_perfdata_write_exit(writer, STREAM_THREAD0, STREAM_THREAD0,
						 STREAM_THREAD0, STREAM_THREAD0, UINT64_MAX / 2);
	if (error || killed) {
		pesa_perfdata_writer_abandon(writer);
		return error;
	}
	return pesa_perfdata_writer_finish(writer);
}

#endif
