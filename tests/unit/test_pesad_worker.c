/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/pesad/base/watchdog.h"
#include "daemon/pesad/worker.h"

#define SECOND UINT64_C(1000000000)
#define LIMIT  (60 * SECOND)
#define KIND   PESAD_WORKER_PUSH

struct rig {
	struct pesad_metrics metrics;
	struct pesad_watched watched;
	uint64_t now;
};

static void begin(struct rig *rig)
{
	*rig = (struct rig){.now = 1000 * SECOND};
	pesad_watch_own(&rig->metrics, KIND);
	pesad_watch_tick(&rig->metrics, rig->now);
	pesad_watch_reset(&rig->metrics, KIND, &rig->watched);
}

/* After so many seconds, of which the collector looked at each. */
static bool stuck_after(struct rig *rig, unsigned int seconds, bool listens)
{
	bool stuck = false, ask;

	for (unsigned int i = 0; i < seconds && !stuck; i++) {
		rig->now += SECOND;
		pesad_watch_tick(&rig->metrics, rig->now);
		stuck = pesad_watch_stuck(&rig->metrics, KIND, &rig->watched, LIMIT, &ask);
		if (listens)
			pesad_watch_channel_read();
	}
	return stuck;
}

static void who_listens_and_has_nothing_to_do_is_not_stuck(void **state)
{
	struct rig rig;

	(void)state;
	begin(&rig);
	assert_false(stuck_after(&rig, 1000, true));
}

static void who_does_not_listen_is_stuck_when_the_time_is_over(void **state)
{
	struct rig rig;

	(void)state;
	begin(&rig);
	assert_false(stuck_after(&rig, 60, false));
	assert_true(stuck_after(&rig, 3, false));
}

static void who_does_not_end_a_task_is_stuck_although_it_listens(void **state)
{
	struct rig rig;

	(void)state;
	begin(&rig);
	for (unsigned int i = 0; i < 10; i++) {
		pesad_watch_begin();
		assert_false(stuck_after(&rig, 59, true));
		pesad_watch_end();
	}
	pesad_watch_begin();
	assert_true(stuck_after(&rig, 62, true));
	/* The next process of its kind has begun nothing. */
	pesad_watch_reset(&rig.metrics, KIND, &rig.watched);
	assert_false(stuck_after(&rig, 200, true));
}

/* Nobody listened while everything stood still. */
static void a_daemon_that_was_stopped_blames_no_worker(void **state)
{
	struct rig rig;

	(void)state;
	begin(&rig);
	assert_false(stuck_after(&rig, 50, false));
	pesad_watch_begin();
	rig.now += 3600 * SECOND;
	assert_false(stuck_after(&rig, 5, false));
	assert_true(stuck_after(&rig, 10, false));
}

static void open_channel(int ends[2])
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
}

static void close_channel(int ends[2])
{
	close(ends[0]);
	close(ends[1]);
}

/* How many messages there are. */
static unsigned int count_messages(int channel)
{
	struct pesad_message message;
	unsigned int count = 0;

	while (recv(channel, &message, sizeof(message), MSG_DONTWAIT) > 0)
		count++;
	return count;
}

static void a_flood_of_messages_is_taken_in_parts(void **state)
{
	enum { FLOOD = PESAD_MESSAGES_MOST + 10 };
	int ends[2];
	bool more;

	(void)state;
	open_channel(ends);
	for (unsigned int i = 0; i < FLOOD; i++)
		assert_null(pesad_channel_flush(ends[1]));
	assert_true(pesad_channel_wants_flush(ends[0], &more));
	assert_true(more);
	assert_int_equal(count_messages(ends[0]), FLOOD - PESAD_MESSAGES_MOST);
	assert_null(pesad_channel_flush(ends[1]));
	assert_true(pesad_channel_wants_flush(ends[0], &more));
	assert_false(more);
	assert_false(pesad_channel_wants_flush(ends[0], &more));
	close_channel(ends);
}

static void a_ping_is_noted_and_is_no_message(void **state)
{
	const struct pesad_message ping = {.kind = PESAD_MESSAGE_PING},
				   interval = {.kind = PESAD_MESSAGE_INTERVAL, .serial = 7};
	struct pesad_message message;
	struct rig rig;
	int ends[2];
	bool gone;

	(void)state;
	begin(&rig);
	rig.now += SECOND;
	pesad_watch_tick(&rig.metrics, rig.now);
	open_channel(ends);
	assert_true(send(ends[0], &ping, sizeof(ping), 0) > 0);
	assert_true(send(ends[0], &interval, sizeof(interval), 0) > 0);
	assert_true(pesad_channel_take(ends[1], &message, &gone));
	assert_int_equal(message.serial, 7);
	assert_false(pesad_channel_take(ends[1], &message, &gone) || gone);
	assert_int_equal(pesad_value(&rig.metrics.watch[KIND].channel_read),
			 pesad_value(&rig.metrics.watch_clock));
	close_channel(ends);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_listens_and_has_nothing_to_do_is_not_stuck),
		cmocka_unit_test(who_does_not_listen_is_stuck_when_the_time_is_over),
		cmocka_unit_test(who_does_not_end_a_task_is_stuck_although_it_listens),
		cmocka_unit_test(a_daemon_that_was_stopped_blames_no_worker),
		cmocka_unit_test(a_flood_of_messages_is_taken_in_parts),
		cmocka_unit_test(a_ping_is_noted_and_is_no_message),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
