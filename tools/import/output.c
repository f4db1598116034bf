// SPDX-License-Identifier: GPL-2.0-or-later
/* perf.data files of an import: see output.h. */
#include "tools/import/output.h"

#include <string.h>
#include <sys/mman.h>

#define PROCESS	      1u
#define ROUND_SAMPLES 8192u
#define EXACT	      (sizeof(((struct import_output *)0)->exact) / sizeof(void *))
#define PAGE	      UINT64_C(4096)
/* A number that no kernel PMU has; names come from the event description. */
#define ATTRIBUTE_TYPE 0x70657361u

static struct pesa_perfdata_writer_attribute describe(const struct import_output *output,
						      bool golden)
{
	struct pesa_perfdata_writer_attribute attribute = {
		.name = golden ? "pesa/exact/" : "pesa/cycles/",
		.attr =
			{
				.type = ATTRIBUTE_TYPE,
				.sample_period = golden ? 1 : output->period,
				.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP |
					       PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
					       PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |
					       PERF_SAMPLE_RAW,
				.sample_id_all = 1,
				.precise_ip = 3,
				.mmap = 1,
				.mmap2 = 1,
				.build_id = 1,
				.comm = 1,
				.comm_exec = 1,
				.task = 1,
			},
	};

	if (!golden && output->capabilities->ctr_depth) {
		attribute.attr.sample_type |= PERF_SAMPLE_BRANCH_STACK;
		attribute.attr.branch_sample_type = PERF_SAMPLE_BRANCH_ANY;
	}
	return attribute;
}

static struct pesa_error *write_map(struct pesa_perfdata_writer *writer,
				    const struct import_file *file, uint64_t address,
				    uint64_t offset, uint64_t size)
{
	uint64_t slack = address % PAGE == offset % PAGE ? address % PAGE : 0;
	struct pesa_mmap mmap = {
		.pid = PROCESS,
		.tid = PROCESS,
		.address = address + file->moved - slack,
		.length = (size + slack + PAGE - 1) / PAGE * PAGE,
		.offset = offset - slack,
		.protection = PROT_READ | PROT_EXEC,
		.flags = MAP_PRIVATE,
		.path = file->path,
	};
	const uint8_t *build_id;
	unsigned int bytes;

	build_id = pesa_image_build_id(file->image, &bytes);
	mmap.build_id_size = (uint8_t)(bytes < sizeof(mmap.build_id) ? bytes : 0);
	if (mmap.build_id_size)
		memcpy(mmap.build_id, build_id, mmap.build_id_size);
	return pesa_perfdata_write_mmap(writer, &mmap, 0);
}

static struct pesa_error *write_process(const struct import_output *output,
					struct pesa_perfdata_writer *writer)
{
	struct pesa_error *error =
		pesa_perfdata_write_comm(writer, PROCESS, PROCESS, output->name, true, 0);
	uint64_t address, offset, size;

	for (unsigned int i = 0; i < output->text->count; i++) {
		const struct import_file *file = &output->text->file[i];

		for (unsigned int j = 0;
		     !error && pesa_image_segment(file->image, j, &address, &offset, &size); j++)
			error = write_map(writer, file, address, offset, size);
	}
	return error;
}

static struct pesa_error *open_one(struct import_output *output, const char *path, bool golden,
				   struct pesa_perfdata_writer **writer)
{
	struct pesa_perfdata_writer_attribute attribute = describe(output, golden);
	const struct pesa_perfdata_writer_options options = {
		.attributes = &attribute,
		.attribute_count = 1,
		.compression = output->compression,
		.arch = output->capabilities->xlen == 32 ? "riscv32" : "riscv64",
		.cpu_description = output->description,
		.command = output->command,
		.capabilities = output->capabilities,
		.cpus = 1,
	};
	struct pesa_error *error = pesa_perfdata_writer_create(path, &options, writer);

	return error ? error : write_process(output, *writer);
}

struct pesa_error *import_output_open(struct import_output *output, const char *path,
				      const char *golden)
{
	struct pesa_error *error;

	output->harts = 1;
	if (output->period)
		error = open_one(output, path, false, &output->samples);
	else
		error = open_one(output, path, true, &output->exact[0]);
	if (!error && golden)
		error = open_one(output, golden, true, &output->exact[1]);
	return error;
}

/* Convert cycles to ns at the nominal frequency. */
static uint64_t time_of(const struct import_output *output, uint64_t cycle)
{
	uint64_t frequency = output->capabilities->frequency;

	if (!frequency)
		return cycle;
	return (uint64_t)((unsigned __int128)cycle * 1000000000 / frequency);
}

static struct pesa_error *end_round(struct import_output *output)
{
	if (++output->count % ROUND_SAMPLES)
		return NULL;
	output->floor = output->round_newest;
	output->round_newest = output->newest;
	return pesa_perfdata_write_round(output->samples);
}

struct pesa_error *import_output_sample(struct import_output *output, uint32_t hart, uint64_t cycle,
					const struct pesa_record *record,
					const struct pesa_branch_entry *branches,
					unsigned int count)
{
	struct pesa_sample sample = {
		.ip = record->pc,
		.pid = PROCESS,
		.tid = PROCESS + hart,
		.cpu = hart,
		.time = time_of(output, cycle),
		.period = output->period,
		.raw = (const uint8_t *)record,
		.raw_size = sizeof(*record),
		.branches = (const uint8_t *)branches,
		.branch_count = count,
	};
	struct pesa_error *error = NULL;

	if (!output->samples)
		return NULL;
	/* Harts can be out of step: no record may be older than the round before the last. */
	if (sample.time < output->floor)
		sample.time = output->floor;
	if (sample.time > output->newest)
		output->newest = sample.time;
	for (; !error && output->harts <= hart; output->harts++)
		error = pesa_perfdata_write_fork(output->samples, PROCESS, PROCESS,
						 PROCESS + output->harts, PROCESS, sample.time);
	if (!error)
		error = pesa_perfdata_write_sample(output->samples, &sample,
						   PERF_RECORD_MISC_USER |
							   PERF_RECORD_MISC_EXACT_IP);
	return error ? error : end_round(output);
}

struct golden {
	struct import_output *output;
	struct pesa_sample sample;
};

static struct pesa_error *emit(void *context, const struct pesa_pipeline_exact *exact)
{
	struct golden *golden = context;
	struct import_output *output = golden->output;
	struct pesa_error *error = NULL;

	for (size_t i = 0; i < exact->bucket_count; i++)
		output->golden_weight += exact->buckets[i].weight;
	output->golden_instructions++;
	for (unsigned int i = 0; !error && i < EXACT; i++)
		if (output->exact[i])
			error = pesa_perfdata_write_exact(
				output->exact[i], &golden->sample,
				PERF_RECORD_MISC_USER | PERF_RECORD_MISC_EXACT_IP,
				output->capabilities->xlen == 32 ? 32 : 64, exact->pc,
				exact->executions, exact->buckets, exact->bucket_count,
				exact->transfers, exact->transfer_count);
	return error;
}

struct pesa_error *import_output_golden(struct import_output *output,
					struct pesa_pipeline *pipeline, uint64_t cycle)
{
	struct golden golden = {
		.output = output,
		.sample = {.pid = PROCESS, .tid = PROCESS, .time = time_of(output, cycle)},
	};

	return pesa_pipeline_each_exact(pipeline, emit, &golden);
}

struct pesa_error *import_output_finish(struct import_output *output)
{
	struct pesa_error *error = NULL;

	if (output->samples)
		error = pesa_perfdata_writer_finish(output->samples);
	output->samples = NULL;
	for (unsigned int i = 0; i < EXACT; i++) {
		struct pesa_error *another =
			output->exact[i] ? pesa_perfdata_writer_finish(output->exact[i]) : NULL;

		output->exact[i] = NULL;
		if (error)
			pesa_error_free(another);
		else
			error = another;
	}
	return error;
}

void import_output_abandon(struct import_output *output)
{
	pesa_perfdata_writer_abandon(output->samples);
	output->samples = NULL;
	for (unsigned int i = 0; i < EXACT; i++) {
		pesa_perfdata_writer_abandon(output->exact[i]);
		output->exact[i] = NULL;
	}
}
