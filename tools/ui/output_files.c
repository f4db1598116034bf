// SPDX-License-Identifier: GPL-2.0-or-later
/* Files that a command writes: see output_files.h. */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/ui/output_files.h"

/* The absolute directory of a path; false: it does not exist. */
static bool directory_of(const char *path, char directory[PATH_MAX])
{
	const char *slash = strrchr(path, '/');
	char *copy = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	bool found = copy && realpath(copy, directory);

	free(copy);
	return found;
}

static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool is_standard_input(const struct output_file *file)
{
	return file->read && !strcmp(file->path, "-");
}

static bool same_file(const char *one, const char *other)
{
	char directory[2][PATH_MAX];
	struct stat first, second;
	bool there = !stat(one, &first);

	if (there != !stat(other, &second))
		return false;
	if (there && !S_ISREG(first.st_mode) && !S_ISFIFO(first.st_mode))
		return false;
	if (!strcmp(one, other))
		return true;
	if (there)
		return first.st_dev == second.st_dev && first.st_ino == second.st_ino;
	return directory_of(one, directory[0]) && directory_of(other, directory[1]) &&
	       !strcmp(directory[0], directory[1]) && !strcmp(name_of(one), name_of(other));
}

static bool conflict(const struct output_file *one, const struct output_file *other)
{
	if (!one->path || !other->path || (one->read && other->read))
		return false;
	return !is_standard_input(one) && !is_standard_input(other) &&
	       same_file(one->path, other->path);
}

/* Return whether the file is writable or can be created; errno says why not. */
static bool is_writable(const char *path)
{
	char directory[PATH_MAX];
	struct stat status;

	if (stat(path, &status))
		return errno == ENOENT && directory_of(path, directory) && !access(directory, W_OK);
	if (S_ISDIR(status.st_mode)) {
		errno = EISDIR;
		return false;
	}
	/* An output replaces a regular file by renaming, which needs a writable directory only. */
	return !access(path, W_OK) || (S_ISREG(status.st_mode) && directory_of(path, directory) &&
				       !access(directory, W_OK));
}

struct pesa_error *output_files_check(const struct output_file files[], size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (size_t j = i + 1; j < count; j++)
			if (conflict(&files[i], &files[j]))
				return pesa_error_create(
					PESA_ERROR_ARGUMENT, "%s and %s cannot both be %s",
					files[i].what, files[j].what, files[j].path);
	for (size_t i = 0; i < count; i++)
		if (files[i].path && !files[i].read && strcmp(files[i].path, "-") &&
		    !is_writable(files[i].path))
			return pesa_error_system(errno, "cannot create %s", files[i].path);
	return NULL;
}
