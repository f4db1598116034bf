/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Address spaces over time: see include/pesa/space.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/binary/code.h"
#include "decoder/binary/functions.h"
#include "decoder/binary/space_data.h"

struct dso_entry {
	struct pesa_dso dso;
	uint32_t index;
	char *key;
	UT_hash_handle hh;
};

#define KERNEL_PID UINT32_MAX

/* ---- Layouts --------------------------------------------------------------------------------- */

static struct pesa_layout *layout_new(uint32_t count)
{
	struct pesa_layout *layout = malloc(sizeof(*layout) + count * sizeof(layout->mapping[0]));

	if (layout) {
		layout->references = 1;
		layout->count = 0;
	}
	return layout;
}

void pesa_layout_hold(const struct pesa_layout *layout)
{
	((struct pesa_layout *)layout)->references++;
}

void pesa_layout_release(const struct pesa_layout *layout)
{
	struct pesa_layout *mutable = (struct pesa_layout *)layout;

	if (mutable && !--mutable->references)
		free(mutable);
}

/* Index of the first mapping that ends behind `address`. */
static uint32_t layout_search(const struct pesa_layout *layout, uint64_t address)
{
	uint32_t low = 0, high = layout->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (layout->mapping[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct pesa_mapping *pesa_layout_find(const struct pesa_layout *layout, uint64_t address)
{
	uint32_t index = layout_search(layout, address);

	if (index < layout->count && layout->mapping[index].start <= address)
		return &layout->mapping[index];
	return NULL;
}

struct pesa_mapping space_part(struct pesa_mapping mapping, uint64_t start, uint64_t end)
{
	mapping.offset += start - mapping.start;
	mapping.start = start;
	mapping.end = end;
	return mapping;
}

/*
 * `old` with `added` in place of what it overlaps (but for functions that a dump told of, if `keep`
 * is not NULL); without `added` itself when `add` is false.  The caller gives its reference of old
 * and gets one of the result; NULL when memory ran out (old is kept).
 */
static struct pesa_layout *layout_replace(struct pesa_layout *old, const struct pesa_mapping *added,
					  bool add, const struct pesa_spaces *keep)
{
	uint32_t first = layout_search(old, added->start), last = first;
	uint64_t done = added->start;
	struct pesa_layout *layout;

	while (last < old->count && old->mapping[last].start < added->end)
		last++;
	layout = layout_new(old->count + 3 + (last - first));
	if (!layout)
		return NULL;
	memcpy(layout->mapping, old->mapping, first * sizeof(*old->mapping));
	layout->count = first;
	if (last > first && old->mapping[first].start < added->start)
		layout->mapping[layout->count++] =
			space_part(old->mapping[first], old->mapping[first].start, added->start);
	for (uint32_t i = first; keep && i < last; i++) {
		struct pesa_mapping left = old->mapping[i];

		if (!pesa_spaces_dso(keep, left.dso)->functions)
			continue;
		left = space_part(left, left.start > added->start ? left.start : added->start,
				  left.end < added->end ? left.end : added->end);
		if (add && done < left.start)
			layout->mapping[layout->count++] = space_part(*added, done, left.start);
		layout->mapping[layout->count++] = left;
		done = left.end;
	}
	if (add && done < added->end)
		layout->mapping[layout->count++] = space_part(*added, done, added->end);
	if (last > first && old->mapping[last - 1].end > added->end)
		layout->mapping[layout->count++] =
			space_part(old->mapping[last - 1], added->end, old->mapping[last - 1].end);
	memcpy(&layout->mapping[layout->count], &old->mapping[last],
	       (old->count - last) * sizeof(*old->mapping));
	layout->count += old->count - last;
	pesa_layout_release(old);
	return layout;
}

bool space_put(struct process *process, const struct pesa_mapping *mapping)
{
	struct pesa_layout *replaced = layout_replace(process->layout, mapping, true, NULL);

	if (replaced)
		process->layout = replaced;
	return replaced;
}

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

static void dso_entry_free(struct dso_entry *entry)
{
	if (!entry)
		return;
	free((char *)entry->dso.path);
	free((char *)entry->dso.file);
	free((char *)entry->dso.problem);
	pesa_code_free(entry->dso.code);
	pesa_functions_free(entry->dso.functions);
	free(entry->key);
	free(entry);
}

static char *dso_key(const struct pesa_dso *dso)
{
	char build_id[2 * PESA_BUILD_ID_MAX + 1] = "", *key;

	for (unsigned int i = 0; i < dso->build_id_size; i++)
		snprintf(build_id + 2 * i, 3, "%02x", dso->build_id[i]);
	if (asprintf(&key, "%d %u %u %s %s", dso->kind, dso->pid, dso->version, build_id,
		     dso->path) < 0)
		return NULL;
	return key;
}

uint32_t space_dso_index(struct pesa_spaces *spaces, const struct pesa_dso *wanted)
{
	struct dso_entry *entry, *added;
	char *key = dso_key(wanted);

	if (!key)
		return UINT32_MAX;
	HASH_FIND_STR(spaces->by_key, key, entry);
	if (entry) {
		free(key);
		return entry->index;
	}
	if (spaces->dso_count == spaces->dso_capacity) {
		unsigned int capacity = spaces->dso_capacity ? 2 * spaces->dso_capacity : 16;
		void *dsos = realloc(spaces->dsos, capacity * sizeof(*spaces->dsos));

		if (!dsos) {
			free(key);
			return UINT32_MAX;
		}
		spaces->dsos = dsos;
		spaces->dso_capacity = capacity;
	}
	entry = calloc(1, sizeof(*entry));
	if (entry) {
		entry->key = key;
		entry->dso = *wanted;
		entry->index = spaces->dso_count;
		entry->dso.path = strdup(wanted->path);
	} else {
		free(key);
	}
	if (!entry || !entry->dso.path) {
		dso_entry_free(entry);
		return UINT32_MAX;
	}
	HASH_ADD_KEYPTR(hh, spaces->by_key, entry->key, strlen(entry->key), entry);
	HASH_FIND_STR(spaces->by_key, entry->key, added);
	if (added != entry) { /* uthash could not grow */
		dso_entry_free(entry);
		return UINT32_MAX;
	}
	spaces->dsos[spaces->dso_count++] = entry;
	return entry->index;
}

unsigned int pesa_spaces_dso_count(const struct pesa_spaces *spaces)
{
	return spaces->dso_count;
}

struct pesa_dso *pesa_spaces_dso(const struct pesa_spaces *spaces, unsigned int index)
{
	return &spaces->dsos[index]->dso;
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
	created->empty = layout_new(0);
	created->kernel = layout_new(0);
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
	HASH_CLEAR(hh, spaces->by_key);
	for (unsigned int i = 0; i < spaces->dso_count; i++)
		dso_entry_free(spaces->dsos[i]);
	free(spaces->dsos);
	space_free_dumps(spaces);
	free(spaces->root);
	pesa_layout_release(spaces->empty);
	pesa_layout_release(spaces->kernel);
	free(spaces);
}

struct process *space_process_find(struct pesa_spaces *spaces, uint32_t pid)
{
	struct process *process;

	HASH_FIND(hh, spaces->processes, &pid, sizeof(pid), process);
	return process;
}

/* The process, made with an empty layout when it is new.  NULL: out of memory. */
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
		/* The compiler changes the protection of its memory; what it told is there stays.
		 */
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
	replaced = layout_replace(*layout, &mapping, !mmap->data, keep);
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
	/* perf writes forks of processes that it found running, with their maps behind: no copy. */
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
