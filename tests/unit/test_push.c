/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parts of sending and answering: waits between attempts, comparison of secrets, who may ask, which
 * intervals were taken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "daemon/pesad/backoff.h"
#include "daemon/pesad/http_request.h"
#include "daemon/pesad/push_progress.h"
#include "daemon/pesad/secret.h"
#include "tests/temporary_folder.h"

#define MS UINT64_C(1000000)

static void waits_double_up_to_the_most(void **state)
{
	const uint64_t whole[] = {100, 200, 400, 800, 1000, 1000};
	struct pesa_backoff without = {100 * MS, 1000 * MS, 0}, with = without;

	(void)state;
	for (size_t i = 0; i < sizeof(whole) / sizeof(*whole); i++) {
		uint64_t half = pesa_backoff_failed(&with, UINT32_MAX, 0);

		assert_int_equal(pesa_backoff_failed(&without, 0, 0), whole[i] * MS);
		/* Chance takes off at most one half. */
		assert_in_range(half, whole[i] * MS / 2, whole[i] * MS * 51 / 100);
	}
	pesa_backoff_succeeded(&without);
	assert_int_equal(pesa_backoff_failed(&without, 0, 0), 100 * MS);
}

static void waits_do_not_overflow(void **state)
{
	struct pesa_backoff backoff = {UINT64_MAX / 3, UINT64_MAX, 0};

	(void)state;
	for (int i = 0; i < 100; i++)
		assert_true(pesa_backoff_failed(&backoff, 0, 0) >= UINT64_MAX / 3);
	assert_true(pesa_backoff_failed(&backoff, 0, 0) == UINT64_MAX);
}

static void what_the_server_asks_for_is_waited_for_within_reason(void **state)
{
	struct pesa_backoff backoff = {100 * MS, 100 * MS, 0};

	(void)state;
	assert_int_equal(pesa_backoff_failed(&backoff, 0, 5000 * MS), 5000 * MS);
	assert_int_equal(pesa_backoff_failed(&backoff, 0, 1 * MS), 100 * MS);
	assert_true(pesa_backoff_failed(&backoff, 0, UINT64_MAX) == PESA_RETRY_AFTER_MOST);
}

static void secrets_are_equal_as_texts_are(void **state)
{
	const char *const texts[] = {"", "a", "b", "aa", "ab", "aaa", "secret", "secres", "Secret"};
	const size_t count = sizeof(texts) / sizeof(*texts);

	(void)state;
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < count; j++)
			assert_int_equal(pesa_secret_equal(texts[i], texts[j]), i == j);
}

static unsigned int status_of(enum pesad_reach reach, const char *token, const char *authorization,
			      const char *host, bool forwarded)
{
	const struct pesad_request request = {.method = "GET",
					      .path = "/metrics",
					      .host = host,
					      .authorization = authorization,
					      .forwarded = forwarded};
	const struct pesad_access access = {.reach = reach, .token = token, .seconds_most = 300};
	struct pesad_judgement judgement;

	pesad_request_judge(&request, &access, &judgement);
	return judgement.status;
}

static void who_may_ask(void **state)
{
	const enum pesad_reach network = PESAD_REACH_NETWORK, loopback = PESAD_REACH_LOOPBACK;

	(void)state;
	assert_int_equal(status_of(PESAD_REACH_SOCKET, "t", NULL, "any", true), 200);
	assert_int_equal(status_of(network, NULL, NULL, "localhost", false), 401);
	assert_int_equal(status_of(network, "", "Bearer ", "localhost", false), 401);
	assert_int_equal(status_of(network, "t", NULL, "localhost", false), 401);
	assert_int_equal(status_of(network, "t", "Bearer t", "any", true), 200);
	assert_int_equal(status_of(network, "t", "bearer  t", "any", false), 200);
	assert_int_equal(status_of(loopback, "t", NULL, "localhost", false), 401);
	assert_int_equal(status_of(loopback, NULL, NULL, "localhost:1", false), 200);
	assert_int_equal(status_of(loopback, NULL, NULL, NULL, false), 200);
	assert_int_equal(status_of(loopback, NULL, NULL, "pesa.example", false), 403);
	assert_int_equal(status_of(loopback, NULL, NULL, "localhost", true), 403);
}

/* What a worker finds to do in a store of three intervals, of which the one before it noted the
 * second: the number of the first one, 0: none. */
static int first_missed(enum push_state noted)
{
	static const char *const names[] = {"pesa-20261121T194313.250Z.data",
					    "pesa-20261121T194413.250Z.data",
					    "pesa-20261121T194513.250Z.data"};
	struct push_progress before, progress;
	char spool[64], path[3][128];
	struct push_missed *missed;
	size_t count;
	int found;

	snprintf(spool, sizeof(spool), "%s/spool", folder);
	for (int i = 0; i < 3; i++) {
		FILE *file;

		snprintf(path[i], sizeof(path[i]), "%s/%s", folder, names[i]);
		file = fopen(path[i], "w");
		assert_non_null(file);
		fclose(file);
	}
	assert_null(push_progress_open(&before, spool));
	assert_null(push_progress_note(&before, path[1], PUSH_TAKEN));
	assert_null(push_progress_note(&before, path[1], noted));
	assert_null(push_progress_open(&progress, spool));
	assert_int_equal(progress.state, noted);
	assert_null(push_progress_missed(&progress, folder, &missed, &count));
	found = count ? 3 - (int)count + 1 : 0;
	assert_true(count <= 3);
	for (size_t i = 0; i < count; i++)
		assert_string_equal(missed[i].path, path[3 - count + i]);
	push_missed_free(missed, count);
	for (int i = 0; i < 3; i++)
		unlink(path[i]);
	unlink(progress.file);
	rmdir(spool);
	return found;
}

static void only_an_interval_that_was_given_back_is_taken_again(void **state)
{
	(void)state;
	assert_int_equal(first_missed(PUSH_DONE), 3);
	assert_int_equal(first_missed(PUSH_TAKEN), 3);
	assert_int_equal(first_missed(PUSH_GIVEN_BACK), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(waits_double_up_to_the_most),
		cmocka_unit_test(waits_do_not_overflow),
		cmocka_unit_test(what_the_server_asks_for_is_waited_for_within_reason),
		cmocka_unit_test(secrets_are_equal_as_texts_are),
		cmocka_unit_test(who_may_ask),
		cmocka_unit_test(only_an_interval_that_was_given_back_is_taken_again),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
