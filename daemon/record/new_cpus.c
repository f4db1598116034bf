// SPDX-License-Identifier: GPL-2.0-or-later
/* Recording through the kernel: CPUs that come online while recording.  See session.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "daemon/record/session.h"
#include "daemon/record/hotplug.h"

static bool has_events(const struct hardware *hardware, unsigned int cpu)
{
	for (size_t i = 0; i < hardware->descriptor_count; i++)
		if (hardware->descriptors[i].cpu == cpu)
			return true;
	return false;
}

static void follow(struct hardware *hardware, unsigned int cpu)
{
	const struct pesa_hardware_options *options = hardware->options;
	size_t before = hardware->descriptor_count;
	struct pesa_error *error;
	char name[32];

	if (options->has_cpus && !pesa_cpu_in(&options->cpus, cpu))
		return;
	snprintf(name, sizeof(name), "CPU %u", cpu);
	if (hardware->tasks.count) {
		/* Task events survive the time in which a CPU is offline. */
		if (!has_events(hardware, cpu))
			hardware_not_followed(hardware, name,
					      "it was not there when the recording began");
		return;
	}
	/* The old events are dead, except if the CPU came online while events were being opened. */
	for (size_t i = 0; i < before; i++)
		if (hardware->descriptors[i].cpu == cpu) {
			ioctl(hardware->descriptors[i].descriptor, PERF_EVENT_IOC_DISABLE, 0);
			hardware->descriptors[i].offline = true;
		}
	error = hardware_open_late(hardware, cpu);
	if (error) {
		hardware_not_followed(hardware, name, error->message);
		pesa_error_free(error);
	} else {
		hardware->summary->followed++;
	}
	for (size_t i = before; i < hardware->descriptor_count; i++)
		ioctl(hardware->descriptors[i].descriptor, PERF_EVENT_IOC_ENABLE, 0);
}

/* Task events wait until the CPU is online again. */
static void leave(struct hardware *hardware, unsigned int cpu)
{
	for (size_t i = 0; i < hardware->descriptor_count && !hardware->tasks.count; i++)
		if (hardware->descriptors[i].cpu == cpu)
			hardware->descriptors[i].offline = true;
}

void hardware_hotplug_follow(struct hardware *hardware)
{
	enum pesa_hotplug what;
	unsigned int cpu;

	while (hardware->hotplug >= 0 &&
	       (what = pesa_hotplug_next(hardware->hotplug, &cpu)) != PESA_HOTPLUG_NONE) {
		if (what == PESA_HOTPLUG_ONLINE)
			follow(hardware, cpu);
		else if (what == PESA_HOTPLUG_OFFLINE)
			leave(hardware, cpu);
		else if (what == PESA_HOTPLUG_MISSED)
			hardware_not_followed(hardware, "CPUs may have come",
					      "the kernel sent more messages than were read");
	}
}
