/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/pesad/store.h"
#include "tests/temporary_folder.h"

#define SECOND UINT64_C(1000000000)
#define BEGAN  (UINT64_C(1795292894) * SECOND + 123456789)

struct rig {
	struct pesad_config config;
	struct pesad_metrics metrics;
	struct pesad_log log;
	struct pesad_store *store;
};

static void begin(struct rig *rig, uint64_t size)
{
	*rig = (struct rig){.config.store = {.directory = folder, .size = size}};
	pesad_log_open(&rig->log, &rig->metrics);
	rig->log.level = PESAD_LOG_ERROR;
	assert_null(pesad_store_open(&rig->config, &rig->metrics, &rig->log, &rig->store));
}

static void end(struct rig *rig)
{
	char lock[sizeof(folder) + 16];

	pesad_store_close(rig->store);
	snprintf(lock, sizeof(lock), "%s/.pesad.lock", folder);
	unlink(lock);
}

static void write_file(const char *path, size_t bytes)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	for (size_t i = 0; i < bytes; i++)
		putc('x', file);
	assert_int_equal(fclose(file), 0);
}

/* A file of so many bytes that began then: its name, below the folder. */
static void keep(struct rig *rig, uint64_t from, size_t bytes, char name[64])
{
	const char *file = pesad_store_next(rig->store), *path;
	struct pesa_error *error;

	write_file(file, bytes);
	error = pesad_store_keep(rig->store, file, from, &path);
	if (error)
		fail_msg("%s", error->message);
	assert_int_equal(access(file, F_OK), -1);
	assert_int_equal(access(path, F_OK), 0);
	snprintf(name, 64, "%s", path + strlen(folder) + 1);
}

static bool exists(const char *name)
{
	char path[sizeof(folder) + 64];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return !access(path, F_OK);
}

static void remove_named(const char *name)
{
	char path[sizeof(folder) + 64];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	assert_int_equal(unlink(path), 0);
}

static void a_name_says_when_the_interval_began(void **state)
{
	struct rig rig;
	char name[64], again[64];

	(void)state;
	begin(&rig, 0);
	keep(&rig, BEGAN, 1, name);
	assert_string_equal(name, "pesa-20261121T202814.123Z.data");
	/* As when the clock was set back. */
	keep(&rig, BEGAN, 1, again);
	assert_string_equal(again, "pesa-20261121T202814.123Z-1.data");
	remove_named(name);
	remove_named(again);
	end(&rig);
}

static void the_oldest_goes_by_when_it_was_made_not_by_its_name(void **state)
{
	struct rig rig;
	char first[64], second[64], third[64];

	(void)state;
	begin(&rig, 250);
	keep(&rig, BEGAN, 100, first);
	keep(&rig, BEGAN - 86400 * SECOND, 100, second);
	pesad_store_rotate(rig.store);
	assert_true(exists(first) && exists(second));
	keep(&rig, BEGAN + SECOND, 100, third);
	pesad_store_rotate(rig.store);
	assert_false(exists(first));
	assert_true(exists(second) && exists(third));
	assert_int_equal(rig.metrics.files_removed, 1);
	assert_int_equal(rig.metrics.store_files, 2);
	assert_int_equal(rig.metrics.store_bytes, 200);
	remove_named(second);
	remove_named(third);
	end(&rig);
}

static void the_next_start_counts_what_is_there(void **state)
{
	struct rig rig;
	char first[64], second[64];

	(void)state;
	begin(&rig, 0);
	keep(&rig, BEGAN, 100, first);
	end(&rig);
	begin(&rig, 150);
	assert_int_equal(rig.metrics.store_bytes, 100);
	keep(&rig, BEGAN + SECOND, 100, second);
	pesad_store_rotate(rig.store);
	assert_false(exists(first));
	remove_named(second);
	end(&rig);
}

static void a_file_that_somebody_removed_is_no_failure(void **state)
{
	struct rig rig;
	char first[64], second[64];

	(void)state;
	begin(&rig, 150);
	keep(&rig, BEGAN, 100, first);
	remove_named(first);
	keep(&rig, BEGAN + SECOND, 100, second);
	pesad_store_rotate(rig.store);
	assert_true(exists(second));
	assert_int_equal(rig.metrics.store_bytes, 100);
	remove_named(second);
	end(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_says_when_the_interval_began),
		cmocka_unit_test(the_oldest_goes_by_when_it_was_made_not_by_its_name),
		cmocka_unit_test(the_next_start_counts_what_is_there),
		cmocka_unit_test(a_file_that_somebody_removed_is_no_failure),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
