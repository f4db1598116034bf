// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The distance of two profiles and its floor, of profiles so small that both are known by hand.
 * test_estimate.c has the simulations.
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

/* Cycles, or samples, of an instruction in one state. */
struct part {
	uint32_t dso;
	uint64_t address;
	uint8_t state;
	uint16_t cause;
	uint64_t cycles;
	uint8_t group; /* instructions that retired together; 0: alone */
};

static void near(double value, double expected)
{
	if (!(fabs(value - expected) <= 1e-9 * fabs(expected)))
		fail_msg("%.12g, not %.12g", value, expected);
}

/* A profile with two binaries, of these paths. */
static struct pesa_profile *profile_of(bool exact, const char *path, const char *other,
				       const struct part *parts, size_t count)
{
	static const uint32_t renumber[] = {0, 1};
	const struct pesa_times once = {1, 1, 1};
	const struct pesa_retirements none = {0};
	struct pesa_profile *profile = calloc(1, sizeof(*profile));
	struct pesa_profile_store *store = pesa_profile_store_create();
	size_t instructions;

	assert_non_null(profile);
	assert_non_null(store);
	assert_null(pesa_spaces_create(&profile->spaces));
	profile->dsos = 2;
	profile->dso = calloc(2, sizeof(*profile->dso));
	assert_non_null(profile->dso);
	for (unsigned int i = 0; i < 2; i++) {
		const struct pesa_event event = {
			.type = PERF_RECORD_MMAP2,
			.misc = PERF_RECORD_MISC_USER,
			.mmap = {.pid = 1,
				 .tid = 1,
				 .address = (i + 1) * 0x10000,
				 .length = 0x1000,
				 .path = i ? other : path},
		};

		assert_null(pesa_spaces_apply(profile->spaces, &event));
		profile->dso[i] = pesa_spaces_dso_count(profile->spaces) - 1;
	}
	for (size_t i = 0; i < count; i++) {
		const unsigned int group = parts[i].group ? parts[i].group : 1;
		const struct pesa_exact_bucket bucket = {
			.weight = parts[i].cycles * PESA_CYCLE / group,
			.count = parts[i].cycles,
			.cause = parts[i].cause,
			.state = parts[i].state,
			.group = (uint8_t)group,
		};
		const struct pesa_part part = {
			.weight = PESA_CYCLE, .state = parts[i].state, .cause = parts[i].cause};
		uint32_t instruction =
			pesa_profile_store_get(store, parts[i].dso, parts[i].address);

		profile->totals.weight += bucket.weight;
		if (exact)
			assert_null(pesa_profile_store_exact(store, instruction, &bucket));
		for (uint64_t j = 0; !exact && j < parts[i].cycles; j++, profile->totals.samples++)
			assert_null(
				pesa_profile_store_add(store, instruction, &once, &part, 1, &none));
	}
	assert_null(pesa_profile_store_finish(store, renumber, &profile->arrays));
	pesa_profile_store_free(store);
	profile->totals.exact = exact;
	instructions = profile->arrays.instructions;
	profile->first = calloc(3, sizeof(*profile->first));
	assert_non_null(profile->first);
	profile->first[2] = instructions;
	while (profile->first[1] < instructions &&
	       !profile->arrays.instruction[profile->first[1]].dso)
		profile->first[1]++;
	return profile;
}

#define PROFILE(exact, parts) \
	profile_of(exact, "/bin/a", "/bin/b", parts, sizeof(parts) / sizeof((parts)[0]))

static struct pesa_distance distance_of(struct pesa_profile *measured, struct pesa_profile *golden)
{
	struct pesa_distance distance = {0};
	struct pesa_error *error = pesa_profile_distance(measured, golden, &distance);

	if (error)
		fail_msg("%s", error->message);
	return distance;
}

static void each_level_takes_buckets_together(void **state)
{
	static const struct part golden_parts[] = {
		{0, 0x100, PESA_STATE_STALLED, 1, 60, 0},
		{0, 0x100, PESA_STATE_STALLED, 2, 20, 0},
		{0, 0x104, PESA_STATE_RETIRING, 0, 20, 0},
	};
	static const struct part parts[] = {
		{0, 0x100, PESA_STATE_STALLED, 1, 3, 0},
		{0, 0x100, PESA_STATE_STALLED, 2, 3, 0},
		{0, 0x104, PESA_STATE_DRAINED, 0, 2, 0},
		{0, 0x108, PESA_STATE_STALLED, 0, 2, 0},
	};
	struct pesa_profile *golden = PROFILE(true, golden_parts);
	struct pesa_profile *measured = PROFILE(false, parts);
	struct pesa_distance distance = distance_of(measured, golden);

	(void)state;
	assert_int_equal(distance.samples, 10);
	assert_int_equal(distance.level, PESA_DISTANCE_STACK);
	/* (|.6 - .3| + |.2 - .3| + .2 that is missing + .2 and .2 that are too much) / 2 */
	near(distance.at[PESA_DISTANCE_STACK].error, .5);
	/* 0x104 is right now */
	near(distance.at[PESA_DISTANCE_CAUSES].error, .3);
	/* (|.8 - .6| + .2) / 2 */
	near(distance.at[PESA_DISTANCE_INSTRUCTION].error, .2);
	pesa_profile_free(golden);
	pesa_profile_free(measured);
}

/* The floor at a level, of so many samples. */
static double floor_at(const struct part *parts, size_t count, uint64_t samples,
		       enum pesa_distance_level level)
{
	const struct part one = {0, 0x100, PESA_STATE_STALLED, 0, 1, 0};
	struct pesa_profile *golden = profile_of(true, "/bin/a", "/bin/b", parts, count);
	struct pesa_profile *measured = profile_of(false, "/bin/a", "/bin/b", &one, 1);
	double found;

	/* The shares may add up to more cycles than there were, as groups do. */
	measured->totals.samples = samples;
	found = distance_of(measured, golden).at[level].floor;
	pesa_profile_free(golden);
	pesa_profile_free(measured);
	return found;
}

static void floors_of_few_samples_are_those_of_all_outcomes(void **state)
{
	static const struct part alone[] = {
		{0, 0x100, PESA_STATE_STALLED, 0, 25, 0},
		{0, 0x104, PESA_STATE_STALLED, 0, 75, 0},
	};
	/* Half of the cycles retire both of a pair. */
	static const struct part pair[] = {
		{0, 0x100, PESA_STATE_RETIRING, 0, 50, 2},
		{0, 0x104, PESA_STATE_RETIRING, 0, 50, 2},
		{0, 0x108, PESA_STATE_STALLED, 0, 50, 0},
	};
	/* One instruction alone in a quarter of the cycles, in a pair in another. */
	static const struct part mixed[] = {
		{0, 0x100, PESA_STATE_STALLED, 0, 25, 0},
		{0, 0x100, PESA_STATE_RETIRING, 0, 25, 2},
		{0, 0x104, PESA_STATE_RETIRING, 0, 25, 2},
		{0, 0x108, PESA_STATE_STALLED, 0, 50, 0},
	};
	static const struct part only[] = {{0, 0x100, PESA_STATE_STALLED, 0, 100, 0}};
	static const struct part halves[] = {
		{0, 0x100, PESA_STATE_STALLED, 0, 50, 0},
		{0, 0x104, PESA_STATE_STALLED, 0, 50, 0},
	};

	(void)state;
	near(floor_at(alone, 2, 1, PESA_DISTANCE_STACK), .375);
	near(floor_at(alone, 2, 2, PESA_DISTANCE_STACK), .28125);
	near(floor_at(pair, 3, 1, PESA_DISTANCE_STACK), .5);
	near(floor_at(pair, 3, 2, PESA_DISTANCE_STACK), .25);
	near(floor_at(mixed, 4, 1, PESA_DISTANCE_INSTRUCTION), .53125);
	near(floor_at(mixed, 4, 2, PESA_DISTANCE_INSTRUCTION), .3203125);
	/* What takes all cycles is sampled without an error. */
	assert_true(floor_at(only, 1, 10, PESA_DISTANCE_STACK) == 0);
	/* With many samples the mean deviation of a normal distribution: sqrt(2/pi * .25 / n). */
	near(floor_at(halves, 2, 1000000, PESA_DISTANCE_STACK), 0.000398942280401);
}

/* In a cycle an instruction may retire four times: 20 + 120 times in 100 cycles. */
static void floors_are_numbers_where_an_instruction_retires_more_than_once_a_cycle(void **state)
{
	static const struct part often[] = {
		{0, 0x100, PESA_STATE_STALLED, 0, 20, 0},
		{0, 0x100, PESA_STATE_RETIRING, 0, 120, 4},
		{0, 0x104, PESA_STATE_STALLED, 0, 50, 0},
	};
	/* Of the other: the mean deviation of 10 throws of a coin. */
	const double coin = 5 * 252 / 1024. / 10;
	const double variance = .2 + 1.2 / 16 - .5 * .5;

	(void)state;
	near(floor_at(often, 3, 10, PESA_DISTANCE_INSTRUCTION),
	     (coin + sqrt(2 / M_PI * variance / 10)) / 2);
}

static enum pesa_distance_level level_of(const struct part *parts, size_t count)
{
	static const struct part golden_parts[] = {{0, 0x100, PESA_STATE_STALLED, 0, 1, 0}};
	struct pesa_profile *golden = PROFILE(true, golden_parts);
	struct pesa_profile *measured = profile_of(false, "/bin/a", "/bin/b", parts, count);
	enum pesa_distance_level level = distance_of(measured, golden).level;

	pesa_profile_free(golden);
	pesa_profile_free(measured);
	return level;
}

static void the_level_is_what_the_samples_tell(void **state)
{
	static const struct part plain[] = {{0, 0x100, PESA_STATE_UNKNOWN, 0, 3, 0},
					    {0, 0x104, PESA_STATE_UNKNOWN, 0, 1, 0}};
	static const struct part causes[] = {{0, 0x100, PESA_STATE_UNKNOWN, 4, 3, 0},
					     {0, 0x104, PESA_STATE_UNKNOWN, 0, 1, 0}};
	static const struct part first[] = {{0, 0x100, PESA_STATE_FLUSHED, 0, 3, 0},
					    {0, 0x104, PESA_STATE_UNKNOWN, 1, 1, 0}};
	static const struct part second[] = {{0, 0x100, PESA_STATE_UNKNOWN, 4, 3, 0},
					     {0, 0x104, PESA_STATE_STALLED, 0, 1, 0}};

	(void)state;
	assert_int_equal(level_of(plain, 2), PESA_DISTANCE_INSTRUCTION);
	assert_int_equal(level_of(causes, 2), PESA_DISTANCE_CAUSES);
	assert_int_equal(level_of(first, 2), PESA_DISTANCE_STACK);
	assert_int_equal(level_of(second, 2), PESA_DISTANCE_STACK);
}

static void name_build(struct pesa_profile *profile, unsigned int dso, uint8_t size, uint8_t last)
{
	struct pesa_dso *named = pesa_spaces_dso(profile->spaces, profile->dso[dso]);

	named->build_id_size = size;
	memset(named->build_id, 7, sizeof(named->build_id));
	named->build_id[19] = last;
}

static void binaries_are_the_same_by_build_id_else_by_path(void **state)
{
	static const struct part golden_parts[] = {{0, 0x100, PESA_STATE_STALLED, 0, 3, 0},
						   {1, 0x100, PESA_STATE_STALLED, 0, 1, 0}};
	static const struct part turned[] = {{1, 0x100, PESA_STATE_STALLED, 0, 3, 0},
					     {0, 0x100, PESA_STATE_STALLED, 0, 1, 0}};
	struct pesa_profile *golden = PROFILE(true, golden_parts);
	struct pesa_profile *measured = profile_of(false, "/bin/b", "/bin/a", turned, 2);
	struct pesa_profile *moved = profile_of(false, "/usr/b", "/usr/a", turned, 2);

	(void)state;
	near(distance_of(measured, golden).at[PESA_DISTANCE_STACK].error, 0);
	near(distance_of(moved, golden).at[PESA_DISTANCE_STACK].error, 1);
	/* A build id on one side alone says nothing. */
	name_build(golden, 0, 20, 1);
	name_build(golden, 1, 20, 2);
	near(distance_of(measured, golden).at[PESA_DISTANCE_STACK].error, 0);
	name_build(moved, 0, 20, 2);
	name_build(moved, 1, 20, 1);
	near(distance_of(moved, golden).at[PESA_DISTANCE_STACK].error, 0);
	/* Rebuilt: another binary of the same name. */
	name_build(measured, 0, 20, 2);
	name_build(measured, 1, 20, 3);
	near(distance_of(measured, golden).at[PESA_DISTANCE_STACK].error, .75);
	name_build(measured, 1, 16, 1);
	near(distance_of(measured, golden).at[PESA_DISTANCE_STACK].error, .75);
	/* The memory of a process is that process's. */
	name_build(measured, 1, 20, 1);
	pesa_spaces_dso(measured->spaces, measured->dso[1])->pid = 5;
	near(distance_of(measured, golden).at[PESA_DISTANCE_STACK].error, .75);
	pesa_spaces_dso(measured->spaces, measured->dso[1])->pid = 0;
	pesa_spaces_dso(measured->spaces, measured->dso[1])->kind = PESA_DSO_VDSO;
	near(distance_of(measured, golden).at[PESA_DISTANCE_STACK].error, .75);
	pesa_profile_free(golden);
	pesa_profile_free(measured);
	pesa_profile_free(moved);
}

static void what_cannot_be_compared_is_refused(void **state)
{
	static const struct part parts[] = {{0, 0x100, PESA_STATE_STALLED, 0, 3, 0}};
	struct pesa_profile *exact = PROFILE(true, parts), *sampled = PROFILE(false, parts);
	struct pesa_profile *empty = PROFILE(true, parts), *without = PROFILE(false, parts);
	const struct {
		struct pesa_profile *measured, *golden;
		const char *says;
	} wrong[] = {
		{sampled, sampled, "not an exact one"},
		{sampled, empty, "not an exact one"},
		{without, exact, "has no samples"},
	};

	(void)state;
	empty->totals.weight = without->totals.weight = 0;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct pesa_distance distance;
		struct pesa_error *error =
			pesa_profile_distance(wrong[i].measured, wrong[i].golden, &distance);

		assert_non_null(error);
		assert_int_equal(error->code, PESA_ERROR_ARGUMENT);
		assert_non_null(strstr(error->message, wrong[i].says));
		pesa_error_free(error);
	}
	pesa_profile_free(exact);
	pesa_profile_free(sampled);
	pesa_profile_free(empty);
	pesa_profile_free(without);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_level_takes_buckets_together),
		cmocka_unit_test(floors_of_few_samples_are_those_of_all_outcomes),
		cmocka_unit_test(
			floors_are_numbers_where_an_instruction_retires_more_than_once_a_cycle),
		cmocka_unit_test(the_level_is_what_the_samples_tell),
		cmocka_unit_test(binaries_are_the_same_by_build_id_else_by_path),
		cmocka_unit_test(what_cannot_be_compared_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
