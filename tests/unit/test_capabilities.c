/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "pesa/capabilities.h"

static void copy_capability(void *context, const char *name, const char *value)
{
	assert_null(pesa_capabilities_set(context, name, value));
}

static void what_is_written_reads_back_the_same(void **state)
{
	struct pesa_capabilities written, read;

	(void)state;
	pesa_capabilities_default(&written);
	written.xlen = 32;
	written.retire_width = 8;
	written.counter_bits = 20;
	written.minimum_period = 1024;
	written.ct_targets = 1;
	written.ctr_depth = 32;
	written.frequency = 3200000000;
	written.cause_mask = 1 << 2 | 1 << 9;
	memset(written.cause_names, 0, sizeof(written.cause_names));
	strcpy(written.cause_names[2], "mispredict");
	strcpy(written.cause_names[9], "alloc-blocked");
	strcpy(written.core, "small");
	strcpy(written.model, "sifive-p670");
	pesa_capabilities_default(&read);
	pesa_capabilities_each(&written, copy_capability, &read);
	assert_memory_equal(&written, &read, sizeof(read));
}

static void the_default_is_the_specification(void **state)
{
	struct pesa_capabilities capabilities;

	(void)state;
	pesa_capabilities_default(&capabilities);
	assert_int_equal(capabilities.xlen, 64);
	assert_int_equal(capabilities.counter_bits, 31);
	assert_int_equal(capabilities.minimum_period, 256);
	assert_int_equal(capabilities.ct_targets, 2);
	assert_int_equal(capabilities.cause_mask, 0x1f);
	assert_int_equal(capabilities.ctr_depth, 0);
}

static void a_number_is_decimal_or_behind_0x_hexadecimal(void **state)
{
	static const struct {
		const char *text;
		uint64_t value;
	} numbers[] = {{"0100", 100}, {"0x100", 256}, {"0X1f", 31}, {"08", 8}, {"0", 0}};
	struct pesa_capabilities capabilities;

	(void)state;
	pesa_capabilities_default(&capabilities);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		assert_null(pesa_capabilities_set(&capabilities, "frequency", numbers[i].text));
		assert_int_equal(capabilities.frequency, numbers[i].value);
	}
}

static void what_cannot_be_is_an_error_and_changes_nothing(void **state)
{
	static const char *const bad[][2] = {
		{"xlen", "48"},
		{"frequency", "0x"},
		{"frequency", "10a"},
		{"xlen", ""},
		{"xlen", "64 "},
		{"retire_width", "16"},
		{"retire_width", "-1"},
		{"counter_bits", "32"},
		{"counter_bits", "0"},
		{"minimum_period", "0"},
		{"ct_targets", "3"},
		{"ctr_depth", "many"},
		{"frequency", "99999999999999999999999"},
		{"cause_names", "10:x"},
		{"cause_names", "1:"},
		{"cause_names", "1:a,1:b"},
		{"cause_names", "x"},
		{"cause_names", "1:a,"},
		{"cause_names", "-1:a"},
		{"core", "0123456789012345678901234567890123456789012345678901234567890123456789"},
	};
	struct pesa_capabilities capabilities, before;

	(void)state;
	pesa_capabilities_default(&capabilities);
	before = capabilities;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct pesa_error *error =
			pesa_capabilities_set(&capabilities, bad[i][0], bad[i][1]);

		if (!error)
			fail_msg("%s=%s was taken", bad[i][0], bad[i][1]);
		assert_int_equal(error->code, PESA_ERROR_FORMAT);
		assert_non_null(strstr(error->message, bad[i][0]));
		pesa_error_free(error);
		assert_memory_equal(&before, &capabilities, sizeof(before));
	}
	assert_null(pesa_capabilities_set(&capabilities, "from_the_future", "anything"));
	assert_memory_equal(&before, &capabilities, sizeof(before));
}

static void causes_have_short_names(void **state)
{
	struct pesa_capabilities capabilities;
	char text[64], small[6];

	(void)state;
	pesa_capabilities_default(&capabilities);
	strcpy(capabilities.cause_names[7], "store-queue");
	assert_int_equal(pesa_capabilities_cause_text(&capabilities, 0, text, sizeof(text)), 0);
	assert_string_equal(text, "");
	pesa_capabilities_cause_text(&capabilities, 0x18, text, sizeof(text));
	assert_string_equal(text, "D$miss+DTLBmiss");
	pesa_capabilities_cause_text(&capabilities, 1 << 2 | 1 << 7 | 1 << 8, text, sizeof(text));
	assert_string_equal(text, "mispredict+store-queue+cause8");
	pesa_capabilities_cause_text(NULL, 3, text, sizeof(text));
	assert_string_equal(text, "I$miss+ITLBmiss");
	assert_int_equal(pesa_capabilities_cause_text(&capabilities, 0x18, small, sizeof(small)),
			 15);
	assert_string_equal(small, "D$mis");
	assert_int_equal(pesa_capabilities_cause_text(&capabilities, 0x18, NULL, 0), 15);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_reads_back_the_same),
		cmocka_unit_test(the_default_is_the_specification),
		cmocka_unit_test(a_number_is_decimal_or_behind_0x_hexadecimal),
		cmocka_unit_test(what_cannot_be_is_an_error_and_changes_nothing),
		cmocka_unit_test(causes_have_short_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
