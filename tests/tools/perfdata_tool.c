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
	struct perfdata_stream stream = {.compression = 0, .samples = 1000, .threads = 2};
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
		else if (!strcmp(argv[i], "--branches"))
			stream.branches = true;
		else if (!strncmp(argv[i], "--program=", 10))
			stream.program = argv[i] + 10;
	}
	error = perfdata_stream_write(argv[2], &stream, killed);
	return error ? fail(error) : 0;
}

int main(int argc, char **argv)
{
	if (argc >= 3 && !strcmp(argv[1], "write"))
		return write_file(argc, argv);
	fprintf(stderr, "Usage: perfdata_tool write FILE [-zLEVEL] [-nSAMPLES] [--killed]\n");
	return 2;
}
