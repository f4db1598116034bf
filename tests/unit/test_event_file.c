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

#include "daemon/record/counting.h"
#include "daemon/events/catalogue.h"
#include "daemon/events/generic.h"
#include "tests/file_tree.h"

static int setup(void **state)
{
	static const struct file_tree_file files[] = {
		/* The SBI PMU of Linux. */
		{"devices/cpu/type", "4\n"},
		{"devices/cpu/format/event", "config:0-47\n"},
		{"devices/cpu/format/firmware", "config:62-63\n"},
		{"devices/power/type", "20\n"},
		{"devices/power/format/event", "config:0-7\n"},
		{"devices/power/events/energy", "event=0x02\n"},
		{"devices/power/events/energy.scale", "2.5e-10\n"},
		{"devices/power/events/energy.unit", "Joules\n"},
		{"devices/power/events/broken", "event=1\n"},
		{"devices/power/events/broken.scale", "much\n"},
		{"proc/cpuinfo",
		 "processor\t: 0\nhart\t\t: 0\nisa\t\t: rv64gc\nmvendorid\t: 0x489\n"
		 "marchid\t\t: 0x8000000000000007\nmimpid\t\t: 0x4210427\n\n"
		 "processor\t: 1\nmvendorid\t: 0x1\n"},
		{"events/mapfile.csv", "0x489-0x8000000000000007-0x[[:xdigit:]]+,v1,core,core\n"},
		{"events/standard.json",
		 "[{\"EventName\": \"FW_SET_TIMER\", \"ConfigCode\": \"0x8000000000000005\","
		 "  \"BriefDescription\": \"timers\", \"ScaleUnit\": \"2Ticks\"}]"},
		{"events/core/a.json",
		 "[{\"EventName\": \"INST.RET\", \"EventCode\": \"0x102\","
		 "  \"SampleAfterValue\": \"1000003\"},"
		 " {\"ArchStdEvent\": \"FW_SET_TIMER\", \"BriefDescription\": \"own\"},"
		 " {\"EventName\": \"BIG\", \"EventCode\": \"0x1000000000000\"},"
		 " {\"EventName\": \"POWER\", \"EventCode\": \"3\", \"Unit\": \"POWER\"}]"},
	};

	return file_tree_set_up(state, files, sizeof(files) / sizeof(files[0]));
}

/* A name, looked up with the event files of the processor in /proc/cpuinfo. */
static struct pesa_error *resolve(const struct file_tree *tree, const char *name,
				  struct pesa_event_name *event)
{
	char id[PESA_CPU_ID_MAX], path[PATH_MAX], devices[PATH_MAX];
	struct pesa_event_catalogue catalogue;
	struct pesa_event_source source = {.tracepoints = "/nonexistent", .devices = devices};
	struct pesa_error *error;

	assert_true(pesa_cpu_id(tree->root, id));
	assert_string_equal(id, "0x489-0x8000000000000007-0x4210427");
	snprintf(path, sizeof(path), "%s/events", tree->root);
	snprintf(devices, sizeof(devices), "%s/devices", tree->root);
	assert_null(pesa_event_catalogue_load(path, id, &catalogue));
	assert_int_equal(catalogue.bad, 0);
	source.catalogue = &catalogue;
	error = pesa_event_resolve(&source, name, event);
	pesa_event_catalogue_free(&catalogue);
	return error;
}

static void a_code_goes_where_the_pmu_has_its_term(void **state)
{
	struct pesa_event_name event;

	assert_null(resolve(*state, "inst.ret:u", &event));
	assert_int_equal(event.attr.type, 4);
	assert_int_equal(event.attr.config, 0x102);
	assert_int_equal(event.period, 1000003);
	assert_true(event.attr.exclude_kernel && event.attr.exclude_hv && !event.attr.exclude_user);
	assert_string_equal(event.pmu.name, "cpu");
	assert_null(resolve(*state, "POWER", &event));
	assert_int_equal(event.attr.type, 20);
	assert_int_equal(event.attr.config, 3);
}

static void a_standard_event_gives_what_is_missing(void **state)
{
	struct pesa_event_name event;

	assert_null(resolve(*state, "FW_SET_TIMER", &event));
	assert_int_equal(event.attr.type, 4);
	assert_int_equal(event.attr.config, 0x8000000000000005);
	assert_true(event.scale > 1.99 && event.scale < 2.01);
	assert_string_equal(event.unit, "Ticks");
}

static void what_the_pmu_cannot_hold_is_an_error_that_names_the_event(void **state)
{
	struct pesa_event_name event;
	struct pesa_error *error = resolve(*state, "BIG", &event);

	assert_non_null(error);
	assert_non_null(strstr(error->message, "event BIG of the event files"));
	assert_non_null(strstr(error->message, "0x1000000000000 does not fit"));
	pesa_error_free(error);
}

static void an_event_file_is_before_the_generic_event(void **state)
{
	struct pesa_event_name event;

	assert_null(resolve(*state, "CYCLES.HART", &event));
	assert_int_equal(event.attr.type, PERF_TYPE_HARDWARE);
	assert_null(resolve(*state, "INST.RET", &event));
	assert_int_equal(event.attr.type, 4);
}

static void names_of_sysfs_bring_factor_and_unit(void **state)
{
	struct pesa_event_name event;
	struct pesa_error *error;

	assert_null(resolve(*state, "power/energy/", &event));
	assert_int_equal(event.attr.config, 2);
	assert_string_equal(event.unit, "Joules");
	assert_true(event.scale > 2.4e-10 && event.scale < 2.6e-10);
	/* Without its PMU too. */
	assert_null(resolve(*state, "energy", &event));
	assert_int_equal(event.attr.type, 20);
	assert_null(resolve(*state, "cpu/r1a2,period=77/", &event));
	assert_int_equal(event.attr.config, 0x1a2);
	assert_int_equal(event.period, 77);
	error = resolve(*state, "power/broken/", &event);
	assert_non_null(error);
	assert_non_null(strstr(error->message, "broken.scale: 'much' is no factor"));
	pesa_error_free(error);
}

static void lists_have_groups_whose_modifiers_are_of_all(void **state)
{
	static const struct {
		const char *name;
		unsigned int group;
	} expected[] = {{"a", 0}, {"b:u", 1}, {"c:ku", 1}, {"cpu/x=1,y/u", 1}, {"d/e,f/", 2}};
	struct pesa_event_list list = {0};

	(void)state;
	assert_null(pesa_event_list_add(&list, "a,{b,c:k,cpu/x=1,y/}:u,d/e,f/"));
	assert_int_equal(list.count, 5);
	for (size_t i = 0; i < list.count; i++) {
		assert_string_equal(list.items[i].name, expected[i].name);
		assert_int_equal(list.items[i].group, expected[i].group);
	}
	pesa_event_list_free(&list);
}

static void what_ran_for_a_part_of_the_time_is_scaled(void **state)
{
	static const struct {
		struct pesa_event_count count;
		uint64_t scaled;
	} cases[] = {
		{{100, 0, 0}, 0},
		{{100, 50, 50}, 100},
		{{100, 60, 20}, 300},
		{{10, 3, 7}, 4}, /* 4.29 */
		{{UINT64_MAX, 3, 3}, UINT64_MAX},
		{{UINT64_MAX / 2, 1000, 1}, UINT64_MAX}, /* no more than there is */
		{{1000000000000000, 2000000000000, 1000000000000}, 2000000000000000},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(pesa_event_count_scaled(&cases[i].count), cases[i].scaled);
}

static void patterns_match_whole_ids_only(void **state)
{
	static const struct {
		const char *pattern, *id;
		bool matches;
	} cases[] = {
		{"0x1-0x2-0x[[:xdigit:]]+", "0x1-0x2-0xfF", true},
		{"0x1-0x2-0x[[:xdigit:]]+", "0x1-0x2-0x", false},
		{"0x1-0x2-0x3", "0x1-0x2-0x33", false},
		{"0x1-0x2-0x3", "00x1-0x2-0x3", false},
		{"0x1-0x[89]0-0x3|0x4-0x5-0x6", "0x4-0x5-0x6", true},
		{"0x67e-0x80000000db0000[89]0-0x[[:xdigit:]]+", "0x67e-0x80000000DB000090-0x1",
		 true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct pesa_event_map map;
		char line[128];

		snprintf(line, sizeof(line), "%s,v1,d,core\n", cases[i].pattern);
		assert_null(pesa_event_map_parse("map", line, strlen(line), &map));
		assert_int_equal(map.count, 1);
		assert_int_equal(pesa_event_map_find(&map, cases[i].id) != NULL, cases[i].matches);
		pesa_event_map_free(&map);
	}
}

static void lines_of_a_map_that_make_no_sense_are_told(void **state)
{
	static const char *const bad[] = {"a,b\n",
					  "[,v,d,core\n",
					  "a{1,9},v,d,core\n",
					  "a,v,/etc,core\n",
					  "a,v,x/../../y,core\n",
					  "a,v,,core\n",
					  "a,v,d,core,more\n"};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct pesa_event_map map;

		assert_null(pesa_event_map_parse("map", bad[i], strlen(bad[i]), &map));
		assert_int_equal(map.count, 0);
		assert_int_equal(map.bad, 1);
		assert_memory_equal(map.problem, "map:1: ", 7);
		pesa_event_map_free(&map);
	}
}

static void caches_have_the_operations_that_the_kernel_has(void **state)
{
	struct pesa_event_name event = {0};

	(void)state;
	assert_true(pesa_event_cache_find("l1d-write-miss", &event));
	assert_int_equal(event.attr.config, 0x10100);
	assert_true(pesa_event_cache_find("LLC", &event));
	assert_int_equal(event.attr.config, 2);
	assert_false(pesa_event_cache_find("iTLB-stores", &event));
	assert_false(pesa_event_cache_find("L1-icache-write", &event));
	assert_false(pesa_event_cache_find("LLC-", &event));
	assert_false(pesa_event_cache_find("LLC-loads-loads", &event));
	assert_false(pesa_event_cache_find("LLCloads", &event));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, file_tree_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_code_goes_where_the_pmu_has_its_term),
		TEST(a_standard_event_gives_what_is_missing),
		TEST(what_the_pmu_cannot_hold_is_an_error_that_names_the_event),
		TEST(an_event_file_is_before_the_generic_event),
		TEST(names_of_sysfs_bring_factor_and_unit),
		cmocka_unit_test(lists_have_groups_whose_modifiers_are_of_all),
		cmocka_unit_test(what_ran_for_a_part_of_the_time_is_scaled),
		cmocka_unit_test(patterns_match_whole_ids_only),
		cmocka_unit_test(lines_of_a_map_that_make_no_sense_are_told),
		cmocka_unit_test(caches_have_the_operations_that_the_kernel_has),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
