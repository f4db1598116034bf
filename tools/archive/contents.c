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
#include "tools/files/archive_open.h"

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
	seen->entry = contents->count;
	strcpy(seen->name, name);
	HASH_ADD_STR(contents->seen, name, seen);
	if (!seen->hh.tbl) {
		free(entry->name);
		free(seen);
		return NULL;
	}
	contents->count++;
	return entry;
}

/* Add a file under this name, unless the name exists. */
static struct pesa_error *add_file(struct archive_contents *contents, const char *name,
				   const char *path)
{
	struct archive_entry *entry;

	if (find(contents, name))
		return NULL;
	entry = add(contents, name);
	if (!entry)
		return pesa_error_no_memory();
	entry->path = strdup(path);
	entry->from = strdup(path);
	return entry->path && entry->from ? NULL : pesa_error_no_memory();
}

static struct pesa_error *add_directory(struct archive_contents *contents, const char *name)
{
	if (find(contents, name))
		return NULL;
	contents->directories++;
	return add(contents, name) ? NULL : pesa_error_no_memory();
}

/* Add a file of /proc or /sys, whose size is not known before reading; skip it if unreadable. */
static struct pesa_error *add_system_file(struct archive_contents *contents, const char *root,
					  const char *name, bool own)
{
	struct archive_entry *entry;
	struct pesa_error *error;
	char *path, *bytes;
	size_t size;

	if (find(contents, name))
		return NULL;
	if (asprintf(&path, "%s/%s", root ? root : "", name) < 0)
		return pesa_error_no_memory();
	error = pesa_read_foreign_file(root && access(path, R_OK) ? path + strlen(root) : path, own,
				       &bytes, &size);
	if (error) {
		free(path);
		if (error->code == PESA_ERROR_NO_MEMORY)
			return error;
		pesa_error_free(error);
		return NULL;
	}
	entry = add(contents, name);
	if (!entry) {
		free(bytes);
		free(path);
		return pesa_error_no_memory();
	}
	entry->bytes = bytes;
	entry->size = size;
	entry->from = path;
	return NULL;
}

/* ---- Names --------------------------------------------------------------------------------- */

/*
 * Convert an absolute path to a name below the root, without empty components and ".".  *result: NULL
 * if it leaves the root, is not absolute, or (with `plain`) has "..".  A reader resolves "..", so the
 * directory before it must exist: it is added.
 */
static struct pesa_error *name_below(struct archive_contents *contents, const char *path,
				     bool plain, char **result)
{
	struct pesa_error *error = NULL;
	size_t length = 0;
	char *name;

	*result = NULL;
	if (*path != '/')
		return NULL;
	name = malloc(strlen(path) + 1);
	if (!name)
		return pesa_error_no_memory();
	while (*(path += strspn(path, "/"))) {
		size_t part = strcspn(path, "/");

		if (part == 2 && !strncmp(path, "..", 2)) {
			name[length] = '\0';
			if (!plain && length)
				error = add_directory(contents, name);
			if (plain || !length || error) {
				free(name);
				return error;
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
		*result = name;
	else
		free(name);
	return NULL;
}

/* "BEFORE/.build-id/ab/cdef...BEHIND"; *name: NULL if there is no build id. */
static struct pesa_error *name_by_id(const char *before, const uint8_t *id, size_t size,
				     const char *behind, char **name)
{
	char digits[2 * PESA_BUILD_ID_MAX + 1];

	*name = NULL;
	if (size < 2 || size > PESA_BUILD_ID_MAX)
		return NULL;
	for (size_t i = 0; i < size; i++)
		snprintf(digits + 2 * i, 3, "%02x", id[i]);
	if (asprintf(name, "%s.build-id/%.2s/%s%s", before, digits, digits + 2, behind) >= 0)
		return NULL;
	*name = NULL;
	return pesa_error_no_memory();
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

static struct pesa_error *add_missing(struct collecting *collecting, const char *path,
				      const char *problem)
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
		return NULL;
	}
	grown = realloc(contents->missing, (contents->missing_count + 1) * sizeof(*grown));
	if (!grown)
		return pesa_error_no_memory();
	contents->missing = grown;
	grown += contents->missing_count++;
	*grown = (struct archive_missing){strdup(path), strdup(problem), share};
	return grown->path && grown->problem ? NULL : pesa_error_no_memory();
}

/* Add the ELF file itself. */
static struct pesa_error *add_binary(struct collecting *collecting, const struct pesa_dso *dso)
{
	struct archive_contents *contents = collecting->contents;
	const struct archive_entry *taken;
	char *by_id = NULL, *name = NULL;
	struct pesa_error *error;

	error = name_by_id("", dso->build_id, dso->build_id_size,
			   dso->kind == PESA_DSO_VDSO ? "/vdso" : "/elf", &by_id);
	if (!error && dso->kind == PESA_DSO_FILE)
		error = name_below(contents, dso->path, true, &name);
	taken = name ? find(contents, name) : NULL;
	if (error)
		; /* passed on below */
	else if (name && (!taken || (taken->path && !strcmp(taken->path, dso->file))))
		error = add_file(contents, name, dso->file);
	else if (by_id)
		error = add_file(contents, by_id, dso->file);
	else
		error = add_missing(
			collecting, dso->path,
			"its path is not plain or that of another file, and it has no build id");
	free(by_id);
	free(name);
	return error;
}

/* Add a debug file without a build id, which is found by its name next to the binary. */
static struct pesa_error *add_beside(struct collecting *collecting, const struct pesa_dso *dso,
				     const char *debug)
{
	const char *slash, *last = strrchr(debug, '/');
	struct pesa_error *error;
	char *name, *beside;

	error = name_below(collecting->contents, dso->path, true, &name);
	if (error || !name)
		return error;
	slash = strrchr(name, '/');
	if (asprintf(&beside, "%.*s.debug/%s", slash ? (int)(slash + 1 - name) : 0, name,
		     last ? last + 1 : debug) < 0) {
		free(name);
		return pesa_error_no_memory();
	}
	error = add_file(collecting->contents, beside, debug);
	free(beside);
	free(name);
	return error;
}

static struct pesa_error *add_debug(struct collecting *collecting, const struct pesa_dso *dso,
				    uint32_t index)
{
	bool absent = dso->status == PESA_DSO_MISSING || dso->status == PESA_DSO_CHANGED;
	char *by_id = NULL, *alternate = NULL;
	struct pesa_symbol_paths paths;
	struct pesa_error *error;
	const char *debug;

	error = pesa_symbols_paths(collecting->symbols, index, &paths);
	if (error)
		return error;
	/* If the binary is gone, its debug file may still exist and has the symbols. */
	debug = absent ? paths.main : paths.debug;
	error = name_by_id("usr/lib/debug/", dso->build_id, dso->build_id_size, ".debug", &by_id);
	if (!error)
		error = name_by_id("usr/lib/debug/", paths.alternate_id, paths.alternate_id_size,
				   ".debug", &alternate);
	if (!error && debug)
		error = by_id ? add_file(collecting->contents, by_id, debug)
			      : add_beside(collecting, dso, debug);
	if (!error && alternate && paths.alternate && !access(paths.alternate, R_OK))
		error = add_file(collecting->contents, alternate, paths.alternate);
	free(by_id);
	free(alternate);
	free(paths.main);
	free(paths.debug);
	free(paths.alternate);
	return error;
}

/* What is wrong with a dso after its symbols were looked for. */
static struct pesa_error *find_problem(struct collecting *collecting, uint32_t index,
				       uint64_t address, const char **problem)
{
	const struct pesa_symbol *symbol;
	struct pesa_error *error;

	error = pesa_symbols_find(collecting->symbols, index, address, &symbol);
	return error ? error : pesa_symbols_problem(collecting->symbols, index, problem);
}

/* Add the kernel's symbols, if the running kernel is the recorded one. */
static struct pesa_error *add_kernel(struct collecting *collecting, const struct pesa_dso *dso,
				     uint32_t index, uint64_t address)
{
	const char *problem;
	struct pesa_error *error = find_problem(collecting, index, address, &problem);

	if (!error && problem)
		return add_missing(collecting, dso->path, problem);
	if (!error)
		error = add_system_file(collecting->contents, collecting->root, "sys/kernel/notes",
					false);
	if (!error)
		error = add_system_file(collecting->contents, collecting->root, "proc/kallsyms",
					false);
	return error;
}

static struct pesa_error *add_map(struct collecting *collecting, const struct pesa_dso *dso,
				  uint32_t index, uint64_t address)
{
	const char *first, *problem;
	struct pesa_error *error;
	size_t refused;
	char name[64];

	if (!dso->pid)
		return NULL;
	refused = pesa_symbols_refused(collecting->symbols, &first);
	error = find_problem(collecting, index, address, &problem);
	if (error)
		return error;
	if (pesa_symbols_refused(collecting->symbols, &first) > refused)
		return add_missing(collecting, dso->path, problem);
	snprintf(name, sizeof(name), "tmp/perf-%u.map", dso->pid);
	return add_system_file(collecting->contents, collecting->root, name, true);
}

static struct pesa_error *add_dso(struct collecting *collecting, uint32_t index, uint64_t address)
{
	const struct pesa_dso *dso = pesa_profile_dso(collecting->profile, index);
	struct pesa_error *error = NULL;

	switch (dso->kind) {
	case PESA_DSO_FILE:
	case PESA_DSO_VDSO:
		if (dso->file)
			error = add_binary(collecting, dso);
		else if (dso->kind == PESA_DSO_FILE)
			error = add_missing(collecting, dso->path,
					    dso->problem ? dso->problem : "not found");
		return error ? error : add_debug(collecting, dso, index);
	case PESA_DSO_KERNEL:
		return add_kernel(collecting, dso, index, address);
	case PESA_DSO_JIT:
		return add_map(collecting, dso, index, address);
	default:
		return NULL;
	}
}

/* Add the jitdump files of all processes. */
static struct pesa_error *add_dumps(struct collecting *collecting)
{
	const struct pesa_spaces *spaces = pesa_profile_spaces(collecting->profile);
	struct pesa_error *error = NULL;

	collecting->weight = 0;
	for (size_t i = 0; i < pesa_spaces_dump_count(spaces) && !error; i++) {
		struct pesa_spaces_dump dump = pesa_spaces_dump(spaces, i);
		char *name;

		error = name_below(collecting->contents, dump.path, true, &name);
		if (error)
			return error;
		if (dump.refused || !name)
			error = add_missing(collecting, dump.path,
					    dump.refused ? dump.problem : "its path is not plain");
		else
			error = add_system_file(collecting->contents, collecting->root, name, true);
		free(name);
	}
	return error;
}

/* ---- Sources ------------------------------------------------------------------------------- */

static struct pesa_error *add_source(struct collecting *collecting,
				     const struct pesa_source *source)
{
	const char *root = collecting->root;
	struct pesa_error *error = NULL;
	char *below = NULL, *name = NULL;
	const char *path;

	if (!source->file || *source->file != '/')
		return NULL;
	if (root && asprintf(&below, "%s%s", root, source->file) < 0)
		return pesa_error_no_memory();
	path = below && !access(below, R_OK) ? below : source->file;
	if (!access(path, R_OK))
		error = name_below(collecting->contents, source->file, false, &name);
	if (!error && name)
		error = add_file(collecting->contents, name, path);
	free(name);
	free(below);
	return error;
}

static struct pesa_error *add_sources(struct collecting *collecting,
				      const struct pesa_instruction *instruction)
{
	struct pesa_inline_frame frames[INLINED_MAX];
	struct pesa_source source;
	struct pesa_error *error;
	size_t count;

	error = pesa_symbols_source(collecting->symbols, instruction->dso, instruction->address,
				    &source);
	if (!error)
		error = pesa_symbols_inlines(collecting->symbols, instruction->dso,
					     instruction->address, frames, INLINED_MAX, &count);
	if (!error)
		error = add_source(collecting, &source);
	for (size_t i = 0; !error && i < count; i++)
		error = add_source(collecting, &frames[i].source);
	return error;
}

/* ---- The recording ------------------------------------------------------------------------- */

static struct pesa_error *collect_event(struct collecting *collecting)
{
	size_t count = pesa_profile_instruction_count(collecting->profile), at = 0;
	struct pesa_error *error = NULL;

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
			if (collecting->sources)
				error = add_sources(collecting, instruction);
			if (error)
				return error;
		}
		error = add_dso(collecting, dso, address);
		if (error)
			return error;
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
	contents->sampled |= pesa_profile_totals(collecting.profile)->weight > 0;
	if (contents->lost < pesa_profile_totals(collecting.profile)->lost)
		contents->lost = pesa_profile_totals(collecting.profile)->lost;
	if (!contents->damage && losses->damage) {
		contents->damage = strdup(losses->damage);
		if (!contents->damage)
			error = pesa_error_no_memory();
	}
	if (!error)
		error = pesa_symbols_create(collecting.profile, root, &collecting.symbols);
	if (!error)
		error = collect_event(&collecting);
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
	struct pesa_error *error = NULL;
	struct dirent *entry;

	if (!directory && errno != ENOTDIR)
		return pesa_error_system(errno, "cannot open %s", path);
	if (!directory)
		return add_file(contents, ARCHIVE_RECORDING, path);
	while (!error && (entry = readdir(directory))) {
		char *name = NULL, *file = NULL;

		if (strncmp(entry->d_name, "data", 4))
			continue;
		if (asprintf(&name, "%s/%s", ARCHIVE_RECORDING, entry->d_name) < 0) {
			error = pesa_error_no_memory();
			break;
		}
		if (asprintf(&file, "%s/%s", path, entry->d_name) < 0) {
			file = NULL;
			error = pesa_error_no_memory();
		}
		if (!error)
			error = add_file(contents, name, file);
		free(name);
		free(file);
	}
	closedir(directory);
	return error;
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
