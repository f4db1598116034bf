// SPDX-License-Identifier: GPL-2.0-or-later
/* Estimates and their intervals, number by number: test_estimate.c has the simulations. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "decoder/profile/data.h"
#include "pesa/estimate.h"
#include "pesa/record.h"

static void near(double value, double expected)
{
	if (!(fabs(value - expected) <= 1e-9 * fabs(expected)))
		fail_msg("%.12g, not %.12g", value, expected);
}

/* Of a normal distribution's table. */
static void deviations_are_those_of_a_normal_distribution(void **state)
{
	static const double table[][2] = {
		{0, 0},
		{1e-6, 1.25331413721e-6},
		{.5, .674489750196},
		{.9, 1.64485362695},
		{.95, 1.95996398454},
		{.9999, 3.89059188641},
		{.999999, 4.89163847570},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		near(pesa_estimate_deviations(table[i][0]), table[i][1]);
	assert_true(isinf(pesa_estimate_deviations(1)));
	assert_true(isinf(pesa_estimate_deviations(2)));
	assert_true(pesa_estimate_deviations(-1) == 0);
}

static void assert_interval(struct pesa_estimate estimate, double value, double low, double high)
{
	near(estimate.value, value);
	near(estimate.low, low);
	near(estimate.high, high);
}

/* Numbers by the formulas of Documentation/estimates.md, computed by another program. */
static void sums_have_the_interval_of_a_poisson_count(void **state)
{
	struct pesa_profile profile = {
		.totals = {.weight = UINT64_C(10000) * PESA_CYCLE, .period_squared = 1e4}};
	struct pesa_instruction instruction = {.weight = 100 * (uint64_t)PESA_CYCLE,
					       .executions = 100,
					       .weight_squared = 100,
					       .retired_squared = 100};
	const struct pesa_instruction seen_once = {
		.weight = PESA_CYCLE, .executions = 1, .weight_squared = 1, .retired_squared = 1};

	(void)state;
	assert_interval(pesa_estimate_cycles(&profile, &instruction, .95), 100, 81.4506654874,
			121.509013942);
	assert_interval(pesa_estimate_executions(&profile, &instruction, .95), 100, 81.4506654874,
			121.509013942);
	/* No count is below 0, however sure one wants to be. */
	assert_interval(pesa_estimate_cycles(&profile, &seen_once, .9999), 1, 0, 12.8990974711);
	/* All samples were here: nothing was left to chance. */
	profile.totals.weight = 100 * (uint64_t)PESA_CYCLE;
	profile.totals.period_squared = 100;
	assert_interval(pesa_estimate_cycles(&profile, &instruction, .95), 100, 100, 100);
	profile.totals.weight = PESA_CYCLE;
	profile.totals.period_squared = 1;
	assert_interval(pesa_estimate_cycles(&profile, &seen_once, .95), 1, 1, 1);
	/* A file that does not tell its periods. */
	profile.totals.weight = UINT64_C(10000) * PESA_CYCLE;
	profile.totals.period_squared = 0;
	assert_interval(pesa_estimate_cycles(&profile, &instruction, .95), 100, 81.3621054905,
			121.627937579);
	/* No more can be true than the recording has. */
	profile.totals.weight = 110 * (uint64_t)PESA_CYCLE;
	assert_interval(pesa_estimate_cycles(&profile, &instruction, .95), 100, 81.3621054905, 110);
	/* What was never seen has no interval. */
	instruction = (struct pesa_instruction){0};
	assert_interval(pesa_estimate_cycles(&profile, &instruction, .95), 0, 0, 0);
	assert_interval(pesa_estimate_executions(&profile, &instruction, .95), 0, 0, 0);
}

static void ratios_have_the_interval_of_the_delta_method(void **state)
{
	struct pesa_profile profile = {.totals = {.weight = 1000 * (uint64_t)PESA_CYCLE,
						  .period = 1,
						  .period_squared = 1000}};
	struct pesa_instruction instruction = {.weight = 30 * (uint64_t)PESA_CYCLE,
					       .executions = 20,
					       .weight_squared = 40,
					       .weight_times_retired = 25,
					       .retired_squared = 20};

	(void)state;
	assert_interval(pesa_estimate_cycles_per_execution(&profile, &instruction, .95), 1.5,
			1.2077787597, 1.86292396842);
	/* One more sample of the period, in which nothing retired, is as possible as not. */
	profile.totals.period = 7;
	assert_interval(pesa_estimate_cycles_per_execution(&profile, &instruction, .95), 1.5,
			.908136550126, 2.47760097277);
	instruction.weight = 0;
	assert_interval(pesa_estimate_cycles_per_execution(&profile, &instruction, .95), 0, 0, 0);
	assert_false(pesa_estimate_cycles_per_execution(&profile, &instruction, .95).enough);
	instruction.executions = 0;
	assert_interval(pesa_estimate_cycles_per_execution(&profile, &instruction, .95), 0, 0, 0);
}

static void shares_have_wilsons_interval_and_say_when_it_is_of_few(void **state)
{
	(void)state;
	assert_interval(pesa_estimate_share(.25, 40, .95), .25, .141871186391, .401939614208);
	/* Of nothing, nothing is known. */
	assert_interval(pesa_estimate_share(0, 0, .95), 0, 0, 1);
	assert_false(pesa_estimate_share(0, 0, .95).enough);
	assert_false(pesa_estimate_share(.5, 9, .95).enough);
	assert_true(pesa_estimate_share(.5, 10, .95).enough);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(deviations_are_those_of_a_normal_distribution),
		cmocka_unit_test(sums_have_the_interval_of_a_poisson_count),
		cmocka_unit_test(ratios_have_the_interval_of_the_delta_method),
		cmocka_unit_test(shares_have_wilsons_interval_and_say_when_it_is_of_few),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
