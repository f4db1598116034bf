/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel's refusals of an event mean for who asked, what is given up for an answer, and tracepoints. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/events/event.h"
#include "daemon/events/generic.h"
#include "tests/file_tree.h"

static struct pesa_event_name event_of(const char *name, uint32_t type)
{
	struct pesa_event_name event = {.attr = {.type = type}};

	snprintf(event.name, sizeof(event.name), "%s", name);
	return event;
}

static void assert_says(struct pesa_error *error, const char *words)
{
	assert_non_null(error);
	if (!strstr(error->message, words))
		fail_msg("'%s' does not say '%s'", error->message, words);
	pesa_error_free(error);
}

static void a_refusal_says_what_to_do(void **state)
{
	static const struct {
		int refusal;
		uint32_t type;
		const char *says;
	} cases[] = {
		{EINVAL, PERF_TYPE_SOFTWARE, "older than Linux 6.0"},
		{ENOENT, PERF_TYPE_HARDWARE, "-e cpu-clock samples by a timer"},
		{ENOENT, PERF_TYPE_RAW, "nothing on this machine counts event some"},
		{ENODEV, PERF_TYPE_HARDWARE, "CPU 5 is offline"},
		{ESRCH, PERF_TYPE_HARDWARE, "no process or thread 77"},
		{EBUSY, PERF_TYPE_HARDWARE, "end the other recording first"},
		{EOPNOTSUPP, PERF_TYPE_HARDWARE, "its PMU has no interrupt"},
		{EMFILE, PERF_TYPE_HARDWARE, "ulimit -n"},
		{ENFILE, PERF_TYPE_HARDWARE, "ulimit -n"},
		{ENOSYS, PERF_TYPE_HARDWARE, "CONFIG_PERF_EVENTS"},
		{E2BIG, PERF_TYPE_HARDWARE, "too old for event some"},
		{ENOSPC, PERF_TYPE_HARDWARE, "cannot open event some: "},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct pesa_event_name event = event_of("some", cases[i].type);

		assert_says(pesa_event_refusal(&event, 77, 5, cases[i].refusal), cases[i].says);
	}
}

static void only_events_without_counters_get_the_advice_of_a_timer(void **state)
{
	struct pesa_event_name event = event_of("some", PERF_TYPE_RAW);
	struct pesa_error *error = pesa_event_refusal(&event, 0, -1, ENOENT);

	(void)state;
	assert_null(strstr(error->message, "cpu-clock"));
	pesa_error_free(error);
}

static void a_pmu_with_capabilities_tells_its_periods(void **state)
{
	struct pesa_event_name event = event_of("pesa/cycles/", 9);

	(void)state;
	event.pmu.has_capabilities = true;
	event.pmu.capabilities.minimum_period = 256;
	event.pmu.capabilities.counter_bits = 16;
	strcpy(event.pmu.name, "pesa");
	assert_says(pesa_event_refusal(&event, 0, -1, EINVAL), "periods are 256 to ");
}

static void rings_that_are_too_large_name_the_limit(void **state)
{
	(void)state;
	assert_says(pesa_ring_refusal(512 * 1024, EPERM), "perf_event_mlock_kb is ");
	assert_says(pesa_ring_refusal(512 * 1024, EAGAIN), "rings of 512 KiB");
	assert_says(pesa_ring_refusal(512 * 1024, ENOMEM), "use a smaller one with -m");
	assert_says(pesa_ring_refusal(512 * 1024, EINVAL), "cannot map a ring of 512 KiB: ");
}

static void precision_is_given_up_a_level_at_a_time(void **state)
{
	struct pesa_event_name event = event_of("cycles", PERF_TYPE_HARDWARE);

	(void)state;
	event.attr.precise_ip = 2;
	event.attr.exclude_guest = 1;
	assert_true(pesa_event_relax(&event, 1, EOPNOTSUPP));
	assert_int_equal(event.attr.precise_ip, 1);
	assert_true(pesa_event_relax(&event, 1, EINVAL));
	assert_int_equal(event.attr.precise_ip, 0);
	/* Then guests, which no PMU without them can leave out. */
	assert_false(pesa_event_relax(&event, 1, EOPNOTSUPP));
	assert_true(pesa_event_relax(&event, 1, EINVAL));
	assert_int_equal(event.attr.exclude_guest, 0);
	assert_false(pesa_event_relax(&event, 1, EINVAL));
	assert_false(pesa_event_relax(&event, 1, ENOENT));
}

static void what_the_user_asked_for_is_not_given_up(void **state)
{
	struct pesa_event_name event = event_of("cycles:ppG", PERF_TYPE_HARDWARE);

	(void)state;
	event.attr.precise_ip = 2;
	event.attr.exclude_guest = 1;
	event.has_precision = event.has_guest = true;
	assert_false(pesa_event_relax(&event, 1, EINVAL));
	assert_int_equal(event.attr.precise_ip, 2);
	assert_int_equal(event.attr.exclude_guest, 1);
}

/* ---- Tracepoints ---------------------------------------------------------------------------- */

static int make_tracepoints(void **state)
{
	static const struct file_tree_file files[] = {
		{"sched/sched_switch/id", "317\n"},
		{"sched/sched_wakeup/id", "318\n"},
		{"sched/enable", "0\n"},
		{"irq/irq_entry/id", "12\n"},
		{"irq/no_id/format", "name: x\n"},
		{".hidden/point/id", "1\n"},
	};

	return file_tree_set_up(state, files, sizeof(files) / sizeof(files[0]));
}

static void take_name(void *context, const struct pesa_event_entry *entry)
{
	assert_int_equal(entry->kind, PESA_EVENT_TRACEPOINT);
	strcat(strcat(context, entry->name), " ");
}

static void tracepoints_with_a_number_are_listed(void **state)
{
	const struct file_tree *tree = *state;
	char names[256] = "";

	pesa_event_tracepoint_each(tree->root, take_name, names);
	assert_string_equal(names, "irq:irq_entry sched:sched_switch sched:sched_wakeup ");
	names[0] = '\0';
	pesa_event_tracepoint_each("/no/such/directory", take_name, names);
	assert_string_equal(names, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_refusal_says_what_to_do),
		cmocka_unit_test(only_events_without_counters_get_the_advice_of_a_timer),
		cmocka_unit_test(a_pmu_with_capabilities_tells_its_periods),
		cmocka_unit_test(rings_that_are_too_large_name_the_limit),
		cmocka_unit_test(precision_is_given_up_a_level_at_a_time),
		cmocka_unit_test(what_the_user_asked_for_is_not_given_up),
		cmocka_unit_test_setup_teardown(tracepoints_with_a_number_are_listed,
						make_tracepoints, file_tree_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
