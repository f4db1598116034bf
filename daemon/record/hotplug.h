/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CPUs that come and go: the kernel's own messages (uevents), "online@/devices/system/cpu/cpu3",
 * and of CPUs that were away while the system slept, of which it sends none, the driver's:
 * "change@...", with a variable "PESA_CPU=3".
 *
 * Events of a CPU die when it goes offline and do not come back with it; events of a task are only
 * where they were opened.  So whoever records must hear of a CPU that came, at once, and even if it
 * was away for less time than passes between two looks at a file.
 */
#ifndef DAEMON_RECORD_HOTPLUG_H
#define DAEMON_RECORD_HOTPLUG_H

#include <stdbool.h>
#include <stddef.h>

enum pesa_hotplug {
	PESA_HOTPLUG_NONE,  /* no message is left */
	PESA_HOTPLUG_OTHER, /* of something else */
	PESA_HOTPLUG_ONLINE,
	PESA_HOTPLUG_OFFLINE,
	PESA_HOTPLUG_MISSED, /* messages found no room and are gone */
};

/* Returns a descriptor that can be waited for and does not block, or -1 and errno. */
int pesa_hotplug_open(void);

/* Take a message.  *cpu: of ONLINE and OFFLINE. */
enum pesa_hotplug pesa_hotplug_next(int descriptor, unsigned int *cpu);

/* What a message of `size` bytes, strings each with its terminator, says: ONLINE, OFFLINE or OTHER.
 */
enum pesa_hotplug pesa_hotplug_parse(const char *message, size_t size, unsigned int *cpu);

#endif
