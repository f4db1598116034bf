/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "decoder/symbol_debug_file.h"

/* When memory is short the answer is yes: libdwfl then says what is wrong. */
static bool exists(const char *directory, int length, const char *below, const char *name)
{
	char *path;
	bool found;

	if (asprintf(&path, "%.*s/%s/%s", length, directory, below, name) < 0)
		return true;
	found = !access(path, F_OK);
	free(path);
	return found;
}

/*
 * Whether a file of this name is where an entry of the search path points to.  An absolute entry is
 * a root: the file's directory is looked for below it, whole or without its first components. Other
 * entries are below the file's directory.  The sign before an entry is about checksums.
 */
static bool exists_at(const char *entry, int length, const char *directory, const char *name)
{
	if (length && (*entry == '+' || *entry == '-')) {
		entry++;
		length--;
	}
	if (!length || *entry != '/') {
		char *below = strndup(entry, length);
		bool found = !below || exists(directory, (int)strlen(directory), below, name);

		free(below);
		return found;
	}
	for (const char *below = directory; below; below = strchr(below, '/')) {
		below += strspn(below, "/");
		if (exists(entry, length, below, name))
			return true;
	}
	return exists(entry, length, "", name);
}

/* Whether any entry of the path has a candidate for the file at `file_name`. */
static bool exists_anywhere(const char *path, const char *file_name, const char *name)
{
	const char *slash = strrchr(file_name, '/');
	char *directory = slash ? strndup(file_name, slash - file_name) : strdup(".");
	bool found = !directory;

	for (const char *entry = path; entry && !found;) {
		int length = (int)strcspn(entry, ":");

		found = exists_at(entry, length, directory, name);
		entry = entry[length] ? entry + length + 1 : NULL;
	}
	free(directory);
	return found;
}

static bool worth_searching(const char *path, const char *file_name, const char *link_name,
			    GElf_Word link_checksum)
{
	const char *servers = getenv("DEBUGINFOD_URLS");
	const char *slash;
	char *canonical, *name = NULL;
	bool found;

	if (!path || !file_name || (servers && *servers))
		return true;
	/* A link without a checksum is one to a file that several debug files share (dwz). */
	if (link_name && !link_checksum)
		return true;
	slash = strrchr(file_name, '/');
	if (asprintf(&name, "%s%s",
		     link_name ? link_name
		     : slash   ? slash + 1
			       : file_name,
		     link_name ? "" : ".debug") < 0)
		return true;
	canonical = realpath(file_name, NULL);
	found = *name == '/' || exists_anywhere(path, file_name, name) ||
		(canonical && exists_anywhere(path, canonical, name));
	free(canonical);
	free(name);
	return found;
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
