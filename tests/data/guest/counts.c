// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program whose lines are executed in known proportions: inlined functions, branches, a switch, a
 * recursion, calls through pointers.  gcov counts the lines that end with "counted".
 */
#include <stdio.h>
#include <stdlib.h>

static unsigned int state = 1;

static unsigned int next(void)
{
	state = state * 1664525u + 1013904223u; /* counted */
	return state >> 8;			/* counted */
}

static inline __attribute__((always_inline)) unsigned int mix(unsigned int a, unsigned int b)
{
	a ^= b << 5;	/* counted */
	return a * 33u; /* counted */
}

static int ascending(const void *left, const void *right)
{
	unsigned int a = *(const unsigned int *)left,
		     b = *(const unsigned int *)right; /* counted */

	return a < b ? -1 : a > b;
}

static unsigned int add(unsigned int a)
{
	return a + 7; /* counted */
}

static unsigned int shift(unsigned int a)
{
	return a << 1 | a >> 31; /* counted */
}

static __attribute__((noinline)) unsigned int depth(unsigned int n)
{
	if (n < 2)
		return n;		    /* counted */
	return depth(n - 1) + depth(n - 2); /* counted */
}

static __attribute__((noinline)) unsigned int choose(unsigned int kind, unsigned int value)
{
	switch (kind) {
	case 0:
		value += 3; /* counted */
		break;
	case 1:
		value *= 5; /* counted */
		break;
	case 2:
		value ^= value >> 3; /* counted */
		break;
	case 3:
		value -= 11; /* counted */
		break;
	case 4:
		value = ~value; /* counted */
		break;
	default:
		value = mix(value, kind); /* counted */
		break;
	}
	return value; /* counted */
}

int main(int argc, char **argv)
{
	unsigned int (*const step[])(unsigned int) = {add, shift, add};
	unsigned int table[64], sum = 0, rounds = argc > 1 ? (unsigned int)atoi(argv[1]) : 100;

	for (unsigned int round = 0; round < rounds; round++) {
		for (unsigned int i = 0; i < 64; i++)
			table[i] = next();		     /* counted */
		qsort(table, 64, sizeof(*table), ascending); /* counted */
		for (unsigned int i = 0; i < 64; i++) {
			sum = choose(table[i] % 8, sum); /* counted */
			if (table[i] % 5 == 0)
				sum = step[i % 3](sum); /* counted */
			else
				sum = mix(sum, table[i]); /* gcov adds up its blocks */
		}
		sum += depth(round % 9); /* counted */
	}
	printf("%u\n", sum);
	return 0;
}
