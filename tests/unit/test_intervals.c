// SPDX-License-Identifier: GPL-2.0-or-later
/* Ranges of addresses, and which of them holds one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "decoder/base/intervals.h"

/* Against the definition: of all ranges that hold the address, the last to start, then the
 * shortest. */
static void intervals_find_the_innermost(void **state)
{
	uint64_t start[200], end[200], random = 88172645463325252u;

	(void)state;
	for (int round = 0; round < 50; round++) {
		struct pesa_intervals set = {0};

		for (int i = 0; i < 200; i++) {
			random ^= random << 13, random ^= random >> 7, random ^= random << 17;
			start[i] = random % 1000;
			end[i] = start[i] + random / 1000 % 60;
			assert_null(pesa_intervals_add(&set, start[i], end[i], (size_t)i));
		}
		pesa_intervals_sort(&set);
		for (uint64_t address = 0; address < 1100; address++) {
			const struct pesa_interval *found = pesa_intervals_find(&set, address);
			int best = -1;

			for (int i = 0; i < 200; i++)
				if (start[i] <= address && address < end[i] &&
				    (best < 0 || start[i] > start[best] ||
				     (start[i] == start[best] && end[i] < end[best])))
					best = i;
			assert_int_equal(!found, best < 0);
			if (found) {
				assert_int_equal(found->start, start[best]);
				assert_int_equal(found->end, end[best]);
			}
		}
		pesa_intervals_free(&set);
	}
}

/* Two names of one function: the same one is found however they were read. */
static void of_equal_ranges_always_the_same_is_found(void **state)
{
	(void)state;
	for (unsigned int turned = 0; turned < 2; turned++) {
		struct pesa_intervals set = {0};

		for (size_t i = 0; i < 3; i++)
			assert_null(pesa_intervals_add(&set, 10, 20, turned ? 2 - i : i));
		pesa_intervals_sort(&set);
		assert_int_equal(pesa_intervals_find(&set, 10)->value, 2);
		assert_int_equal(pesa_intervals_find(&set, 19)->value, 2);
		assert_null(pesa_intervals_find(&set, 9));
		assert_null(pesa_intervals_find(&set, 20));
		pesa_intervals_free(&set);
	}
}

/* Merged ranges hold the same addresses, and have gaps between them. */
static void merged_ranges_hold_the_same_addresses(void **state)
{
	uint64_t random = 88172645463325252u;

	(void)state;
	for (int round = 0; round < 200; round++) {
		struct pesa_intervals set = {0}, merged = {0};

		for (int i = 0; i < round % 40; i++) {
			uint64_t start, end;

			random ^= random << 13, random ^= random >> 7, random ^= random << 17;
			start = random % 300;
			end = start + random / 1000 % 20;
			assert_null(pesa_intervals_add(&set, start, end, (size_t)i));
			assert_null(pesa_intervals_add(&merged, start, end, (size_t)i));
		}
		pesa_intervals_sort(&set);
		pesa_intervals_sort(&merged);
		pesa_intervals_merge(&merged);
		for (uint64_t address = 0; address < 330; address++)
			assert_int_equal(!pesa_intervals_find(&set, address),
					 !pesa_intervals_find(&merged, address));
		for (size_t i = 1; i < merged.count; i++)
			assert_true(merged.interval[i - 1].end < merged.interval[i].start);
		pesa_intervals_free(&set);
		pesa_intervals_free(&merged);
	}
}

static void empty_ranges_hold_nothing(void **state)
{
	struct pesa_intervals set = {0};

	(void)state;
	pesa_intervals_sort(&set);
	assert_null(pesa_intervals_find(&set, 0));
	assert_null(pesa_intervals_add(&set, 10, 10, 1));
	assert_null(pesa_intervals_add(&set, 10, 9, 2));
	assert_int_equal(set.count, 0);
	pesa_intervals_free(&set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(intervals_find_the_innermost),
		cmocka_unit_test(of_equal_ranges_always_the_same_is_found),
		cmocka_unit_test(merged_ranges_hold_the_same_addresses),
		cmocka_unit_test(empty_ranges_hold_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
