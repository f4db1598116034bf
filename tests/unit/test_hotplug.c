/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/record/hotplug.h"

static void messages_of_cpus_are_understood(void **state)
{
	static const struct {
		const char *message;
		enum pesa_hotplug what;
		unsigned int cpu;
	} known[] = {
		{"online@/devices/system/cpu/cpu0", PESA_HOTPLUG_ONLINE, 0},
		{"offline@/devices/system/cpu/cpu17", PESA_HOTPLUG_OFFLINE, 17},
		{"online@/devices/system/cpu/cpu4095", PESA_HOTPLUG_ONLINE, 4095},
		{"online@/devices/system/cpu/cpu4096", PESA_HOTPLUG_OTHER, 0},
		{"online@/devices/system/cpu/cpu99999999999999999999", PESA_HOTPLUG_OTHER, 0},
		{"online@/devices/system/cpu/cpu", PESA_HOTPLUG_OTHER, 0},
		{"online@/devices/system/cpu/cpu3/cache", PESA_HOTPLUG_OTHER, 0},
		{"online@/devices/system/memory/memory3", PESA_HOTPLUG_OTHER, 0},
		{"add@/devices/system/cpu/cpu3", PESA_HOTPLUG_OTHER, 0},
		{"change@/devices/platform/pesa PESA_CPU=3", PESA_HOTPLUG_ONLINE, 3},
		{"change@/devices/platform/pesa ACTION=change PESA_CPU=12 SEQNUM=7",
		 PESA_HOTPLUG_ONLINE, 12},
		{"change@/devices/platform/pesa PESA_CPU=", PESA_HOTPLUG_OTHER, 0},
		{"change@/devices/platform/pesa PESA_CPU=4096", PESA_HOTPLUG_OTHER, 0},
		{"change@/devices/platform/pesa", PESA_HOTPLUG_OTHER, 0},
		{"add@/devices/platform/pesa PESA_CPU=3", PESA_HOTPLUG_OTHER, 0},
		{"", PESA_HOTPLUG_OTHER, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		/* With the terminator, as the kernel sends it, and nothing behind. */
		size_t size = strlen(known[i].message) + 1;
		char *copy = malloc(size);
		unsigned int cpu = 0;

		assert_non_null(copy);
		memcpy(copy, known[i].message, size);
		/* A message is several strings: a blank is the end of one. */
		for (size_t at = 0; at < size; at++)
			if (copy[at] == ' ')
				copy[at] = 0;
		assert_int_equal(pesa_hotplug_parse(copy, size, &cpu), known[i].what);
		assert_int_equal(cpu, known[i].cpu);
		free(copy);
	}
}

static void a_message_without_its_end_is_none(void **state)
{
	const char *whole = "online@/devices/system/cpu/cpu12";
	unsigned int cpu = 0;

	(void)state;
	for (size_t size = 0; size <= strlen(whole); size++) {
		char *copy = malloc(size + 1);

		assert_non_null(copy);
		memcpy(copy, whole, size);
		assert_int_equal(pesa_hotplug_parse(copy, size, &cpu), PESA_HOTPLUG_OTHER);
		free(copy);
	}
	assert_int_equal(cpu, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_of_cpus_are_understood),
		cmocka_unit_test(a_message_without_its_end_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
