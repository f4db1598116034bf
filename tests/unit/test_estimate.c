// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Intervals cover the truth as often as they say, and the floor of a distance is what ideal random
 * sampling really gives: both against simulations with fixed seeds.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "decoder/profile/data.h"
#include "pesa/estimate.h"
#include "pesa/record.h"

static uint64_t random_state;

/* SplitMix64 */
static double uniform(void)
{
	uint64_t value = random_state += UINT64_C(0x9e3779b97f4a7c15);

	value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
	return (double)((value ^ value >> 31) >> 11) * 0x1p-53;
}

/* ---- Coverage ------------------------------------------------------------------------------- */

/* What the instruction under test does in a cycle, with this probability; else nothing. */
struct behaviour {
	double probability;
	unsigned int retired, group; /* retired times, each with 1/group of the cycle; 0: stalls */
	double taken;		     /* probability of a transfer of each retirement */
};

struct coverage_case {
	const char *name;
	unsigned int samples;
	bool frequency; /* periods vary, as in frequency mode */
	/* Never stalls: the interval of cycles per execution allows for the stall that was not
	 * sampled, so it covers more. */
	bool never_stalls;
	struct behaviour behaviour[4];
};

static const struct coverage_case coverage_cases[] = {
	{"hot and stalling",
	 4000,
	 false,
	 false,
	 {{.08, 1, 2, .5}, {.05, 1, 4, .5}, {.12, 0, 1, 0}}},
	{"rare", 5000, false, false, {{.003, 1, 2, .3}, {.003, 0, 1, 0}, {.002, 1, 1, .9}}},
	{"tight loop", 2000, false, false, {{.2, 2, 4, .9}, {.1, 1, 4, .9}, {.02, 0, 1, 0}}},
	{"retiring only", 3000, false, true, {{.01, 1, 4, .05}, {.01, 1, 3, .05}}},
	{"frequency mode", 4000, true, false, {{.05, 1, 2, .5}, {.03, 0, 1, 0}}},
	{"very hot", 1000, false, false, {{.5, 1, 2, .99}, {.4, 0, 1, 0}}},
};

#define PERIOD 1000

struct truth {
	double cycles, executions, taken; /* a cycle */
};

static struct truth truth_of(const struct coverage_case *one)
{
	struct truth truth = {0};
	double taken = 0;

	for (unsigned int i = 0; i < 4; i++) {
		const struct behaviour *behaviour = &one->behaviour[i];

		truth.executions += behaviour->probability * behaviour->retired;
		taken += behaviour->probability * behaviour->retired * behaviour->taken;
		truth.cycles +=
			behaviour->probability *
			(behaviour->retired ? (double)behaviour->retired / behaviour->group : 1);
	}
	truth.taken = taken / truth.executions;
	return truth;
}

/* One profile of one instruction. */
static void sample_profile(const struct coverage_case *one, struct pesa_profile *profile,
			   struct pesa_instruction *instruction)
{
	uint64_t periods = 0;

	*instruction = (struct pesa_instruction){0};
	profile->totals.period_squared = 0;
	for (unsigned int i = 0; i < one->samples; i++) {
		uint64_t period =
			one->frequency ? PERIOD / 2 + (uint64_t)(uniform() * PERIOD) : PERIOD;
		double at = uniform();

		periods += period;
		profile->totals.period_squared += (double)(period * period);
		for (unsigned int j = 0; j < 4; j++) {
			const struct behaviour *did = &one->behaviour[j];
			double weight, square = (double)(period * period);

			if (at >= did->probability) {
				at -= did->probability;
				continue;
			}
			weight = did->retired ? (double)did->retired / did->group : 1;
			instruction->weight += (uint64_t)(weight * PESA_CYCLE) * period;
			instruction->executions += did->retired * period;
			instruction->retired_samples += did->retired;
			instruction->samples++;
			instruction->weight_squared += weight * weight * square;
			instruction->weight_times_retired += weight * did->retired * square;
			instruction->retired_squared +=
				(double)(did->retired * did->retired) * square;
			for (unsigned int k = 0; k < did->retired; k++) {
				instruction->transfers_known++;
				instruction->transfers_taken += uniform() < did->taken;
			}
			break;
		}
	}
	profile->totals.samples = one->samples;
	profile->totals.weight = periods * PESA_CYCLE;
	profile->totals.period = (double)periods / one->samples;
}

#define TRIALS 4000

static void assert_covered(const struct coverage_case *one, const char *what, unsigned int covered,
			   double most)
{
	double share = (double)covered / TRIALS;

	if (share < .92 || share > most)
		fail_msg("%s, %s: 95 %% intervals cover the truth in %.1f %% of the trials",
			 one->name, what, 100 * share);
}

static bool holds(struct pesa_estimate estimate, double truth)
{
	assert_true(estimate.low <= estimate.value && estimate.value <= estimate.high);
	return estimate.low <= truth && truth <= estimate.high;
}

static void intervals_cover_the_truth_as_often_as_they_say(void **state)
{
	(void)state;
	random_state = 2026;
	for (size_t i = 0; i < sizeof(coverage_cases) / sizeof(*coverage_cases); i++) {
		const struct coverage_case *one = &coverage_cases[i];
		struct truth truth = truth_of(one);
		unsigned int cycles = 0, executions = 0, ratio = 0, taken = 0;

		for (unsigned int trial = 0; trial < TRIALS; trial++) {
			struct pesa_profile profile = {0};
			struct pesa_instruction instruction;
			double all;

			sample_profile(one, &profile, &instruction);
			all = (double)profile.totals.weight / PESA_CYCLE;
			cycles += holds(pesa_estimate_cycles(&profile, &instruction, .95),
					truth.cycles * all);
			executions += holds(pesa_estimate_executions(&profile, &instruction, .95),
					    truth.executions * all);
			ratio += holds(
				pesa_estimate_cycles_per_execution(&profile, &instruction, .95),
				truth.cycles / truth.executions);
			taken += holds(pesa_estimate_taken(&profile, &instruction, .95),
				       truth.taken);
		}
		assert_covered(one, "cycles", cycles, .98);
		assert_covered(one, "executions", executions, .98);
		assert_covered(one, "cycles per execution", ratio, one->never_stalls ? 1 : .98);
		assert_covered(one, "taken", taken, .98);
	}
}

static void few_samples_are_not_enough(void **state)
{
	struct pesa_profile profile = {.totals = {.samples = 1000,
						  .weight = UINT64_C(1000000) * PESA_CYCLE,
						  .period_squared = 1e9}};
	struct pesa_instruction instruction = {.weight = 9000 * (uint64_t)PESA_CYCLE,
					       .executions = 9000,
					       .samples = 9,
					       .retired_samples = 9,
					       .weight_squared = 9e6,
					       .weight_times_retired = 9e6,
					       .retired_squared = 9e6,
					       .transfers_known = 9};

	(void)state;
	assert_false(pesa_estimate_cycles(&profile, &instruction, .95).enough);
	assert_false(pesa_estimate_executions(&profile, &instruction, .95).enough);
	assert_false(pesa_estimate_cycles_per_execution(&profile, &instruction, .95).enough);
	assert_false(pesa_estimate_taken(&profile, &instruction, .95).enough);
	instruction.samples = instruction.retired_samples = instruction.transfers_known = 10;
	assert_true(pesa_estimate_cycles(&profile, &instruction, .95).enough);
	assert_true(pesa_estimate_executions(&profile, &instruction, .95).enough);
	assert_true(pesa_estimate_cycles_per_execution(&profile, &instruction, .95).enough);
	assert_true(pesa_estimate_taken(&profile, &instruction, .95).enough);
	instruction = (struct pesa_instruction){0};
	assert_false(pesa_estimate_cycles_per_execution(&profile, &instruction, .95).enough);
}

/* 100 samples of the same kind: that nothing else was seen is no certainty. */
static void samples_that_all_look_alike_leave_a_doubt(void **state)
{
	struct pesa_profile profile = {.totals = {.samples = 1000,
						  .weight = UINT64_C(1000000) * PESA_CYCLE,
						  .period = 1000,
						  .period_squared = 1e9}};
	struct pesa_instruction instruction = {.weight = 100000 * (uint64_t)PESA_CYCLE,
					       .executions = 100000,
					       .samples = 100,
					       .retired_samples = 100,
					       .weight_squared = 1e8,
					       .weight_times_retired = 1e8,
					       .retired_squared = 1e8};
	struct pesa_estimate estimate =
		pesa_estimate_cycles_per_execution(&profile, &instruction, .95);

	(void)state;
	/* One more of 100 samples: a standard deviation of 1 %. */
	assert_true(estimate.value == 1);
	assert_true(fabs(estimate.low - exp(-.01959964)) < 1e-6);
	assert_true(fabs(estimate.high - exp(.01959964)) < 1e-6);
}

/* Sums of large squares are rounded: a variance below nothing is none, and the limits are numbers.
 */
static void rounding_leaves_no_variance_below_zero(void **state)
{
	struct pesa_profile profile = {.totals = {.samples = 1000,
						  .weight = UINT64_C(1000000) * PESA_CYCLE,
						  .period_squared = 1e9}};
	struct pesa_instruction instruction = {.weight = 100000 * (uint64_t)PESA_CYCLE,
					       .executions = 100000,
					       .weight_squared = 1e8,
					       .weight_times_retired = 1e8 * (1 + 1e-9),
					       .retired_squared = 1e8};
	struct pesa_estimate estimate =
		pesa_estimate_cycles_per_execution(&profile, &instruction, .95);

	(void)state;
	assert_true(estimate.low == 1 && estimate.value == 1 && estimate.high == 1);
}

static void exact_profiles_have_no_width(void **state)
{
	struct pesa_profile profile = {.totals = {.exact = true, .weight = 100 * PESA_CYCLE}};
	struct pesa_instruction instruction = {.weight = 3 * PESA_CYCLE,
					       .executions = 2,
					       .transfers_known = 2,
					       .transfers_taken = 1};
	struct pesa_estimate all[] = {
		pesa_estimate_cycles(&profile, &instruction, .95),
		pesa_estimate_executions(&profile, &instruction, .95),
		pesa_estimate_cycles_per_execution(&profile, &instruction, .95),
		pesa_estimate_taken(&profile, &instruction, .95),
	};
	static const double values[] = {3, 2, 1.5, .5};

	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		assert_true(all[i].enough);
		assert_true(all[i].value == values[i]);
		assert_true(all[i].low == values[i] && all[i].high == values[i]);
	}
}

static void shares_have_wilsons_interval(void **state)
{
	/* 10 of 40 at 95 %: by the formula with z = 1.959964, computed elsewhere by hand. */
	struct pesa_estimate estimate = pesa_estimate_share(.25, 40, .95);

	(void)state;
	assert_true(fabs(estimate.low - 0.14187) < 1e-4);
	assert_true(fabs(estimate.high - 0.40194) < 1e-4);
	assert_true(pesa_estimate_share(0, 100, .95).low == 0);
	assert_true(pesa_estimate_share(1, 100, .95).high == 1);
	assert_false(pesa_estimate_share(0, 0, .95).enough);
}

/* ---- Distance ------------------------------------------------------------------------------- */

/* A kind of cycle: which instructions retire together (or which one stalls), and how often. */
struct kind {
	uint64_t count;
	unsigned int members;
	uint32_t address[4];
	uint8_t state;
	uint16_t cause;
};

#define KINDS 300

static uint64_t make_kinds(struct kind *kinds)
{
	uint64_t cycles = 0;

	for (unsigned int i = 0; i < KINDS; i++) {
		kinds[i] = (struct kind){
			/* from hot to hardly ever: 4 orders of magnitude */
			.count = 1 + (uint64_t)(20000 * pow(uniform(), 6)),
			.members = 1,
			.address = {(uint32_t)(uniform() * 400) * 4},
			.state = (uint8_t)(uniform() * 4),
		};
		if (kinds[i].state == PESA_STATE_RETIRING)
			kinds[i].members = 1 + (unsigned int)(uniform() * 4);
		else if (uniform() < .5)
			kinds[i].cause = 1 << (unsigned int)(uniform() * 5);
		for (unsigned int j = 1; j < kinds[i].members; j++)
			kinds[i].address[j] = kinds[i].address[0] + 4 * j;
		cycles += kinds[i].count;
	}
	return cycles;
}

static struct pesa_profile *begin_profile(struct pesa_profile_store **store)
{
	struct pesa_profile *profile = calloc(1, sizeof(*profile));

	assert_non_null(profile);
	assert_null(pesa_spaces_create(&profile->spaces));
	profile->dso = calloc(1, sizeof(*profile->dso));
	profile->dsos = 1;
	*store = pesa_profile_store_create();
	assert_non_null(*store);
	return profile;
}

static void end_profile(struct pesa_profile *profile, struct pesa_profile_store *store)
{
	uint32_t renumber = 0;

	assert_null(pesa_profile_store_finish(store, &renumber, &profile->arrays));
	pesa_profile_store_free(store);
	profile->first = calloc(2, sizeof(*profile->first));
	assert_non_null(profile->first);
	profile->first[1] = profile->arrays.instructions;
}

static struct pesa_profile *golden_of(const struct kind *kinds, uint64_t cycles)
{
	struct pesa_profile_store *store;
	struct pesa_profile *profile = begin_profile(&store);

	for (unsigned int i = 0; i < KINDS; i++)
		for (unsigned int j = 0; j < kinds[i].members; j++) {
			struct pesa_exact_bucket bucket = {
				.weight = kinds[i].count * (PESA_CYCLE / kinds[i].members),
				.count = kinds[i].count,
				.cause = kinds[i].cause,
				.state = kinds[i].state,
				.group = (uint8_t)kinds[i].members,
			};
			uint32_t instruction =
				pesa_profile_store_get(store, 0, kinds[i].address[j]);

			assert_null(pesa_profile_store_exact(store, instruction, &bucket));
		}
	end_profile(profile, store);
	profile->totals.exact = true;
	profile->totals.weight = cycles * PESA_CYCLE;
	return profile;
}

/* Ideal random sampling of the golden profile's cycles. */
static struct pesa_profile *sampled_of(const struct kind *kinds, uint64_t cycles, uint64_t samples)
{
	const struct pesa_times once = {1, 1, 1};
	struct pesa_profile_store *store;
	struct pesa_profile *profile = begin_profile(&store);
	uint64_t *last = malloc(KINDS * sizeof(*last)), sum = 0;

	assert_non_null(last);
	for (unsigned int i = 0; i < KINDS; i++)
		last[i] = sum += kinds[i].count;
	for (uint64_t i = 0; i < samples; i++) {
		uint64_t cycle = (uint64_t)(uniform() * (double)cycles);
		unsigned int low = 0, high = KINDS - 1;

		while (low < high) {
			unsigned int middle = (low + high) / 2;

			if (last[middle] <= cycle)
				low = middle + 1;
			else
				high = middle;
		}
		for (unsigned int j = 0; j < kinds[low].members; j++) {
			struct pesa_part part = {.weight = PESA_CYCLE / kinds[low].members,
						 .state = kinds[low].state,
						 .cause = kinds[low].cause};
			const struct pesa_retirements retired = {.all = 1};
			uint32_t instruction =
				pesa_profile_store_get(store, 0, kinds[low].address[j]);

			assert_null(pesa_profile_store_add(store, instruction, &once, &part, 1,
							   &retired));
		}
	}
	free(last);
	end_profile(profile, store);
	profile->totals.samples = samples;
	profile->totals.weight = samples * PESA_CYCLE;
	return profile;
}

static void floor_is_what_ideal_sampling_gives(void **state)
{
	static const uint64_t sizes[] = {300, 3000, 30000};
	struct kind kinds[KINDS];
	struct pesa_profile *golden;
	uint64_t cycles;

	(void)state;
	random_state = 7;
	cycles = make_kinds(kinds);
	golden = golden_of(kinds, cycles);
	for (unsigned int i = 0; i < 3; i++) {
		struct pesa_distance distance = {0};
		unsigned int trials = 600;
		double sum[PESA_DISTANCE_LEVELS] = {0};

		for (unsigned int trial = 0; trial < trials; trial++) {
			struct pesa_profile *sampled = sampled_of(kinds, cycles, sizes[i]);

			assert_null(pesa_profile_distance(sampled, golden, &distance));
			assert_int_equal(distance.samples, sizes[i]);
			assert_int_equal(distance.level, PESA_DISTANCE_STACK);
			for (unsigned int level = 0; level < PESA_DISTANCE_LEVELS; level++) {
				sum[level] += distance.at[level].error;
				/* Each level takes buckets of the one before together. */
				assert_true(!level || distance.at[level].error <=
							      distance.at[level - 1].error + 1e-12);
			}
			pesa_profile_free(sampled);
		}
		for (unsigned int level = 0; level < PESA_DISTANCE_LEVELS; level++)
			if (fabs(sum[level] / trials / distance.at[level].floor - 1) > .02)
				fail_msg("level %u, %llu samples: mean error %.5f, floor %.5f",
					 level, (unsigned long long)sizes[i], sum[level] / trials,
					 distance.at[level].floor);
	}
	pesa_profile_free(golden);
}

static void distance_is_a_distance(void **state)
{
	struct kind kinds[KINDS];
	struct pesa_profile *golden, *sampled;
	struct pesa_distance distance;
	struct pesa_error *error;
	uint64_t cycles;

	(void)state;
	random_state = 11;
	cycles = make_kinds(kinds);
	golden = golden_of(kinds, cycles);
	assert_null(pesa_profile_distance(golden, golden, &distance));
	assert_true(distance.at[PESA_DISTANCE_STACK].error == 0 &&
		    distance.at[PESA_DISTANCE_STACK].floor == 0);

	/* What is not attributed is as wrong as what is attributed elsewhere. */
	sampled = sampled_of(kinds, cycles, 1000);
	pesa_profile_arrays_free(&sampled->arrays);
	sampled->first[1] = 0;
	sampled->totals.unattributed[PESA_UNATTRIBUTED_NO_TEXT] = sampled->totals.weight;
	assert_null(pesa_profile_distance(sampled, golden, &distance));
	assert_true(fabs(distance.at[PESA_DISTANCE_STACK].error - 1) < 1e-9);

	error = pesa_profile_distance(golden, sampled, &distance);
	assert_non_null(error);
	assert_int_equal(error->code, PESA_ERROR_ARGUMENT);
	pesa_error_free(error);
	pesa_profile_free(sampled);
	pesa_profile_free(golden);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(intervals_cover_the_truth_as_often_as_they_say),
		cmocka_unit_test(few_samples_are_not_enough),
		cmocka_unit_test(samples_that_all_look_alike_leave_a_doubt),
		cmocka_unit_test(rounding_leaves_no_variance_below_zero),
		cmocka_unit_test(exact_profiles_have_no_width),
		cmocka_unit_test(shares_have_wilsons_interval),
		cmocka_unit_test(floor_is_what_ideal_sampling_gives),
		cmocka_unit_test(distance_is_a_distance),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
