// SPDX-License-Identifier: GPL-2.0-or-later
/* What goes into an archive: see contents.h. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "decoder/base/read_file.h"
#include "pesa/perfdata.h"
#include "pesa/profile.h"
#include "pesa/space.h"
#include "pesa/symbols.h"
#include "tools/archive/contents.h"
#include "tools/ui/archive_open.h"

#define INLINED_MAX 64

struct archive_seen {
	size_t entry;
	UT_hash_handle hh;
	char name[];
};

/* ---- Entries ------------------------------------------------------------------------------- */

void archive_contents_free(struct archive_contents *contents)
{
	struct archive_seen *seen, *next;

	for (size_t i = 0; i < contents->count; i++) {
		free(contents->entry[i].name);
		free(contents->entry[i].path);
		free(contents->entry[i].bytes);
		free(contents->entry[i].from);
	}
	for (size_t i = 0; i < contents->missing_count; i++) {
		free(contents->missing[i].path);
		free(contents->missing[i].problem);
	}
	HASH_ITER(hh, contents->seen, seen, next)
	{
		HASH_DEL(contents->seen, seen);
		free(seen);
	}
	free(contents->entry);
	free(contents->missing);
	free(contents->damage);
	*contents = (struct archive_contents){0};
}

static const struct archive_entry *find(const struct archive_contents *contents, const char *name)
{
	struct archive_seen *seen;

	HASH_FIND_STR(contents->seen, name, seen);
	return seen ? &contents->entry[seen->entry] : NULL;
}

/* Add an entry with a new name; NULL: out of memory. */
static struct archive_entry *add(struct archive_contents *contents, const char *name)
{
	struct archive_seen *seen = malloc(sizeof(*seen) + strlen(name) + 1);
	struct archive_entry *entry;

	if (contents->count == contents->capacity) {
		size_t capacity = contents->capacity ? 2 * contents->capacity : 32;
		void *grown = realloc(contents->entry, capacity * sizeof(*entry));

		if (grown) {
			contents->entry = grown;
			contents->capacity = capacity;
		}
	}
	if (!seen || contents->count == contents->capacity) {
		free(seen);
		return NULL;
	}
	entry = &contents->entry[contents->count];
	*entry = (struct archive_entry){.name = strdup(name)};
	if (!entry->name) {
		free(seen);
		return NULL;
	}
	seen->entry = contents->count++;
	strcpy(seen->name, name);
	HASH_ADD_STR(contents->seen, name, seen);
	return entry;
}

/* Add a file under this name, unless the name exists.  False: out of memory. */
static bool add_file(struct archive_contents *contents, const char *name, const char *path)
{
	struct archive_entry *entry;

	if (find(contents, name))
		return true;
	entry = add(contents, name);
	if (!entry)
		return false;
	entry->path = strdup(path);
	entry->from = strdup(path);
	return entry->path && entry->from;
}

static bool add_directory(struct archive_contents *contents, const char *name)
{
	if (find(contents, name))
		return true;
	contents->directories++;
	return add(contents, name) != NULL;
}

/* Add a file of /proc or /sys, whose size is not known before reading; skip it if unreadable. */
static bool add_system_file(struct archive_contents *contents, const char *root, const char *name,
			    bool own)
{
	struct archive_entry *entry;
	struct pesa_error *error;
	char *path, *bytes;
	size_t size;

	if (find(contents, name))
		return true;
	if (asprintf(&path, "%s/%s", root ? root : "", name) < 0)
		return false;
	error = pesa_read_foreign_file(root && access(path, R_OK) ? path + strlen(root) : path, own,
				       &bytes, &size);
	if (error) {
		pesa_error_free(error);
		free(path);
		return true;
	}
	entry = add(contents, name);
	if (!entry) {
		free(bytes);
		free(path);
		return false;
	}
	entry->bytes = bytes;
	entry->size = size;
	entry->from = path;
	return true;
}

/* ---- Names --------------------------------------------------------------------------------- */

/*
 * Convert an absolute path to a name below the root, without empty components and "."; NULL if it
 * leaves the root, is not absolute, or (with `plain`) has "..".  A reader resolves "..", so the
 * directory before it must exist: it is added.
 */
static char *name_below(struct archive_contents *contents, const char *path, bool plain)
{
	char *name = malloc(strlen(path) + 1);
	size_t length = 0;

	if (!name || *path != '/') {
		free(name);
		return NULL;
	}
	while (*(path += strspn(path, "/"))) {
		size_t part = strcspn(path, "/");

		if (part == 2 && !strncmp(path, "..", 2)) {
			name[length] = '\0';
			if (plain || !length || !add_directory(contents, name)) {
				free(name);
				return NULL;
			}
			while (length && name[length - 1] != '/')
				length--;
			length -= length > 0;
		} else if (part != 1 || *path != '.') {
			if (length)
				name[length++] = '/';
			memcpy(name + length, path, part);
			length += part;
		}
		path += part;
	}
	name[length] = '\0';
	if (length)
		return name;
	free(name);
	return NULL;
}

/* "BEFORE/.build-id/ab/cdef...BEHIND"; NULL: no build id, or out of memory. */
static char *name_by_id(const char *before, const uint8_t *id, size_t size, const char *behind)
{
	char digits[2 * PESA_BUILD_ID_MAX + 1], *name;

	if (size < 2 || size > PESA_BUILD_ID_MAX)
		return NULL;
	for (size_t i = 0; i < size; i++)
		snprintf(digits + 2 * i, 3, "%02x", id[i]);
	return asprintf(&name, "%s.build-id/%.2s/%s%s", before, digits, digits + 2, behind) < 0
		       ? NULL
		       : name;
}

/* ---- One event's binaries ------------------------------------------------------------------ */

struct collecting {
	struct archive_contents *contents;
	const char *root;
	bool sources;
	struct pesa_profile *profile;
	struct pesa_symbols *symbols;
	uint64_t weight; /* of the dso at hand */
};

static bool add_missing(struct collecting *collecting, const char *path, const char *problem)
{
	struct archive_contents *contents = collecting->contents;
	uint64_t all = pesa_profile_totals(collecting->profile)->weight;
	double share = all ? (double)collecting->weight / (double)all : 0;
	struct archive_missing *grown;

	for (size_t i = 0; i < contents->missing_count; i++) {
		if (strcmp(contents->missing[i].path, path))
			continue;
		if (contents->missing[i].share < share)
			contents->missing[i].share = share;
		return true;
	}
	grown = realloc(contents->missing, (contents->missing_count + 1) * sizeof(*grown));
	if (!grown)
		return false;
	contents->missing = grown;
	grown[contents->missing_count] =
		(struct archive_missing){strdup(path), strdup(problem), share};
	contents->missing_count++;
	return grown[contents->missing_count - 1].path &&
	       grown[contents->missing_count - 1].problem;
}

/* Add the ELF file itself. */
static bool add_binary(struct collecting *collecting, const struct pesa_dso *dso)
{
	struct archive_contents *contents = collecting->contents;
	char *by_id = name_by_id("", dso->build_id, dso->build_id_size,
				 dso->kind == PESA_DSO_VDSO ? "/vdso" : "/elf");
	char *name = dso->kind == PESA_DSO_FILE ? name_below(contents, dso->path, true) : NULL;
	const struct archive_entry *taken = name ? find(contents, name) : NULL;
	bool added;

	if (name && (!taken || (taken->path && !strcmp(taken->path, dso->file))))
		added = add_file(contents, name, dso->file);
	else if (by_id)
		added = add_file(contents, by_id, dso->file);
	else
		added = add_missing(
			collecting, dso->path,
			"its path is not plain or that of another file, and it has no build id");
	free(by_id);
	free(name);
	return added;
}

/* Add a debug file without a build id, which is found by its name next to the binary. */
static bool add_beside(struct collecting *collecting, const struct pesa_dso *dso, const char *debug)
{
	char *name = name_below(collecting->contents, dso->path, true), *beside = NULL;
	const char *slash = name ? strrchr(name, '/') : NULL, *last = strrchr(debug, '/');
	bool added = true;

	if (name && asprintf(&beside, "%.*s.debug/%s", slash ? (int)(slash + 1 - name) : 0, name,
			     last ? last + 1 : debug) < 0) {
		beside = NULL;
		added = false;
	}
	if (beside)
		added = add_file(collecting->contents, beside, debug);
	free(beside);
	free(name);
	return added;
}

static bool add_debug(struct collecting *collecting, const struct pesa_dso *dso, uint32_t index)
{
	struct pesa_symbol_paths paths = pesa_symbols_paths(collecting->symbols, index);
	bool absent = dso->status == PESA_DSO_MISSING || dso->status == PESA_DSO_CHANGED;
	/* If the binary is gone, its debug file may still exist and has the symbols. */
	const char *debug = absent ? paths.main : paths.debug;
	char *by_id = name_by_id("usr/lib/debug/", dso->build_id, dso->build_id_size, ".debug");
	char *alternate =
		name_by_id("usr/lib/debug/", paths.alternate_id, paths.alternate_id_size, ".debug");
	bool added = true;

	if (debug && by_id)
		added = add_file(collecting->contents, by_id, debug);
	else if (debug)
		added = add_beside(collecting, dso, debug);
	if (added && alternate && paths.alternate && !access(paths.alternate, R_OK))
		added = add_file(collecting->contents, alternate, paths.alternate);
	free(by_id);
	free(alternate);
	free(paths.main);
	free(paths.debug);
	free(paths.alternate);
	return added;
}

/* Add the kernel's symbols, if the running kernel is the recorded one. */
static bool add_kernel(struct collecting *collecting, const struct pesa_dso *dso, uint32_t index,
		       uint64_t address)
{
	const char *problem;

	pesa_symbols_find(collecting->symbols, index, address);
	problem = pesa_symbols_problem(collecting->symbols, index);
	if (problem)
		return add_missing(collecting, dso->path, problem);
	return add_system_file(collecting->contents, collecting->root, "sys/kernel/notes", false) &&
	       add_system_file(collecting->contents, collecting->root, "proc/kallsyms", false);
}

static bool add_map(struct collecting *collecting, const struct pesa_dso *dso, uint32_t index,
		    uint64_t address)
{
	const char *first;
	size_t refused;
	char name[64];

	if (!dso->pid)
		return true;
	refused = pesa_symbols_refused(collecting->symbols, &first);
	pesa_symbols_find(collecting->symbols, index, address);
	if (pesa_symbols_refused(collecting->symbols, &first) > refused)
		return add_missing(collecting, dso->path,
				   pesa_symbols_problem(collecting->symbols, index));
	snprintf(name, sizeof(name), "tmp/perf-%u.map", dso->pid);
	return add_system_file(collecting->contents, collecting->root, name, true);
}

static bool add_dso(struct collecting *collecting, uint32_t index, uint64_t address)
{
	const struct pesa_dso *dso = pesa_profile_dso(collecting->profile, index);

	switch (dso->kind) {
	case PESA_DSO_FILE:
	case PESA_DSO_VDSO:
		if (dso->file && !add_binary(collecting, dso))
			return false;
		if (!dso->file && dso->kind == PESA_DSO_FILE &&
		    !add_missing(collecting, dso->path, dso->problem ? dso->problem : "not found"))
			return false;
		return add_debug(collecting, dso, index);
	case PESA_DSO_KERNEL:
		return add_kernel(collecting, dso, index, address);
	case PESA_DSO_JIT:
		return add_map(collecting, dso, index, address);
	default:
		return true;
	}
}

/* Add the jitdump files of all processes. */
static bool add_dumps(struct collecting *collecting)
{
	const struct pesa_spaces *spaces = pesa_profile_spaces(collecting->profile);

	collecting->weight = 0;
	for (size_t i = 0; i < pesa_spaces_dump_count(spaces); i++) {
		struct pesa_spaces_dump dump = pesa_spaces_dump(spaces, i);
		char *name = name_below(collecting->contents, dump.path, true);
		bool added;

		if (dump.refused || !name)
			added = add_missing(collecting, dump.path,
					    dump.refused ? dump.problem : "its path is not plain");
		else
			added = add_system_file(collecting->contents, collecting->root, name, true);
		free(name);
		if (!added)
			return false;
	}
	return true;
}

/* ---- Sources ------------------------------------------------------------------------------- */

static bool add_source(struct collecting *collecting, const struct pesa_source *source)
{
	const char *root = collecting->root;
	char *below = NULL, *name;
	const char *path;
	bool added = true;

	if (!source->file || *source->file != '/')
		return true;
	if (root && asprintf(&below, "%s%s", root, source->file) < 0)
		return false;
	path = below && !access(below, R_OK) ? below : source->file;
	name = access(path, R_OK) ? NULL : name_below(collecting->contents, source->file, false);
	if (name)
		added = add_file(collecting->contents, name, path);
	free(name);
	free(below);
	return added;
}

static bool add_sources(struct collecting *collecting, const struct pesa_instruction *instruction)
{
	struct pesa_inline_frame frames[INLINED_MAX];
	struct pesa_source source =
		pesa_symbols_source(collecting->symbols, instruction->dso, instruction->address);
	size_t count = pesa_symbols_inlines(collecting->symbols, instruction->dso,
					    instruction->address, frames, INLINED_MAX);
	bool added = add_source(collecting, &source);

	for (size_t i = 0; added && i < count; i++)
		added = add_source(collecting, &frames[i].source);
	return added;
}

/* ---- The recording ------------------------------------------------------------------------- */

static bool collect_event(struct collecting *collecting)
{
	size_t count = pesa_profile_instruction_count(collecting->profile), at = 0;

	for (uint32_t dso = 0; dso < pesa_profile_dso_count(collecting->profile); dso++) {
		uint64_t address = 0;
		size_t first = at;

		collecting->weight = 0;
		for (; at < count; at++) {
			const struct pesa_instruction *instruction =
				pesa_profile_instruction(collecting->profile, at);

			if (instruction->dso != dso)
				break;
			collecting->weight += instruction->weight;
			if (at == first)
				address = instruction->address;
			if (collecting->sources && !add_sources(collecting, instruction))
				return false;
		}
		if (!add_dso(collecting, dso, address))
			return false;
	}
	return add_dumps(collecting);
}

static struct pesa_error *load_event(struct archive_contents *contents, const char *path,
				     const char *event, const char *root, bool sources)
{
	struct collecting collecting = {.contents = contents, .root = root, .sources = sources};
	const struct pesa_perfdata_losses *losses;
	struct pesa_profile_options options;
	struct pesa_error *error;

	pesa_profile_options_default(&options);
	options.event = event;
	options.symbol_root = root;
	error = pesa_profile_load(path, &options, &collecting.profile);
	if (error)
		return error;
	losses = pesa_profile_losses(collecting.profile);
	if (!contents->damage && losses->damage)
		contents->damage = strdup(losses->damage);
	error = pesa_symbols_create(collecting.profile, root, &collecting.symbols);
	if (!error && !collect_event(&collecting))
		error = pesa_error_no_memory();
	pesa_symbols_free(collecting.symbols);
	pesa_profile_free(collecting.profile);
	return error;
}

/* Load the profile of each event of the recording. */
static struct pesa_error *load_events(struct archive_contents *contents, const char *path,
				      const char *root, bool sources)
{
	struct pesa_perfdata *reader = NULL;
	struct pesa_error *error = pesa_perfdata_open(path, &reader);

	for (unsigned int i = 0; !error && i < pesa_perfdata_attribute_count(reader); i++) {
		const char *name = pesa_perfdata_attribute(reader, i)->name;
		bool seen = false;

		for (unsigned int j = 0; j < i; j++)
			seen |= !strcmp(pesa_perfdata_attribute(reader, j)->name, name);
		if (!seen)
			error = load_event(contents, path, name, root, sources);
	}
	pesa_perfdata_close(reader);
	return error;
}

/* Add a file, or a directory of perf record --threads with its files. */
static struct pesa_error *add_recording(struct archive_contents *contents, const char *path)
{
	DIR *directory = opendir(path);
	struct dirent *entry;
	bool memory = true;

	if (!directory && errno != ENOTDIR)
		return pesa_error_system(errno, "cannot open %s", path);
	if (!directory)
		return add_file(contents, ARCHIVE_RECORDING, path) ? NULL : pesa_error_no_memory();
	while (memory && (entry = readdir(directory))) {
		char *name = NULL, *file = NULL;

		if (strncmp(entry->d_name, "data", 4))
			continue;
		memory = asprintf(&name, "%s/%s", ARCHIVE_RECORDING, entry->d_name) >= 0 &&
			 asprintf(&file, "%s/%s", path, entry->d_name) >= 0 &&
			 add_file(contents, name, file);
		free(name);
		free(file);
	}
	closedir(directory);
	return memory ? NULL : pesa_error_no_memory();
}

static int compare_entries(const void *left, const void *right)
{
	const struct archive_entry *a = left, *b = right;

	return strcmp(a->name, b->name);
}

static int compare_missing(const void *left, const void *right)
{
	const struct archive_missing *a = left, *b = right;

	if (a->share != b->share)
		return a->share > b->share ? -1 : 1;
	return strcmp(a->path, b->path);
}

struct pesa_error *archive_collect(struct archive_contents *contents, const char *path,
				   const char *root, bool sources)
{
	const char *directory, *recording;
	struct pesa_error *error = archive_open(path, &directory, &recording);

	if (error)
		return error;
	if (!root)
		root = directory;
	if (!recording)
		recording = path;
	error = add_recording(contents, recording);
	if (!error)
		error = load_events(contents, recording, root, sources);
	if (!error) {
		qsort(contents->entry, contents->count, sizeof(*contents->entry), compare_entries);
		if (contents->missing_count)
			qsort(contents->missing, contents->missing_count,
			      sizeof(*contents->missing), compare_missing);
	}
	return error;
}
