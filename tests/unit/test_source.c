/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which source of samples is chosen, from what perf_event_open() answers on processors of which this
 * is reported (Documentation/boards.md), and what is said of it.
 */
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/events/catalogue.h"
#include "daemon/record/source.h"
#include "tests/file_tree.h"

#define SUPERVISOR 0x21 /* codes of events of the X60 */
#define USER	   0x22

/* A machine: what it answers to the events that are tried. */
struct machine {
	const char *id; /* of its processor, for the event files; NULL: none are loaded */
	bool pesa;	/* has the PMU pesa */
	bool user;	/* the caller may not see the kernel */
	struct pesa_source_answer cycles, leader, supervisor;
	unsigned int tried; /* events */
};

static struct pesa_source_answer answer(void *context, struct pesa_event_name *event)
{
	struct machine *machine = context;

	machine->tried++;
	if (machine->user) {
		event->attr.exclude_kernel = 1;
		event->user_only = true;
	}
	if (event->attr.type == PERF_TYPE_HARDWARE)
		return machine->cycles;
	return event->attr.config == USER ? machine->leader : machine->supervisor;
}

static struct pesa_sampling_source choose(struct machine *machine, bool system_wide)
{
	static const struct file_tree_file files[] = {
		{"sbi/cpu/type", "4\n"},
		{"sbi/cpu/format/event", "config:0-47\n"},
		{"pesa/cpu/type", "4\n"},
		{"pesa/cpu/format/event", "config:0-47\n"},
		{"pesa/pesa/type", "10\n"},
		{"pesa/pesa/format/event", "config:0-7\n"},
		{"pesa/pesa/events/cycles", "event=0x01\n"},
	};
	const struct pesa_source_trial trial = {.attempt = answer, .context = machine};
	struct pesa_event_source names = {.tracepoints = "/nonexistent"};
	struct pesa_event_catalogue catalogue = {0};
	static struct pesa_sampling_source source;
	static char text[2][64];
	char devices[PATH_MAX];
	struct file_tree *tree;
	void *state;

	assert_int_equal(file_tree_set_up(&state, files, sizeof(files) / sizeof(files[0])), 0);
	tree = state;
	snprintf(devices, sizeof(devices), "%s/%s", tree->root, machine->pesa ? "pesa" : "sbi");
	names.devices = devices;
	if (machine->id) {
		assert_null(pesa_event_catalogue_load("tools/events", machine->id, &catalogue));
		assert_int_equal(catalogue.bad, 0);
		names.catalogue = &catalogue;
	}
	pesa_source_choose(&names, system_wide, &trial, &source);
	/* The names are the catalogue's. */
	for (unsigned int i = 0; i < source.event_count; i++) {
		snprintf(text[i], sizeof(text[i]), "%s", source.events[i]);
		source.events[i] = text[i];
	}
	pesa_event_catalogue_free(&catalogue);
	file_tree_tear_down(&state);
	return source;
}

#define X60  "0x710-0x8000000058000001-0x1000000049772200"
#define X100 "0x710-0x8000000058000002-0x33d8a600"
#define U74  "0x489-0x8000000000000007-0x4210427"
#define P550 "0x489-0x8000000000000008-0x6220425"
#define C910 "0x5b7-0x0-0x0"
#define WORKS                   \
	{                       \
		.sampled = true \
	}

static const struct {
	const char *name;
	struct machine machine;
	enum pesa_source_level level;
	const char *events, *why;
} cases[] = {
	{"shpmsdetails: nothing else is tried",
	 {.pesa = true},
	 PESA_SOURCE_DETAILS,
	 "pesa/cycles/",
	 ""},
	{"base Sspesa: the kernel marks the PC",
	 {.cycles = {.sampled = true, .exact = true}},
	 PESA_SOURCE_PC,
	 "cycles",
	 "no PMU 'pesa'"},
	{"P550, Sscofpmf: cycles interrupt",
	 {.id = P550, .cycles = WORKS},
	 PESA_SOURCE_CYCLES,
	 "cycles",
	 "no PMU 'pesa'; the kernel marks no PC as exact"},
	{"X100 (K3), cycles interrupt",
	 {.id = X100, .cycles = WORKS},
	 PESA_SOURCE_CYCLES,
	 "cycles",
	 "marks no PC"},
	{"C910, its own interrupt, kernel with CONFIG_ERRATA_THEAD_PMU",
	 {.id = C910, .cycles = WORKS},
	 PESA_SOURCE_CYCLES,
	 "cycles",
	 "marks no PC"},
	{"C910, firmware without a PMU node: nothing counts cycles",
	 {.id = C910, .cycles = {.refusal = ENOENT}},
	 PESA_SOURCE_CLOCK,
	 "task-clock",
	 "cycles is counted by nothing here"},
	{"C910, kernel without its interrupt: cycles open and never overflow",
	 {.id = C910, .cycles = {.refusal = 0}},
	 PESA_SOURCE_CLOCK,
	 "task-clock",
	 "cycles is counted, but raises no interrupt"},
	{"U74: no Sscofpmf",
	 {.id = U74, .cycles = {.refusal = EOPNOTSUPP}},
	 PESA_SOURCE_CLOCK,
	 "task-clock",
	 "its counter raises no interrupt (no Sscofpmf)"},
	{"U74, not root: nor can it leave the kernel out",
	 {.id = U74, .user = true, .cycles = {.refusal = EINVAL}},
	 PESA_SOURCE_CLOCK,
	 "task-clock",
	 "cannot leave the kernel out (no mode filter)"},
	{"X60: cycles do not overflow, those of user mode and kernel do",
	 {.id = X60, .cycles = {.refusal = EOPNOTSUPP}, .leader = WORKS},
	 PESA_SOURCE_LEADER,
	 "u_mode_cycle+s_mode_cycle",
	 "cycles is counted at best"},
	{"X60, cycles open and never overflow",
	 {.id = X60, .leader = WORKS},
	 PESA_SOURCE_LEADER,
	 "u_mode_cycle+s_mode_cycle",
	 "cycles is counted, but raises no interrupt"},
	{"X60, not root: user mode alone",
	 {.id = X60, .user = true, .cycles = {.refusal = ENOENT}, .leader = WORKS},
	 PESA_SOURCE_LEADER,
	 "u_mode_cycle",
	 "cycles is counted by nothing"},
	{"X60, one counter: no room for a second event",
	 {.id = X60,
	  .cycles = {.refusal = ENOENT},
	  .leader = WORKS,
	  .supervisor = {.refusal = EINVAL}},
	 PESA_SOURCE_LEADER,
	 "u_mode_cycle",
	 "s_mode_cycle is refused"},
	{"X60, kernel without raw events",
	 {.id = X60, .cycles = {.refusal = EOPNOTSUPP}, .leader = {.refusal = ENOENT}},
	 PESA_SOURCE_CLOCK,
	 "task-clock",
	 "u_mode_cycle is counted by nothing here"},
	{"a virtual machine without counters",
	 {.cycles = {.refusal = ENOENT}},
	 PESA_SOURCE_CLOCK,
	 "task-clock",
	 "no PMU 'pesa'; cycles is counted by nothing here"},
	/* Not a lack of hardware: the recording shall say what it is, not do less. */
	{"a container whose filter forbids it",
	 {.cycles = {.refusal = EPERM}},
	 PESA_SOURCE_CYCLES,
	 "cycles",
	 "no PMU 'pesa'"},
	{"another recording has the counter",
	 {.cycles = {.refusal = EBUSY}},
	 PESA_SOURCE_CYCLES,
	 "cycles",
	 "no PMU 'pesa'"},
};

static void what_is_reported_of_processors_decides(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct machine machine = cases[i].machine;
		struct pesa_sampling_source source = choose(&machine, false);
		char events[160];

		snprintf(events, sizeof(events), "%s%s%s", source.events[0],
			 source.event_count > 1 ? "+" : "",
			 source.event_count > 1 ? source.events[1] : "");
		if (source.level != cases[i].level || strcmp(events, cases[i].events) ||
		    !strstr(source.why, cases[i].why) || (!*cases[i].why && *source.why))
			fail_msg("%s: %s of level %s: %s", cases[i].name, events,
				 pesa_source_level_name(source.level), source.why);
		if (machine.pesa)
			assert_int_equal(machine.tried, 0);
	}
}

static void whole_cpus_have_a_clock_of_their_own(void **state)
{
	struct machine machine = {.cycles = {.refusal = ENOENT}};
	struct pesa_sampling_source source = choose(&machine, true);

	(void)state;
	assert_string_equal(source.events[0], "cpu-clock");
}

static void what_is_required_is_at_least_that(void **state)
{
	struct machine machine = {.id = X60, .cycles = {.refusal = EOPNOTSUPP}, .leader = WORKS};
	struct pesa_sampling_source source = choose(&machine, false);
	struct pesa_error *error;

	(void)state;
	assert_null(pesa_source_require(&source, PESA_SOURCE_CLOCK));
	assert_null(pesa_source_require(&source, PESA_SOURCE_LEADER));
	for (unsigned int i = PESA_SOURCE_DETAILS; i < PESA_SOURCE_LEADER; i++) {
		error = pesa_source_require(&source, (enum pesa_source_level)i);
		assert_non_null(error);
		assert_non_null(strstr(error->message, "u_mode_cycle (leader): no PMU 'pesa'; "));
		pesa_error_free(error);
	}
}

static void levels_have_names(void **state)
{
	enum pesa_source_level level;

	(void)state;
	for (unsigned int i = 0; i < PESA_SOURCE_LEVELS; i++) {
		assert_true(pesa_source_level_parse(
			pesa_source_level_name((enum pesa_source_level)i), &level));
		assert_int_equal(level, i);
		assert_true(*pesa_source_level_meaning(level));
	}
	assert_false(pesa_source_level_parse("", &level));
	assert_false(pesa_source_level_parse("Details", &level));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_reported_of_processors_decides),
		cmocka_unit_test(whole_cpus_have_a_clock_of_their_own),
		cmocka_unit_test(what_is_required_is_at_least_that),
		cmocka_unit_test(levels_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
