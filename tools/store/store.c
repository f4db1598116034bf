// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/store/store.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "pesa/merge.h"
#include "pesa/perfdata.h"
#include "tools/ui/safe_output.h"
#include "tools/files/temporary_directory.h"

#define PATTERN	      "pesa-*.data"
#define NS_PER_SECOND INT64_C(1000000000)

struct interval {
	char *path;
	int64_t begin, end; /* wall time, ns: when it began, and when its file was last written */
};

struct intervals {
	struct interval *interval;
	size_t count, room;
};

static void free_intervals(struct intervals *intervals)
{
	for (size_t i = 0; i < intervals->count; i++)
		free(intervals->interval[i].path);
	free(intervals->interval);
}

static struct pesa_error *add_interval(struct intervals *intervals, const char *path,
				       const char *name, const struct stat *status)
{
	struct interval interval = {0};

	if (!wall_time_of_interval(name, &interval.begin))
		return NULL;
	interval.end = (int64_t)status->st_mtim.tv_sec * NS_PER_SECOND + status->st_mtim.tv_nsec;
	if (intervals->count == intervals->room) {
		size_t room = intervals->room ? 2 * intervals->room : 64;
		struct interval *more = reallocarray(intervals->interval, room, sizeof(*more));

		if (!more)
			return pesa_error_no_memory();
		intervals->interval = more;
		intervals->room = room;
	}
	interval.path = strdup(path);
	if (!interval.path)
		return pesa_error_no_memory();
	intervals->interval[intervals->count++] = interval;
	return NULL;
}

/* Find the intervals in a directory, and in those in it. */
static struct pesa_error *list(struct intervals *intervals, const char *directory, bool deeper)
{
	struct pesa_error *error = NULL;
	DIR *opened = opendir(directory);
	struct dirent *entry;

	if (!opened)
		return pesa_error_system(errno, "%s", directory);
	while (!error && (entry = readdir(opened))) {
		char path[PATH_MAX];
		struct stat status;

		if (*entry->d_name == '.' ||
		    snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name) >=
			    (int)sizeof(path) ||
		    stat(path, &status))
			continue;
		if (S_ISREG(status.st_mode) && !fnmatch(PATTERN, entry->d_name, 0))
			error = add_interval(intervals, path, entry->d_name, &status);
		else if (S_ISDIR(status.st_mode) && deeper)
			error = list(intervals, path, false);
	}
	closedir(opened);
	return error;
}

bool store_is_store(const char *path)
{
	struct intervals intervals = {0};
	struct stat status;
	bool found = false;

	if (stat(path, &status) || !S_ISDIR(status.st_mode))
		return false;
	pesa_error_free(list(&intervals, path, true));
	found = intervals.count;
	free_intervals(&intervals);
	return found;
}

/* ---- What is wanted ------------------------------------------------------------------------ */

/* Whether a recording is of the wanted host. */
static struct pesa_error *check_host(const char *path, const char *host, bool *is_of_host)
{
	struct pesa_perfdata *reader;
	struct pesa_error *error;
	const char *recorded;

	*is_of_host = true;
	if (!host)
		return NULL;
	error = pesa_perfdata_open(path, &reader);
	if (error)
		return error;
	recorded = pesa_perfdata_hostname(reader);
	*is_of_host = recorded && !strcmp(recorded, host);
	pesa_perfdata_close(reader);
	return NULL;
}

/* Add what is wanted to the merge.  A file that was rotated away meanwhile, or cannot be read, is
 * reported. */
static struct pesa_error *add_wanted(struct pesa_merge *merge, const struct intervals *intervals,
				     const struct store_wanted *wanted, size_t *added)
{
	for (size_t i = 0; i < intervals->count; i++) {
		const struct interval *interval = &intervals->interval[i];
		const char *damage = NULL;
		struct pesa_error *error;
		bool is_of_host;

		if (!wall_time_overlaps(&wanted->time, interval->begin, interval->end))
			continue;
		error = check_host(interval->path, wanted->host, &is_of_host);
		if (!error && !is_of_host)
			continue;
		if (!error)
			error = pesa_merge_add(merge, interval->path, &damage);
		if (error && error->code == PESA_ERROR_NO_MEMORY)
			return error;
		if (error)
			safe_output_message("pesa: left out: %s", error->message);
		else if (damage)
			safe_output_message("pesa: %s", damage);
		*added += !error;
		pesa_error_free(error);
	}
	return NULL;
}

static struct pesa_error *merge_wanted(const struct intervals *intervals, const char *path,
				       const struct store_wanted *wanted, const char *file)
{
	struct pesa_merge *merge;
	struct pesa_error *error = pesa_merge_create(&merge);
	size_t added = 0;

	if (error)
		return error;
	error = add_wanted(merge, intervals, wanted, &added);
	if (!error && !added)
		error = pesa_error_create(PESA_ERROR_NOT_FOUND,
					  "%s: no interval of %zu is of that time and host", path,
					  intervals->count);
	if (!error)
		error = pesa_merge_arrange(merge);
	if (!error)
		error = pesa_merge_write(merge, file, 0);
	pesa_merge_free(merge);
	return error;
}

struct pesa_error *store_open(const char *path, const struct store_wanted *wanted,
			      const char **file)
{
	static char merged[PATH_MAX];
	struct intervals intervals = {0};
	struct pesa_error *error = list(&intervals, path, true);
	const char *directory;

	if (!error)
		error = temporary_directory_create("pesa-store", &directory);
	if (!error) {
		snprintf(merged, sizeof(merged), "%s/store.data", directory);
		error = merge_wanted(&intervals, path, wanted, merged);
	}
	free_intervals(&intervals);
	*file = merged;
	return error;
}
