// SPDX-License-Identifier: GPL-2.0-or-later
/* A program with one hot function: hot N divides N times, each result needed by the next. */
#include <stdio.h>
#include <stdlib.h>

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
	return 0;
}
