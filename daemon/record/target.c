// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/record/target.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/record/sideband.h"
#include "decoder/base/read_file.h"

#define ONLINE_CPUS  "/sys/devices/system/cpu/online"
#define PRESENT_CPUS "/sys/devices/system/cpu/present"

/* ---- Tasks --------------------------------------------------------------------------------- */

struct pesa_error *pesa_tasks_add(struct pesa_tasks *tasks, pid_t task)
{
	pid_t *grown;

	for (size_t i = 0; i < tasks->count; i++)
		if (tasks->task[i] == task)
			return NULL;
	grown = realloc(tasks->task, (tasks->count + 1) * sizeof(*grown));
	if (!grown)
		return pesa_error_no_memory();
	tasks->task = grown;
	grown[tasks->count++] = task;
	return NULL;
}

struct pesa_error *pesa_tasks_add_process(struct pesa_tasks *tasks, pid_t process)
{
	struct pesa_error *error = NULL;
	pid_t *threads;
	size_t count = pesa_threads_of("", process, &threads);

	if (!count)
		return pesa_error_create(PESA_ERROR_NOT_FOUND, "there is no process %d",
					 (int)process);
	for (size_t i = 0; i < count && !error; i++)
		error = pesa_tasks_add(tasks, threads[i]);
	free(threads);
	return error;
}

struct pesa_error *pesa_tasks_add_thread(struct pesa_tasks *tasks, pid_t thread)
{
	if (!pesa_process_of("", thread))
		return pesa_error_create(PESA_ERROR_NOT_FOUND, "there is no thread %d",
					 (int)thread);
	return pesa_tasks_add(tasks, thread);
}

/* ---- CPUs ---------------------------------------------------------------------------------- */

static struct pesa_error *read_cpus(const char *path, struct pesa_cpu_set *cpus)
{
	struct pesa_error *error;
	char *text;
	size_t size;
	bool valid;

	error = pesa_read_file(path, &text, &size);
	if (error)
		return error;
	text[strcspn(text, "\n")] = '\0';
	valid = pesa_cpu_set_parse(text, cpus);
	free(text);
	return valid ? NULL : pesa_error_create(PESA_ERROR_FORMAT, "%s is no list of CPUs", path);
}

struct pesa_error *pesa_cpus_present(struct pesa_cpu_set *cpus)
{
	return read_cpus(PRESENT_CPUS, cpus);
}

struct pesa_error *pesa_cpus_choose(const struct pesa_cpu_set *chosen, struct pesa_cpu_set *cpus)
{
	struct pesa_cpu_set online;
	struct pesa_error *error = read_cpus(ONLINE_CPUS, &online);

	for (unsigned int cpu = 0; !error && chosen && cpu < PESA_CPU_MAX; cpu++)
		if (pesa_cpu_in(chosen, cpu) && !pesa_cpu_in(&online, cpu))
			error = pesa_error_create(
				PESA_ERROR_ARGUMENT,
				"CPU %u is not online; " ONLINE_CPUS " shows which are", cpu);
	if (!error)
		*cpus = chosen ? *chosen : online;
	return error;
}
