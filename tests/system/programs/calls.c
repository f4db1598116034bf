// SPDX-License-Identifier: GPL-2.0-or-later
/* A program that jumps a lot: calls N makes N rounds of calls, direct and through pointers. */
#include <stdio.h>
#include <stdlib.h>

static __attribute__((noinline)) unsigned long add(unsigned long value)
{
	return value + 3;
}

static __attribute__((noinline)) unsigned long turn(unsigned long value)
{
	return value & 1 ? value / 3 : value ^ 0x55;
}

static __attribute__((noinline)) unsigned long both(unsigned long value)
{
	return turn(add(value)) + 1;
}

int main(int argc, char **argv)
{
	unsigned long (*volatile functions[])(unsigned long) = {add, turn, both};
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 0) : 1000, value = 1;

	for (unsigned long i = 0; i < rounds; i++) {
		value = functions[i % 3](value);
		value += both(value) & 0xff;
	}
	printf("%lu\n", value & 1);
	return 0;
}
