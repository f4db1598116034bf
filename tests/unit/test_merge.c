// SPDX-License-Identifier: GPL-2.0-or-later
/* Process numbers in merged files, and digests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "decoder/base/digest.h"
#include "decoder/merge/numbers.h"

static void numbers_are_kept_once_and_come_sorted(void **state)
{
	struct merge_numbers numbers = {0};
	uint32_t *sorted;
	bool added;

	(void)state;
	assert_false(merge_numbers_has(&numbers, 5));
	for (uint32_t i = 1000; i; i--) {
		assert_null(merge_numbers_add(&numbers, i * 7919, &added));
		assert_true(added);
	}
	assert_null(merge_numbers_add(&numbers, 7919, &added));
	assert_false(added);
	assert_int_equal(numbers.index.count, 1000);
	assert_true(merge_numbers_has(&numbers, 500 * 7919));
	assert_false(merge_numbers_has(&numbers, 500 * 7919 + 1));
	sorted = merge_numbers_sorted(&numbers);
	assert_non_null(sorted);
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(sorted[i], (i + 1) * 7919);
	free(sorted);
	merge_numbers_free(&numbers);
}

static void runs_lead_forth_and_back(void **state)
{
	struct merge_runs runs = {0}, parsed = {0};
	const uint32_t from[] = {7, 8, 9, 20, 21, 4000};
	char *text;

	(void)state;
	for (uint32_t i = 0; i < 6; i++)
		assert_null(merge_runs_add(&runs, from[i], MERGE_FIRST_NUMBER + i));
	assert_int_equal(runs.count, 3);
	assert_int_equal(runs.numbers, 6);
	text = merge_runs_text(&runs);
	assert_string_equal(text, "4194305:7+3 4194308:20+2 4194310:4000+1");
	assert_null(merge_runs_parse(text, &parsed));
	for (uint32_t i = 0; i < 6; i++) {
		assert_int_equal(merge_runs_forth(&parsed, from[i]), MERGE_FIRST_NUMBER + i);
		assert_int_equal(merge_runs_back(&parsed, MERGE_FIRST_NUMBER + i), from[i]);
	}
	assert_int_equal(merge_runs_forth(&parsed, 10), 10);
	assert_int_equal(merge_runs_back(&parsed, MERGE_FIRST_NUMBER + 6), MERGE_FIRST_NUMBER + 6);
	assert_int_equal(merge_runs_forth(&parsed, UINT32_MAX), UINT32_MAX);
	free(text);
	merge_runs_free(&runs);
	merge_runs_free(&parsed);
}

static void texts_that_are_no_runs_are_refused(void **state)
{
	static const char *const texts[] = {
		"x",
		"1",
		"1:2",
		"1:2+",
		"1:2+0",
		"1:2+3 ",
		"1:2+3  4:9+1",
		"4:9+1 1:2+3",
		"1:2+3 4:3+1",
		"-1:2+3",
		"4294967296:1+1",
		"1:4294967295+1",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct merge_runs runs = {0};

		struct pesa_error *error = merge_runs_parse(texts[i], &runs);

		if (!error)
			fail_msg("'%s' was taken", texts[i]);
		assert_int_equal(error->code, PESA_ERROR_FORMAT);
		pesa_error_free(error);
		merge_runs_free(&runs);
	}
}

static void digests_tell_contents_apart(void **state)
{
	uint8_t bytes[64] = {0};
	struct pesa_digest first = {0}, other, pieces = {0};

	(void)state;
	pesa_digest_bytes(&first, bytes, sizeof(bytes));
	for (unsigned int bit = 0; bit < 8 * sizeof(bytes); bit++) {
		bytes[bit / 8] ^= 1u << bit % 8;
		other = (struct pesa_digest){0};
		pesa_digest_bytes(&other, bytes, sizeof(bytes));
		assert_true(other.lane[0] != first.lane[0]);
		assert_true(other.lane[1] != first.lane[1]);
		bytes[bit / 8] ^= 1u << bit % 8;
	}
	other = (struct pesa_digest){0};
	pesa_digest_bytes(&other, bytes, sizeof(bytes) - 1);
	assert_true(other.lane[0] != first.lane[0]);
	pesa_digest_bytes(&pieces, bytes, 32);
	pesa_digest_bytes(&pieces, bytes + 32, 32);
	assert_true(pieces.lane[0] != first.lane[0]);
	other = (struct pesa_digest){0};
	pesa_digest_text(&other, NULL);
	pieces = (struct pesa_digest){0};
	pesa_digest_text(&pieces, "");
	assert_true(other.lane[0] != pieces.lane[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_kept_once_and_come_sorted),
		cmocka_unit_test(runs_lead_forth_and_back),
		cmocka_unit_test(texts_that_are_no_runs_are_refused),
		cmocka_unit_test(digests_tell_contents_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
