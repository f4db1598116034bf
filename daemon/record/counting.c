// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/record/counting.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define THREAD_PASSES 8u /* passes over a process whose threads increase */

/* ---- Scaling ------------------------------------------------------------------------------- */

uint64_t pesa_event_count_scaled(const struct pesa_event_count *count)
{
	__extension__ unsigned __int128 product;

	if (!count->running)
		return 0;
	if (count->running == count->enabled)
		return count->value;
	product = count->value;
	product = (product * count->enabled + count->running / 2) / count->running;
	return product > UINT64_MAX ? UINT64_MAX : (uint64_t)product;
}

/* ---- Opening ------------------------------------------------------------------------------- */

/* An event that this machine lacks is noted in the result; other failures are errors. */
static bool is_unsupported(int refusal)
{
	return refusal == ENOENT || refusal == EOPNOTSUPP || refusal == ENXIO ||
	       refusal == ENOSYS || refusal == EINVAL;
}

static struct pesa_error *add_counter(struct pesa_counting *counting, size_t event, size_t task,
				      int descriptor)
{
	if (counting->count == counting->room) {
		size_t room = counting->room ? counting->room * 2 : 64;
		struct pesa_counter *grown = realloc(counting->counters, room * sizeof(*grown));

		if (!grown) {
			close(descriptor);
			return pesa_error_no_memory();
		}
		counting->counters = grown;
		counting->room = room;
	}
	counting->counters[counting->count++] =
		(struct pesa_counter){.descriptor = descriptor, .event = event, .task = task};
	return NULL;
}

static void set_attribute(const struct pesa_counting *counting, struct perf_event_attr *attr,
			  bool leads)
{
	const struct pesa_counting_options *options = counting->options;

	attr->size = sizeof(*attr);
	attr->read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	/* The other events of a group are enabled with the leader. */
	attr->disabled = leads;
	attr->inherit = options->inherit && !options->system_wide;
	attr->enable_on_exec = leads && counting->program && !options->system_wide;
}

/* Returns a descriptor, or -1 with errno. */
static int open_one(struct pesa_event_name *name, pid_t task, int cpu, int leader, bool first)
{
	int descriptor = pesa_event_open_in(&name->attr, task, cpu, leader), refusal = errno;

	/* Once the event is open somewhere, its terms are fixed. */
	while (descriptor < 0 && first && pesa_event_relax(name, task, refusal)) {
		descriptor = pesa_event_open_in(&name->attr, task, cpu, leader);
		refusal = errno;
	}
	errno = refusal;
	return descriptor;
}

/* Open all events for a task, or for a CPU. */
static struct pesa_error *open_events(struct pesa_counting *counting, size_t task_index, pid_t task,
				      int cpu, bool first)
{
	const struct pesa_counting_options *options = counting->options;
	struct pesa_error *error = NULL;
	int leader = -1;

	for (size_t i = 0; i < options->event_count && !error; i++) {
		struct pesa_counting_event *event = &options->events[i];
		bool leads = !i || event->group != event[-1].group;
		int descriptor;

		if (leads)
			leader = -1;
		else if (leader < 0)
			event->refusal = event[-1].refusal;
		if (event->refusal || (event->name.pmu.has_cpus && cpu >= 0 &&
				       !pesa_cpu_in(&event->name.pmu.cpus, (unsigned int)cpu)))
			continue;
		set_attribute(counting, &event->name.attr, leads);
		descriptor = open_one(&event->name, task, cpu, leader, first);
		if (descriptor >= 0) {
			if (leads)
				leader = descriptor;
			error = add_counter(counting, i, task_index, descriptor);
		} else if (errno == ESRCH && counting->tasks.count > 1) {
			return NULL;
		} else if (errno == ENODEV && task < 0 && !options->has_cpus) {
			return NULL;
		} else if (is_unsupported(errno)) {
			event->refusal = errno;
		} else {
			error = pesa_event_refusal(&event->name, task, cpu, errno);
		}
	}
	return error;
}

static struct pesa_error *find_tasks(struct pesa_counting *counting)
{
	const struct pesa_counting_options *options = counting->options;
	struct pesa_error *error = NULL;

	for (size_t i = 0; i < options->process_count && !error; i++)
		error = pesa_tasks_add_process(&counting->tasks, options->processes[i]);
	for (size_t i = 0; i < options->thread_count && !error; i++)
		error = pesa_tasks_add_thread(&counting->tasks, options->threads[i]);
	if (!error && counting->program)
		error = pesa_tasks_add(&counting->tasks, counting->program);
	return error;
}

static struct pesa_error *open_tasks(struct pesa_counting *counting)
{
	struct pesa_error *error = find_tasks(counting);
	size_t first = 0;

	/* List the threads again, to find those created while events were opened. */
	for (unsigned int pass = 0; pass < THREAD_PASSES && !error; pass++) {
		for (size_t i = first; i < counting->tasks.count && !error; i++)
			error = open_events(counting, i, counting->tasks.task[i], -1, !i);
		first = counting->tasks.count;
		if (error || !counting->options->process_count)
			break;
		pesa_error_free(find_tasks(counting));
		if (counting->tasks.count == first)
			break;
	}
	return error;
}

static struct pesa_error *open_cpus(struct pesa_counting *counting)
{
	const struct pesa_counting_options *options = counting->options;
	struct pesa_cpu_set cpus;
	struct pesa_error *error =
		pesa_cpus_choose(options->has_cpus ? &options->cpus : NULL, &cpus);
	bool first = true;

	for (unsigned int cpu = 0; cpu < PESA_CPU_MAX && !error; cpu++) {
		if (!pesa_cpu_in(&cpus, cpu))
			continue;
		error = open_events(counting, 0, -1, (int)cpu, first);
		first = false;
	}
	return error;
}

struct pesa_error *pesa_counting_open(struct pesa_counting *counting)
{
	struct pesa_error *error =
		counting->options->system_wide ? open_cpus(counting) : open_tasks(counting);

	if (!error && !counting->count && counting->options->event_count)
		error = pesa_error_prefix(pesa_event_refusal(&counting->options->events[0].name, 0,
							     -1,
							     counting->options->events[0].refusal),
					  "nothing can be counted: ");
	return error;
}

/* ---- Counts -------------------------------------------------------------------------------- */

void pesa_counting_enable(const struct pesa_counting *counting, bool enable)
{
	for (size_t i = 0; i < counting->count; i++)
		ioctl(counting->counters[i].descriptor,
		      enable ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

static void add_count(struct pesa_event_count *sum, const struct pesa_event_count *count)
{
	sum->value += count->value;
	sum->enabled += count->enabled;
	sum->running += count->running;
}

struct pesa_error *pesa_counting_read(const struct pesa_counting *counting,
				      struct pesa_event_count *counts)
{
	size_t events = counting->options->event_count;

	memset(counts, 0, (1 + counting->tasks.count) * events * sizeof(*counts));
	for (size_t i = 0; i < counting->count; i++) {
		const struct pesa_counter *counter = &counting->counters[i];
		struct pesa_event_count count;
		ssize_t got = read(counter->descriptor, &count, sizeof(count));

		/* 0 bytes: a pinned event that got no counter. */
		if (!got)
			continue;
		if (got != sizeof(count))
			return pesa_error_system(
				got < 0 ? errno : EIO, "cannot read the count of event %s",
				counting->options->events[counter->event].name.name);
		add_count(&counts[counter->event], &count);
		if (counting->tasks.count)
			add_count(&counts[(1 + counter->task) * events + counter->event], &count);
	}
	return NULL;
}

void pesa_counting_close(struct pesa_counting *counting)
{
	for (size_t i = 0; i < counting->count; i++)
		close(counting->counters[i].descriptor);
	free(counting->counters);
	free(counting->tasks.task);
	*counting = (struct pesa_counting){.options = counting->options};
}
