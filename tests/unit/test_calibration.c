/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calibrations: what is written is read again, and what cannot be one is refused with its line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pesa/calibration.h"

#define HEAD "pesa-calibration 1\ncpu a\nevent b c\nmodel d\nsamples 5\n"

static void what_is_written_is_read(void **state)
{
	struct pesa_calibration calibration = {.cpu = "0x1-0x2-0x3",
					       .event = "cycles(user+kernel)",
					       .host = "a board",
					       .kernel = "6.12",
					       .model = "rocket-rv64",
					       .samples = 12345,
					       .way = {{PESA_DESKID_BEHIND, 32, 0.5},
						       {PESA_DESKID_QUEUE, 1, 0.25},
						       {PESA_DESKID_FRONT, 16, 0.25}},
					       .ways = 3};
	struct pesa_calibration again;
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	(void)state;
	assert_non_null(stream);
	pesa_calibration_write(&calibration, stream);
	assert_int_equal(fclose(stream), 0);
	assert_null(pesa_calibration_parse("written", text, size, &again));
	assert_string_equal(again.event, calibration.event);
	assert_string_equal(again.host, calibration.host);
	assert_string_equal(again.kernel, calibration.kernel);
	assert_int_equal(again.samples, 12345);
	assert_int_equal(again.ways, 3);
	for (unsigned int i = 0; i < 3; i++) {
		assert_int_equal(again.way[i].stage, calibration.way[i].stage);
		assert_int_equal(again.way[i].number, calibration.way[i].number);
		assert_true(again.way[i].share == calibration.way[i].share);
	}
	free(text);
}

static void what_is_wrong_is_refused(void **state)
{
	static const struct {
		const char *text, *message;
	} bad[] = {
		{"", "f:0: the file is cut off"},
		{"pesa-calibration 2\n", "f:1: this is no calibration"},
		{HEAD "way behind 1 1000000\n", "cut off"},
		{HEAD "end\n", "are missing"},
		{HEAD "way behind 1 1000000\nend\ncpu a\n", "f:8: there is more"},
		{HEAD "cpu a\n", "f:6: this fact is there twice"},
		{HEAD "way behind 1 500000\nway behind 1 500000\nend\n", "f:7: this way is there"},
		{HEAD "way oldest 17 1000000\nend\n", "f:6: a way needs its number"},
		{HEAD "way oldest -1 1000000\nend\n", "f:6: a way needs its number"},
		{HEAD "way oldest 1 1000001\nend\n", "f:6: a way needs its share"},
		{HEAD "way oldest 1 0\nend\n", "f:6: a way needs its share"},
		{HEAD "way oldest 1\nend\n", "f:6: a way needs its share"},
		{HEAD "way oldest\nend\n", "f:6: a way needs its number"},
		{HEAD "way \nend\n", "f:6: a fact has no value"},
		{HEAD "way oldest 1 999990\nend\n", "do not add up"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct pesa_calibration calibration;
		struct pesa_error *error =
			pesa_calibration_parse("f", bad[i].text, strlen(bad[i].text), &calibration);

		assert_non_null(error);
		if (!strstr(error->message, bad[i].message))
			fail_msg("%s: %s", bad[i].text, error->message);
		pesa_error_free(error);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(what_is_wrong_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
