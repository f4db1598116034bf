/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parts of sending and answering: waits between attempts, comparison of secrets, who may ask, which
 * intervals were taken. */
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "decoder/base/clock.h"
#include "daemon/pesad/push/backoff.h"
#include "daemon/pesad/http/request.h"
#include "daemon/pesad/push/push.h"
#include "daemon/pesad/push/progress.h"
#include "decoder/base/secret.h"
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

static unsigned int status_of(struct pesad_access access, const char *authorization,
			      const char *host, bool forwarded)
{
	const struct pesad_request request = {.method = "GET",
					      .path = "/metrics",
					      .host = host,
					      .authorization = authorization,
					      .forwarded = forwarded};
	struct pesad_judgement judgement;

	access.seconds_most = 300;
	pesad_request_judge(&request, &access, &judgement);
	return judgement.status;
}

static unsigned int status_of_page(const char *since, const char *unit, const char *cgroup,
				   struct pesad_judgement *judgement)
{
	const struct pesad_access reader = {
		.reach = PESAD_REACH_SOCKET, .reads_store = true, .seconds_most = 300};
	const struct pesad_request request = {
		.method = "GET", .path = "/page", .since = since, .unit = unit, .cgroup = cgroup};

	pesad_request_judge(&request, &reader, judgement);
	return judgement->status;
}

static void the_range_of_a_page_is_bounded_text(void **state)
{
	struct pesad_judgement judgement;
	char longest[PESAD_PATH_MAX + 1];

	(void)state;
	memset(longest, 'c', PESAD_PATH_MAX);
	longest[PESAD_PATH_MAX] = '\0';
	assert_int_equal(status_of_page(NULL, NULL, NULL, &judgement), 200);
	assert_int_equal(judgement.resource, PESAD_RESOURCE_PAGE);
	assert_string_equal(judgement.range.since, "");
	assert_int_equal(status_of_page("-10min", "ssh", "/a b", &judgement), 200);
	assert_string_equal(judgement.range.since, "-10min");
	assert_string_equal(judgement.range.unit, "ssh");
	assert_string_equal(judgement.range.cgroup, "/a b");
	assert_int_equal(status_of_page("", NULL, NULL, &judgement), 400);
	assert_int_equal(status_of_page(NULL, "a\nb", NULL, &judgement), 400);
	assert_int_equal(status_of_page(NULL, "a\177", NULL, &judgement), 400);
	assert_int_equal(status_of_page(NULL, NULL, longest, &judgement), 400);
	longest[PESAD_PATH_MAX - 1] = '\0';
	assert_int_equal(status_of_page(NULL, NULL, longest, &judgement), 200);
	assert_string_equal(judgement.range.cgroup, longest);
}

static void who_may_ask(void **state)
{
	const enum pesad_reach network = PESAD_REACH_NETWORK, loopback = PESAD_REACH_LOOPBACK;
	const struct pesad_access reader = {.reach = PESAD_REACH_SOCKET, .reads_store = true},
				  stranger = {.reach = PESAD_REACH_SOCKET, .open = true},
				  closed = {.reach = network}, closed_here = {.reach = loopback},
				  open = {.reach = network, .open = true},
				  open_here = {.reach = loopback, .open = true},
				  token = {.reach = network, .wants_token = true, .token = "t"},
				  token_here = {.reach = loopback,
						.wants_token = true,
						.token = "t"},
				  no_token = {.reach = network, .wants_token = true, .token = ""},
				  lost_token = {.reach = loopback, .wants_token = true};
	struct pesad_access certificate = {.reach = network, .wants_certificate = true},
			    both = token;

	(void)state;
	assert_int_equal(status_of(reader, NULL, "any", true), 200);
	assert_int_equal(status_of(stranger, "Bearer t", "localhost", false), 403);
	assert_int_equal(status_of(closed, NULL, "localhost", false), 403);
	assert_int_equal(status_of(closed_here, NULL, "localhost", false), 403);
	assert_int_equal(status_of(open, NULL, "any", true), 200);
	assert_int_equal(status_of(no_token, "Bearer ", "localhost", false), 401);
	assert_int_equal(status_of(lost_token, "Bearer ", "localhost", false), 401);
	assert_int_equal(status_of(token, NULL, "localhost", false), 401);
	assert_int_equal(status_of(token, "Bearer t", "any", true), 200);
	assert_int_equal(status_of(token, "bearer  t", "any", false), 200);
	assert_int_equal(status_of(token_here, NULL, "localhost", false), 401);
	assert_int_equal(status_of(open_here, NULL, "localhost:1", false), 200);
	assert_int_equal(status_of(open_here, NULL, NULL, false), 200);
	assert_int_equal(status_of(open_here, NULL, "pesa.example", false), 403);
	assert_int_equal(status_of(open_here, NULL, "localhost", true), 403);
	assert_int_equal(status_of(certificate, NULL, "any", false), 403);
	certificate.has_certificate = true;
	assert_int_equal(status_of(certificate, NULL, "any", false), 200);
	both.wants_certificate = true;
	assert_int_equal(status_of(both, "Bearer t", "any", false), 403);
	both.has_certificate = true;
	assert_int_equal(status_of(both, NULL, "any", false), 401);
	assert_int_equal(status_of(both, "Bearer t", "any", false), 200);
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

/* What the callbacks of a push see. */
struct seen {
	const char *spool;
	bool converted, settled;
	unsigned int spooled; /* profiles in the spool when the interval was settled */
};

static struct pesa_error *convert_one(void *context, const char *path, uint64_t from,
				      uint64_t until, FILE *out)
{
	struct seen *seen = context;

	(void)path;
	(void)from;
	(void)until;
	seen->converted = true;
	assert_false(seen->settled);
	fputs("profile", out);
	return NULL;
}

static void settle_one(void *context, const char *path)
{
	struct seen *seen = context;
	char pattern[72];
	glob_t found;

	(void)path;
	snprintf(pattern, sizeof(pattern), "%s/*", seen->spool);
	if (!glob(pattern, 0, NULL, &found)) {
		seen->spooled = (unsigned int)found.gl_pathc;
		globfree(&found);
	}
	__atomic_store_n(&seen->settled, true, __ATOMIC_RELEASE);
}

static void say_nothing(void *context, int priority, const char *line)
{
	(void)context;
	(void)priority;
	(void)line;
}

static void an_interval_is_settled_when_its_profile_is_in_the_spool(void **state)
{
	char spool[64], pattern[72];
	glob_t left;
	struct seen seen = {.spool = spool};
	struct pesa_push_options options = {
		/* Nobody listens there, and the first attempt is the only one. */
		.sender = {.target = {.kind = PESA_STORE_PARCA,
				      .url = "http://127.0.0.1:9",
				      .application = "test"},
			   .timeout = 1000 * MS},
		.retry_least = UINT64_C(3600000) * MS,
		.retry_most = UINT64_C(3600000) * MS,
		.spool = spool,
		.limits = {.bytes = 1 << 20, .age = UINT64_C(86400000) * MS},
		.convert = convert_one,
		.settled = settle_one,
		.log = say_nothing,
		.context = &seen,
	};
	struct pesa_push *push;

	(void)state;
	snprintf(spool, sizeof(spool), "%s/spool", folder);
	assert_null(pesa_push_start(&options, &push));
	pesa_push_offer(push, "interval", pesa_wall_clock() - 1000 * MS, pesa_wall_clock());
	for (int i = 0; i < 10000 && !__atomic_load_n(&seen.settled, __ATOMIC_ACQUIRE); i++)
		usleep(1000);
	pesa_push_stop(push);
	assert_true(seen.converted && seen.settled);
	assert_int_equal(seen.spooled, 1);
	snprintf(pattern, sizeof(pattern), "%s/*", spool);
	assert_int_equal(glob(pattern, 0, NULL, &left), 0);
	for (size_t i = 0; i < left.gl_pathc; i++)
		unlink(left.gl_pathv[i]);
	globfree(&left);
	rmdir(spool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(waits_double_up_to_the_most),
		cmocka_unit_test(waits_do_not_overflow),
		cmocka_unit_test(what_the_server_asks_for_is_waited_for_within_reason),
		cmocka_unit_test(secrets_are_equal_as_texts_are),
		cmocka_unit_test(who_may_ask),
		cmocka_unit_test(the_range_of_a_page_is_bounded_text),
		cmocka_unit_test(only_an_interval_that_was_given_back_is_taken_again),
		cmocka_unit_test(an_interval_is_settled_when_its_profile_is_in_the_spool),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
