// SPDX-License-Identifier: GPL-2.0-or-later
/* Collecting the rows of an export while a profile is loaded: see data.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/export/data.h"

/* Values in a call chain from which on an entry is a context marker, not an address. */
#define CONTEXT_FIRST	  ((uint64_t)-4095)
#define SLICE_SHIFT_LEAST 10 /* 1024 ns */

/* ---- Tasks ----------------------------------------------------------------------------------- */

/* *text: number of a thread's name; DISTINCT_NONE if it is unknown. */
static struct pesa_error *name_of(struct pesa_export *rows, uint32_t tid, uint32_t *text)
{
	const char *name = thread_names_get(rows->names, tid);

	*text = name ? distinct_text_get(&rows->texts, name) : DISTINCT_NONE;
	return name && *text == DISTINCT_NONE ? pesa_error_no_memory() : NULL;
}

/* *text: number of a control group's path, or of its id where the recording lacks the path. */
static struct pesa_error *path_of(struct pesa_export *rows, uint64_t id, uint32_t *text)
{
	const struct export_cgroup key = {.id = id};
	uint32_t before = rows->cgroups.index.count, number;
	struct export_cgroup *cgroup;
	char name[32];

	*text = DISTINCT_NONE;
	if (!id)
		return NULL;
	number = distinct_records_get(&rows->cgroups, &key);
	if (number == DISTINCT_NONE)
		return pesa_error_no_memory();
	cgroup = distinct_records_at(&rows->cgroups, number);
	if (number == before) {
		snprintf(name, sizeof(name), "[cgroup %" PRIu64 "]", id);
		cgroup->path = distinct_text_get(&rows->texts, name);
	}
	*text = cgroup->path;
	return *text == DISTINCT_NONE ? pesa_error_no_memory() : NULL;
}

static struct pesa_error *name_cgroup(struct pesa_export *rows, const struct pesa_cgroup *named)
{
	const struct export_cgroup key = {.id = named->id};
	uint32_t path = distinct_text_get(&rows->texts, named->path), number;

	number = path == DISTINCT_NONE ? path : distinct_records_get(&rows->cgroups, &key);
	if (number == DISTINCT_NONE)
		return pesa_error_no_memory();
	((struct export_cgroup *)distinct_records_at(&rows->cgroups, number))->path = path;
	rows->same_task = DISTINCT_NONE;
	return NULL;
}

static struct pesa_error *task_of(struct pesa_export *rows, uint32_t pid, uint32_t tid,
				  uint32_t cpu, uint64_t cgroup, uint32_t *number)
{
	struct export_task task = {.pid = pid, .tid = tid, .cpu = cpu};
	struct pesa_error *error;

	if (rows->same_task == DISTINCT_NONE || rows->same_pid != pid || rows->same_tid != tid ||
	    rows->same_cpu != cpu || rows->same_cgroup != cgroup) {
		error = name_of(rows, pid, &task.process);
		if (!error)
			error = name_of(rows, tid, &task.thread);
		if (!error)
			error = path_of(rows, cgroup, &task.cgroup);
		if (error)
			return error;
		rows->same_task = distinct_records_get(&rows->tasks, &task);
		if (rows->same_task == DISTINCT_NONE)
			return pesa_error_no_memory();
		rows->same_pid = pid;
		rows->same_tid = tid;
		rows->same_cpu = cpu;
		rows->same_cgroup = cgroup;
	}
	*number = rows->same_task;
	return NULL;
}

static struct pesa_error *take_event(void *context, const struct pesa_event *event)
{
	struct pesa_export *rows = context;

	if (event->type == PERF_RECORD_COMM || event->type == PERF_RECORD_FORK ||
	    event->type == PERF_RECORD_EXIT)
		rows->same_task = DISTINCT_NONE;
	if (event->type == PERF_RECORD_CGROUP)
		return name_cgroup(rows, &event->cgroup);
	return thread_names_apply(rows->names, event);
}

/* ---- Samples --------------------------------------------------------------------------------- */

/* The slice of a time: its start, at least 1.  Slices are doubled while there would be too many. */
static uint64_t slice_of(struct pesa_export *rows, uint64_t time)
{
	uint64_t first = rows->first && rows->first < time ? rows->first : time;
	uint64_t slice;

	while ((time >> rows->slice_shift) - (first >> rows->slice_shift) >= EXPORT_SLICES)
		rows->slice_shift++;
	slice = time >> rows->slice_shift << rows->slice_shift;
	return slice ? slice : 1;
}

static struct pesa_error *take_group(void *context, const struct pesa_profile_sample *sample,
				     uint32_t *number)
{
	struct pesa_export *rows = context;
	struct export_group group = {.task = DISTINCT_NONE, .chain = DISTINCT_NONE};
	struct pesa_error *error =
		task_of(rows, sample->pid, sample->tid, sample->cpu, sample->cgroup, &group.task);

	if (error)
		return error;
	if (sample->callchain_count) {
		group.chain = distinct_bytes_get(&rows->chains, sample->callchain,
						 sample->callchain_count * sizeof(uint64_t));
		if (group.chain == DISTINCT_NONE)
			return pesa_error_no_memory();
	}
	if (sample->time && rows->slice_shift)
		group.slice = slice_of(rows, sample->time);
	if (sample->time) {
		if (!rows->first || sample->time < rows->first)
			rows->first = sample->time;
		if (sample->time > rows->last)
			rows->last = sample->time;
	}
	if (rows->same_number == DISTINCT_NONE || rows->same_group.task != group.task ||
	    rows->same_group.chain != group.chain || rows->same_group.slice != group.slice) {
		rows->same_group = group;
		rows->same_number = distinct_records_get(&rows->groups, &group);
	}
	*number = rows->same_number;
	return *number == DISTINCT_NONE ? pesa_error_no_memory() : NULL;
}

/* ---- Stacks ---------------------------------------------------------------------------------- */

static bool is_kernel(const struct pesa_record *record, uint64_t address)
{
	return address >> (record->xlen - 1);
}

static uint64_t entry_of(const uint8_t *chain, size_t index)
{
	uint64_t entry;

	memcpy(&entry, chain + index * sizeof(entry), sizeof(entry));
	return entry;
}

/* Add the nodes of a chain of return addresses, the innermost first.  *number: the innermost node;
 * DISTINCT_NONE: the chain is empty. */
static struct pesa_error *add_callers(struct pesa_export *rows,
				      const struct pesa_walked_record *walked,
				      const uint64_t *address, size_t count, uint32_t *number)
{
	struct export_node node = {.caller = DISTINCT_NONE};

	while (count--) {
		struct pesa_place place = walked->locate(walked->locator, address[count]);

		node.dso = place.dso;
		node.address = place.address;
		node.caller = distinct_records_get(&rows->nodes, &node);
		if (node.caller == DISTINCT_NONE)
			return pesa_error_no_memory();
	}
	*number = node.caller;
	return NULL;
}

/* Calls and returns in the sampled cycle: an instruction after them has another call chain than the
 * oldest one, whose chain was recorded. */
#define SHIFT_MAX 16

struct shift {
	size_t returned;	       /* frames left */
	size_t called;		       /* frames entered after that */
	uint64_t call_site[SHIFT_MAX]; /* last byte of each call */
};

static void take_step(struct shift *shift, const struct pesa_step *step)
{
	if (step->role != PESA_ROLE_RETIRED || step->transfer != PESA_STEP_TRANSFER_TAKEN)
		return;
	if (step->flow == PESA_FLOW_RETURN || step->flow == PESA_FLOW_COROUTINE) {
		if (shift->called)
			shift->called--;
		else
			shift->returned++;
	}
	if ((step->flow == PESA_FLOW_CALL || step->flow == PESA_FLOW_INDIRECT_CALL ||
	     step->flow == PESA_FLOW_COROUTINE) &&
	    shift->called < SHIFT_MAX)
		shift->call_site[shift->called++] = step->address + step->length - 1;
}

/* Change a chain of callers, the innermost first, which has room for SHIFT_MAX more.  Returns its new
 * length. */
static size_t apply_shift(const struct shift *shift, uint64_t *caller, size_t length)
{
	size_t left = shift->returned < length ? shift->returned : length;

	memmove(caller + shift->called, caller + left, (length - left) * sizeof(*caller));
	for (size_t i = 0; i < shift->called; i++)
		caller[i] = shift->call_site[shift->called - 1 - i];
	return length - left + shift->called;
}

/*
 * The node of the caller of `address`.  A call chain has a kernel part and a user part, each from
 * the innermost to the outermost function.  The first entry of a part is the program counter at the
 * time of the sample: in the function with the weighed instruction, except for the user part of a
 * sample in the kernel.  The other entries are return addresses.  *caller: DISTINCT_NONE if no
 * caller is known.
 */
static struct pesa_error *caller_of(struct pesa_export *rows,
				    const struct pesa_walked_record *walked, uint32_t chain_number,
				    const struct shift *shift, uint64_t address, uint32_t *caller)
{
	const bool in_kernel = is_kernel(walked->record, address);
	bool kernel = in_kernel, first = true;
	struct pesa_error *error;
	size_t size, count, length = 0;
	const uint8_t *chain;
	uint64_t *kept;

	*caller = DISTINCT_NONE;
	if (chain_number == DISTINCT_NONE)
		return NULL;
	chain = distinct_bytes_at(&rows->chains, chain_number, &size);
	count = size / sizeof(uint64_t);
	kept = malloc((count + SHIFT_MAX) * sizeof(*kept));
	if (!kept)
		return pesa_error_no_memory();
	for (size_t i = 0; i < count; i++) {
		uint64_t entry = entry_of(chain, i);

		if (entry >= CONTEXT_FIRST) {
			kernel = entry == (uint64_t)PERF_CONTEXT_KERNEL;
			first = true;
			continue;
		}
		if (kernel == in_kernel ? !first : in_kernel)
			kept[length++] = first || !entry ? entry : entry - 1;
		first = false;
	}
	length = apply_shift(shift, kept, length);
	error = add_callers(rows, walked, kept, length, caller);
	free(kept);
	return error;
}

static struct pesa_error *add(struct pesa_export *rows, const struct export_row *key,
			      const struct export_node *node, uint64_t weight, uint64_t executions,
			      uint64_t retired_samples)
{
	struct export_row row = *key, *kept;
	uint32_t number;

	row.node = distinct_records_get(&rows->nodes, node);
	number =
		row.node == DISTINCT_NONE ? DISTINCT_NONE : distinct_records_get(&rows->rows, &row);
	if (number == DISTINCT_NONE)
		return pesa_error_no_memory();
	kept = distinct_records_at(&rows->rows, number);
	kept->weight += weight;
	kept->executions += executions;
	kept->retired_samples += retired_samples;
	return NULL;
}

/* Weight not attributed to an instruction goes to the function of the record's PC. */
static struct pesa_error *add_unattributed(struct pesa_export *rows,
					   const struct pesa_walked_record *walked,
					   const struct export_group *group)
{
	struct export_row row = {
		.state = EXPORT_UNATTRIBUTED, .task = group->task, .slice = group->slice};
	struct export_node node = {.caller = DISTINCT_NONE, .dso = DISTINCT_NONE};
	const struct shift none = {0};

	for (unsigned int i = 0; i < PESA_UNATTRIBUTED_REASONS; i++) {
		struct pesa_error *error;

		if (!walked->result->unattributed[i])
			continue;
		error = caller_of(rows, walked, group->chain, &none, walked->record->pc,
				  &node.caller);
		node.address = i;
		if (!error)
			error = add(rows, &row, &node,
				    walked->result->unattributed[i] * walked->periods, 0, 0);
		if (error)
			return error;
	}
	return NULL;
}

static struct pesa_error *take_walked(void *context, const struct pesa_walked_record *walked)
{
	struct pesa_export *rows = context;
	const struct export_group group =
		*(struct export_group *)distinct_records_at(&rows->groups, walked->group);
	struct shift shift = {0};

	for (unsigned int i = 0; i < walked->result->step_count; i++) {
		const struct pesa_step *step = &walked->result->step[i];
		struct export_node node = {.dso = walked->place[i].dso,
					   .address = walked->place[i].address};
		struct export_row row = {.state = step->state,
					 .cause = step->cause,
					 .task = group.task,
					 .slice = group.slice};
		struct pesa_error *error;

		if (step->role == PESA_ROLE_BLAMED)
			continue;
		error = caller_of(rows, walked, group.chain, &shift, step->address, &node.caller);
		take_step(&shift, step);
		if (!error)
			error = add(rows, &row, &node, step->weight * walked->periods,
				    step->role == PESA_ROLE_RETIRED ? walked->periods : 0,
				    step->role == PESA_ROLE_RETIRED ? walked->samples : 0);
		if (error)
			return error;
	}
	return add_unattributed(rows, walked, &group);
}

static struct pesa_error *take_exact(void *context, const struct pesa_profile_exact *exact)
{
	struct pesa_export *rows = context;
	struct export_node node = {
		.caller = DISTINCT_NONE, .dso = exact->place.dso, .address = exact->place.address};
	struct export_row row = {.state = exact->state, .cause = exact->cause};
	struct pesa_error *error = task_of(rows, exact->pid, exact->tid, exact->cpu, 0, &row.task);

	return error ? error : add(rows, &row, &node, exact->weight, exact->executions, 0);
}

/* ---- Creation and destruction ---------------------------------------------------------------- */

struct pesa_export *pesa_export_create(void)
{
	struct pesa_export *rows = calloc(1, sizeof(*rows));

	if (!rows)
		return NULL;
	rows->names = thread_names_create();
	if (!rows->names) {
		free(rows);
		return NULL;
	}
	rows->listener = (struct pesa_profile_listener){
		.event = take_event,
		.group = take_group,
		.walked = take_walked,
		.exact = take_exact,
		.context = rows,
	};
	rows->same_task = rows->same_number = DISTINCT_NONE;
	distinct_records_begin(&rows->tasks, sizeof(struct export_task),
			       sizeof(struct export_task));
	distinct_records_begin(&rows->cgroups, sizeof(struct export_cgroup),
			       offsetof(struct export_cgroup, path));
	distinct_records_begin(&rows->groups, sizeof(struct export_group),
			       sizeof(struct export_group));
	distinct_records_begin(&rows->nodes, sizeof(struct export_node),
			       sizeof(struct export_node));
	distinct_records_begin(&rows->rows, sizeof(struct export_row),
			       offsetof(struct export_row, weight));
	return rows;
}

void export_keep_slices(struct pesa_export *rows)
{
	rows->slice_shift = SLICE_SHIFT_LEAST;
}

void pesa_export_free(struct pesa_export *rows)
{
	if (!rows)
		return;
	thread_names_free(rows->names);
	distinct_bytes_free(&rows->texts);
	distinct_bytes_free(&rows->chains);
	distinct_records_free(&rows->tasks);
	distinct_records_free(&rows->cgroups);
	distinct_records_free(&rows->groups);
	distinct_records_free(&rows->nodes);
	distinct_records_free(&rows->rows);
	free(rows);
}

const struct pesa_profile_listener *pesa_export_listener(const struct pesa_export *rows)
{
	return &rows->listener;
}

size_t pesa_export_count(const struct pesa_export *rows)
{
	return rows->rows.index.count;
}
