// SPDX-License-Identifier: GPL-2.0-or-later
/* Recording through the kernel: opens events and maps rings.  See session.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "daemon/record/hotplug.h"
#include "daemon/record/session.h"
#include "daemon/record/sideband.h"

#define DEFAULT_RING_BYTES (512u * 1024) /* what an unprivileged user may lock per CPU */
#define THREAD_PASSES	   8u		 /* passes over a process whose threads increase */

/* ---- Tasks --------------------------------------------------------------------------------- */

static struct pesa_error *find_tasks(struct hardware *hardware)
{
	const struct pesa_hardware_options *options = hardware->options;
	struct pesa_error *error = NULL;

	for (size_t i = 0; i < options->process_count && !error; i++)
		error = pesa_tasks_add_process(&hardware->tasks, options->processes[i]);
	for (size_t i = 0; i < options->thread_count && !error; i++)
		error = pesa_tasks_add_thread(&hardware->tasks, options->threads[i]);
	if (!error && !options->system_wide && hardware->workload.process)
		error = pesa_tasks_add(&hardware->tasks, hardware->workload.process);
	return error;
}

/* ---- Rings --------------------------------------------------------------------------------- */

static size_t ring_bytes(const struct hardware *hardware)
{
	/* With AutoRun there are two buffers of the same size. */
	size_t otherwise = hardware->autorun ? DEFAULT_RING_BYTES / 2 : DEFAULT_RING_BYTES;

	return hardware->options->ring_bytes ? hardware->options->ring_bytes : otherwise;
}

/* A ring smaller than a sample would lose all samples. */
static struct pesa_error *check_ring(const struct hardware *hardware)
{
	for (unsigned int i = 0; i < hardware->event_count; i++) {
		size_t most = pesa_event_sample_bytes(&hardware->events[i].name.attr),
		       enough = 4096;

		if (most < ring_bytes(hardware))
			continue;
		while (enough < 4 * most)
			enough *= 2;
		return pesa_error_create(PESA_ERROR_ARGUMENT,
					 "rings of %zu KiB are too small for samples of event %s, "
					 "which take up to %zu bytes: use -m %zuK or more",
					 ring_bytes(hardware) / 1024, hardware->events[i].name.name,
					 most, enough / 1024);
	}
	return NULL;
}

static void unmap_ring(struct hardware_ring *ring)
{
	pesa_autorun_unmap(&ring->autorun);
	pesa_ring_unmap(&ring->ring);
}

static struct pesa_error *map_ring(struct hardware *hardware, int descriptor, unsigned int cpu,
				   bool overwritable)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = ring_bytes(hardware);
	struct hardware_ring *grown =
		realloc(hardware->rings, (hardware->ring_count + 1) * sizeof(*grown));
	struct pesa_error *error;

	if (!grown)
		return pesa_error_no_memory();
	hardware->rings = grown;
	grown += hardware->ring_count;
	*grown = (struct hardware_ring){.owner = descriptor, .cpu = cpu};
	if (bytes < page)
		bytes = page;
	error = pesa_ring_map(descriptor, bytes / page, overwritable, &grown->ring);
	if (!error && hardware->autorun) {
		error = pesa_autorun_map(descriptor, grown->ring.page, bytes / page,
					 &grown->autorun);
		if (error)
			pesa_ring_unmap(&grown->ring);
	}
	if (error && error->code == PESA_ERROR_SYSTEM) {
		int refusal = error->system_error;

		pesa_error_free(error);
		error = pesa_ring_refusal(bytes, refusal);
	}
	if (!error)
		hardware->ring_count++;
	return error;
}

/* Redirect a new event to the ring of its CPU; the first event of a CPU maps the ring. */
static struct pesa_error *join_ring(struct hardware *hardware, int descriptor, unsigned int cpu,
				    bool overwritable)
{
	for (size_t i = 0; i < hardware->ring_count; i++) {
		const struct hardware_ring *ring = &hardware->rings[i];

		if (ring->cpu != cpu || ring->ring.overwritable != overwritable)
			continue;
		if (ioctl(descriptor, PERF_EVENT_IOC_SET_OUTPUT, ring->owner))
			return pesa_error_system(
				errno, "cannot direct an event of CPU %u to its ring", cpu);
		return NULL;
	}
	return map_ring(hardware, descriptor, cpu, overwritable);
}

/* ---- Events -------------------------------------------------------------------------------- */

/* The id in the file header for an event that is opened after the header was written. */
static uint64_t earlier_id(const struct hardware *hardware, unsigned int event, unsigned int cpu)
{
	for (size_t i = 0; i < hardware->descriptor_count; i++)
		if (hardware->descriptors[i].event == event && hardware->descriptors[i].cpu == cpu)
			return hardware->descriptors[i].file_id;
	return hardware->events[event].ids[0];
}

/* The id of the first event for the same task and CPU, whose samples those of `added` shall be. */
static uint64_t joined_id(const struct hardware *hardware, const struct hardware_descriptor *added)
{
	for (size_t i = 0; i < hardware->descriptor_count; i++) {
		const struct hardware_descriptor *first = &hardware->descriptors[i];

		if (!first->event && first->cpu == added->cpu && first->task == added->task)
			return first->file_id;
	}
	return hardware->events[0].ids[0];
}

static struct pesa_error *grow_descriptors(struct hardware *hardware)
{
	size_t room = hardware->descriptor_room ? hardware->descriptor_room * 2 : 64;
	struct hardware_descriptor *grown;

	if (hardware->descriptor_count < hardware->descriptor_room)
		return NULL;
	grown = realloc(hardware->descriptors, room * sizeof(*grown));
	if (!grown)
		return pesa_error_no_memory();
	hardware->descriptors = grown;
	hardware->descriptor_room = room;
	return NULL;
}

static struct pesa_error *add_descriptor(struct hardware *hardware, int descriptor,
					 unsigned int event, unsigned int cpu, pid_t task)
{
	struct hardware_event *opened = &hardware->events[event];
	struct hardware_descriptor added = {
		.descriptor = descriptor, .event = event, .cpu = cpu, .task = task};
	uint64_t *ids = realloc(opened->ids, (opened->id_count + 1) * sizeof(*ids));
	struct pesa_error *error = ids ? grow_descriptors(hardware) : pesa_error_no_memory();

	if (ids)
		opened->ids = ids;
	if (!error && ioctl(descriptor, PERF_EVENT_IOC_ID, &added.id))
		error = pesa_error_system(errno, "cannot ask for the number of event %s",
					  opened->name.name);
	if (error) {
		close(descriptor);
		return error;
	}
	if (opened->joins && hardware->events[0].id_count) {
		added.file_id = joined_id(hardware, &added);
		opened->ids[0] = added.file_id;
		opened->id_count = 1;
		hardware->renumbered = true;
	} else if (hardware->ids && opened->id_count) {
		added.file_id = earlier_id(hardware, event, cpu);
		hardware->renumbered = true;
	} else {
		added.file_id = added.id;
		opened->ids[opened->id_count++] = added.id;
	}
	hardware->descriptors[hardware->descriptor_count++] = added;
	return NULL;
}

/* *opened: false if the task or the CPU is gone. */
static struct pesa_error *open_one(struct hardware *hardware, unsigned int index, unsigned int cpu,
				   pid_t task, bool *opened)
{
	struct hardware_event *event = &hardware->events[index];
	struct pesa_event_name *name = &event->name;
	struct pesa_error *error;
	int descriptor = pesa_event_open(&name->attr, task, (int)cpu), refusal = errno;

	/* Once the event is open somewhere, its terms are fixed. */
	while (descriptor < 0 && !event->id_count && pesa_event_relax(name, task, refusal)) {
		descriptor = pesa_event_open(&name->attr, task, (int)cpu);
		refusal = errno;
	}
	*opened = descriptor >= 0;
	hardware->summary->user_only |= *opened && name->user_only;
	if (descriptor < 0) {
		if (refusal == ESRCH && task > 0 && hardware->tasks.count > 1)
			return NULL;
		if (refusal == ENODEV && task < 0 && !hardware->options->has_cpus)
			return NULL;
		return pesa_event_refusal(name, task, (int)cpu, refusal);
	}
	error = add_descriptor(hardware, descriptor, index, cpu, task);
	return error ? error : join_ring(hardware, descriptor, cpu, name->attr.write_backward);
}

/* Open one event for the tasks from `first` on, or for every CPU. */
static struct pesa_error *open_event(struct hardware *hardware, unsigned int index,
				     const struct pesa_cpu_set *cpus, size_t first, bool *any)
{
	const struct pesa_pmu *pmu = &hardware->events[index].name.pmu;
	struct pesa_error *error = NULL;

	for (unsigned int cpu = 0; cpu < PESA_CPU_MAX && !error; cpu++) {
		bool opened = false;

		if (!pesa_cpu_in(cpus, cpu) || (pmu->has_cpus && !pesa_cpu_in(&pmu->cpus, cpu)))
			continue;
		if (!hardware->tasks.count)
			error = open_one(hardware, index, cpu, -1, &opened);
		*any |= opened;
		for (size_t i = first; i < hardware->tasks.count && !error; i++) {
			error = open_one(hardware, index, cpu, hardware->tasks.task[i], &opened);
			*any |= opened;
		}
	}
	return error;
}

static struct pesa_error *open_events(struct hardware *hardware, const struct pesa_cpu_set *cpus)
{
	struct pesa_error *error = NULL;
	size_t first = 0;
	bool any = false;

	/* List the threads again, to find those created while events were opened. */
	for (unsigned int pass = 0; pass < THREAD_PASSES; pass++) {
		for (unsigned int i = 0; i < hardware->event_count && !error; i++)
			error = open_event(hardware, i, cpus, first, &any);
		first = hardware->tasks.count;
		if (error || !hardware->options->process_count)
			break;
		pesa_error_free(find_tasks(hardware));
		if (hardware->tasks.count == first)
			break;
	}
	if (error || any)
		return error;
	if (hardware->tasks.count)
		return pesa_error_create(PESA_ERROR_NOT_FOUND,
					 "the processes to record have ended");
	return pesa_error_create(PESA_ERROR_ARGUMENT,
				 "none of the CPUs to record has the PMU of event %s",
				 hardware->events[0].name.name);
}

/* Return whether a CPU has no sampling event, so that the side band needs an event of its own. */
static bool needs_tracking(const struct hardware *hardware, const struct pesa_cpu_set *cpus)
{
	const struct pesa_pmu *pmu = &hardware->events[0].name.pmu;

	if (hardware->options->snapshot)
		return true;
	for (unsigned int cpu = 0; pmu->has_cpus && cpu < PESA_CPU_MAX; cpu++)
		if (pesa_cpu_in(cpus, cpu) && !pesa_cpu_in(&pmu->cpus, cpu))
			return true;
	return false;
}

/* A ring has one AUX buffer, which belongs to the event that mapped the ring. */
static struct pesa_error *check_autorun(struct hardware *hardware)
{
	for (unsigned int i = 0; i < hardware->event_count; i++)
		hardware->autorun |= pesa_event_is_autorun(&hardware->events[i].name);
	if (!hardware->autorun || hardware->event_count == 1)
		return NULL;
	return pesa_error_create(
		PESA_ERROR_ARGUMENT,
		"an event with AutoRun must be the only one: leave 'autorun' out, or record the others apart");
}

/* Remember a period that was raised to the least of its PMU. */
static void note_period(struct hardware *hardware, const struct perf_event_attr *attr)
{
	uint64_t wanted = hardware->options->sampling.period;

	if (wanted && !attr->freq && attr->sample_period > wanted)
		hardware->summary->raised_period = attr->sample_period;
}

static struct pesa_error *describe_events(struct hardware *hardware,
					  const struct pesa_cpu_set *cpus)
{
	const struct pesa_hardware_options *options = hardware->options;
	const struct pesa_event_source source = {.devices = options->devices,
						 .tracepoints = PESA_TRACEPOINT_DIRECTORY,
						 .catalogue = options->catalogue};
	struct pesa_sampling sampling = options->sampling;
	struct pesa_error *error = NULL;
	bool apart;

	sampling.backward = options->snapshot;
	sampling.system_wide = !options->process_count && !options->thread_count &&
			       (options->system_wide || !hardware->workload.process);
	sampling.enable_on_exec = hardware->workload.process && !options->system_wide;
	sampling.inherit = sampling.inherit && !options->system_wide;
	for (unsigned int i = 0; i < options->event_count && !error; i++) {
		error = pesa_event_resolve(&source, options->events[i], &hardware->events[i].name);
		if (error)
			break;
		hardware->events[i].joins = options->joined && i;
		hardware->events[i].attribute = options->joined ? 0 : i;
		hardware->event_count++;
		apart = needs_tracking(hardware, cpus);
		sampling.tracking = i == 0 && !apart;
		error = pesa_event_attribute(&hardware->events[i].name, &sampling);
		if (!error)
			note_period(hardware, &hardware->events[i].name.attr);
	}
	if (error)
		return error;
	error = check_autorun(hardware);
	if (error)
		return error;
	if (needs_tracking(hardware, cpus)) {
		struct hardware_event *last = &hardware->events[hardware->event_count - 1];
		struct hardware_event *tracking = &hardware->events[hardware->event_count++];

		sampling.tracking = true;
		sampling.backward = false;
		pesa_event_tracking(&tracking->name, &sampling);
		tracking->attribute = last->attribute + 1;
	}
	return NULL;
}

/* Wake up when a quarter of a ring is full, early enough to empty it. */
static void set_wakeups(struct hardware *hardware)
{
	for (unsigned int i = 0; i < hardware->event_count; i++) {
		hardware->events[i].name.attr.watermark = 1;
		hardware->events[i].name.attr.wakeup_watermark =
			(uint32_t)(ring_bytes(hardware) / 4);
		if (hardware->autorun)
			hardware->events[i].name.attr.aux_watermark =
				(uint32_t)(ring_bytes(hardware) / 4);
	}
}

static int compare_ids(const void *left, const void *right)
{
	const struct hardware_id *a = left, *b = right;

	return (a->id > b->id) - (a->id < b->id);
}

static struct pesa_error *sort_ids(struct hardware *hardware)
{
	struct hardware_id *ids = calloc(hardware->descriptor_count + 1, sizeof(*ids));

	if (!ids)
		return pesa_error_no_memory();
	free(hardware->ids);
	hardware->ids = ids;
	hardware->id_count = hardware->descriptor_count;
	for (size_t i = 0; i < hardware->id_count; i++)
		ids[i] = (struct hardware_id){.id = hardware->descriptors[i].id,
					      .file_id = hardware->descriptors[i].file_id,
					      .event = hardware->descriptors[i].event};
	qsort(ids, hardware->id_count, sizeof(*ids), compare_ids);
	return NULL;
}

const struct hardware_id *hardware_find_id(const struct hardware *hardware, uint64_t id)
{
	const struct hardware_id key = {.id = id};

	return bsearch(&key, hardware->ids, hardware->id_count, sizeof(key), compare_ids);
}

/* ---- CPUs that were not online when the recording began ------------------------------------ */

/* Open all events of a CPU, or none. */
static struct pesa_error *open_on_cpu(struct hardware *hardware, unsigned int cpu)
{
	struct pesa_cpu_set one = {0};
	size_t descriptors = hardware->descriptor_count;
	uint32_t ids[PESA_HARDWARE_EVENTS_MAX + 1];
	struct pesa_error *error = NULL;
	bool any = false;

	one.bits[cpu / 64] = UINT64_C(1) << cpu % 64;
	for (unsigned int i = 0; i < hardware->event_count; i++)
		ids[i] = hardware->events[i].id_count;
	for (unsigned int i = 0; i < hardware->event_count && !error; i++)
		error = open_event(hardware, i, &one, 0, &any);
	if (!error)
		return NULL;
	while (hardware->descriptor_count > descriptors) {
		int descriptor = hardware->descriptors[--hardware->descriptor_count].descriptor;
		size_t kept = 0;

		for (size_t i = 0; i < hardware->ring_count; i++) {
			if (hardware->rings[i].owner == descriptor)
				unmap_ring(&hardware->rings[i]);
			else
				hardware->rings[kept++] = hardware->rings[i];
		}
		hardware->ring_count = kept;
		close(descriptor);
	}
	for (unsigned int i = 0; i < hardware->event_count; i++)
		hardware->events[i].id_count = ids[i];
	return error;
}

/*
 * Tasks may run later on a CPU that is offline now.  If that cannot be prepared, it is reported
 * when the CPU comes online.
 */
static struct pesa_error *open_offline(struct hardware *hardware, const struct pesa_cpu_set *online)
{
	struct pesa_cpu_set present;
	struct pesa_error *error = pesa_cpus_present(&present);

	for (unsigned int cpu = 0; cpu < PESA_CPU_MAX && !error; cpu++)
		if (pesa_cpu_in(&present, cpu) && !pesa_cpu_in(online, cpu))
			pesa_error_free(open_on_cpu(hardware, cpu));
	return error;
}

struct pesa_error *hardware_open_late(struct hardware *hardware, unsigned int cpu)
{
	struct pesa_error *error = open_on_cpu(hardware, cpu), *failed;

	failed = sort_ids(hardware);
	if (!error)
		return failed;
	pesa_error_free(failed);
	return error;
}

/* Keeps the first reason. */
void hardware_not_followed(struct hardware *hardware, const char *what, const char *why)
{
	struct pesa_hardware_summary *summary = hardware->summary;

	if (!*summary->unfollowed)
		snprintf(summary->unfollowed, sizeof(summary->unfollowed), "%s: %s", what, why);
}

static void subscribe_to_cpus(struct hardware *hardware)
{
	hardware->hotplug = pesa_hotplug_open();
	/* Task events are opened for all possible CPUs. */
	if (hardware->hotplug < 0 && hardware->options->system_wide)
		hardware_not_followed(hardware, "the kernel's messages of CPUs cannot be had",
				      strerror(errno));
}

struct pesa_error *hardware_open(struct hardware *hardware)
{
	struct rlimit files;
	struct pesa_cpu_set cpus;
	struct pesa_error *error;

	hardware->reader = pesa_build_id_reader_create(0, 0);
	if (!hardware->reader)
		return pesa_error_no_memory();
	/* Subscribe before listing the CPUs, so that none is missed. */
	subscribe_to_cpus(hardware);
	error = pesa_cpus_choose(hardware->options->has_cpus ? &hardware->options->cpus : NULL,
				 &cpus);
	if (!error)
		error = describe_events(hardware, &cpus);
	if (!error)
		error = check_ring(hardware);
	if (!error)
		error = find_tasks(hardware);
	if (error)
		return error;
	set_wakeups(hardware);
	/* One descriptor for every task on every CPU: raise the limit as far as allowed. */
	if (!getrlimit(RLIMIT_NOFILE, &files) && files.rlim_cur < files.rlim_max) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	error = open_events(hardware, &cpus);
	if (!error && hardware->tasks.count)
		error = open_offline(hardware, &cpus);
	return error ? error : sort_ids(hardware);
}

void hardware_close(struct hardware *hardware)
{
	for (size_t i = 0; i < hardware->ring_count; i++)
		unmap_ring(&hardware->rings[i]);
	for (size_t i = 0; i < hardware->descriptor_count; i++)
		close(hardware->descriptors[i].descriptor);
	for (unsigned int i = 0; i < hardware->event_count; i++)
		free(hardware->events[i].ids);
	if (hardware->hotplug >= 0)
		close(hardware->hotplug);
	free(hardware->rings);
	free(hardware->descriptors);
	free(hardware->tasks.task);
	free(hardware->ids);
	pesa_build_id_reader_free(hardware->reader);
}

/* ---- Losses -------------------------------------------------------------------------------- */

/* If an event's CPU is gone, the count last read stays valid. */
static uint64_t read_lost(struct hardware_descriptor *descriptor)
{
	uint64_t values[3]; /* count, id, lost */

	if (read(descriptor->descriptor, values, sizeof(values)) == sizeof(values) &&
	    values[2] >= descriptor->lost) {
		descriptor->lost = values[2];
		descriptor->counted = values[0];
	}
	return descriptor->lost;
}

static bool holds_ring(const struct hardware *hardware, int descriptor)
{
	for (size_t i = 0; i < hardware->ring_count; i++)
		if (hardware->rings[i].owner == descriptor)
			return true;
	return false;
}

void hardware_close_gone(struct hardware *hardware)
{
	size_t kept = 0;

	for (size_t i = 0; i < hardware->descriptor_count; i++) {
		struct hardware_descriptor *descriptor = &hardware->descriptors[i];

		if (!descriptor->offline || holds_ring(hardware, descriptor->descriptor)) {
			hardware->descriptors[kept++] = *descriptor;
			continue;
		}
		hardware->events[descriptor->event].lost_closed += read_lost(descriptor);
		hardware->events[descriptor->event].counted_gone += descriptor->counted;
		close(descriptor->descriptor);
	}
	hardware->descriptor_count = kept;
}

struct pesa_error *hardware_write_lost(struct hardware *hardware, uint64_t *lost)
{
	struct pesa_error *error = NULL;

	*lost = 0;
	for (unsigned int i = 0; i < hardware->event_count && !error; i++) {
		struct hardware_event *event = &hardware->events[i];
		uint64_t sum;

		sum = event->lost_closed;
		event->counted = event->counted_gone;
		for (size_t j = 0; j < hardware->descriptor_count; j++) {
			if (hardware->descriptors[j].event != i)
				continue;
			sum += read_lost(&hardware->descriptors[j]);
			event->counted += hardware->descriptors[j].counted;
		}
		*lost += sum;
		if (sum > event->lost_in_files)
			error = pesa_perfdata_write_lost(hardware->writer, event->attribute,
							 sum - event->lost_in_files, 0);
		event->lost_in_files = sum;
	}
	return error;
}
