/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Windows of sampled recordings on a program that is made up: how many cycles each word takes is
 * known, so that the estimates can be held against the truth.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tools/vcore/windows/windows.h"

#define WORDS  400000u
#define PERIOD 40000u /* cycles */
#define SEEDS  600u
#define PARTS  4u

/* Phases of many lengths: slow and fast code take turns, also faster than windows come. */
static unsigned int part_of(uint32_t word)
{
	if (word < WORDS / 3)
		return word / 700 % 2;
	return word / 60000 % 2 ? 2 : 3;
}

static uint64_t cycles_of(uint32_t word)
{
	static const uint64_t cycles[PARTS] = {1, 9, 3, 2};

	return cycles[part_of(word)] + word % 3;
}

struct run {
	struct window_sums sums;
	uint64_t samples[PARTS];
	uint64_t measured; /* words */
};

/* Go through the program as a hart does; an instruction is a word. */
static void run(uint64_t seed, struct run *result)
{
	struct windows windows = {0};
	uint64_t cycle = 0, begin = 0, due = UINT64_MAX, random = seed * 77 + 1;

	*result = (struct run){0};
	windows_begin(&windows, PERIOD, seed * 7919 % PERIOD, seed);
	for (uint32_t word = 0; word < WORDS; word++) {
		if (windows.phase == WINDOWS_MEASURED && windows.left == WINDOW_WORDS) {
			windows_open(&windows, cycle);
			begin = cycle;
			due = windows_due(&windows);
		}
		if (windows.phase != WINDOWS_CONTENTS)
			cycle += cycles_of(word);
		if (windows.phase == WINDOWS_MEASURED) {
			result->measured += windows.weight;
			while (due < cycle) {
				result->samples[part_of(word)]++;
				random = random * 6364136223846793005u + 1442695040888963407u;
				due = windows_sampled(&windows, due,
						      PERIOD - PERIOD / 8 +
							      (random >> 40) % (PERIOD / 4));
			}
		}
		if (--windows.left)
			continue;
		if (windows.phase == WINDOWS_MEASURED)
			windows_close(&windows, cycle - begin, WINDOW_WORDS);
		windows_next(&windows);
	}
	result->sums = windows.sums;
}

struct mean {
	double sum, squares;
};

static void add(struct mean *mean, double value)
{
	mean->sum += value;
	mean->squares += value * value;
}

/* The mean is `truth`, but for what may happen by chance once in 10^5 times. */
static void assert_mean(const struct mean *mean, double truth)
{
	double average = mean->sum / SEEDS;
	double error = sqrt((mean->squares / SEEDS - average * average) / SEEDS);

	if (fabs(average - truth) > 4.4 * error)
		fail_msg("%g +- %g instead of %g", average, error, truth);
}

static void sums_over_windows_are_unbiased(void **state)
{
	struct mean cycles = {0}, words = {0};
	uint64_t truth = 0;

	(void)state;
	for (uint32_t word = 0; word < WORDS; word++)
		truth += cycles_of(word);
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct run result;

		run(seed, &result);
		/* The window of the last stratum may not have ended: count what was measured. */
		add(&words, (double)result.measured);
		add(&cycles, (double)result.sums.cycles / (double)result.sums.instructions);
	}
	assert_mean(&words, WORDS);
	/* A ratio of sums has a bias that falls with their number: half a percent here at most. */
	assert_true(fabs(cycles.sum / SEEDS - (double)truth / WORDS) <
		    0.005 * (double)truth / WORDS);
}

static void samples_fall_on_cycles_alike(void **state)
{
	struct mean samples[PARTS] = {0};
	uint64_t truth[PARTS] = {0};

	(void)state;
	for (uint32_t word = 0; word < WORDS; word++)
		truth[part_of(word)] += cycles_of(word);
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct run result;

		run(seed, &result);
		for (unsigned int part = 0; part < PARTS; part++)
			add(&samples[part], (double)result.samples[part]);
	}
	for (unsigned int part = 0; part < PARTS; part++)
		assert_mean(&samples[part], (double)truth[part] / PERIOD);
}

static void the_interval_has_the_truth_in_95_of_100_cases(void **state)
{
	double truth = 0;
	unsigned int held = 0;

	(void)state;
	for (uint32_t word = 0; word < WORDS; word++)
		truth += (double)cycles_of(word) / WORDS;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct run result;

		run(seed, &result);
		held += fabs(window_sums_cpi(&result.sums) - truth) <=
			window_sums_interval(&result.sums);
	}
	/* Windows of strata are at least as good as those that the interval assumes. */
	assert_in_range(held, SEEDS * 93 / 100, SEEDS);
}

static void most_of_a_long_program_is_not_timed(void **state)
{
	struct windows windows = {0};
	uint64_t timed = 0, words = 0, cycle = 0;

	(void)state;
	windows_begin(&windows, 1000000, 5, 1);
	while (words < 20000000) {
		uint64_t left = windows.left;

		words += left;
		timed += windows.phase == WINDOWS_CONTENTS ? 0 : left;
		if (windows.phase == WINDOWS_MEASURED) {
			windows_open(&windows, cycle);
			cycle += left;
			windows_close(&windows, left, left);
		}
		windows_next(&windows);
	}
	assert_true(timed < words / 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_over_windows_are_unbiased),
		cmocka_unit_test(samples_fall_on_cycles_alike),
		cmocka_unit_test(the_interval_has_the_truth_in_95_of_100_cases),
		cmocka_unit_test(most_of_a_long_program_is_not_timed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
