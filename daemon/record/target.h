/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The target of a recording or count: tasks (threads), or CPUs. */
#ifndef DAEMON_RECORD_TARGET_H
#define DAEMON_RECORD_TARGET_H

#include <stddef.h>
#include <sys/types.h>

#include "daemon/events/pmu.h"
#include "pesa/error.h"

/* A set of threads; the owner frees `task`. */
struct pesa_tasks {
	pid_t *task;
	size_t count;
};

struct pesa_error *pesa_tasks_add(struct pesa_tasks *tasks, pid_t task);
/* Add all threads of a process.  PESA_ERROR_NOT_FOUND: no such process or thread. */
struct pesa_error *pesa_tasks_add_process(struct pesa_tasks *tasks, pid_t process);
struct pesa_error *pesa_tasks_add_thread(struct pesa_tasks *tasks, pid_t thread);

struct pesa_error *pesa_cpus_present(struct pesa_cpu_set *cpus);
/* All online CPUs, or those in `chosen` (NULL: all), which must be online. */
struct pesa_error *pesa_cpus_choose(const struct pesa_cpu_set *chosen, struct pesa_cpu_set *cpus);

#endif
