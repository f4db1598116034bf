/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes a perf.data file from a description, so that tests of reports know every sample.
 *
 *   make_profile FILE < DESCRIPTION
 *
 * Lines of the description (numbers in C's notation):
 *   arch NAME | host NAME | command WORDS | event NAME | period CYCLES | capability NAME VALUE | compression
 * LEVEL chains (samples have call chains) | cgroups (samples have control groups) | no-cpu (samples
 * have no CPU) | cpu NUMBER, cgroup ID PATH, chain [ADDRESS]... (of the samples that follow) plain                                   samples without raw records (before the first of
 * what follows) map PID START LENGTH OFFSET PATH [BUILDID] comm PID TID NAME | fork PID PARENT |
 * exit PID | lost COUNT sample COUNT PID TID PC STATE INSTRET CTS OFFSET1 BT1 OFFSET2 BT2
 * CAUSEOFFSET CAUSE [DATA LOST] bare COUNT PID TID PC                   record without details ip
 * COUNT PID TID IP                     for "plain" files raw COUNT PID TID PC HEX any payload exact
 * PID PC EXECUTIONS [STATE:CAUSE:GROUP:COUNT]... [>TARGET:COUNT]... | count EVENT VALUE
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "pesa/perfdata.h"
#include "pesa/record.h"
#include "pesa/walk.h"

#define ENTRIES_MAX 64
#define WORDS_MAX   80

struct making {
	const char *path;
	struct pesa_perfdata_writer *writer;
	struct pesa_perfdata_writer_attribute attribute;
	struct pesa_perfdata_writer_options options;
	struct pesa_capabilities capabilities;
	struct pesa_perfdata_machine machine;
	char *command[WORDS_MAX + 1];
	char *arch, *event;
	uint64_t time, samples;
	uint64_t chain[WORDS_MAX]; /* of the samples that follow */
	uint64_t chain_length;
	uint32_t cpu;
	uint64_t cgroup;
};

static void stop(struct pesa_error *error)
{
	if (!error)
		return;
	fprintf(stderr, "make_profile: %s\n", error->message);
	exit(1);
}

static void start(struct making *making)
{
	if (making->writer)
		return;
	making->attribute.name = making->event ? making->event : "pesa/cycles/";
	making->options.attributes = &making->attribute;
	making->options.attribute_count = 1;
	making->options.arch = making->arch ? making->arch : "riscv64";
	making->options.command = making->command;
	making->options.capabilities = &making->capabilities;
	making->options.cpus = 1;
	if (making->machine.hostname)
		making->options.machine = &making->machine;
	stop(pesa_perfdata_writer_create(making->path, &making->options, &making->writer));
}

static void write_samples(struct making *making, char **word, const void *raw, uint32_t size,
			  uint64_t pc)
{
	struct pesa_sample sample = {.ip = pc,
				     .pid = (uint32_t)strtoul(word[2], NULL, 0),
				     .tid = (uint32_t)strtoul(word[3], NULL, 0),
				     .cpu = making->cpu,
				     .cgroup = making->cgroup,
				     .callchain = (const uint8_t *)making->chain,
				     .callchain_count = making->chain_length,
				     .period = making->attribute.attr.sample_period,
				     .exact_ip = raw != NULL,
				     .raw = raw,
				     .raw_size = size};
	uint16_t misc = PERF_RECORD_MISC_USER | (raw ? PERF_RECORD_MISC_EXACT_IP : 0);

	for (uint64_t count = strtoull(word[1], NULL, 0); count; count--) {
		sample.time = making->time += 1000;
		stop(pesa_perfdata_write_sample(making->writer, &sample, misc));
		if (++making->samples % 4096 == 0)
			stop(pesa_perfdata_write_round(making->writer));
	}
}

static void record(struct making *making, char **word, unsigned int words)
{
	struct pesa_record record = {
		.version = PESA_RECORD_VERSION, .xlen = 64, .size = sizeof(record)};
	uint64_t value[16] = {0};
	struct pesa_details details;

	for (unsigned int i = 4; i < words && i < 4 + 16; i++)
		value[i - 4] = strtoull(word[i], NULL, 0);
	record.pc = value[0];
	if (words > 5) {
		details = (struct pesa_details){
			.state = (uint8_t)value[1],
			.instret = (uint8_t)value[2],
			.transfers = (uint8_t)value[3],
			.transfer_offset = {(uint8_t)value[4], (uint8_t)value[6]},
			.cause_offset = (uint8_t)value[8],
			.cause = (uint16_t)value[9]};
		record.details = pesa_details_pack(&details);
		record.flags = PESA_RECORD_HAS_DETAILS | PESA_RECORD_HAS_DATA;
		record.bt[0] = value[5];
		record.bt[1] = value[7];
		if (details.transfers > 0)
			record.flags |= PESA_RECORD_HAS_BT1;
		if (details.transfers > 1)
			record.flags |= PESA_RECORD_HAS_BT2;
		record.data = value[10];
		record.flags |= (uint32_t)value[11] << PESA_RECORD_LOST_SHIFT;
	}
	write_samples(making, word, &record, sizeof(record), record.pc);
}

static void raw(struct making *making, char **word, unsigned int words)
{
	uint8_t bytes[4096];
	uint32_t size = 0;
	const char *digits = words > 5 ? word[5] : "";
	unsigned int byte;

	while (size < sizeof(bytes) && sscanf(digits, "%2x", &byte) == 1) {
		bytes[size++] = (uint8_t)byte;
		digits += 2;
	}
	write_samples(making, word, bytes, size, strtoull(word[4], NULL, 0));
}

static void exact(struct making *making, char **word, unsigned int words)
{
	struct pesa_exact_bucket bucket[ENTRIES_MAX] = {{0}};
	struct pesa_exact_transfer transfer[ENTRIES_MAX] = {{0}};
	struct pesa_sample sample = {.pid = (uint32_t)strtoul(word[1], NULL, 0),
				     .tid = (uint32_t)strtoul(word[1], NULL, 0),
				     .period = 1,
				     .time = making->time += 1000};
	unsigned int buckets = 0, transfers = 0;

	for (unsigned int i = 4; i < words; i++) {
		unsigned int state, cause, group;
		unsigned long long count, target;

		if (sscanf(word[i], ">%llx:%llu", &target, &count) == 2 &&
		    transfers < ENTRIES_MAX) {
			transfer[transfers++] =
				(struct pesa_exact_transfer){.target = target, .count = count};
		} else if (sscanf(word[i], "%u:%u:%u:%llu", &state, &cause, &group, &count) == 4 &&
			   buckets < ENTRIES_MAX) {
			bucket[buckets++] =
				(struct pesa_exact_bucket){.weight = count * (PESA_CYCLE / group),
							   .count = count,
							   .cause = (uint16_t)cause,
							   .state = (uint8_t)state,
							   .group = (uint8_t)group};
		}
	}
	stop(pesa_perfdata_write_exact(making->writer, &sample,
				       PERF_RECORD_MISC_USER | PERF_RECORD_MISC_EXACT_IP, 64,
				       strtoull(word[2], NULL, 0), strtoull(word[3], NULL, 0),
				       bucket, buckets, transfer, transfers));
}

static void map(struct making *making, char **word, unsigned int words)
{
	struct pesa_mmap mmap = {.pid = (uint32_t)strtoul(word[1], NULL, 0),
				 .tid = (uint32_t)strtoul(word[1], NULL, 0),
				 .address = strtoull(word[2], NULL, 0),
				 .length = strtoull(word[3], NULL, 0),
				 .offset = strtoull(word[4], NULL, 0),
				 .protection = PROT_READ | PROT_EXEC,
				 .flags = MAP_PRIVATE,
				 .path = word[5]};
	const char *digits = words > 6 ? word[6] : "";
	unsigned int byte;

	while (mmap.build_id_size < PESA_BUILD_ID_MAX && sscanf(digits, "%2x", &byte) == 1) {
		mmap.build_id[mmap.build_id_size++] = (uint8_t)byte;
		digits += 2;
	}
	stop(pesa_perfdata_write_mmap(making->writer, &mmap, making->time += 1000));
}

/* What comes before the file is created, or holds for all that follows.  False: not such a line. */
static bool setting(struct making *making, char **word, unsigned int words)
{
	if (!strcmp(word[0], "chain")) {
		for (making->chain_length = 0; making->chain_length + 1 < words;
		     making->chain_length++)
			making->chain[making->chain_length] =
				strtoull(word[making->chain_length + 1], NULL, 0);
		return true;
	}
	if (!strcmp(word[0], "chains")) {
		making->attribute.attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
		return true;
	}
	if (!strcmp(word[0], "cgroups")) {
		making->attribute.attr.sample_type |= PERF_SAMPLE_CGROUP;
		return true;
	}
	if (!strcmp(word[0], "no-cpu")) {
		making->attribute.attr.sample_type &= ~(uint64_t)PERF_SAMPLE_CPU;
		return true;
	}
	if (!strcmp(word[0], "plain")) {
		making->attribute.attr.sample_type &= ~(uint64_t)PERF_SAMPLE_RAW;
		return true;
	}
	if (words < 2)
		return false;
	if (!strcmp(word[0], "arch"))
		making->arch = strdup(word[1]);
	else if (!strcmp(word[0], "event"))
		making->event = strdup(word[1]);
	else if (!strcmp(word[0], "period"))
		making->attribute.attr.sample_period = strtoull(word[1], NULL, 0);
	else if (!strcmp(word[0], "cpu"))
		making->cpu = (uint32_t)strtoul(word[1], NULL, 0);
	else if (!strcmp(word[0], "compression"))
		making->options.compression = atoi(word[1]);
	else if (!strcmp(word[0], "host"))
		making->machine.hostname = strdup(word[1]);
	else if (!strcmp(word[0], "capability") && words > 2)
		stop(pesa_capabilities_set(&making->capabilities, word[1], word[2]));
	else if (!strcmp(word[0], "command"))
		for (unsigned int i = 1; i < words; i++)
			making->command[i - 1] = strdup(word[i]);
	else
		return false;
	return true;
}

static void event(struct making *making, char **word, unsigned int words)
{
	static const struct {
		const char *name;
		unsigned int words;
	} known[] = {
		{"map", 6},  {"comm", 4}, {"fork", 3}, {"exit", 2},  {"lost", 2},  {"sample", 8},
		{"bare", 5}, {"ip", 5},	  {"raw", 5},  {"exact", 4}, {"count", 3}, {"cgroup", 3},
	};
	uint32_t pid = words > 1 ? (uint32_t)strtoul(word[1], NULL, 0) : 0;
	size_t i;

	for (i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strcmp(known[i].name, word[0]) && words >= known[i].words)
			break;
	if (i == sizeof(known) / sizeof(*known)) {
		fprintf(stderr, "make_profile: no such line: %s (%u words)\n", word[0], words);
		exit(2);
	}
	start(making);
	if (!strcmp(word[0], "map")) {
		map(making, word, words);
	} else if (!strcmp(word[0], "comm")) {
		stop(pesa_perfdata_write_comm(making->writer, pid,
					      (uint32_t)strtoul(word[2], NULL, 0), word[3], true,
					      making->time += 1000));
	} else if (!strcmp(word[0], "fork")) {
		uint32_t parent = (uint32_t)strtoul(word[2], NULL, 0);

		stop(pesa_perfdata_write_fork(making->writer, pid, parent, pid, parent,
					      making->time += 1000));
	} else if (!strcmp(word[0], "exit")) {
		stop(pesa_perfdata_write_exit(making->writer, pid, pid, pid, pid,
					      making->time += 1000));
	} else if (!strcmp(word[0], "lost")) {
		stop(pesa_perfdata_write_lost(making->writer, 0, strtoull(word[1], NULL, 0),
					      making->time += 1000));
	} else if (!strcmp(word[0], "cgroup")) {
		making->cgroup = strtoull(word[1], NULL, 0);
		stop(pesa_perfdata_write_cgroup(
			making->writer,
			&(struct pesa_cgroup){.id = making->cgroup, .path = word[2]},
			making->time += 1000));
	} else if (!strcmp(word[0], "count")) {
		stop(pesa_perfdata_write_count(making->writer, word[1],
					       strtoull(word[2], NULL, 0)));
	} else if (!strcmp(word[0], "ip")) {
		write_samples(making, word, NULL, 0, strtoull(word[4], NULL, 0));
	} else if (!strcmp(word[0], "raw")) {
		raw(making, word, words);
	} else if (!strcmp(word[0], "exact")) {
		exact(making, word, words);
	} else {
		record(making, word, words);
	}
}

int main(int argc, char **argv)
{
	struct making making = {.path = argc > 1 ? argv[1] : NULL, .time = 1000000000};
	char *line = NULL;
	size_t room = 0;

	if (!making.path) {
		fprintf(stderr, "usage: make_profile FILE < DESCRIPTION\n");
		return 2;
	}
	pesa_capabilities_default(&making.capabilities);
	making.command[0] = (char *)"program";
	making.attribute.attr = (struct perf_event_attr){
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(struct perf_event_attr),
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.sample_period = 1000,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			       PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_RAW |
			       PERF_SAMPLE_IDENTIFIER,
		.sample_id_all = 1,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.precise_ip = 2,
	};
	while (getline(&line, &room, stdin) > 0) {
		char *word[WORDS_MAX], *rest = line;
		unsigned int words = 0;

		while (words < WORDS_MAX && (word[words] = strsep(&rest, " \t\n")))
			words += *word[words] != '\0';
		if (!words || word[0][0] == '#')
			continue;
		if (!setting(&making, word, words))
			event(&making, word, words);
	}
	free(line);
	start(&making);
	stop(pesa_perfdata_writer_finish(making.writer));
	return 0;
}
