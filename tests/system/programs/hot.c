// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program with one hot function: hot N [PROGRAM...] divides N times, each result needed by the
 * next, and becomes PROGRAM.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static __attribute__((noinline)) unsigned long divide(unsigned long times)
{
	unsigned long value = ~0ul, divisor = times | 3;

	while (times--)
		value = value / divisor + ~0ul / 2;
	return value;
}

int main(int argc, char **argv)
{
	printf("%lu\n", divide(argc > 1 ? strtoul(argv[1], NULL, 0) : 1000000) & 1);
	if (argc < 3)
		return 0;
	fflush(stdout);
	execv(argv[2], argv + 2);
	return 1;
}
