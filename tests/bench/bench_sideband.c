/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Build ids for the map records of programs that start: what a record costs when files that were
 * read are remembered, against reading them for every record.
 *
 * The records are those of the libraries and the program of this process, over and over, as a storm
 * of short processes has them; half of the processes have gone when their records are read.
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

#include "daemon/build_ids.h"
#include "daemon/sideband.h"
#include "tests/map_record.h"

#define FILES 32u
#define GONE  0x7ffffff0u /* no process has this number */

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
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

/* Seconds of processor time for a record.  `remembers`: from one to the next. */
static double run(char paths[FILES][256], size_t files, size_t records, bool remembers,
		  uint64_t *opened)
{
	struct pesa_build_ids *ids = NULL;
	double begin = seconds(), apart = 0;

	*opened = 0;
	for (size_t i = 0; i < records; i++) {
		struct map_record map = {.header = {.type = PERF_RECORD_MMAP2, .size = sizeof(map)},
					 .pid = i / files % 2 ? GONE : (uint32_t)getpid(),
					 .protection = PROT_READ | PROT_EXEC};

		strcpy(map.path, paths[i % files]);
		if (!ids || !remembers) {
			double from = seconds();

			if (ids)
				*opened += pesa_build_ids_opened(ids);
			pesa_build_ids_free(ids);
			ids = pesa_build_ids_create();
			if (!ids)
				exit(1);
			apart += seconds() - from;
		}
		pesa_sideband_complete("", ids, (uint8_t *)&map, sizeof(map));
	}
	*opened += pesa_build_ids_opened(ids);
	pesa_build_ids_free(ids);
	return (seconds() - begin - apart) / (double)records;
}

int main(int argc, char **argv)
{
	size_t records = argc > 1 ? strtoul(argv[1], NULL, 10) : 20000, files;
	char paths[FILES][256];
	uint64_t opened, without_opened;
	double with, without;

	files = find_files(paths);
	if (!files || !records) {
		fprintf(stderr, "bench_sideband: nothing to look up\n");
		return 1;
	}
	with = run(paths, files, records, true, &opened);
	without = run(paths, files, records, false, &without_opened);
	printf("%zu map records of %zu files: %.2f us each, %" PRIu64 " files opened; reading each "
	       "file each time %.2f us, %" PRIu64 " opened; ratio %.1f\n",
	       records, files, with * 1e6, opened, without * 1e6, without_opened, without / with);
	return 0;
}
