/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "daemon/events/event.h"
#include "daemon/events/pmu.h"
#include "tests/file_tree.h"

/* A directory of devices with one PMU in it, as the driver's sysfs has it. */
static int setup(void **state)
{
	static const struct file_tree_file files[] = {
		{"pesa/type", "10\n"},
		{"pesa/format/event", "config:0-7\n"},
		{"pesa/format/fixed", "config:8\n"},
		{"pesa/format/split", "config1:0-3,60-63\n"},
		{"pesa/events/cycles", "event=0x01\n"},
		{"pesa/events/INST.RET", "event=0x02\n"},
		{"pesa/events/INST.RET.scale", "0.5\n"},
		{"pesa/caps/xlen", "64\n"},
		{"pesa/caps/counter_bits", "31\n"},
		{"pesa/caps/minimum_period", "256\n"},
		{"pesa/caps/retire_width", "4\n"},
		{"pesa/caps/ct_targets", "2\n"},
		{"pesa/caps/ctr_depth", "0\n"},
		{"pesa/caps/cause_names", "0:icache-miss,3:dcache-miss\n"},
		{"pesa/caps/core", "\n"},
		{"pesa/caps/model", "\n"},
		{"pesa/caps/frequency", "1000000000\n"},
		{"other/type", "11\n"},
	};

	return file_tree_set_up(state, files, sizeof(files) / sizeof(files[0]));
}

/* The error has this code, and its message contains `text`. */
static void expect_error(struct pesa_error *error, enum pesa_error_code code, const char *text)
{
	assert_non_null(error);
	if (error->code != code || !strstr(error->message, text))
		fail_msg("%d: %s", error->code, error->message);
	pesa_error_free(error);
}

static void a_pmu_is_what_sysfs_says(void **state)
{
	struct file_tree *tree = *state;
	struct pesa_pmu pmu;

	assert_null(pesa_pmu_open(tree->root, "pesa", &pmu));
	assert_int_equal(pmu.type, 10);
	assert_false(pmu.has_cpus);
	assert_true(pmu.has_capabilities);
	assert_int_equal(pmu.capabilities.counter_bits, 31);
	assert_int_equal(pmu.capabilities.retire_width, 4);
	assert_int_equal(pmu.capabilities.frequency, 1000000000);
	assert_int_equal(pmu.capabilities.cause_mask, 9);
	assert_string_equal(pmu.capabilities.cause_names[3], "dcache-miss");
	assert_null(pesa_pmu_open(tree->root, "other", &pmu));
	assert_false(pmu.has_capabilities);
}

static void a_mask_of_cpus_is_read(void **state)
{
	struct file_tree *tree = *state;
	struct pesa_pmu pmu;

	file_tree_write(tree, "pesa/cpumask", "0-1,63-64\n");
	assert_null(pesa_pmu_open(tree->root, "pesa", &pmu));
	assert_true(pmu.has_cpus);
	for (unsigned int cpu = 0; cpu < 100; cpu++)
		assert_int_equal(pesa_cpu_in(&pmu.cpus, cpu), cpu < 2 || cpu == 63 || cpu == 64);
	assert_false(pesa_cpu_in(&pmu.cpus, PESA_CPU_MAX));
}

static void what_makes_no_sense_is_named_with_its_file(void **state)
{
	struct file_tree *tree = *state;
	struct pesa_pmu pmu;

	expect_error(pesa_pmu_open(tree->root, "none", &pmu), PESA_ERROR_NOT_FOUND, "'none'");
	expect_error(pesa_pmu_open(tree->root, "../pesa", &pmu), PESA_ERROR_NOT_FOUND,
		     "no name of a PMU");
	expect_error(pesa_pmu_open(tree->root, "", &pmu), PESA_ERROR_NOT_FOUND, "no name");
	file_tree_write(tree, "pesa/cpumask", "0-\n");
	expect_error(pesa_pmu_open(tree->root, "pesa", &pmu), PESA_ERROR_FORMAT,
		     "pesa/cpumask: '0-'");
	file_tree_write(tree, "pesa/cpumask", "0\n");
	file_tree_write(tree, "pesa/caps/counter_bits", "64\n");
	expect_error(pesa_pmu_open(tree->root, "pesa", &pmu), PESA_ERROR_FORMAT,
		     "pesa/caps: capability counter_bits: '64'");
	file_tree_write(tree, "pesa/type", "ten\n");
	expect_error(pesa_pmu_open(tree->root, "pesa", &pmu), PESA_ERROR_FORMAT, "'ten'");
}

static void names_of_events_may_have_dots(void **state)
{
	struct file_tree *tree = *state;
	struct pesa_pmu_event event;
	struct pesa_pmu pmu;

	assert_null(pesa_pmu_open(tree->root, "pesa", &pmu));
	assert_null(pesa_pmu_terms(&pmu, "INST.RET", &event));
	assert_int_equal(event.attr.config, 2);
	assert_true(event.scale == 0.5);
	expect_error(pesa_pmu_terms(&pmu, "INST.RET.scale", &event), PESA_ERROR_ARGUMENT,
		     "no event and no term");
}

static void lists_of_cpus_that_are_none_are_refused(void **state)
{
	static const char *const bad[] = {"",  ",",	"1,",	"-1",	  "3-1",
					  "x", "1-2-3", "4096", "0-4096", "99999999999999999999"};
	struct pesa_cpu_set set = {.bits = {5}};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(pesa_cpu_set_parse(bad[i], &set));
	assert_int_equal(set.bits[0], 5); /* untouched */
	assert_true(pesa_cpu_set_parse("4095", &set));
	assert_true(pesa_cpu_in(&set, 4095));
	assert_int_equal(set.bits[0], 0);
}

static void a_format_puts_bits_where_it_says(void **state)
{
	struct perf_event_attr attr = {.config = ~UINT64_C(0)};

	(void)state;
	assert_null(pesa_pmu_format_put("config:8-15", 0x12, &attr));
	assert_int_equal(attr.config, 0xffffffffffff12ff);
	assert_null(pesa_pmu_format_put("config1:0-3,60-63", 0xab, &attr));
	assert_int_equal(attr.config1, 0xa00000000000000b);
	assert_null(pesa_pmu_format_put("config2:0-63", UINT64_MAX, &attr));
	assert_int_equal(attr.config2, UINT64_MAX);
	expect_error(pesa_pmu_format_put("config:0-7", 0x100, &attr), PESA_ERROR_ARGUMENT, "0x100");
	expect_error(pesa_pmu_format_put("config:0-64", 0, &attr), PESA_ERROR_FORMAT, "0-64");
	expect_error(pesa_pmu_format_put("config:", 0, &attr), PESA_ERROR_FORMAT, "config:");
	expect_error(pesa_pmu_format_put("config3:0", 0, &attr), PESA_ERROR_FORMAT, "config3");
	assert_int_equal(attr.config, 0xffffffffffff12ff);
}

static void an_event_is_its_terms_and_modes(void **state)
{
	struct file_tree *tree = *state;
	struct pesa_event_name event;

	assert_null(pesa_event_parse(tree->root, "pesa/cycles/", &event));
	assert_int_equal(event.attr.type, 10);
	assert_int_equal(event.attr.config, 1);
	assert_false(event.has_modes);
	assert_null(pesa_event_parse(tree->root, "pesa/cycles,fixed/u", &event));
	assert_int_equal(event.attr.config, 0x101);
	assert_true(event.has_modes && event.attr.exclude_kernel && event.attr.exclude_hv);
	assert_false(event.attr.exclude_user);
	assert_null(pesa_event_parse(tree->root, "pesa/event=0x7,split=0x21/:k", &event));
	assert_int_equal(event.attr.config, 7);
	assert_int_equal(event.attr.config1, 0x2000000000000001);
	assert_true(event.attr.exclude_user);
	assert_null(pesa_event_parse(tree->root, "pesa/config=5/", &event));
	assert_int_equal(event.attr.config, 5);
	assert_null(pesa_event_parse(tree->root, "cpu-clock:uk", &event));
	assert_int_equal(event.attr.type, PERF_TYPE_SOFTWARE);
	assert_false(event.attr.exclude_user || event.attr.exclude_kernel);
}

static void a_name_that_is_no_event_says_what_would_be(void **state)
{
	static const struct {
		const char *name, *text;
	} bad[] = {
		{"", "no event"},
		{"cycle", "no event 'cycle'"},
		{"pesa", "no event 'pesa'"},
		{"pesa/cycles", "should be PMU/EVENT/"},
		{"pesa//", "no term ''"},
		{"pesa/cicles/", "no term 'cicles'"},
		{"pesa/../type/", "no term '../type'"},
		{"pesa/event=x/", "'x' is no value"},
		{"pesa/event=256/", "0x100 does not fit"},
		{"pesa/cycles/z", "'z' are no modifiers"},
		{"cycles:z", "'z' are no modifiers"},
		{"none/cycles/", "no PMU 'none'"},
	};
	struct file_tree *tree = *state;
	struct pesa_event_name event;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct pesa_error *error = pesa_event_parse(tree->root, bad[i].name, &event);

		assert_non_null(error);
		if (!strstr(error->message, bad[i].text))
			fail_msg("%s: %s", bad[i].name, error->message);
		pesa_error_free(error);
	}
}

static void a_period_is_held_against_the_limits_of_the_pmu(void **state)
{
	static const struct {
		const char *event;
		uint64_t period;
		bool fits;
		uint64_t raised; /* the period that is taken instead; 0: the same */
	} cases[] = {
		{"pesa/cycles/", 1, true, 256},
		{"pesa/cycles/", 255, true, 256},
		{"pesa/cycles/", 256, true, 0},
		/* The longest with an eighth of jitter: (2^31 - 1) * 8 / 9, rounded down. */
		{"pesa/cycles/", 1908874353, true, 0},
		{"pesa/cycles/", 1908874354, false, 0},
		{"pesa/cycles,fixed/", (UINT64_C(1) << 31) - 1, true, 0},
		{"pesa/cycles,fixed/", UINT64_C(1) << 31, false, 0},
		{"cpu-clock", 1, true, 0},
	};
	struct file_tree *tree = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct pesa_sampling sampling = {.period = cases[i].period};
		struct pesa_event_name event;
		struct pesa_error *error;

		assert_null(pesa_event_parse(tree->root, cases[i].event, &event));
		error = pesa_event_attribute(&event, &sampling);
		assert_int_equal(!error, cases[i].fits);
		if (error)
			assert_non_null(strstr(error->message, " 256 to "));
		else
			assert_int_equal(event.attr.sample_period,
					 cases[i].raised ? cases[i].raised : cases[i].period);
		pesa_error_free(error);
	}
}

static void without_a_rate_the_period_is_that_of_4000_samples_a_second(void **state)
{
	const struct pesa_sampling sampling = {0};
	struct file_tree *tree = *state;
	struct pesa_event_name event;

	assert_null(pesa_event_parse(tree->root, "pesa/cycles/", &event));
	assert_null(pesa_event_attribute(&event, &sampling));
	assert_false(event.attr.freq);
	/* Less often where the kernel allows less. */
	assert_true(event.attr.sample_period >= 250000);
	assert_true(event.attr.sample_type & PERF_SAMPLE_RAW);
	assert_null(pesa_event_parse(tree->root, "cpu-clock", &event));
	assert_null(pesa_event_attribute(&event, &sampling));
	assert_true(event.attr.freq);
	assert_false(event.attr.sample_type & PERF_SAMPLE_RAW);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, file_tree_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_pmu_is_what_sysfs_says),
		TEST(a_mask_of_cpus_is_read),
		TEST(names_of_events_may_have_dots),
		TEST(what_makes_no_sense_is_named_with_its_file),
		cmocka_unit_test(lists_of_cpus_that_are_none_are_refused),
		cmocka_unit_test(a_format_puts_bits_where_it_says),
		TEST(an_event_is_its_terms_and_modes),
		TEST(a_name_that_is_no_event_says_what_would_be),
		TEST(a_period_is_held_against_the_limits_of_the_pmu),
		TEST(without_a_rate_the_period_is_that_of_4000_samples_a_second),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
