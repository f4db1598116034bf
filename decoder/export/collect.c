// SPDX-License-Identifier: GPL-2.0-or-later
/* Collecting the rows of an export while a profile is loaded: see data.h. */
#include <stdlib.h>
#include <string.h>

#include "decoder/export/data.h"

/* Values in a call chain from which on an entry is a context marker, not an address. */
#define CONTEXT_FIRST ((uint64_t)-4095)

/* ---- Tasks ----------------------------------------------------------------------------------- */

/* *text: number of a thread's name; DISTINCT_NONE if it is unknown. */
static struct pesa_error *name_of(struct pesa_export *rows, uint32_t tid, uint32_t *text)
{
	const char *name = thread_names_get(rows->names, tid);

	*text = name ? distinct_text_get(&rows->texts, name) : DISTINCT_NONE;
	return name && *text == DISTINCT_NONE ? pesa_error_no_memory() : NULL;
}

static struct pesa_error *task_of(struct pesa_export *rows, uint32_t pid, uint32_t tid,
				  uint32_t cpu, uint32_t *number)
{
	struct export_task task = {.pid = pid, .tid = tid, .cpu = cpu};
	struct pesa_error *error;

	if (rows->same_task == DISTINCT_NONE || rows->same_pid != pid || rows->same_tid != tid ||
	    rows->same_cpu != cpu) {
		error = name_of(rows, pid, &task.process);
		if (!error)
			error = name_of(rows, tid, &task.thread);
		if (error)
			return error;
		rows->same_task = distinct_records_get(&rows->tasks, &task);
		if (rows->same_task == DISTINCT_NONE)
			return pesa_error_no_memory();
		rows->same_pid = pid;
		rows->same_tid = tid;
		rows->same_cpu = cpu;
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
	return thread_names_apply(rows->names, event);
}

/* ---- Samples --------------------------------------------------------------------------------- */

static struct pesa_error *take_group(void *context, const struct pesa_profile_sample *sample,
				     uint32_t *number)
{
	struct pesa_export *rows = context;
	struct export_group group = {DISTINCT_NONE, DISTINCT_NONE};
	struct pesa_error *error =
		task_of(rows, sample->pid, sample->tid, sample->cpu, &group.task);

	if (error)
		return error;
	if (sample->callchain_count) {
		group.chain = distinct_bytes_get(&rows->chains, sample->callchain,
						 sample->callchain_count * sizeof(uint64_t));
		if (group.chain == DISTINCT_NONE)
			return pesa_error_no_memory();
	}
	if (sample->time) {
		if (!rows->first || sample->time < rows->first)
			rows->first = sample->time;
		if (sample->time > rows->last)
			rows->last = sample->time;
	}
	*number = distinct_records_get(&rows->groups, &group);
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

/*
 * The node of the caller of `address`.  A call chain has a kernel part and a user part, each from
 * the innermost to the outermost function.  The first entry of a part is the program counter at the
 * time of the sample: in the function with the weighed instruction, except for the user part of a
 * sample in the kernel.  The other entries are return addresses.  *caller: DISTINCT_NONE if no
 * caller is known.
 */
static struct pesa_error *caller_of(struct pesa_export *rows,
				    const struct pesa_walked_record *walked, uint32_t chain_number,
				    uint64_t address, uint32_t *caller)
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
	kept = malloc(count * sizeof(*kept));
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
	error = add_callers(rows, walked, kept, length, caller);
	free(kept);
	return error;
}

static struct pesa_error *add(struct pesa_export *rows, const struct export_row *key,
			      const struct export_node *node, uint64_t weight, uint64_t executions)
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
	return NULL;
}

/* Weight not attributed to an instruction goes to the function of the record's PC. */
static struct pesa_error *add_unattributed(struct pesa_export *rows,
					   const struct pesa_walked_record *walked,
					   const struct export_group *group)
{
	struct export_row row = {.state = EXPORT_UNATTRIBUTED, .task = group->task};
	struct export_node node = {.caller = DISTINCT_NONE, .dso = DISTINCT_NONE};

	for (unsigned int i = 0; i < PESA_UNATTRIBUTED_REASONS; i++) {
		struct pesa_error *error;

		if (!walked->result->unattributed[i])
			continue;
		error = caller_of(rows, walked, group->chain, walked->record->pc, &node.caller);
		node.address = i;
		if (!error)
			error = add(rows, &row, &node,
				    walked->result->unattributed[i] * walked->periods, 0);
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

	for (unsigned int i = 0; i < walked->result->step_count; i++) {
		const struct pesa_step *step = &walked->result->step[i];
		struct export_node node = {.dso = walked->place[i].dso,
					   .address = walked->place[i].address};
		struct export_row row = {
			.state = step->state, .cause = step->cause, .task = group.task};
		struct pesa_error *error;

		if (step->role == PESA_ROLE_BLAMED)
			continue;
		error = caller_of(rows, walked, group.chain, step->address, &node.caller);
		if (!error)
			error = add(rows, &row, &node, step->weight * walked->periods,
				    step->role == PESA_ROLE_RETIRED ? walked->periods : 0);
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
	struct pesa_error *error = task_of(rows, exact->pid, exact->tid, exact->cpu, &row.task);

	return error ? error : add(rows, &row, &node, exact->weight, exact->executions);
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
	rows->same_task = DISTINCT_NONE;
	distinct_records_begin(&rows->tasks, sizeof(struct export_task),
			       sizeof(struct export_task));
	distinct_records_begin(&rows->groups, sizeof(struct export_group),
			       sizeof(struct export_group));
	distinct_records_begin(&rows->nodes, sizeof(struct export_node),
			       sizeof(struct export_node));
	distinct_records_begin(&rows->rows, sizeof(struct export_row),
			       offsetof(struct export_row, weight));
	return rows;
}

void pesa_export_free(struct pesa_export *rows)
{
	if (!rows)
		return;
	thread_names_free(rows->names);
	distinct_bytes_free(&rows->texts);
	distinct_bytes_free(&rows->chains);
	distinct_records_free(&rows->tasks);
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
