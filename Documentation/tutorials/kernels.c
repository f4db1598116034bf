// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Four kernels that use the units of a core in different ways: a hash (a chain of multiplications), a polynomial
 * (floating point), a sort (branches), a histogram (loads and stores).
 * The program of the tutorials "I write scheduling models" and "I design a core".
 */
#include <stdio.h>

#define COUNT	 2048
#define FEW	 256 /* that are sorted */
#define TURNS	 320
#define SEPARATE __attribute__((noinline)) /* a function of its own in the profile */

static unsigned int values[COUNT], sorted[FEW];
static unsigned int counts[256];
static double points[COUNT];

SEPARATE static unsigned long hash(void)
{
	unsigned long sum = 14695981039346656037u;

	for (int i = 0; i < COUNT; i++)
		sum = (sum ^ values[i]) * 1099511628211u;
	return sum;
}

SEPARATE static double polynomial(void)
{
	double sum = 0;

	for (int i = 0; i < COUNT; i++) {
		double x = points[i];

		sum += ((x * 0.5 + 1.5) * x - 2.0) * x + 0.25;
	}
	return sum;
}

SEPARATE static void sort(void)
{
	for (int gap = FEW / 2; gap; gap /= 2)
		for (int i = gap; i < FEW; i++) {
			unsigned int value = sorted[i];
			int hole = i;

			for (; hole >= gap && sorted[hole - gap] > value; hole -= gap)
				sorted[hole] = sorted[hole - gap];
			sorted[hole] = value;
		}
}

SEPARATE static void histogram(void)
{
	for (int i = 0; i < COUNT; i++)
		counts[values[i] & 255]++;
}

int main(void)
{
	unsigned long sum = 0;
	unsigned int state = 1;

	for (int turn = 0; turn < TURNS; turn++) {
		for (int i = 0; i < COUNT; i++) {
			state = state * 1664525u + 1013904223u;
			values[i] = state >> 8;
			sorted[i % FEW] = values[i];
			points[i] = values[i] * 0x1p-24;
		}
		for (int again = 0; again < 4; again++)
			sum += hash() + (unsigned long)polynomial();
		sort();
		histogram();
	}
	printf("%lx\n", sum + sorted[0] + counts[7]);
	return 0;
}
