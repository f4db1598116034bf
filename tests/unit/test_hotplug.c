/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <linux/netlink.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

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

/* ---- Sockets -------------------------------------------------------------------------------- */

static int opened(void)
{
	int descriptor = pesa_hotplug_open();

	assert_true(descriptor >= 0);
	return descriptor;
}

/* Whether the kernel sent a message about CPU 0 that says nothing new: only root may have it do so. */
static bool kernel_speaks(void)
{
	FILE *file = fopen("/sys/devices/system/cpu/cpu0/uevent", "w");
	bool spoke = file && fputs("change", file) >= 0;

	if (file && fclose(file))
		spoke = false;
	if (!spoke)
		print_message("# SKIP the kernel's messages need root and a writable /sys\n");
	return spoke;
}

static void no_message_is_none(void **state)
{
	unsigned int cpu = 7;
	int pair[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, pair), 0);
	assert_int_equal(pesa_hotplug_next(pair[0], &cpu), PESA_HOTPLUG_NONE);
	assert_int_equal(cpu, 7);
	close(pair[0]);
	close(pair[1]);
}

/* A program that says what the kernel would say is not believed. */
static void other_senders_are_not_believed(void **state)
{
	static const char forged[] = "offline@/devices/system/cpu/cpu0";
	struct sockaddr_nl address = {0};
	socklen_t length = sizeof(address);
	int descriptor = opened(), sender;
	unsigned int cpu = 7;

	(void)state;
	assert_int_equal(getsockname(descriptor, (struct sockaddr *)&address, &length), 0);
	sender = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT);
	assert_true(sender >= 0);
	address.nl_groups = 0;
	if (sendto(sender, forged, sizeof(forged), 0, (struct sockaddr *)&address,
		   sizeof(address)) == sizeof(forged)) {
		enum pesa_hotplug what;

		/* The kernel may say something of its own in between. */
		while ((what = pesa_hotplug_next(descriptor, &cpu)) == PESA_HOTPLUG_OTHER)
			;
		assert_int_equal(what, PESA_HOTPLUG_NONE);
		assert_int_equal(cpu, 7);
	} else {
		print_message("# SKIP only root may send to the socket\n");
	}
	close(sender);
	close(descriptor);
}

static void messages_that_the_kernel_dropped_are_missed(void **state)
{
	const int least = 0;
	int descriptor = opened();
	unsigned int cpu = 0;
	bool spoke = true;

	(void)state;
	assert_int_equal(setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &least, sizeof(least)), 0);
	for (unsigned int i = 0; i < 32 && spoke; i++)
		spoke = kernel_speaks();
	if (spoke) {
		assert_int_equal(pesa_hotplug_next(descriptor, &cpu), PESA_HOTPLUG_MISSED);
		/* Once: those that had room come after it. */
		assert_int_equal(pesa_hotplug_next(descriptor, &cpu), PESA_HOTPLUG_OTHER);
	}
	close(descriptor);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_of_cpus_are_understood),
		cmocka_unit_test(a_message_without_its_end_is_none),
		cmocka_unit_test(no_message_is_none),
		cmocka_unit_test(other_senders_are_not_believed),
		cmocka_unit_test(messages_that_the_kernel_dropped_are_missed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
