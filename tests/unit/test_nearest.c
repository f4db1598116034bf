// SPDX-License-Identifier: GPL-2.0-or-later
/* The nearest name (decoder/base/nearest.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "decoder/base/nearest.h"

static bool is_near(const char *typed, const char *name)
{
	struct nearest nearest;

	nearest_begin(&nearest, typed);
	return nearest_try(&nearest, name, strlen(name));
}

static void a_name_is_near_within_a_quarter_of_its_letters_and_two(void **state)
{
	(void)state;
	/* eight letters: three changes are near, four are too far */
	assert_true(is_near("mainSort", "mainSort"));
	assert_true(is_near("mainSrot", "mainSort"));
	assert_true(is_near("mainSort", "mainS"));
	assert_false(is_near("mainSort", "main"));
	assert_false(is_near("mainSort", "handle"));
	assert_true(is_near("ab", "abc"));
	assert_false(is_near("ab", "abcd"));
}

static void letters_are_compared_in_any_case(void **state)
{
	(void)state;
	assert_true(is_near("MAINSORT", "mainsort"));
}

static void only_a_nearer_name_replaces_the_nearest(void **state)
{
	struct nearest nearest;

	(void)state;
	nearest_begin(&nearest, "mainSort");
	assert_true(nearest_try(&nearest, "mainSoXX", 8));
	assert_false(nearest_try(&nearest, "mainSoYY", 8));
	assert_true(nearest_try(&nearest, "mainSorY", 8));
	assert_int_equal(nearest.distance, 1);
}

static void a_part_of_a_name_is_compared(void **state)
{
	struct nearest nearest;

	(void)state;
	nearest_begin(&nearest, "find");
	assert_true(nearest_try(&nearest, "find(int, int, int)", 4));
	assert_int_equal(nearest.distance, 0);
}

static void names_of_64_bytes_and_more_are_not_searched(void **state)
{
	char name[80];

	(void)state;
	memset(name, 'a', sizeof(name));
	name[64] = '\0';
	assert_false(is_near(name, name));
	name[63] = '\0';
	assert_true(is_near(name, name));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_is_near_within_a_quarter_of_its_letters_and_two),
		cmocka_unit_test(letters_are_compared_in_any_case),
		cmocka_unit_test(only_a_nearer_name_replaces_the_nearest),
		cmocka_unit_test(a_part_of_a_name_is_compared),
		cmocka_unit_test(names_of_64_bytes_and_more_are_not_searched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
