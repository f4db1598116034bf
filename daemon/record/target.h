/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is observed: tasks (threads), or whatever runs on CPUs.  Who samples and who counts find
 * them in the same way.
 */
#ifndef DAEMON_RECORD_TARGET_H
#define DAEMON_RECORD_TARGET_H

#include <stddef.h>
#include <sys/types.h>

#include "daemon/events/pmu.h"
#include "pesa/error.h"

/* Each thread once; the owner frees `task`. */
struct pesa_tasks {
	pid_t *task;
	size_t count;
};

struct pesa_error *pesa_tasks_add(struct pesa_tasks *tasks, pid_t task);
/* All threads that a process has.  PESA_ERROR_NOT_FOUND: there is no such process, or thread. */
struct pesa_error *pesa_tasks_add_process(struct pesa_tasks *tasks, pid_t process);
struct pesa_error *pesa_tasks_add_thread(struct pesa_tasks *tasks, pid_t thread);

struct pesa_error *pesa_cpus_present(struct pesa_cpu_set *cpus);
/* Those that are online; `chosen` (NULL: no matter) must be. */
struct pesa_error *pesa_cpus_choose(const struct pesa_cpu_set *chosen, struct pesa_cpu_set *cpus);

#endif
