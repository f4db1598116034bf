// SPDX-License-Identifier: GPL-2.0-or-later
/* Which intervals of the store were already taken for sending.  See progress.h. */
#include "daemon/pesad/push/progress.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "daemon/pesad/base/store.h"

#define NS_PER_SECOND	   UINT64_C(1000000000)
#define NS_PER_MILLISECOND UINT64_C(1000000)

static const char *const state_names[] = {
	[PUSH_DONE] = "done", [PUSH_TAKEN] = "taken", [PUSH_GIVEN_BACK] = "given back"};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool cut_newline(char *line)
{
	char *newline = strchr(line, '\n');

	if (newline)
		*newline = '\0';
	return newline;
}

struct pesa_error *push_progress_open(struct push_progress *progress, const char *spool)
{
	char state[16] = "";
	FILE *notes;

	*progress = (struct push_progress){0};
	if (mkdir(spool, 0700) && errno != EEXIST)
		return pesa_error_system(errno, "%s: cannot make the spool's directory", spool);
	if (snprintf(progress->file, sizeof(progress->file), "%s/.progress", spool) >=
	    (int)sizeof(progress->file))
		return pesa_error_create(PESA_ERROR_ARGUMENT, "%s: the path is too long", spool);
	notes = fopen(progress->file, "re");
	if (!notes)
		return errno == ENOENT
			       ? NULL
			       : pesa_error_system(errno, "%s: cannot be read", progress->file);
	/* Ignore invalid notes. */
	if (fgets(state, sizeof(state), notes) &&
	    fgets(progress->last, sizeof(progress->last), notes)) {
		if (!cut_newline(progress->last) || !cut_newline(state))
			*progress->last = '\0';
		for (enum push_state known = PUSH_DONE; known <= PUSH_GIVEN_BACK; known++)
			if (*progress->last && !strcmp(state, state_names[known]))
				progress->state = known;
	}
	fclose(notes);
	return NULL;
}

struct pesa_error *push_progress_note(struct push_progress *progress, const char *path,
				      enum push_state state)
{
	const char *name = base_name(path);
	char unfinished[PATH_MAX + 8];
	bool written;
	FILE *notes;

	if (strlen(name) < sizeof(progress->last))
		strcpy(progress->last, name);
	progress->state = state;
	snprintf(unfinished, sizeof(unfinished), "%s.new", progress->file);
	notes = fopen(unfinished, "we");
	if (!notes)
		return pesa_error_system(errno, "%s: cannot be written", unfinished);
	written = fprintf(notes, "%s\n%s\n", state_names[state], name) > 0;
	if (fclose(notes) || !written || rename(unfinished, progress->file)) {
		struct pesa_error *error =
			pesa_error_system(errno, "%s: cannot be written", progress->file);

		unlink(unfinished);
		return error;
	}
	return NULL;
}

/*
 * Parse "pesa-20261121T194313.250Z.data": start of the interval in ns since 1970; 0: not such a
 * name.
 */
static uint64_t time_of_name(const char *name)
{
	struct tm time = {0};
	unsigned int milliseconds;

	if (sscanf(name, "pesa-%4d%2d%2dT%2d%2d%2d.%3uZ", &time.tm_year, &time.tm_mon,
		   &time.tm_mday, &time.tm_hour, &time.tm_min, &time.tm_sec, &milliseconds) != 7)
		return 0;
	time.tm_year -= 1900;
	time.tm_mon--;
	return (uint64_t)timegm(&time) * NS_PER_SECOND + milliseconds * NS_PER_MILLISECOND;
}

static bool add(struct push_missed *missed, const char *path)
{
	struct stat status;

	if (stat(path, &status))
		return true; /* it has gone meanwhile */
	missed->path = strdup(path);
	missed->from = time_of_name(base_name(path));
	missed->until =
		(uint64_t)status.st_mtim.tv_sec * NS_PER_SECOND + (uint64_t)status.st_mtim.tv_nsec;
	if (!missed->from || missed->until < missed->from)
		missed->from = missed->until;
	return missed->path;
}

struct pesa_error *push_progress_missed(const struct push_progress *progress, const char *store,
					struct push_missed **result, size_t *count)
{
	struct push_missed *missed = NULL;
	char pattern[PATH_MAX];
	glob_t found = {0};
	bool done = true;

	*result = NULL;
	*count = 0;
	if (!*progress->last)
		return NULL;
	snprintf(pattern, sizeof(pattern), "%s/" PESAD_STORE_PATTERN, store);
	/* glob() sorts by name, which is by time. */
	if (glob(pattern, 0, NULL, &found))
		return NULL;
	missed = calloc(found.gl_pathc + 1, sizeof(*missed));
	done = missed;
	for (size_t i = 0; done && i < found.gl_pathc; i++) {
		int order = strcmp(base_name(found.gl_pathv[i]), progress->last);

		if (order < 0 || (!order && progress->state != PUSH_GIVEN_BACK))
			continue;
		done = add(&missed[*count], found.gl_pathv[i]);
		*count += missed[*count].path != NULL;
	}
	globfree(&found);
	if (!done) {
		push_missed_free(missed, *count);
		*count = 0;
		return pesa_error_no_memory();
	}
	*result = missed;
	return NULL;
}

void push_missed_free(struct push_missed *missed, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(missed[i].path);
	free(missed);
}
