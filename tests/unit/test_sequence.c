// SPDX-License-Identifier: GPL-2.0-or-later
/* Alignments of random sequences against the longest common subsequence by its recurrence. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "decoder/base/sequence.h"

#define LENGTH_MAX 60

static uint64_t random_state = 1;

static uint32_t random_below(uint32_t limit)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(random_state >> 33) % limit;
}

static size_t longest(const uint32_t *a, size_t n, const uint32_t *b, size_t m)
{
	static size_t best[LENGTH_MAX + 1][LENGTH_MAX + 1];

	for (size_t i = 0; i <= n; i++)
		for (size_t j = 0; j <= m; j++) {
			if (!i || !j)
				best[i][j] = 0;
			else if (a[i - 1] == b[j - 1])
				best[i][j] = best[i - 1][j - 1] + 1;
			else
				best[i][j] = best[i - 1][j] > best[i][j - 1] ? best[i - 1][j]
									     : best[i][j - 1];
		}
	return best[n][m];
}

/* Pairs are equal elements, in order; returns how many there are. */
static size_t pairs(const uint32_t *a, size_t n, const uint32_t *b, size_t m, const size_t *partner)
{
	size_t count = 0, next = 0;

	for (size_t i = 0; i < n; i++) {
		if (partner[i] == PESA_SEQUENCE_NONE)
			continue;
		assert_true(partner[i] >= next && partner[i] < m);
		assert_int_equal(a[i], b[partner[i]]);
		next = partner[i] + 1;
		count++;
	}
	return count;
}

static void finds_as_many_pairs_as_there_are(void **state)
{
	uint32_t a[LENGTH_MAX], b[LENGTH_MAX];
	size_t partner[LENGTH_MAX];

	(void)state;
	for (unsigned int trial = 0; trial < 20000; trial++) {
		size_t n = random_below(LENGTH_MAX + 1), m = random_below(LENGTH_MAX + 1);
		uint32_t letters = 1 + random_below(12);

		for (size_t i = 0; i < n; i++)
			a[i] = random_below(letters);
		for (size_t i = 0; i < m; i++)
			b[i] = trial & 1 && i < n && random_below(8) ? a[i] : random_below(letters);
		assert_null(pesa_sequence_align(a, n, b, m, partner));
		assert_int_equal(pairs(a, n, b, m, partner), longest(a, n, b, m));
	}
}

static void long_sequences_with_nothing_in_common_take_no_time(void **state)
{
	enum { COUNT = 30000 };
	uint32_t *a = calloc(COUNT, sizeof(*a)), *b = calloc(COUNT, sizeof(*b));
	size_t *partner = calloc(COUNT, sizeof(*partner));

	(void)state;
	assert_true(a && b && partner);
	for (uint32_t i = 0; i < COUNT; i++) {
		a[i] = i;
		b[i] = i + COUNT;
	}
	/* But for an end that they share. */
	for (uint32_t i = COUNT - 1000; i < COUNT; i++)
		b[i] = a[i];
	assert_null(pesa_sequence_align(a, COUNT, b, COUNT, partner));
	assert_int_equal(pairs(a, COUNT, b, COUNT, partner), 1000);
	/* Every other one is the same: many pairs, if not all. */
	for (uint32_t i = 0; i < COUNT; i += 2)
		b[i] = a[i];
	assert_null(pesa_sequence_align(a, COUNT, b, COUNT, partner));
	assert_true(pairs(a, COUNT, b, COUNT, partner) > COUNT / 4);
	free(a);
	free(b);
	free(partner);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_as_many_pairs_as_there_are),
		cmocka_unit_test(long_sequences_with_nothing_in_common_take_no_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
