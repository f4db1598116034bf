/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pesa report compared with perf report --stdio on the same file: samples per second, time for 1
 * and 10 million samples, peak memory.
 *
 * Usage: bench_profile [SAMPLES [SAMPLES...]]	(default 1000000 10000000)
 *
 * There are two kinds of files: "program", whose records repeat like those of a program (some
 * thousand distinct records, a few of them hot), and "random", in which nearly half of all records
 * are distinct.  Environment: PESA, the pesa binary.  If PESA or perf is missing, it is not
 * measured.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include "pesa/profile.h"
#include "tests/elf_file.h"
#include "tests/perfdata_stream.h"

#define DISTINCT 8192

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void stop(struct pesa_error *error)
{
	if (!error)
		return;
	fprintf(stderr, "bench_profile: %s\n", error->message);
	exit(1);
}

/* Text of 2- and 4-byte instructions without jumps, so that every address of the stream decodes. */
static void write_program(const char *path)
{
	static uint8_t text[32768];
	struct elf_file file = {
		.machine = EM_RISCV,
		.text = text,
		.text_size = sizeof(text),
		.text_address = STREAM_TEXT + ELF_FILE_TEXT,
		.text_offset = ELF_FILE_TEXT,
		.isa = "rv64imafdc",
	};

	for (size_t i = 0; i < sizeof(text); i += 2)
		text[i] = 0x01; /* c.nop */
	if (!elf_file_write(&file, path)) {
		perror(path);
		exit(1);
	}
}

/* Write a file whose records are chosen from a fixed set, some of them more often. */
static void write_repeating(const char *path, const char *program, uint64_t samples)
{
	static struct pesa_record record[DISTINCT];
	struct perf_event_attr attr = {
		.type = 42,
		.size = sizeof(attr),
		.sample_period = STREAM_PERIOD,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			       PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_RAW,
		.sample_id_all = 1,
		.exclude_kernel = 1,
	};
	struct pesa_perfdata_writer_attribute attribute = {.attr = attr, .name = "pesa/cycles/"};
	char *command[] = {(char *)"bench", NULL};
	struct pesa_capabilities capabilities;
	struct pesa_perfdata_writer_options options = {
		.attributes = &attribute,
		.attribute_count = 1,
		.compression = PESA_PERFDATA_COMPRESSION,
		.arch = "riscv64",
		.command = command,
		.capabilities = &capabilities,
		.cpus = 1,
	};
	struct pesa_mmap mmap = {
		.pid = STREAM_THREAD0,
		.tid = STREAM_THREAD0,
		.address = STREAM_TEXT,
		.length = 0x10000,
		.protection = PROT_READ | PROT_EXEC,
		.flags = MAP_PRIVATE,
		.path = program,
	};
	struct pesa_perfdata_writer *writer;
	uint64_t state = 0x9e3779b97f4a7c15ull;

	pesa_capabilities_default(&capabilities);
	for (unsigned int i = 0; i < DISTINCT; i++) {
		stream_record(&record[i], &state);
		record[i].pc =
			htole64(STREAM_TEXT + ELF_FILE_TEXT + stream_random(&state) % 8192 * 2);
		if (record[i].bt[0])
			record[i].bt[0] = htole64(STREAM_TEXT + ELF_FILE_TEXT +
						  stream_random(&state) % 8192 * 2);
	}
	stop(pesa_perfdata_writer_create(path, &options, &writer));
	stop(pesa_perfdata_write_comm(writer, STREAM_THREAD0, STREAM_THREAD0, "bench", true, 1000));
	stop(pesa_perfdata_write_mmap(writer, &mmap, 2000));
	for (uint64_t i = 0; i < samples; i++) {
		unsigned int bits = (unsigned int)(stream_random(&state) % 13) + 1;
		const struct pesa_record *one =
			&record[(stream_random(&state) >> 8) & ((1u << bits) - 1)];
		struct pesa_sample sample = {
			.ip = le64toh(one->pc),
			.time = 3000 + i * STREAM_PERIOD,
			.pid = STREAM_THREAD0,
			.tid = STREAM_THREAD0,
			.period = STREAM_PERIOD,
			.exact_ip = true,
			.raw = (const uint8_t *)one,
			.raw_size = sizeof(*one),
		};

		stop(pesa_perfdata_write_sample(writer, &sample, PERF_RECORD_MISC_USER));
		if (i % STREAM_ROUND == STREAM_ROUND - 1)
			stop(pesa_perfdata_write_round(writer));
	}
	stop(pesa_perfdata_writer_finish(writer));
}

struct cost {
	double wall, processor; /* s; wall 0: it could not be run */
	long memory;		/* peak, KB */
};

/* Run a command without its output; NULL: load the profile in a child process. */
static struct cost run(char *const *command, const char *path)
{
	double start = seconds();
	struct rusage usage;
	struct cost cost = {0};
	int status;
	pid_t child = fork();

	if (!child) {
		int nowhere = open("/dev/null", O_RDWR);

		dup2(nowhere, 0);
		dup2(nowhere, 1);
		dup2(nowhere, 2);
		if (command) {
			execvp(command[0], command);
			_exit(127);
		} else {
			struct pesa_profile *profile;
			struct pesa_error *error = pesa_profile_load(path, NULL, &profile);

			_exit(error ? 1 : 0);
		}
	}
	if (child < 0 || wait4(child, &status, 0, &usage) != child || status)
		return cost;
	cost.wall = seconds() - start;
	cost.processor = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
			 (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
	cost.memory = usage.ru_maxrss;
	return cost;
}

static struct cost best_of(unsigned int runs, char *const *command, const char *path)
{
	struct cost best = {0};

	for (unsigned int i = 0; i < runs; i++) {
		struct cost cost = run(command, path);

		if (cost.wall > 0 && (best.wall == 0 || cost.wall < best.wall))
			best = cost;
	}
	return best;
}

static void print(const char *what, uint64_t samples, struct cost cost)
{
	if (cost.wall > 0)
		printf("  %-20s %7.3f s  (%.3f s processor)  %6.2f M samples/s  %5ld MB\n", what,
		       cost.wall, cost.processor, (double)samples / cost.wall / 1e6,
		       cost.memory / 1024);
	else
		printf("  %-20s could not be run\n", what);
	fflush(stdout);
}

static void measure(const char *path, uint64_t samples)
{
	char *pesa[] = {getenv("PESA"), (char *)"report", (char *)"-i", (char *)path, NULL};
	char *perf[] = {(char *)"perf", (char *)"report", (char *)"--stdio",
			(char *)"-i",	(char *)path,	  NULL};
	unsigned int runs = samples > 2000000 ? 1 : 3;
	struct cost load = best_of(runs, NULL, path), ours = {0}, theirs;

	print("pesa_profile_load", samples, load);
	if (pesa[0])
		ours = best_of(runs, pesa, path);
	print("pesa report", samples, ours);
	theirs = best_of(runs, perf, path);
	print("perf report --stdio", samples, theirs);
	if (ours.wall > 0 && theirs.wall > 0)
		printf("  pesa report : perf report = %.1f (%.1f by processor time)\n",
		       theirs.wall / ours.wall, theirs.processor / ours.processor);
}

int main(int argc, char **argv)
{
	static const char *const defaults[] = {"1000000", "10000000"};
	unsigned int count = argc > 1 ? (unsigned int)argc - 1 : 2;
	char folder[] = "/tmp/bench_profile.XXXXXX", program[64], path[64];

	if (!mkdtemp(folder)) {
		perror(folder);
		return 1;
	}
	setenv("PERF_CONFIG", "/dev/null", 1);
	snprintf(program, sizeof(program), "%s/program", folder);
	snprintf(path, sizeof(path), "%s/perf.data", folder);
	write_program(program);
	for (unsigned int i = 0; i < count; i++) {
		uint64_t samples = strtoull(argc > 1 ? argv[i + 1] : defaults[i], NULL, 0);
		struct stream stream = {.compression = PESA_PERFDATA_COMPRESSION,
					.samples = samples,
					.threads = 1,
					.program = program};

		printf("program, %" PRIu64 " samples\n", samples);
		write_repeating(path, program, samples);
		measure(path, samples);
		printf("random, %" PRIu64 " samples\n", samples);
		stop(stream_write(path, &stream, false));
		measure(path, samples);
	}
	unlink(path);
	unlink(program);
	rmdir(folder);
	return 0;
}
