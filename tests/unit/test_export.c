// SPDX-License-Identifier: GPL-2.0-or-later
/* What exports stand on: sets of distinct things, texts in well-formed UTF-8, and rounding. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "decoder/export/json.h"
#include "decoder/base/distinct.h"
#include "decoder/export/write.h"
#include "decoder/base/utf8.h"

#define MANY 5000u

struct thing {
	uint64_t first;
	uint32_t second, third; /* the key ends here */
	uint64_t value;
};

static void a_record_is_kept_once_however_many_there_are(void **state)
{
	struct distinct_records set;

	(void)state;
	distinct_records_begin(&set, sizeof(struct thing), offsetof(struct thing, value));
	for (unsigned int round = 0; round < 3; round++)
		for (uint32_t i = 0; i < MANY; i++) {
			const struct thing key = {.first = i / 7, .second = i % 7, .third = 3};
			uint32_t number = distinct_records_get(&set, &key);
			struct thing *thing;

			assert_int_equal(number, i);
			thing = distinct_records_at(&set, number);
			assert_int_equal(thing->value, round);
			thing->value++;
		}
	assert_int_equal(set.index.count, MANY);
	distinct_records_free(&set);
}

static void pieces_of_any_length_are_told_apart(void **state)
{
	static const char zeroes[64];
	struct distinct_bytes set = {0};
	size_t size;

	(void)state;
	for (unsigned int round = 0; round < 2; round++)
		for (uint32_t i = 0; i <= sizeof(zeroes); i++)
			assert_int_equal(distinct_bytes_get(&set, zeroes, i), i);
	distinct_bytes_at(&set, 0, &size);
	assert_int_equal(size, 0);
	for (uint32_t i = 0; i < MANY; i++) {
		char text[16];

		snprintf(text, sizeof(text), "%u", i);
		assert_int_equal(distinct_text_get(&set, text), sizeof(zeroes) + 1 + i);
	}
	assert_string_equal(distinct_text_at(&set, sizeof(zeroes) + 1 + 4321), "4321");
	distinct_bytes_free(&set);
}

static void texts_are_well_formed(void **state)
{
	static const struct {
		const char *text, *clean;
	} cases[] = {
		{"plain", "plain"},
		{"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"},
		{"\xff", "\xef\xbf\xbd"},
		{"a\xc3", "a\xef\xbf\xbd"},
		{"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* a surrogate */
		{"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"},		  /* longer than need be */
		{"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
	};
	struct distinct_bytes set = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		uint32_t number = distinct_text_get(&set, cases[i].text);

		assert_string_equal(distinct_text_at(&set, number), cases[i].clean);
		assert_int_equal(utf8_is_clean(cases[i].text),
				 !strcmp(cases[i].text, cases[i].clean));
	}
	distinct_bytes_free(&set);
}

static void json_texts_are_quoted(void **state)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	export_json_text(out, "a\"b\\c\n\x01/\xc3\xbc\xff");
	fclose(out);
	assert_string_equal(text, "\"a\\\"b\\\\c\\u000a\\u0001/\xc3\xbc\\ufffd\"");
	free(text);
}

/* Any weights: each rounded value is less than a cycle off, and so is each sum of neighbours. */
static void rounded_cycles_add_up(void **state)
{
	struct export_rounding rounding = {0};
	uint64_t random = 1, weights = 0, cycles = 0;

	(void)state;
	for (unsigned int i = 0; i < MANY; i++) {
		uint64_t weight, rounded;

		random = random * 6364136223846793005u + 1442695040888963407u;
		weight = i % 3 ? random >> 20 : PESA_CYCLE / (1 + random % 15);
		rounded = export_round(&rounding, weight);
		assert_true(rounded == weight / PESA_CYCLE || rounded == weight / PESA_CYCLE + 1);
		weights += weight;
		cycles += rounded;
		assert_int_equal(cycles, weights / PESA_CYCLE);
	}
}

static void formats_have_names(void **state)
{
	enum pesa_export_format format;

	(void)state;
	for (unsigned int i = 0; i < PESA_EXPORT_FORMATS; i++) {
		assert_true(pesa_export_format_parse(
			pesa_export_format_name((enum pesa_export_format)i), &format));
		assert_int_equal(format, i);
	}
	assert_false(pesa_export_format_parse("", &format));
	assert_false(pesa_export_format_parse("pprof2", &format));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_record_is_kept_once_however_many_there_are),
		cmocka_unit_test(pieces_of_any_length_are_told_apart),
		cmocka_unit_test(texts_are_well_formed),
		cmocka_unit_test(json_texts_are_quoted),
		cmocka_unit_test(rounded_cycles_add_up),
		cmocka_unit_test(formats_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
