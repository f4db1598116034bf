/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writing and reading perf.data: samples per second and bytes per sample, for several compression
 * levels; reading is compared with stock perf on the same file.
 *
 * Usage: bench_perfdata [SAMPLES]	(default 1000000)
 */
#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "tests/perfdata_stream.h"

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

static int fail(struct pesa_error *error)
{
	fprintf(stderr, "bench_perfdata: %s\n", error->message);
	pesa_error_free(error);
	return 1;
}

static struct pesa_error *read_all(const char *path, uint64_t *samples, uint64_t *sum)
{
	struct pesa_perfdata *reader;
	struct pesa_event event;
	struct pesa_error *error = pesa_perfdata_open(path, &reader);

	if (error)
		return error;
	*samples = *sum = 0;
	while (pesa_perfdata_next(reader, &event)) {
		if (event.type != PERF_RECORD_SAMPLE)
			continue;
		++*samples;
		*sum += event.sample.ip + event.sample.raw[event.sample.raw_size - 8];
	}
	pesa_perfdata_close(reader);
	return NULL;
}

/* Best of three, in seconds. */
static double time_reading(const char *path, uint64_t *samples)
{
	double best = 1e9;

	for (int i = 0; i < 3; i++) {
		double start = seconds(), took;
		uint64_t sum;
		struct pesa_error *error = read_all(path, samples, &sum);

		if (error)
			exit(fail(error));
		took = seconds() - start;
		best = took < best ? took : best;
	}
	return best;
}

/* perf report --stdio without symbols of the kernel and without a pager; 0: there is no perf. */
static double time_perf(const char *path)
{
	double start = seconds();
	char command[256];
	int status;

	snprintf(command, sizeof(command),
		 "PERF_CONFIG=/dev/null perf report --stdio -i %s >/dev/null 2>&1", path);
	status = system(command);
	return status ? 0 : seconds() - start;
}

int main(int argc, char **argv)
{
	static const int levels[] = {0, 1, 2, 3, 6, 9, 15};
	struct stream stream = {.samples = 1000000, .threads = 4};
	char path[] = "/tmp/pesa-bench-XXXXXX";
	int descriptor = mkstemp(path);
	struct rusage usage;

	if (argc > 1)
		stream.samples = strtoull(argv[1], NULL, 0);
	if (descriptor < 0 || !stream.samples) {
		perror("bench_perfdata");
		return 1;
	}
	close(descriptor);
	printf("%" PRIu64 " samples of 48-byte records\n", stream.samples);
	printf("%6s %16s %16s %14s %20s\n", "level", "written/s", "read/s", "bytes/sample",
	       "perf report takes");
	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
		double start = seconds(), writing, reading, perf;
		struct pesa_error *error;
		struct stat status;
		uint64_t samples;

		stream.compression = levels[i];
		error = stream_write(path, &stream, false);
		if (error) {
			unlink(path);
			return fail(error);
		}
		writing = seconds() - start;
		reading = time_reading(path, &samples);
		perf = levels[i] == 0 || levels[i] == PESA_PERFDATA_COMPRESSION ? time_perf(path)
										: 0;
		if (samples != stream.samples || stat(path, &status))
			return 1;
		printf("%6d %16.0f %16.0f %14.1f", levels[i], samples / writing, samples / reading,
		       (double)status.st_size / samples);
		if (perf > 0)
			printf(" %14.1f times", perf / reading);
		putchar('\n');
	}
	getrusage(RUSAGE_SELF, &usage);
	printf("peak memory: %.1f MB\n", usage.ru_maxrss / 1024.0);
	unlink(path);
	return 0;
}
