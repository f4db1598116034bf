// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/record/hotplug.h"

#include <errno.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/events/pmu.h"

#define KERNEL_GROUP 1u	   /* multicast group of the kernel's own messages */
#define MESSAGE_MAX  8192u /* larger than any message */

int pesa_hotplug_open(void)
{
	struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = KERNEL_GROUP};
	int descriptor = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
				NETLINK_KOBJECT_UEVENT);

	if (descriptor >= 0 && bind(descriptor, (struct sockaddr *)&address, sizeof(address))) {
		int refusal = errno;

		close(descriptor);
		errno = refusal;
		return -1;
	}
	return descriptor;
}

/* Return the CPU number at the end of a string of at most `size` bytes; PESA_CPU_MAX: none. */
static unsigned int last_number(const char *text, size_t size)
{
	unsigned int number = 0;
	size_t at = 0;

	/* The number must end the string: a CPU's directory has subdirectories. */
	while (at < size && text[at] >= '0' && text[at] <= '9' && number < PESA_CPU_MAX)
		number = number * 10 + (unsigned int)(text[at++] - '0');
	return at && at < size && !text[at] && number < PESA_CPU_MAX ? number : PESA_CPU_MAX;
}

enum pesa_hotplug pesa_hotplug_parse(const char *message, size_t size, unsigned int *cpu)
{
	static const struct {
		const char *action; /* start of the message */
		const char *start;  /* start of the string that ends with the number */
		enum pesa_hotplug what;
	} known[] = {
		{"online@", "online@/devices/system/cpu/cpu", PESA_HOTPLUG_ONLINE},
		{"offline@", "offline@/devices/system/cpu/cpu", PESA_HOTPLUG_OFFLINE},
		/* Sent by the driver for CPUs that were offline during system suspend. */
		{"change@", "PESA_CPU=", PESA_HOTPLUG_ONLINE},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		size_t start = strlen(known[i].start), at = 0;

		if (size < strlen(known[i].action) ||
		    memcmp(message, known[i].action, strlen(known[i].action)))
			continue;
		for (; at < size; at += strnlen(message + at, size - at) + 1) {
			unsigned int number;

			if (size - at < start || memcmp(message + at, known[i].start, start))
				continue;
			number = last_number(message + at + start, size - at - start);
			if (number == PESA_CPU_MAX)
				break;
			*cpu = number;
			return known[i].what;
		}
	}
	return PESA_HOTPLUG_OTHER;
}

enum pesa_hotplug pesa_hotplug_next(int descriptor, unsigned int *cpu)
{
	char message[MESSAGE_MAX];
	struct sockaddr_nl sender = {0};
	socklen_t length = sizeof(sender);
	ssize_t size;

	do
		size = recvfrom(descriptor, message, sizeof(message), 0, (struct sockaddr *)&sender,
				&length);
	while (size < 0 && errno == EINTR);
	if (size < 0)
		return errno == ENOBUFS ? PESA_HOTPLUG_MISSED : PESA_HOTPLUG_NONE;
	/* Other programs can send to the socket too; only the kernel has port 0. */
	if (length < sizeof(sender) || sender.nl_pid)
		return PESA_HOTPLUG_OTHER;
	return pesa_hotplug_parse(message, (size_t)size, cpu);
}
