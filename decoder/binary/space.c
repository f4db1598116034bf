/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Address spaces over time: see include/pesa/space.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/binary/code.h"
#include "decoder/binary/functions.h"
#include "decoder/binary/space_data.h"

#define KERNEL_PID UINT32_MAX

/* ---- Layouts --------------------------------------------------------------------------------- */

/* ---- Binaries -------------------------------------------------------------------------------- */

static bool starts_with(const char *string, const char *prefix)
{
	return !strncmp(string, prefix, strlen(prefix));
}

static enum pesa_dso_kind kind_of(const char *path, uint32_t pid)
{
	static const struct {
		const char *prefix;
		enum pesa_dso_kind kind;
	} prefixes[] = {
		{"[vdso", PESA_DSO_VDSO},
		{"[kernel", PESA_DSO_KERNEL},
		{"[guest.kernel", PESA_DSO_KERNEL},
		{"//anon", PESA_DSO_JIT},
		{"[", PESA_DSO_JIT},
		{"/dev/zero", PESA_DSO_JIT},
		{"/memfd:", PESA_DSO_JIT},
		{"/SYSV", PESA_DSO_JIT},
		{"/anon_hugepage", PESA_DSO_JIT},
		{"anon_inode:", PESA_DSO_JIT},
	};

	if (pid == KERNEL_PID)
		return PESA_DSO_KERNEL;
	if (!*path)
		return PESA_DSO_JIT;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
		if (starts_with(path, prefixes[i].prefix))
			return prefixes[i].kind;
	return PESA_DSO_FILE;
}

/* ---- Processes ------------------------------------------------------------------------------- */

struct pesa_error *pesa_spaces_create(struct pesa_spaces **spaces)
{
	struct pesa_spaces *created = calloc(1, sizeof(*created));
	const struct pesa_dso unknown = {
		.path = "[unknown]",
		.kind = PESA_DSO_UNKNOWN,
		.status = PESA_DSO_NO_FILE,
	};

	if (!created)
		return pesa_error_no_memory();
	created->due = UINT64_MAX;
	created->empty = space_layout_new(0);
	created->kernel = space_layout_new(0);
	if (!created->empty || !created->kernel ||
	    space_dso_index(created, &unknown) == UINT32_MAX) {
		pesa_spaces_free(created);
		return pesa_error_no_memory();
	}
	*spaces = created;
	return NULL;
}

static void process_remove(struct pesa_spaces *spaces, struct process *process)
{
	HASH_DEL(spaces->processes, process);
	space_detach_dumps(spaces, process->pid);
	pesa_layout_release(process->layout);
	free(process);
}

void pesa_spaces_free(struct pesa_spaces *spaces)
{
	struct process *process, *next;

	if (!spaces)
		return;
	HASH_ITER(hh, spaces->processes, process, next)
	{
		process_remove(spaces, process);
	}
	space_dsos_free(spaces);
	space_free_dumps(spaces);
	free(spaces->root);
	pesa_layout_release(spaces->empty);
	pesa_layout_release(spaces->kernel);
	free(spaces);
}

/* Get the process; a new one has an empty layout.  NULL: out of memory. */
static struct process *process_get(struct pesa_spaces *spaces, uint32_t pid)
{
	struct process *process = space_process_find(spaces, pid);

	if (process)
		return process;
	process = calloc(1, sizeof(*process));
	if (!process)
		return NULL;
	process->pid = pid;
	HASH_ADD(hh, spaces->processes, pid, sizeof(process->pid), process);
	if (space_process_find(spaces, pid) != process) {
		free(process);
		return NULL;
	}
	process->layout = spaces->empty;
	pesa_layout_hold(spaces->empty);
	return process;
}

static void process_set(struct process *process, struct pesa_layout *layout)
{
	pesa_layout_hold(layout);
	pesa_layout_release(process->layout);
	process->layout = layout;
}

const struct pesa_layout *pesa_spaces_layout(struct pesa_spaces *spaces, uint32_t pid)
{
	struct process *process = space_process_find(spaces, pid);

	return process ? process->layout : spaces->empty;
}

const struct pesa_layout *pesa_spaces_kernel(struct pesa_spaces *spaces)
{
	return spaces->kernel;
}

/* ---- Events ---------------------------------------------------------------------------------- */

static struct pesa_error *apply_mmap(struct pesa_spaces *spaces, const struct pesa_event *event)
{
	const struct pesa_mmap *mmap = &event->mmap;
	bool kernel = mmap->pid == KERNEL_PID ||
		      (event->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
	struct pesa_mapping mapping = {
		.start = mmap->address,
		.end = mmap->address + mmap->length,
		.offset = mmap->offset,
	};
	struct process *process = NULL;
	struct pesa_layout **layout = &spaces->kernel, *replaced;
	const struct pesa_spaces *keep = NULL;
	const char *path = mmap->path ? mmap->path : "";

	if (mapping.end < mapping.start)
		mapping.end = UINT64_MAX;
	if (!mmap->length)
		return NULL;
	if (!kernel) {
		process = process_get(spaces, mmap->pid);
		if (!process)
			return pesa_error_no_memory();
		layout = &process->layout;
		/* JIT compilers change the protection of their memory; code known from the dump
		 * stays mapped. */
		if (kind_of(path, mmap->pid) == PESA_DSO_JIT && space_has_dump(spaces, mmap->pid))
			keep = spaces;
	}
	if (!mmap->data) {
		struct pesa_dso dso = {
			.path = path,
			.build_id_size = mmap->build_id_size,
		};

		memcpy(dso.build_id, mmap->build_id, mmap->build_id_size);
		dso.kind = kind_of(dso.path, kernel ? KERNEL_PID : mmap->pid);
		if (dso.kind == PESA_DSO_JIT) {
			dso.pid = mmap->pid;
			dso.status = PESA_DSO_NO_FILE;
		} else if (dso.kind != PESA_DSO_FILE) {
			dso.status = PESA_DSO_NO_FILE;
		}
		mapping.dso = space_dso_index(spaces, &dso);
		if (mapping.dso == UINT32_MAX)
			return pesa_error_no_memory();
	}
	replaced = space_layout_replace(*layout, &mapping, !mmap->data, keep);
	if (!replaced)
		return pesa_error_no_memory();
	*layout = replaced;
	return process ? space_attach_dump(spaces, process, path, event->time) : NULL;
}

static struct pesa_error *apply_fork(struct pesa_spaces *spaces, const struct pesa_event *event)
{
	struct process *parent, *child;

	if (event->task.pid == event->task.parent_pid)
		return NULL; /* a thread */
	parent = space_process_find(spaces, event->task.parent_pid);
	child = process_get(spaces, event->task.pid);
	if (!child)
		return pesa_error_no_memory();
	child->exited = false;
	/* perf writes synthesized forks of running processes followed by their maps: copy no
	 * layout. */
	if (event->misc & PERF_RECORD_MISC_FORK_EXEC)
		parent = NULL;
	process_set(child, parent ? parent->layout : spaces->empty);
	return NULL;
}

static void apply_exit(struct pesa_spaces *spaces, const struct pesa_event *event)
{
	struct process *process, *oldest;

	if (event->task.pid != event->task.tid)
		return; /* a thread */
	process = space_process_find(spaces, event->task.pid);
	if (!process || process->exited)
		return;
	process->exited = true;
	if (spaces->exited_count == EXITED_KEPT) {
		oldest = space_process_find(spaces, spaces->exited[spaces->exited_first]);
		if (oldest && oldest->exited)
			process_remove(spaces, oldest);
		spaces->exited_first = (spaces->exited_first + 1) % EXITED_KEPT;
		spaces->exited_count--;
	}
	spaces->exited[(spaces->exited_first + spaces->exited_count++) % EXITED_KEPT] =
		process->pid;
}

struct pesa_error *pesa_spaces_apply(struct pesa_spaces *spaces, const struct pesa_event *event)
{
	struct process *process;

	switch (event->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		return apply_mmap(spaces, event);
	case PERF_RECORD_FORK:
		return apply_fork(spaces, event);
	case PERF_RECORD_COMM:
		process = event->comm.exec ? space_process_find(spaces, event->comm.pid) : NULL;
		if (process)
			space_detach_dumps(spaces, process->pid);
		if (process)
			process_set(process, spaces->empty);
		return NULL;
	case PERF_RECORD_EXIT:
		apply_exit(spaces, event);
		return NULL;
	case PERF_RECORD_TEXT_POKE:
		if ((event->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_USER)
			return space_apply_text(spaces, event);
		return NULL;
	default:
		return NULL;
	}
}
