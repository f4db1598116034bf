/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Address spaces over time: see include/pesa/space.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXITED_KEPT	  1024
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "decoder/code.h"
#include "pesa/space.h"

/* Versions of code at one address that are told apart.  The text of what comes behind the last is
 * not kept. */
#define VERSIONS_MAX 256u

struct process {
	uint32_t pid;
	bool exited;
	struct pesa_layout *layout; /* held */
	UT_hash_handle hh;
};

struct dso_entry {
	struct pesa_dso dso;
	uint32_t index;
	char *key;
	UT_hash_handle hh;
};

struct pesa_spaces {
	struct process *processes;
	struct pesa_layout *empty, *kernel; /* held */
	struct dso_entry *by_key;
	struct dso_entry **dsos;
	unsigned int dso_count, dso_capacity;
	/* Processes that exited, oldest at exited_first: threads may outlive the one that started
	 * the process and samples may come late, so they are kept for a while. */
	uint32_t exited[EXITED_KEPT];
	unsigned int exited_first, exited_count;
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

static struct pesa_mapping part(struct pesa_mapping mapping, uint64_t start, uint64_t end)
{
	mapping.offset += start - mapping.start;
	mapping.start = start;
	mapping.end = end;
	return mapping;
}

/*
 * `old` with `added` in place of what it overlaps; without `added` itself when `keep` is false. The
 * caller gives its reference of old and gets one of the result; NULL when memory ran out (old is
 * kept).
 */
static struct pesa_layout *layout_replace(struct pesa_layout *old, const struct pesa_mapping *added,
					  bool keep)
{
	uint32_t first = layout_search(old, added->start), last = first;
	struct pesa_layout *layout;

	while (last < old->count && old->mapping[last].start < added->end)
		last++;
	layout = layout_new(old->count + 2);
	if (!layout)
		return NULL;
	memcpy(layout->mapping, old->mapping, first * sizeof(*old->mapping));
	layout->count = first;
	if (last > first && old->mapping[first].start < added->start)
		layout->mapping[layout->count++] =
			part(old->mapping[first], old->mapping[first].start, added->start);
	if (keep)
		layout->mapping[layout->count++] = *added;
	if (last > first && old->mapping[last - 1].end > added->end)
		layout->mapping[layout->count++] =
			part(old->mapping[last - 1], added->end, old->mapping[last - 1].end);
	memcpy(&layout->mapping[layout->count], &old->mapping[last],
	       (old->count - last) * sizeof(*old->mapping));
	layout->count += old->count - last;
	pesa_layout_release(old);
	return layout;
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

/* The index of the binary like `wanted`, made when it is new.  UINT32_MAX: out of memory. */
static uint32_t dso_index(struct pesa_spaces *spaces, const struct pesa_dso *wanted)
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
	created->empty = layout_new(0);
	created->kernel = layout_new(0);
	if (!created->empty || !created->kernel || dso_index(created, &unknown) == UINT32_MAX) {
		pesa_spaces_free(created);
		return pesa_error_no_memory();
	}
	*spaces = created;
	return NULL;
}

static void process_remove(struct pesa_spaces *spaces, struct process *process)
{
	HASH_DEL(spaces->processes, process);
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
	pesa_layout_release(spaces->empty);
	pesa_layout_release(spaces->kernel);
	free(spaces);
}

static struct process *process_find(struct pesa_spaces *spaces, uint32_t pid)
{
	struct process *process;

	HASH_FIND(hh, spaces->processes, &pid, sizeof(pid), process);
	return process;
}

/* The process, made with an empty layout when it is new.  NULL: out of memory. */
static struct process *process_get(struct pesa_spaces *spaces, uint32_t pid)
{
	struct process *process = process_find(spaces, pid);

	if (process)
		return process;
	process = calloc(1, sizeof(*process));
	if (!process)
		return NULL;
	process->pid = pid;
	HASH_ADD(hh, spaces->processes, pid, sizeof(process->pid), process);
	if (process_find(spaces, pid) != process) {
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
	struct process *process = process_find(spaces, pid);

	return process ? process->layout : spaces->empty;
}

const struct pesa_layout *pesa_spaces_kernel(struct pesa_spaces *spaces)
{
	return spaces->kernel;
}

/* ---- Code made at run time ------------------------------------------------------------------- */

/* The version of a dso in which these bytes can be; UINT32_MAX: out of memory. */
static uint32_t version_for(struct pesa_spaces *spaces, uint32_t index, uint64_t address,
			    const uint8_t *bytes, size_t size)
{
	struct pesa_dso wanted = *pesa_spaces_dso(spaces, index);

	/* Its own is the likeliest. */
	if (wanted.version < VERSIONS_MAX &&
	    (!wanted.code || pesa_code_agrees(wanted.code, address, bytes, size)))
		return index;
	wanted.file = wanted.problem = NULL;
	wanted.code = NULL;
	for (wanted.version = 0; wanted.version < VERSIONS_MAX; wanted.version++) {
		const struct pesa_dso *dso;

		index = dso_index(spaces, &wanted);
		if (index == UINT32_MAX)
			return index;
		dso = pesa_spaces_dso(spaces, index);
		if (!dso->code || pesa_code_agrees(dso->code, address, bytes, size))
			return index;
	}
	return dso_index(spaces, &wanted);
}

static bool add_code(struct pesa_dso *dso, uint64_t address, const uint8_t *bytes, size_t size)
{
	if (dso->version == VERSIONS_MAX)
		return true;
	if (!dso->code)
		dso->code = pesa_code_create();
	return dso->code && pesa_code_add(dso->code, address, bytes, size);
}

/* What is next to it in the same dso becomes one mapping with it: a program that overwrites its
 * code piece by piece would have ever more of them. */
static void join(const struct pesa_layout *layout, struct pesa_mapping *mapping)
{
	const struct pesa_mapping *other;

	other = mapping->start ? pesa_layout_find(layout, mapping->start - 1) : NULL;
	if (other && other->dso == mapping->dso)
		*mapping = part(*other, other->start, mapping->end);
	other = pesa_layout_find(layout, mapping->end);
	if (other && other->dso == mapping->dso)
		mapping->end = other->end;
}

/* Code appears; where other code was, what is executed from now on is another version of the dso.
 */
static struct pesa_error *apply_text(struct pesa_spaces *spaces, const struct pesa_event *event)
{
	struct process *process = process_find(spaces, event->text.pid);
	uint64_t address = event->text.address, size = event->text.size;
	const struct pesa_mapping *mapping;
	struct pesa_layout *replaced;
	struct pesa_mapping changed;

	mapping = process && size ? pesa_layout_find(process->layout, address) : NULL;
	if (!mapping || pesa_spaces_dso(spaces, mapping->dso)->kind != PESA_DSO_JIT)
		return NULL;
	if (size > mapping->end - address)
		size = mapping->end - address;
	changed = part(*mapping, address, address + size);
	changed.dso = version_for(spaces, mapping->dso, address, event->text.bytes, size);
	if (changed.dso == UINT32_MAX ||
	    !add_code(pesa_spaces_dso(spaces, changed.dso), address, event->text.bytes, size))
		return pesa_error_no_memory();
	if (changed.dso == mapping->dso)
		return NULL;
	join(process->layout, &changed);
	replaced = layout_replace(process->layout, &changed, true);
	if (!replaced)
		return pesa_error_no_memory();
	process->layout = replaced;
	return NULL;
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

	if (mapping.end < mapping.start)
		mapping.end = UINT64_MAX;
	if (!mmap->length)
		return NULL;
	if (!kernel) {
		process = process_get(spaces, mmap->pid);
		if (!process)
			return pesa_error_no_memory();
		layout = &process->layout;
	}
	if (!mmap->data) {
		struct pesa_dso dso = {
			.path = mmap->path ? mmap->path : "",
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
		mapping.dso = dso_index(spaces, &dso);
		if (mapping.dso == UINT32_MAX)
			return pesa_error_no_memory();
	}
	replaced = layout_replace(*layout, &mapping, !mmap->data);
	if (!replaced)
		return pesa_error_no_memory();
	*layout = replaced;
	return NULL;
}

static struct pesa_error *apply_fork(struct pesa_spaces *spaces, const struct pesa_event *event)
{
	struct process *parent, *child;

	if (event->task.pid == event->task.parent_pid)
		return NULL; /* a thread */
	parent = process_find(spaces, event->task.parent_pid);
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
	process = process_find(spaces, event->task.pid);
	if (!process || process->exited)
		return;
	process->exited = true;
	if (spaces->exited_count == EXITED_KEPT) {
		oldest = process_find(spaces, spaces->exited[spaces->exited_first]);
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
		process = event->comm.exec ? process_find(spaces, event->comm.pid) : NULL;
		if (process)
			process_set(process, spaces->empty);
		return NULL;
	case PERF_RECORD_EXIT:
		apply_exit(spaces, event);
		return NULL;
	case PERF_RECORD_TEXT_POKE:
		if ((event->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_USER)
			return apply_text(spaces, event);
		return NULL;
	default:
		return NULL;
	}
}
