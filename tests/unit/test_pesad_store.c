/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/pesad/base/store.h"
#include "tests/perfdata_records.h"
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
	char path[sizeof(folder) + 128];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return !access(path, F_OK);
}

static void remove_named(const char *name)
{
	char path[sizeof(folder) + 128];

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

/* The clock was set back since: it grows old from now on, as everything else. */
static void a_file_from_the_future_is_as_old_as_the_start(void **state)
{
	const struct timespec hour = {.tv_sec = time(NULL) + 3600};
	const struct timespec times[2] = {hour, hour};
	const uint64_t age = SECOND / 20;
	struct rig rig;
	char name[64], path[sizeof(folder) + 128];

	(void)state;
	begin(&rig, 0);
	keep(&rig, BEGAN, 100, name);
	end(&rig);
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
	begin(&rig, 0);
	assert_true(exists(name));
	rig.config.store.age = age;
	pesad_store_limits(rig.store, &rig.config);
	usleep(2 * age / 1000);
	pesad_store_rotate(rig.store);
	assert_false(exists(name));
	end(&rig);
}

/* What opening the store is refused with; NULL: it is not. */
static void expect_refusal(const char *expected)
{
	struct rig rig = {.config.store = {.directory = folder}};
	struct pesa_error *error;

	pesad_log_open(&rig.log, &rig.metrics);
	error = pesad_store_open(&rig.config, &rig.metrics, &rig.log, &rig.store);
	if (!error) {
		end(&rig);
		fail_msg("not refused: %s", expected);
	}
	if (!strstr(error->message, expected))
		fail_msg("%s", error->message);
	pesa_error_free(error);
}

static void a_directory_that_others_can_write_is_refused(void **state)
{
	(void)state;
	assert_int_equal(chmod(folder, 0770), 0);
	expect_refusal("can be written by others (mode 770)");
	assert_int_equal(chmod(folder, 0702), 0);
	expect_refusal("can be written by others (mode 702)");
	assert_int_equal(chmod(folder, 0755), 0);
}

static void a_directory_of_another_user_is_refused(void **state)
{
	(void)state;
	if (geteuid())
		skip();
	assert_int_equal(chown(folder, 65534, 65534), 0);
	expect_refusal("belongs to user 65534");
	assert_int_equal(chown(folder, 0, 0), 0);
}

/* Otherwise it would lock, and make, a file of somebody's choice. */
static void a_link_is_no_lock(void **state)
{
	char lock[sizeof(folder) + 16], target[sizeof(folder) + 16];

	(void)state;
	snprintf(lock, sizeof(lock), "%s/.pesad.lock", folder);
	snprintf(target, sizeof(target), "%s/target", folder);
	assert_int_equal(symlink(target, lock), 0);
	expect_refusal(".pesad.lock is a link");
	assert_int_equal(access(target, F_OK), -1);
	assert_int_equal(unlink(lock), 0);
}

/* ---- What an earlier daemon left, and what is in the way ------------------------------------- */

static void write_named(const char *name, size_t bytes)
{
	char path[sizeof(folder) + 128];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	write_file(path, bytes);
}

/* A file of a daemon before this one: so many seconds old, of 100 bytes. */
static void leave_behind(const char *name, unsigned int seconds)
{
	const struct timespec moment = {.tv_sec = time(NULL) - (time_t)seconds};
	const struct timespec times[2] = {moment, moment};
	char path[sizeof(folder) + 128];

	write_named(name, 100);
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void files_found_at_the_start_go_by_their_age(void **state)
{
	struct rig rig;

	(void)state;
	leave_behind("pesa-b.data", 50);
	leave_behind("pesa-a.data", 1000);
	leave_behind("pesa-c.data", 500);
	begin(&rig, 200);
	/* Already the start makes room. */
	assert_false(exists("pesa-a.data"));
	assert_int_equal(rig.metrics.files_removed, 1);
	assert_int_equal(rig.metrics.store_files, 2);
	rig.config.store.size = 150;
	pesad_store_limits(rig.store, &rig.config);
	pesad_store_rotate(rig.store);
	assert_false(exists("pesa-c.data"));
	assert_true(exists("pesa-b.data"));
	remove_named("pesa-b.data");
	end(&rig);
}

static void files_go_when_they_are_older_than_the_limit(void **state)
{
	struct rig rig;

	(void)state;
	leave_behind("pesa-old.data", 7300);
	leave_behind("pesa-young.data", 3500);
	rig = (struct rig){.config.store = {.directory = folder, .age = 3600 * SECOND}};
	pesad_log_open(&rig.log, &rig.metrics);
	assert_null(pesad_store_open(&rig.config, &rig.metrics, &rig.log, &rig.store));
	assert_false(exists("pesa-old.data"));
	assert_true(exists("pesa-young.data"));
	rig.config.store.age = 3000 * SECOND;
	pesad_store_limits(rig.store, &rig.config);
	pesad_store_rotate(rig.store);
	assert_false(exists("pesa-young.data"));
	assert_int_equal(rig.metrics.store_files, 0);
	assert_int_equal(rig.metrics.store_bytes, 0);
	end(&rig);
}

static void what_is_exactly_the_limit_stays_and_the_newest_does_anyway(void **state)
{
	struct rig rig;
	char first[64], second[64];

	(void)state;
	begin(&rig, 200);
	keep(&rig, BEGAN, 100, first);
	keep(&rig, BEGAN + SECOND, 100, second);
	pesad_store_rotate(rig.store);
	assert_true(exists(first) && exists(second));
	rig.config.store.size = 50;
	pesad_store_limits(rig.store, &rig.config);
	pesad_store_rotate(rig.store);
	assert_false(exists(first));
	assert_true(exists(second));
	remove_named(second);
	end(&rig);
}

static void many_files_are_kept_and_names_of_one_moment_are_counted_up(void **state)
{
	struct rig rig;
	char name[64], expected[64];

	(void)state;
	begin(&rig, 0);
	for (unsigned int i = 0; i < 150; i++) {
		keep(&rig, BEGAN + 543211, 2, name);
		snprintf(expected, sizeof(expected),
			 i ? "pesa-20261121T202814.124Z-%u.data" : "pesa-20261121T202814.124Z.data",
			 i);
		assert_string_equal(name, expected);
	}
	assert_int_equal(rig.metrics.store_files, 150);
	assert_int_equal(rig.metrics.store_bytes, 300);
	rig.config.store.size = 1;
	pesad_store_limits(rig.store, &rig.config);
	pesad_store_rotate(rig.store);
	assert_int_equal(rig.metrics.files_removed, 149);
	assert_true(exists(name));
	remove_named(name);
	end(&rig);
}

static void a_name_too_long_to_be_ours_is_left_alone(void **state)
{
	const char *name = "pesa-that-somebody-copied-under-a-name-longer-than-ours-are-ever.data";
	struct rig rig;

	(void)state;
	write_named(name, 100);
	begin(&rig, 10);
	assert_int_equal(rig.metrics.store_files, 0);
	pesad_store_rotate(rig.store);
	assert_true(exists(name));
	remove_named(name);
	end(&rig);
}

/* A recording: what every one has of maps, and so many samples behind it. */
static void leave_recording(const char *name, unsigned int samples)
{
	const struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
					     .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID};
	const struct expected sample = {.ip = 0x1000, .pid = 1, .tid = 1};
	struct bytes records = {0}, file;
	size_t start = record_begin(&records, PERF_RECORD_COMM, 0);
	char path[sizeof(folder) + 128];
	FILE *out;

	put32(&records, 1);
	put32(&records, 1);
	put_path(&records, "program");
	record_end(&records, start);
	for (unsigned int i = 0; i < samples; i++)
		put_sample(&records, &attr, &sample);
	file = build_file(false, &attr, 1, &records, NULL, 0);
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	out = fopen(path, "w");
	assert_non_null(out);
	assert_int_equal(fwrite(file.at, 1, file.size, out), file.size);
	assert_int_equal(fclose(out), 0);
	free(records.at);
	free(file.at);
}

static void of_what_a_killed_daemon_left_only_samples_are_kept(void **state)
{
	struct rig rig;

	(void)state;
	write_named(".pesad-20261121T202811.123Z.77a.data", 100);
	leave_recording(".pesad-20261121T202812.123Z.77b.data", 0);
	leave_recording(".pesad-20261121T202813.123Z.77a.data", 2);
	begin(&rig, 0);
	assert_int_equal(rig.metrics.files_recovered, 3);
	assert_int_equal(rig.metrics.store_files, 1);
	assert_false(exists(".pesad-20261121T202811.123Z.77a.data"));
	assert_false(exists(".pesad-20261121T202812.123Z.77b.data"));
	assert_false(exists(".pesad-20261121T202813.123Z.77a.data"));
	assert_false(exists("pesa-20261121T202811.123-unfinished.data"));
	assert_false(exists("pesa-20261121T202812.123-unfinished.data"));
	remove_named("pesa-20261121T202813.123-unfinished.data");
	end(&rig);
}

/* Each interval has one of two names, and both may have begun in one millisecond. */
static void unfinished_files_of_one_moment_are_all_kept(void **state)
{
	const char *names[] = {
		"pesa-20261121T202813.123-unfinished.data",
		"pesa-20261121T202813.123-unfinished-1.data",
		"pesa-20261121T202813.123-unfinished-2.data",
	};
	struct rig rig;

	(void)state;
	leave_recording(".pesad-20261121T202813.123Z.77a.data", 1);
	leave_recording(".pesad-20261121T202813.123Z.77b.data", 2);
	begin(&rig, 0);
	assert_int_equal(rig.metrics.store_files, 2);
	end(&rig);
	/* The next daemon was killed too, at the same time of a clock that was set back. */
	leave_recording(".pesad-20261121T202813.123Z.78a.data", 3);
	begin(&rig, 0);
	assert_int_equal(rig.metrics.files_recovered, 1);
	assert_int_equal(rig.metrics.store_files, 3);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		remove_named(names[i]);
	end(&rig);
}

/* A name of another form, and of any length: what is kept of it is found like all others. */
static void an_unfinished_file_of_another_name_is_kept(void **state)
{
	struct rig rig;

	(void)state;
	leave_recording(
		".pesad-a-name-that-is-far-longer-than-any-time-is-by-intent-of-a-test.data", 1);
	begin(&rig, 0);
	assert_int_equal(rig.metrics.files_recovered, 1);
	assert_int_equal(rig.metrics.store_files, 1);
	remove_named("pesa-a-name-that-is-far-longe-unfinished.data");
	end(&rig);
}

static void refuse(const char *directory, const char *says)
{
	const struct pesad_config config = {.store = {.directory = (char *)directory}};
	struct pesad_store *store = NULL;
	struct rig rig = {0};
	struct pesa_error *error = pesad_store_open(&config, &rig.metrics, &rig.log, &store);

	assert_non_null(error);
	if (!strstr(error->message, says) || !strstr(error->message, directory))
		fail_msg("%s, not: %s", error->message, says);
	assert_null(store);
	pesa_error_free(error);
}

static void a_directory_that_cannot_be_used_is_refused(void **state)
{
	char path[sizeof(folder) + 128];

	(void)state;
	write_named("file", 1);
	snprintf(path, sizeof(path), "%s/file/below", folder);
	refuse(path, "cannot make the directory");
	snprintf(path, sizeof(path), "%s/file", folder);
	refuse(path, "cannot read the directory");
	remove_named("file");
	snprintf(path, sizeof(path), "%s/.pesad.lock", folder);
	assert_int_equal(mkdir(path, 0700), 0);
	refuse(folder, "cannot write to the directory");
	assert_int_equal(rmdir(path), 0);
}

static void a_directory_is_made_for_its_owner_and_group(void **state)
{
	char path[sizeof(folder) + 128], lock[sizeof(path) + 16];
	const mode_t mask = umask(0);
	struct rig rig = {.config.store = {.directory = path}};
	struct stat status;

	(void)state;
	snprintf(path, sizeof(path), "%s/made", folder);
	assert_null(pesad_store_open(&rig.config, &rig.metrics, &rig.log, &rig.store));
	umask(mask);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0750);
	snprintf(lock, sizeof(lock), "%s/.pesad.lock", path);
	assert_int_equal(stat(lock, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0600);
	pesad_store_close(rig.store);
	assert_int_equal(unlink(lock), 0);
	assert_int_equal(rmdir(path), 0);
}

static void two_daemons_do_not_share_a_directory(void **state)
{
	struct rig rig;
	int status = -1;
	pid_t other;

	(void)state;
	begin(&rig, 0);
	fflush(NULL);
	other = fork();
	if (!other) {
		struct rig second = {.config = rig.config};
		struct pesa_error *error = pesad_store_open(&second.config, &second.metrics,
							    &second.log, &second.store);

		_exit(error && strstr(error->message, "another pesad writes to") ? 0 : 1);
	}
	assert_int_equal(waitpid(other, &status, 0), other);
	assert_int_equal(status, 0);
	end(&rig);
}

static void what_cannot_be_renamed_or_removed_is_told(void **state)
{
	char path[sizeof(folder) + 128], first[64], second[64];
	struct pesa_error *error;
	const char *kept = NULL;
	struct rig rig;

	(void)state;
	begin(&rig, 150);
	error = pesad_store_keep(rig.store, pesad_store_next(rig.store), BEGAN, &kept);
	assert_non_null(error);
	assert_non_null(strstr(error->message, "cannot rename"));
	assert_null(kept);
	pesa_error_free(error);
	assert_int_equal(rig.metrics.store_files, 0);

	rig.log.level = PESAD_LOG_WARNING;
	snprintf(path, sizeof(path), "%s/dropped", folder);
	pesad_store_drop(rig.store, path);
	assert_int_equal(rig.log.kinds[PESAD_LOG_ROTATE].last, 0);
	write_file(path, 1);
	pesad_store_drop(rig.store, path);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(mkdir(path, 0700), 0);
	pesad_store_drop(rig.store, path);
	assert_int_not_equal(rig.log.kinds[PESAD_LOG_ROTATE].last, 0);
	assert_int_equal(rmdir(path), 0);

	/* The first of two cannot be removed: the store goes on counting both. */
	rig.log.kinds[PESAD_LOG_ROTATE].last = 0;
	keep(&rig, BEGAN, 100, first);
	keep(&rig, BEGAN + SECOND, 100, second);
	remove_named(first);
	snprintf(path, sizeof(path), "%s/%s", folder, first);
	assert_int_equal(mkdir(path, 0700), 0);
	pesad_store_rotate(rig.store);
	assert_int_not_equal(rig.log.kinds[PESAD_LOG_ROTATE].last, 0);
	assert_int_equal(rig.metrics.store_files, 2);
	assert_int_equal(rig.metrics.store_bytes, 200);
	assert_int_equal(rig.metrics.files_removed, 0);
	assert_true(exists(second));
	assert_int_equal(rmdir(path), 0);
	remove_named(second);
	end(&rig);
	pesad_store_close(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_says_when_the_interval_began),
		cmocka_unit_test(the_oldest_goes_by_when_it_was_made_not_by_its_name),
		cmocka_unit_test(the_next_start_counts_what_is_there),
		cmocka_unit_test(a_file_that_somebody_removed_is_no_failure),
		cmocka_unit_test(a_file_from_the_future_is_as_old_as_the_start),
		cmocka_unit_test(files_found_at_the_start_go_by_their_age),
		cmocka_unit_test(files_go_when_they_are_older_than_the_limit),
		cmocka_unit_test(what_is_exactly_the_limit_stays_and_the_newest_does_anyway),
		cmocka_unit_test(many_files_are_kept_and_names_of_one_moment_are_counted_up),
		cmocka_unit_test(a_name_too_long_to_be_ours_is_left_alone),
		cmocka_unit_test(of_what_a_killed_daemon_left_only_samples_are_kept),
		cmocka_unit_test(unfinished_files_of_one_moment_are_all_kept),
		cmocka_unit_test(an_unfinished_file_of_another_name_is_kept),
		cmocka_unit_test(a_directory_that_cannot_be_used_is_refused),
		cmocka_unit_test(a_directory_is_made_for_its_owner_and_group),
		cmocka_unit_test(two_daemons_do_not_share_a_directory),
		cmocka_unit_test(what_cannot_be_renamed_or_removed_is_told),
		cmocka_unit_test(a_directory_that_others_can_write_is_refused),
		cmocka_unit_test(a_directory_of_another_user_is_refused),
		cmocka_unit_test(a_link_is_no_lock),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
