// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/record/cgroups.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <mntent.h>
#include <stdio.h>
#include <string.h>

#define ID_BYTES 8

/* The file handle of a directory of a control group is its id.  0: it has gone, or has none. */
static uint64_t id_of(const char *path)
{
	union {
		struct file_handle handle;
		char room[sizeof(struct file_handle) + ID_BYTES];
	} found = {.handle = {.handle_bytes = ID_BYTES}};
	uint64_t id;
	int mount;

	if (name_to_handle_at(AT_FDCWD, path, &found.handle, &mount, 0) ||
	    found.handle.handle_bytes != ID_BYTES)
		return 0;
	memcpy(&id, found.handle.f_handle, sizeof(id));
	return id;
}

/* Where the hierarchy is mounted; false: nowhere. */
static bool find_hierarchy(const char *root, char path[PATH_MAX])
{
	FILE *mounts;
	struct mntent *mount;
	bool found = false, first = false;

	snprintf(path, PATH_MAX, "%s/proc/self/mounts", root);
	mounts = setmntent(path, "re");
	while (mounts && !first && (mount = getmntent(mounts))) {
		first = !strcmp(mount->mnt_type, "cgroup") && hasmntopt(mount, "perf_event");
		if (!first && (found || strcmp(mount->mnt_type, "cgroup2") != 0))
			continue;
		snprintf(path, PATH_MAX, "%s%s", root, mount->mnt_dir);
		found = true;
	}
	if (mounts)
		endmntent(mounts);
	return found;
}

static struct pesa_error *write_below(const char *hierarchy, FTS *walk,
				      struct pesa_perfdata_writer *writer)
{
	struct pesa_error *error = NULL;
	const FTSENT *entry;

	while (!error && (entry = fts_read(walk))) {
		const char *path = entry->fts_path + strlen(hierarchy);
		uint64_t id = entry->fts_info == FTS_D ? id_of(entry->fts_path) : 0;

		if (id)
			error = pesa_perfdata_write_cgroup(
				writer, &(struct pesa_cgroup){.id = id, .path = *path ? path : "/"},
				0);
	}
	return error;
}

struct pesa_error *pesa_sideband_cgroups(const char *root, struct pesa_perfdata_writer *writer)
{
	char hierarchy[PATH_MAX];
	char *const places[] = {hierarchy, NULL};
	struct pesa_error *error;
	FTS *walk;

	if (!find_hierarchy(root, hierarchy))
		return NULL;
	walk = fts_open(places, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
	if (!walk)
		return pesa_error_system(errno, "%s", hierarchy);
	error = write_below(hierarchy, walk, writer);
	fts_close(walk);
	return error;
}
