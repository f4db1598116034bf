/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "pesa/error.h"

static void a_message_is_formatted(void **state)
{
	struct pesa_error *error = pesa_error_create(PESA_ERROR_FORMAT, "offset %d", 8);

	(void)state;
	assert_int_equal(error->code, PESA_ERROR_FORMAT);
	assert_string_equal(error->message, "offset 8");
	pesa_error_free(error);
}

static void a_system_error_names_its_reason(void **state)
{
	struct pesa_error *error = pesa_error_system(ENOENT, "cannot open %s", "x");

	(void)state;
	assert_int_equal(error->system_error, ENOENT);
	assert_non_null(strstr(error->message, "cannot open x: "));
	pesa_error_free(error);
}

static void a_prefix_goes_in_front(void **state)
{
	struct pesa_error *error = pesa_error_create(PESA_ERROR_OTHER, "bad");

	(void)state;
	error = pesa_error_prefix(error, "%s: ", "file");
	assert_string_equal(error->message, "file: bad");
	pesa_error_free(error);
	assert_null(pesa_error_prefix(NULL, "x"));
}

static void out_of_memory_needs_no_memory(void **state)
{
	struct pesa_error *error = pesa_error_no_memory();

	(void)state;
	assert_ptr_equal(pesa_error_prefix(error, "x"), error);
	pesa_error_free(error);
	pesa_error_free(error);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_message_is_formatted),
		cmocka_unit_test(a_system_error_names_its_reason),
		cmocka_unit_test(a_prefix_goes_in_front),
		cmocka_unit_test(out_of_memory_needs_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
