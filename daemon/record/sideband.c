// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/record/sideband.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "decoder/base/read_file.h"
#include "decoder/binary/symbol_kernel.h"

#define PATH_ROOM (PATH_MAX + 64)

static void build_path(char path[PATH_ROOM], const char *root, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void build_path(char path[PATH_ROOM], const char *root, const char *format, ...)
{
	va_list arguments;
	int used = snprintf(path, PATH_ROOM, "%s", root);

	if (used < 0 || used >= PATH_ROOM)
		return;
	va_start(arguments, format);
	vsnprintf(path + used, PATH_ROOM - (size_t)used, format, arguments);
	va_end(arguments);
}

/* Return the next line of a text and cut it off; NULL at the end. */
static char *next_line(char **text)
{
	char *line = *text, *end;

	if (!*line)
		return NULL;
	end = line + strcspn(line, "\n");
	*text = *end ? end + 1 : end;
	*end = '\0';
	return line;
}

/* ---- The kernel ---------------------------------------------------------------------------- */

/* Read the build id from the notes of a file in sysfs. */
static void notes_build_id(const char *path, struct pesa_mmap *mmap)
{
	const uint8_t *id;
	size_t size, id_size;
	char *notes;
	struct pesa_error *error = pesa_read_file(path, &notes, &size);

	if (error) {
		pesa_error_free(error);
		return;
	}
	id_size = pesa_kernel_notes_build_id((const uint8_t *)notes, size, &id);
	if (id_size && id_size <= sizeof(mmap->build_id)) {
		memcpy(mmap->build_id, id, id_size);
		mmap->build_id_size = (uint8_t)id_size;
	}
	free(notes);
}

/* The bounds of the kernel's text: _text (or _stext) and _etext. */
static void kernel_bounds(char *symbols, uint64_t *start, uint64_t *end, const char **reference)
{
	uint64_t text = 0, stext = 0;
	char *line;

	*end = 0;
	while ((line = next_line(&symbols))) {
		char *rest;
		uint64_t address = strtoull(line, &rest, 16);
		const char *name;

		if (rest[0] != ' ' || !rest[1] || rest[2] != ' ')
			continue;
		name = rest + 3;
		if (!strcmp(name, "_text"))
			text = address;
		else if (!strcmp(name, "_stext"))
			stext = address;
		else if (!strcmp(name, "_etext"))
			*end = address;
	}
	*start = text ? text : stext;
	*reference = text ? "_text" : "_stext";
}

/* Find a module's file by its name in modules.dep: "kernel/drivers/x/a-b.ko.xz: ...". */
static bool module_path(const char *dependencies, const char *name, char *path, size_t room)
{
	size_t length = strlen(name);

	for (const char *line = dependencies; line && *line; line = strchr(line, '\n')) {
		const char *colon, *base;
		size_t i = 0;

		line += *line == '\n';
		colon = strpbrk(line, ":\n");
		if (!colon || *colon != ':')
			continue;
		for (base = colon; base > line && base[-1] != '/'; base--)
			;
		while (i < length && (base[i] == name[i] || (base[i] == '-' && name[i] == '_')))
			i++;
		if (i != length || strncmp(base + i, ".ko", 3))
			continue;
		snprintf(path, room, "%.*s", (int)(colon - line), line);
		return true;
	}
	return false;
}

static struct pesa_error *add_map(struct pesa_kernel_maps *kernel, const struct pesa_mmap *mmap)
{
	struct pesa_mmap *grown =
		realloc(kernel->maps, (kernel->count + 1) * sizeof(*kernel->maps));

	if (!grown)
		return pesa_error_no_memory();
	kernel->maps = grown;
	grown[kernel->count] = *mmap;
	grown[kernel->count].path = strdup(mmap->path);
	if (!grown[kernel->count].path)
		return pesa_error_no_memory();
	kernel->count++;
	return NULL;
}

static struct pesa_error *read_modules(const char *root, struct pesa_kernel_maps *kernel)
{
	char path[PATH_ROOM], release[256] = "", *modules, *dependencies = NULL, *at, *line;
	struct pesa_error *error;
	size_t size;

	build_path(path, root, "/proc/modules");
	error = pesa_read_file(path, &modules, &size);
	if (error) { /* a kernel without modules */
		pesa_error_free(error);
		return NULL;
	}
	build_path(path, root, "/proc/sys/kernel/osrelease");
	error = pesa_read_file(path, &at, &size);
	if (!error) {
		snprintf(release, sizeof(release), "%.*s", (int)strcspn(at, "\n"), at);
		free(at);
		build_path(path, root, "/lib/modules/%s/modules.dep", release);
		error = pesa_read_file(path, &dependencies, &size);
	}
	pesa_error_free(error);
	error = NULL;
	at = modules;
	while (!error && (line = next_line(&at))) {
		struct pesa_mmap mmap = {.pid = UINT32_MAX, .protection = PROT_EXEC};
		char name[128], file[PATH_MAX], whole[PATH_MAX + 512];
		unsigned long long address;

		if (sscanf(line, "%127s %" SCNu64 " %*s %*s %*s %llx", name, &mmap.length,
			   &address) != 3 ||
		    !address)
			continue;
		mmap.address = address;
		snprintf(whole, sizeof(whole), "[%s]", name);
		if (dependencies && module_path(dependencies, name, file, sizeof(file)))
			snprintf(whole, sizeof(whole), "/lib/modules/%s/%s", release, file);
		mmap.path = whole;
		build_path(path, root, "/sys/module/%s/notes/.note.gnu.build-id", name);
		notes_build_id(path, &mmap);
		error = add_map(kernel, &mmap);
	}
	free(dependencies);
	free(modules);
	return error;
}

static struct pesa_error *read_kernel(const char *root, struct pesa_kernel_maps *kernel,
				      bool *hidden)
{
	struct pesa_mmap mmap = {.pid = UINT32_MAX, .protection = PROT_EXEC};
	char path[PATH_ROOM], name[64], *symbols;
	const char *reference;
	struct pesa_error *error;
	uint64_t end;
	size_t size;

	*hidden = true;
	build_path(path, root, "/proc/kallsyms");
	error = pesa_read_file(path, &symbols, &size);
	if (error) {
		bool memory = error->code == PESA_ERROR_NO_MEMORY;

		if (memory)
			return error;
		pesa_error_free(error);
		return NULL;
	}
	kernel_bounds(symbols, &mmap.address, &end, &reference);
	free(symbols);
	if (!mmap.address || end <= mmap.address)
		return NULL;
	*hidden = false;
	mmap.length = end - mmap.address;
	mmap.offset = mmap.address; /* as in perf: the address of the reference symbol */
	snprintf(name, sizeof(name), "[kernel.kallsyms]%s", reference);
	mmap.path = name;
	build_path(path, root, "/sys/kernel/notes");
	notes_build_id(path, &mmap);
	error = add_map(kernel, &mmap);
	return error ? error : read_modules(root, kernel);
}

struct pesa_error *pesa_kernel_maps_read(const char *root, struct pesa_kernel_maps *kernel,
					 bool *hidden)
{
	struct pesa_error *error;

	*kernel = (struct pesa_kernel_maps){0};
	error = read_kernel(root, kernel, hidden);
	if (error)
		pesa_kernel_maps_free(kernel);
	return error;
}

struct pesa_error *pesa_kernel_maps_write(const struct pesa_kernel_maps *kernel,
					  struct pesa_perfdata_writer *writer)
{
	struct pesa_error *error = NULL;

	for (size_t i = 0; i < kernel->count && !error; i++)
		error = pesa_perfdata_write_mmap(writer, &kernel->maps[i], 0);
	return error;
}

void pesa_kernel_maps_free(struct pesa_kernel_maps *kernel)
{
	for (size_t i = 0; i < kernel->count; i++)
		free((char *)kernel->maps[i].path);
	free(kernel->maps);
	*kernel = (struct pesa_kernel_maps){0};
}

struct pesa_error *pesa_sideband_kernel(const char *root, struct pesa_perfdata_writer *writer,
					bool *hidden)
{
	struct pesa_kernel_maps kernel;
	struct pesa_error *error = pesa_kernel_maps_read(root, &kernel, hidden);

	if (error)
		return error;
	error = pesa_kernel_maps_write(&kernel, writer);
	pesa_kernel_maps_free(&kernel);
	return error;
}

/* ---- Processes ----------------------------------------------------------------------------- */

struct status {
	char name[64];
	pid_t process, parent;
};

static bool read_status(const char *root, pid_t thread, struct status *status)
{
	char path[PATH_ROOM], *text, *at, *line;
	struct pesa_error *error;
	size_t size;

	build_path(path, root, "/proc/%d/status", (int)thread);
	error = pesa_read_file(path, &text, &size);
	if (error) {
		pesa_error_free(error);
		return false;
	}
	*status = (struct status){.process = 0};
	at = text;
	while ((line = next_line(&at))) {
		if (!strncmp(line, "Name:", 5)) {
			line += 5 + strspn(line + 5, "\t ");
			snprintf(status->name, sizeof(status->name), "%s", line);
		} else if (!strncmp(line, "Tgid:", 5)) {
			status->process = (pid_t)strtol(line + 5, NULL, 10);
		} else if (!strncmp(line, "PPid:", 5)) {
			status->parent = (pid_t)strtol(line + 5, NULL, 10);
		}
	}
	free(text);
	return status->process > 0;
}

pid_t pesa_process_of(const char *root, pid_t thread)
{
	struct status status;

	return read_status(root, thread, &status) ? status.process : 0;
}

/* List the numeric names in a directory. */
static size_t read_numbers(const char *path, pid_t **numbers)
{
	DIR *directory = opendir(path);
	size_t count = 0, room = 0;
	struct dirent *entry;

	*numbers = NULL;
	if (!directory)
		return 0;
	while ((entry = readdir(directory))) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		if (count == room) {
			size_t wanted = room ? room * 2 : 64;
			pid_t *grown = realloc(*numbers, wanted * sizeof(**numbers));

			if (!grown) {
				free(*numbers);
				*numbers = NULL;
				count = 0;
				break;
			}
			*numbers = grown;
			room = wanted;
		}
		(*numbers)[count++] = (pid_t)strtol(entry->d_name, NULL, 10);
	}
	closedir(directory);
	return count;
}

size_t pesa_threads_of(const char *root, pid_t process, pid_t **threads)
{
	char path[PATH_ROOM];

	build_path(path, root, "/proc/%d/task", (int)process);
	return read_numbers(path, threads);
}

/* Undo the kernel's escapes in a path, "\040"; keep " (deleted)", as perf does. */
static void unescape(char *path)
{
	char *to = path;

	while (*path) {
		if (path[0] == '\\' && path[1] == '0' && path[2] == '1' && path[3] == '2') {
			*to++ = '\n';
			path += 4;
		} else {
			*to++ = *path++;
		}
	}
	*to = '\0';
}

/* The build id of a file as a process sees it. */
static uint8_t file_build_id(const char *root, pid_t process, const char *file,
			     struct pesa_build_id_reader *reader,
			     uint8_t build_id[PESA_BUILD_ID_MAX])
{
	uint64_t late = pesa_build_id_reader_late(reader);
	char path[2 * PATH_ROOM];
	uint8_t size;

	if (*file != '/' || !strncmp(file, "//", 2))
		return 0;
	/* Check that the process still exists; /proc never blocks. */
	snprintf(path, sizeof(path), "%s/proc/%d", root, (int)process);
	if (!access(path, F_OK)) {
		snprintf(path, sizeof(path), "%s/proc/%d/root%s", root, (int)process, file);
		size = pesa_build_id_reader_find(reader, path, build_id);
		if (size || pesa_build_id_reader_late(reader) != late)
			return size;
	}
	/* The process is gone; its files are usually the same as ours. */
	snprintf(path, sizeof(path), "%s%s", root, file);
	return pesa_build_id_reader_find(reader, path, build_id);
}

/* Parse a line of /proc/PID/maps; false: not a map. */
static bool parse_map(char *line, struct pesa_mmap *mmap)
{
	unsigned long long start, end, offset;
	char mode[5];
	int used = 0;

	if (sscanf(line, "%llx-%llx %4s %llx %*s %*s %n", &start, &end, mode, &offset, &used) !=
		    4 ||
	    strlen(mode) != 4 || end <= start || !used)
		return false;
	mmap->address = start;
	mmap->length = end - start;
	mmap->offset = offset;
	mmap->protection = (mode[0] == 'r' ? PROT_READ : 0) | (mode[1] == 'w' ? PROT_WRITE : 0) |
			   (mode[2] == 'x' ? PROT_EXEC : 0);
	mmap->data = mode[2] != 'x';
	mmap->flags = mode[3] == 's' ? MAP_SHARED : MAP_PRIVATE;
	unescape(line + used);
	mmap->path = line[used] ? line + used : "//anon";
	return true;
}

static struct pesa_error *write_maps(const char *root, pid_t process, bool data,
				     struct pesa_build_id_reader *reader,
				     struct pesa_perfdata_writer *writer)
{
	char path[PATH_ROOM], *text, *at, *line;
	struct pesa_error *error;
	size_t size;

	build_path(path, root, "/proc/%d/maps", (int)process);
	error = pesa_read_file(path, &text, &size);
	if (error) { /* gone, or no permission */
		bool memory = error->code == PESA_ERROR_NO_MEMORY;

		if (memory)
			return error;
		pesa_error_free(error);
		return NULL;
	}
	at = text;
	while (!error && (line = next_line(&at))) {
		struct pesa_mmap mmap = {.pid = (uint32_t)process, .tid = (uint32_t)process};

		if (!parse_map(line, &mmap) || (mmap.data && !data))
			continue;
		mmap.build_id_size = file_build_id(root, process, mmap.path, reader, mmap.build_id);
		error = pesa_perfdata_write_mmap(writer, &mmap, 0);
	}
	free(text);
	return error;
}

struct pesa_error *pesa_sideband_process(const char *root, pid_t process, bool data,
					 struct pesa_build_id_reader *reader,
					 struct pesa_perfdata_writer *writer)
{
	struct pesa_error *error = NULL;
	pid_t *threads;
	size_t count = pesa_threads_of(root, process, &threads);

	for (size_t i = 0; i < count && !error; i++) {
		struct status status;
		pid_t parent;

		if (!read_status(root, threads[i], &status) || status.process != process)
			continue;
		parent = threads[i] == process ? status.parent : process;
		error = pesa_perfdata_write_fork(writer, (uint32_t)process, (uint32_t)parent,
						 (uint32_t)threads[i], (uint32_t)parent, 0);
		if (!error)
			error = pesa_perfdata_write_comm(writer, (uint32_t)process,
							 (uint32_t)threads[i], status.name, false,
							 0);
	}
	free(threads);
	return error || !count ? error : write_maps(root, process, data, reader, writer);
}

size_t pesa_processes(const char *root, pid_t **processes)
{
	char path[PATH_ROOM];

	build_path(path, root, "/proc");
	return read_numbers(path, processes);
}

struct pesa_error *pesa_sideband_all(const char *root, bool data,
				     struct pesa_build_id_reader *reader,
				     struct pesa_perfdata_writer *writer)
{
	struct pesa_error *error = NULL;
	pid_t *processes;
	size_t count = pesa_processes(root, &processes);

	for (size_t i = 0; i < count && !error; i++)
		error = pesa_sideband_process(root, processes[i], data, reader, writer);
	free(processes);
	return error;
}

/* ---- Records of the kernel ----------------------------------------------------------------- */

/* PERF_RECORD_MMAP2 up to its path. */
struct map_record {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t address, length, offset;
	uint8_t build_id_size, reserved[3], build_id[PESA_BUILD_ID_MAX];
	uint32_t protection, flags;
};

void pesa_sideband_complete(const char *root, struct pesa_build_id_reader *reader, uint8_t *bytes,
			    size_t size)
{
	struct map_record record;
	const char *path = (const char *)bytes + sizeof(record);
	uint8_t id[PESA_BUILD_ID_MAX], id_size;

	if (size <= sizeof(record) || !memchr(path, '\0', size - sizeof(record)))
		return;
	memcpy(&record, bytes, sizeof(record));
	/* The recorder does not set attr.build_id: the mark was meant for another reader. */
	record.header.misc &= (uint16_t)~PERF_RECORD_MISC_MMAP_BUILD_ID;
	memcpy(bytes, &record, sizeof(record));
	if (!(record.protection & PROT_EXEC))
		return;
	id_size = file_build_id(root, (pid_t)record.pid, path, reader, id);
	if (!id_size)
		return;
	record.header.misc |= PERF_RECORD_MISC_MMAP_BUILD_ID;
	record.build_id_size = id_size;
	memset(record.reserved, 0, sizeof(record.reserved));
	memset(record.build_id, 0, sizeof(record.build_id));
	memcpy(record.build_id, id, id_size);
	memcpy(bytes, &record, sizeof(record));
}
