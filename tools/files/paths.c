// SPDX-License-Identifier: GPL-2.0-or-later
/* Where pesa's own files are.  See paths.h. */
#include "tools/files/paths.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool try_path(char path[PATH_MAX], const char *directory, const char *below,
		     const char *name)
{
	int length = snprintf(path, PATH_MAX, "%s%s%s", directory, below, name);

	return length < PATH_MAX && !access(path, R_OK);
}

/* The parent of the running binary's directory; "": unknown. */
static void own_prefix(char prefix[PATH_MAX])
{
	ssize_t length = readlink("/proc/self/exe", prefix, PATH_MAX - 1);

	prefix[length > 0 ? length : 0] = '\0';
	for (int i = 0; i < 2; i++) {
		char *slash = strrchr(prefix, '/');

		if (slash)
			*slash = '\0';
	}
}

bool pesa_path_libexec(const char *name, char path[PATH_MAX])
{
	char prefix[PATH_MAX];

	own_prefix(prefix);
	return try_path(path, prefix, "/libexec/", name) ||
	       try_path(path, prefix, "/libexec/pesa/", name) ||
	       try_path(path, PESA_LIBEXEC, "/", name);
}

struct pesa_error *pesa_path_run(const char *name, char *const *argv)
{
	char path[PATH_MAX];

	if (pesa_path_libexec(name, path))
		execv(path, argv);
	else
		errno = ENOENT;
	return pesa_error_create(PESA_ERROR_NOT_FOUND, "%s: %s; is pesa installed in full?", path,
				 strerror(errno));
}

bool pesa_path_data(const char *name, char path[PATH_MAX])
{
	char prefix[PATH_MAX];

	own_prefix(prefix);
	return try_path(path, prefix, "/share/pesa/", name) ||
	       try_path(path, PESA_DATADIR, "/", name);
}

/* Exclude directories, which access() also reports as executable. */
static bool is_program(const char *path)
{
	struct stat file;

	return !access(path, X_OK) && !stat(path, &file) && S_ISREG(file.st_mode);
}

bool pesa_path_program(const char *name, char path[PATH_MAX])
{
	const char *directory = getenv("PATH");

	if (strchr(name, '/'))
		return snprintf(path, PATH_MAX, "%s", name) < PATH_MAX && is_program(path);
	while (directory && *directory) {
		size_t length = strcspn(directory, ":");

		if (length &&
		    snprintf(path, PATH_MAX, "%.*s/%s", (int)length, directory, name) < PATH_MAX &&
		    is_program(path))
			return true;
		directory += length + (directory[length] == ':');
	}
	return false;
}

struct pesa_error *pesa_path_find_program(const char *name, char path[PATH_MAX])
{
	struct stat file;

	if (pesa_path_program(name, path))
		return NULL;
	if (!strchr(name, '/') && is_program(name))
		return pesa_error_create(
			PESA_ERROR_NOT_FOUND,
			"no program '%s' in PATH; the one of this folder is './%s'", name, name);
	if (!strchr(name, '/'))
		return pesa_error_create(PESA_ERROR_NOT_FOUND,
					 "no program '%s' in PATH: install it, or give its path",
					 name);
	if (stat(name, &file))
		return pesa_error_system(errno, "no program '%s': build it, or correct its path",
					 name);
	if (S_ISDIR(file.st_mode))
		return pesa_error_create(PESA_ERROR_NOT_FOUND,
					 "'%s' is a folder: name a program in it", name);
	return pesa_error_create(PESA_ERROR_NOT_FOUND,
				 "'%s' is not executable: 'chmod +x %s' if it is a program", name,
				 name);
}
