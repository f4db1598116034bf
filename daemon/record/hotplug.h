/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CPU hotplug messages (uevents): the kernel's "online@/devices/system/cpu/cpu3", and the driver's
 * "change@..." with the variable "PESA_CPU=3" for CPUs that were offline during system suspend, for
 * which the kernel sends none.
 *
 * Events of a CPU die when it goes offline and do not come back with it; events of a task exist
 * only on CPUs for which they were opened.  So a recorder has to be notified of each CPU that comes
 * online, even if it was offline for a shorter time than any polling interval.
 */
#ifndef DAEMON_RECORD_HOTPLUG_H
#define DAEMON_RECORD_HOTPLUG_H

#include <stdbool.h>
#include <stddef.h>

enum pesa_hotplug {
	PESA_HOTPLUG_NONE,  /* no message left */
	PESA_HOTPLUG_OTHER, /* a message about something else */
	PESA_HOTPLUG_ONLINE,
	PESA_HOTPLUG_OFFLINE,
	PESA_HOTPLUG_MISSED, /* messages were lost for lack of room */
};

/* Returns a non-blocking descriptor that can be polled, or -1 and errno. */
int pesa_hotplug_open(void);

/* Read a message.  *cpu is set for ONLINE and OFFLINE. */
enum pesa_hotplug pesa_hotplug_next(int descriptor, unsigned int *cpu);

/* Parse a message of `size` bytes, terminated strings: returns ONLINE, OFFLINE or OTHER. */
enum pesa_hotplug pesa_hotplug_parse(const char *message, size_t size, unsigned int *cpu);

#endif
