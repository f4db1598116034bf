/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What decoder/base/libarchive.h states of libarchive is what libarchive's own headers say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <archive.h>
#include <archive_entry.h>

#include <dlfcn.h>
#include <sys/stat.h>

#include "decoder/base/libarchive.h"

#define FUNCTION(type, name, parameters)                                                         \
	_Static_assert(__builtin_types_compatible_p(__typeof__(&name),                           \
						    __typeof__(((struct libarchive *)0)->name)), \
		       #name " has another type");
LIBARCHIVE_FUNCTIONS(FUNCTION)
#undef FUNCTION

static void test_status(void **state)
{
	(void)state;
	assert_int_equal(LIBARCHIVE_OK, ARCHIVE_OK);
	assert_int_equal(LIBARCHIVE_END, ARCHIVE_EOF);
	assert_int_equal(LIBARCHIVE_WARNING, ARCHIVE_WARN);
}

static void test_types_of_files(void **state)
{
	(void)state;
	assert_int_equal(S_IFREG, AE_IFREG);
	assert_int_equal(S_IFDIR, AE_IFDIR);
}

static void test_library_has_functions(void **state)
{
	void *library = dlopen(LIBARCHIVE_FILE, RTLD_NOW | RTLD_LOCAL);

	(void)state;
	assert_non_null(library);
#define FUNCTION(type, name, parameters) assert_non_null(dlsym(library, #name));
	LIBARCHIVE_FUNCTIONS(FUNCTION)
#undef FUNCTION
	dlclose(library);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_status),
		cmocka_unit_test(test_types_of_files),
		cmocka_unit_test(test_library_has_functions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
