/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "decoder/base/regular_file.h"
#include "decoder/binary/symbol_debug_file.h"

/* State of a search.  If out of memory, the file counts as found: libdwfl then reports the
 * error. */
struct search {
	bool found;
	bool unsafe; /* a candidate is not a regular file, and opening it could block */
};

static void check_file(struct search *search, const char *directory, int length, const char *below,
		       const char *name)
{
	struct stat status;
	char *path;

	if (asprintf(&path, "%.*s/%s/%s", length, directory, below, name) < 0) {
		search->found = true;
		return;
	}
	if (!stat(path, &status)) {
		search->found = true;
		search->unsafe |= !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
	}
	free(path);
}

/*
 * Check an entry of the search path for the file.  An absolute entry is a root, below which the
 * file's directory is searched, whole and without its first components.  Other entries are relative
 * to the file's directory.  A sign before an entry concerns checksums.
 */
static void check_entry(struct search *search, const char *entry, int length, const char *directory,
			const char *name)
{
	if (length && (*entry == '+' || *entry == '-')) {
		entry++;
		length--;
	}
	if (!length || *entry != '/') {
		char *below = strndup(entry, length);

		if (below)
			check_file(search, directory, (int)strlen(directory), below, name);
		else
			search->found = true;
		free(below);
		return;
	}
	for (const char *below = directory; below; below = strchr(below, '/')) {
		below += strspn(below, "/");
		check_file(search, entry, length, below, name);
	}
	check_file(search, entry, length, "", name);
}

/* Check every entry of the search path for the file at `file_name`. */
static void check_search_path(struct search *search, const char *path, const char *file_name,
			      const char *name)
{
	const char *slash = strrchr(file_name, '/');
	char *directory = slash ? strndup(file_name, slash - file_name) : strdup(".");

	if (!directory) {
		search->found = true;
		return;
	}
	while (path) {
		int length = (int)strcspn(path, ":");

		check_entry(search, path, length, directory, name);
		path = path[length] ? path + length + 1 : NULL;
	}
	free(directory);
}

static bool worth_searching(const char *path, const char *file_name, const char *link_name,
			    GElf_Word link_checksum)
{
	const char *servers = getenv("DEBUGINFOD_URLS");
	struct search search = {0};
	const char *slash;
	char *canonical, *name = NULL;

	if (!path || !file_name)
		return true;
	slash = strrchr(file_name, '/');
	if (asprintf(&name, "%s%s",
		     link_name ? link_name
		     : slash   ? slash + 1
			       : file_name,
		     link_name ? "" : ".debug") < 0)
		return true;
	if (*name == '/')
		check_file(&search, "", 0, "", name);
	check_search_path(&search, path, file_name, name);
	canonical = realpath(file_name, NULL);
	if (canonical)
		check_search_path(&search, path, canonical, name);
	free(canonical);
	search.found |= *name == '/';
	free(name);
	if (search.unsafe)
		return false;
	/* A debug link without a checksum names a file shared by several debug files (dwz). */
	return search.found || (servers && *servers) || (link_name && !link_checksum);
}

int pesa_debug_file_find(Dwfl_Module *module, void **user_data, const char *module_name,
			 Dwarf_Addr base, const char *file_name, const char *link_name,
			 GElf_Word link_checksum, char **debug_file_name)
{
	if (worth_searching(*user_data, file_name, link_name, link_checksum))
		return dwfl_standard_find_debuginfo(module, user_data, module_name, base, file_name,
						    link_name, link_checksum, debug_file_name);
	return dwfl_build_id_find_debuginfo(module, user_data, module_name, base, file_name,
					    link_name, link_checksum, debug_file_name);
}

/* ---- Files named by debug information -------------------------------------------------------- */

/* libdw cannot open a file that does not exist or is not accessible either. */
static bool is_regular_or_none(const char *path)
{
	int descriptor = pesa_binary_open(path);

	if (descriptor < 0)
		return errno == ENOENT || errno == ENOTDIR || errno == EACCES;
	close(descriptor);
	return true;
}

/* Whether libdw may open the file, if it is in this directory. */
static struct pesa_error *may_open_below(const char *from, int length, const char *directory,
					 const char *name, bool *may)
{
	const char *slash = directory && *directory ? "/" : "";
	char *path;

	if (asprintf(&path, "%.*s%s%s/%s", length, from, slash, directory ? directory : "", name) <
	    0)
		return pesa_error_no_memory();
	*may = is_regular_or_none(path);
	free(path);
	return NULL;
}

struct pesa_error *pesa_debug_file_may_open(const char *from, const char *directory,
					    const char *name, bool *result)
{
	struct pesa_error *error = NULL;
	const char *slash;
	char *canonical;
	bool may = true;

	if (*name == '/') {
		*result = is_regular_or_none(name);
		return NULL;
	}
	if (directory && *directory == '/')
		error = may_open_below(directory, -1, NULL, name, &may);
	if (error)
		return error;
	canonical = may && from ? realpath(from, NULL) : NULL;
	if (may && from && !canonical && errno == ENOMEM)
		return pesa_error_no_memory();
	slash = canonical ? strrchr(canonical, '/') : NULL;
	if (slash) {
		int length = (int)(slash - canonical);

		error = may_open_below(canonical, length, NULL, name, &may);
		if (!error && may && directory && *directory != '/')
			error = may_open_below(canonical, length, directory, name, &may);
	}
	free(canonical);
	if (!error)
		*result = may;
	return error;
}
