// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program of many kinds of cycles, the same in every run: mixed ROUNDS.
 *
 * Sorting (branches that nothing predicts), a table larger than the caches, divisions, floating
 * point, copying, calls.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBERS = 512, TABLE = 1 << 18 };

static uint32_t table[TABLE], numbers[NUMBERS], copy[NUMBERS];
static uint64_t seed = 1;

static uint32_t next(void)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(seed >> 33);
}

static __attribute__((noinline)) void sort(uint32_t *at, int count)
{
	while (count > 1) {
		uint32_t pivot = at[count / 2];
		int low = 0, high = count - 1;

		while (low <= high) {
			while (at[low] < pivot)
				low++;
			while (at[high] > pivot)
				high--;
			if (low <= high) {
				uint32_t swapped = at[low];

				at[low++] = at[high];
				at[high--] = swapped;
			}
		}
		sort(at, high + 1);
		at += low;
		count -= low;
	}
}

static __attribute__((noinline)) uint32_t look_up(int times)
{
	uint32_t at = 0;

	while (times--) {
		at = (table[at] ^ (uint32_t)times * 2654435761u) % TABLE;
		table[at]++;
	}
	return at;
}

static __attribute__((noinline)) uint64_t divide(int times)
{
	uint64_t value = ~0ull;

	while (times--)
		value = value / ((uint64_t)times | 3) + ~0ull / 2;
	return value;
}

static __attribute__((noinline)) double polynomial(int times)
{
	double sum = 0;

	for (int i = 0; i < times; i++) {
		double x = i * 1e-3;

		sum += ((x * 0.5 + 1.25) * x - 3.5) / (x + 1.0);
	}
	return sum;
}

/* The pages are there before the rounds begin. */
static __attribute__((noinline)) void fill(void)
{
	for (int i = 0; i < TABLE; i++)
		table[i] = (uint32_t)i;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 1;
	uint64_t sum = 0;

	fill();
	while (rounds--) {
		for (int i = 0; i < NUMBERS; i++)
			numbers[i] = next();
		sort(numbers, NUMBERS);
		for (int i = 0; i < 20; i++) {
			memcpy(copy, numbers, sizeof(copy));
			sum += copy[next() % NUMBERS];
		}
		sum += look_up(400) + divide(300) + (uint64_t)polynomial(600);
	}
	printf("%llu\n", (unsigned long long)sum);
	return 0;
}
