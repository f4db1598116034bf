/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events of the PMU pesa, for the programs that run on the board. */
#ifndef GUEST_EVENT_H
#define GUEST_EVENT_H

#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PMU_TYPE_FILE  "/sys/bus/event_source/devices/pesa/type"
#define CONFIG_CYCLES  1u
#define CONFIG_FIXED   (1u << 8)
#define CONFIG_AUTORUN (1u << 9)

/* The PMU's number; without the PMU the program ends. */
static inline unsigned int guest_pmu_type(void)
{
	FILE *file = fopen(PMU_TYPE_FILE, "r");
	unsigned int type;

	if (!file || fscanf(file, "%u", &type) != 1) {
		fprintf(stderr, "there is no PMU pesa\n");
		exit(2);
	}
	fclose(file);
	return type;
}

static inline int guest_open(struct perf_event_attr *attr, pid_t task, int cpu, int group)
{
	return (int)syscall(SYS_perf_event_open, attr, task, cpu, group, PERF_FLAG_FD_CLOEXEC);
}

#endif
