/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Build ids for the map records of starting programs: time per record, including the request to the
 * process that reads build ids; and the part of it for the file, if the file was read before (and
 * its build id is cached) and if not.
 *
 * The records are those of this process's program and libraries, repeated, as for many short
 * processes.  Half of the processes have ended when their records are read.
 *
 * Usage: bench_sideband [RECORDS]	(default 20000)
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "daemon/record/build_id_reader.h"
#include "daemon/record/build_ids.h"
#include "daemon/record/sideband.h"
#include "tests/map_record.h"

#define FILES 32u
#define GONE  0x7ffffff0u /* no process has this number */

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

/* The files that this process executes. */
static size_t find_files(char paths[FILES][256])
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512], mode[5];
	size_t count = 0;

	while (maps && count < FILES && fgets(line, sizeof(line), maps))
		count += sscanf(line, "%*s %4s %*s %*s %*s %255s", mode, paths[count]) == 2 &&
			 mode[2] == 'x' && *paths[count] == '/';
	if (maps)
		fclose(maps);
	return count;
}

/* Seconds per record, completed as the recorder does it. */
static double complete(char paths[FILES][256], size_t files, size_t records, uint64_t *opened)
{
	struct pesa_build_id_reader *reader = pesa_build_id_reader_create(0, 0);
	double begin = seconds(), taken;

	if (!reader)
		exit(1);
	for (size_t i = 0; i < records; i++) {
		struct map_record map = {.header = {.type = PERF_RECORD_MMAP2, .size = sizeof(map)},
					 .pid = i / files % 2 ? GONE : (uint32_t)getpid(),
					 .protection = PROT_READ | PROT_EXEC};

		strcpy(map.path, paths[i % files]);
		pesa_sideband_complete("", reader, (uint8_t *)&map, sizeof(map));
	}
	taken = seconds() - begin;
	*opened = pesa_build_id_reader_opened(reader);
	if (pesa_build_id_reader_late(reader))
		fprintf(stderr, "bench_sideband: %" PRIu64 " were late\n",
			pesa_build_id_reader_late(reader));
	pesa_build_id_reader_free(reader);
	return taken / (double)records;
}

/* Seconds per file.  `remembers`: the cache is kept from one file to the next. */
static double look_up(char paths[FILES][256], size_t files, size_t records, bool remembers)
{
	struct pesa_build_ids *ids = NULL;
	double begin = seconds(), apart = 0;

	for (size_t i = 0; i < records; i++) {
		uint8_t build_id[PESA_BUILD_ID_MAX];

		if (!ids || !remembers) {
			double from = seconds();

			pesa_build_ids_free(ids);
			ids = pesa_build_ids_create();
			if (!ids)
				exit(1);
			apart += seconds() - from;
		}
		pesa_build_ids_find(ids, paths[i % files], build_id);
	}
	pesa_build_ids_free(ids);
	return (seconds() - begin - apart) / (double)records;
}

int main(int argc, char **argv)
{
	size_t records = argc > 1 ? strtoul(argv[1], NULL, 10) : 20000, files;
	char paths[FILES][256];
	double record, with, without;
	uint64_t opened;

	files = find_files(paths);
	if (!files || !records) {
		fprintf(stderr, "bench_sideband: nothing to look up\n");
		return 1;
	}
	record = complete(paths, files, records, &opened);
	with = look_up(paths, files, records, true);
	without = look_up(paths, files, records, false);
	printf("%zu map records of %zu files: %.2f us each, %" PRIu64 " files opened; of that a "
	       "file that is remembered %.2f us, one that is read %.2f us\n",
	       records, files, record * 1e6, opened, with * 1e6, without * 1e6);
	return 0;
}
