// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/pesad/base/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "decoder/base/clock.h"
#include "pesa/perfdata.h"

#define SECOND	    UINT64_C(1000000000)
#define LOCK_NAME   ".pesad.lock"
#define UNFINISHED  ".pesad-*.data"
#define TIME_ROOM   24u		     /* "20261121T194313.250Z", with room to spare */
#define STEM_ROOM   (TIME_ROOM + 24) /* "pesa-TIME-unfinished" */
#define NAME_ROOM   64u		     /* with a number and ".data" appended */
#define SAME_MOMENT 1000u	     /* files that may have begun in one millisecond */

struct kept {
	char name[NAME_ROOM];
	uint64_t bytes;
	int64_t born; /* ns of the age clock; negative: before this boot */
};

struct pesad_store {
	struct pesad_metrics *metrics;
	struct pesad_log *log;
	char *directory;
	uint64_t size, age; /* limits; 0: none */
	int lock;
	struct kept *files; /* sorted by age, the oldest first */
	size_t count, room;
	uint64_t bytes;
	unsigned int turn; /* which of the two file names is next */
	char next[2][PATH_MAX];
	char path[PATH_MAX];
};

/* CLOCK_BOOTTIME: continues in suspend and cannot be set. */
static int64_t clock_of_ages(void)
{
	return (int64_t)pesa_clock(CLOCK_BOOTTIME);
}

static struct pesa_error *path_of(const struct pesad_store *store, const char *name,
				  char path[PATH_MAX])
{
	if (snprintf(path, PATH_MAX, "%s/%s", store->directory, name) >= PATH_MAX)
		return pesa_error_create(PESA_ERROR_ARGUMENT, "%s: the name is too long",
					 store->directory);
	return NULL;
}

/* ---- What is there ------------------------------------------------------------------------- */

static void publish(const struct pesad_store *store)
{
	pesad_set(&store->metrics->store_files, store->count);
	pesad_set(&store->metrics->store_bytes, store->bytes);
}

static struct pesa_error *add(struct pesad_store *store, const char *name, uint64_t bytes,
			      int64_t born)
{
	if (store->count == store->room) {
		size_t room = store->room ? store->room * 2 : 64;
		struct kept *grown = realloc(store->files, room * sizeof(*grown));

		if (!grown)
			return pesa_error_no_memory();
		store->files = grown;
		store->room = room;
	}
	store->files[store->count] = (struct kept){.bytes = bytes, .born = born};
	snprintf(store->files[store->count].name, NAME_ROOM, "%s", name);
	store->count++;
	store->bytes += bytes;
	return NULL;
}

static int compare_ages(const void *left, const void *right)
{
	const struct kept *a = left, *b = right;

	if (a->born != b->born)
		return a->born < b->born ? -1 : 1;
	return strcmp(a->name, b->name);
}

/* Add a file of an earlier daemon.  Its age is by the wall clock, but not negative. */
static struct pesa_error *find(struct pesad_store *store, const char *name)
{
	char path[PATH_MAX];
	struct timespec wall;
	struct stat status;
	int64_t age;
	struct pesa_error *error = path_of(store, name, path);

	if (error || strlen(name) >= NAME_ROOM || stat(path, &status))
		return error;
	clock_gettime(CLOCK_REALTIME, &wall);
	age = ((int64_t)wall.tv_sec - status.st_mtim.tv_sec) * (int64_t)SECOND + wall.tv_nsec -
	      status.st_mtim.tv_nsec;
	return add(store, name, (uint64_t)status.st_size, clock_of_ages() - (age > 0 ? age : 0));
}

/* Return whether the file has a readable sample. */
static bool has_samples(const char *path)
{
	struct pesa_perfdata *reader;
	struct pesa_event event;
	struct pesa_error *error = pesa_perfdata_open(path, &reader);
	bool found = false;

	if (error) {
		pesa_error_free(error);
		return false;
	}
	while (!found && pesa_perfdata_next(reader, &event) == 1)
		found = event.type == PERF_RECORD_SAMPLE;
	pesa_perfdata_close(reader);
	return found;
}

/* Find an unused name in the directory: "STEM.data", or the stem followed by a number. */
static struct pesa_error *free_name(const struct pesad_store *store, const char *stem,
				    char name[NAME_ROOM], char path[PATH_MAX])
{
	struct pesa_error *error;

	snprintf(name, NAME_ROOM, "%s.data", stem);
	error = path_of(store, name, path);
	for (unsigned int i = 1; !error && i < SAME_MOMENT && !access(path, F_OK); i++) {
		snprintf(name, NAME_ROOM, "%s-%u.data", stem, i);
		error = path_of(store, name, path);
	}
	return error;
}

/*
 * A killed daemon left ".pesad-TIME.PROCESS.data": rename it to "pesa-TIME-unfinished.data" if it
 * has a sample.
 */
static struct pesa_error *recover(struct pesad_store *store, const char *name)
{
	const char *time = name + strlen(".pesad-");
	const size_t length = strcspn(time, "Z");
	char path[PATH_MAX], stem[STEM_ROOM], kept[NAME_ROOM], kept_path[PATH_MAX];
	struct pesa_error *error = path_of(store, name, path);

	snprintf(stem, sizeof(stem), "pesa-%.*s-unfinished",
		 (int)(length < TIME_ROOM ? length : TIME_ROOM), time);
	if (!error)
		error = free_name(store, stem, kept, kept_path);
	if (error)
		return error;
	pesad_count(&store->metrics->files_recovered, 1);
	if (!has_samples(path)) {
		pesad_log(store->log, PESAD_LOG_WARNING,
			  "%s, which an earlier daemon left, has no samples and is removed", path);
		unlink(path);
	} else if (rename(path, kept_path)) {
		pesad_log(store->log, PESAD_LOG_WARNING,
			  "%s, which an earlier daemon left, cannot be renamed to %s: %s", path,
			  kept_path, strerror(errno));
	} else {
		pesad_log(
			store->log, PESAD_LOG_WARNING,
			"%s is what an earlier daemon, which was killed, had written of an interval",
			kept_path);
	}
	return NULL;
}

static struct pesa_error *each_file(struct pesad_store *store, const char *pattern,
				    struct pesa_error *(*take)(struct pesad_store *store,
							       const char *name))
{
	struct pesa_error *error = NULL;
	DIR *directory = opendir(store->directory);
	struct dirent *entry;

	if (!directory)
		return pesa_error_system(errno, "cannot read the directory %s", store->directory);
	while (!error && (entry = readdir(directory)))
		if (!fnmatch(pattern, entry->d_name, 0))
			error = take(store, entry->d_name);
	closedir(directory);
	return error;
}

/* ---- Opening ------------------------------------------------------------------------------- */

/*
 * Users who can write to the directory could put links where the daemon writes, and files where
 * readers trust it.  So it must belong to this user or root, and no other user may write to it.
 * The path may be a link: its parent's owner decides that (systemd uses links).
 */
static struct pesa_error *check_directory(const struct pesad_store *store, int directory)
{
	struct stat status;

	if (fstat(directory, &status))
		return pesa_error_system(errno, "cannot look at the directory %s",
					 store->directory);
	if (status.st_uid && status.st_uid != geteuid())
		return pesa_error_create(PESA_ERROR_ARGUMENT,
					 "the directory %s belongs to user %u, who could change "
					 "what is written there: chown it to user %u, or choose "
					 "another directory",
					 store->directory, (unsigned int)status.st_uid,
					 (unsigned int)geteuid());
	if (status.st_mode & (S_IWGRP | S_IWOTH))
		return pesa_error_create(PESA_ERROR_ARGUMENT,
					 "the directory %s can be written by others (mode %03o): "
					 "chmod go-w it, or choose another directory",
					 store->directory, status.st_mode & 0777u);
	return NULL;
}

/* The kernel releases the lock when the process ends in any way; children do not inherit it. */
static struct pesa_error *lock(struct pesad_store *store, int directory)
{
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	store->lock = openat(directory, LOCK_NAME,
			     O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (store->lock < 0 && errno == ELOOP)
		return pesa_error_create(PESA_ERROR_ARGUMENT,
					 "%s/" LOCK_NAME " is a link, which pesad does not make: "
					 "remove it",
					 store->directory);
	if (store->lock < 0)
		return pesa_error_system(errno, "cannot write to the directory %s",
					 store->directory);
	if (!fcntl(store->lock, F_SETLK, &whole))
		return NULL;
	if (errno != EACCES && errno != EAGAIN)
		return pesa_error_system(errno, "cannot lock %s/" LOCK_NAME, store->directory);
	return pesa_error_create(PESA_ERROR_ARGUMENT,
				 "another pesad writes to %s: end it, or choose another directory",
				 store->directory);
}

/* Create the directory if it is missing, and lock it. */
static struct pesa_error *take_directory(struct pesad_store *store)
{
	struct pesa_error *error;
	int directory;

	if (mkdir(store->directory, 0750) && errno != EEXIST)
		return pesa_error_system(errno, "cannot make the directory %s", store->directory);
	directory = open(store->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (directory < 0)
		return pesa_error_system(errno, "cannot read the directory %s", store->directory);
	error = check_directory(store, directory);
	if (!error)
		error = lock(store, directory);
	close(directory);
	return error;
}

void pesad_store_limits(struct pesad_store *store, const struct pesad_config *config)
{
	store->size = config->store.size;
	store->age = config->store.age;
}

static struct pesa_error *fill(struct pesad_store *store)
{
	struct pesa_error *error = take_directory(store);

	if (!error)
		error = each_file(store, UNFINISHED, recover);
	if (!error)
		error = each_file(store, PESAD_STORE_PATTERN, find);
	if (error)
		return error;
	if (store->count)
		qsort(store->files, store->count, sizeof(*store->files), compare_ages);
	pesad_store_rotate(store);
	return NULL;
}

struct pesa_error *pesad_store_open(const struct pesad_config *config,
				    struct pesad_metrics *metrics, struct pesad_log *log,
				    struct pesad_store **store)
{
	struct pesad_store *opened = calloc(1, sizeof(*opened));
	struct pesa_error *error;

	if (!opened)
		return pesa_error_no_memory();
	opened->lock = -1;
	opened->metrics = metrics;
	opened->log = log;
	opened->directory = strdup(config->store.directory);
	pesad_store_limits(opened, config);
	error = opened->directory ? fill(opened) : pesa_error_no_memory();
	if (error)
		pesad_store_close(opened);
	else
		*store = opened;
	return error;
}

void pesad_store_close(struct pesad_store *store)
{
	if (!store)
		return;
	if (store->lock >= 0)
		close(store->lock);
	free(store->directory);
	free(store->files);
	free(store);
}

/* ---- Files of this daemon ------------------------------------------------------------------ */

/* "20261121T194313.250Z" */
static void print_time(uint64_t wall, char *text, size_t room)
{
	time_t seconds = (time_t)(wall / SECOND);
	char whole[32] = "";
	struct tm parts;

	if (gmtime_r(&seconds, &parts))
		strftime(whole, sizeof(whole), "%Y%m%dT%H%M%S", &parts);
	snprintf(text, room, "%s.%03uZ", whole, (unsigned int)(wall % SECOND / 1000000));
}

const char *pesad_store_next(struct pesad_store *store)
{
	char *path = store->next[store->turn];
	char time[48];

	store->turn = !store->turn;
	print_time(pesa_wall_clock(), time, sizeof(time));
	/* A path that does not fit was refused before, for the lock, whose name is shorter. */
	snprintf(path, PATH_MAX, "%s/.pesad-%s.%d%c.data", store->directory, time, (int)getpid(),
		 store->turn ? 'a' : 'b');
	return path;
}

struct pesa_error *pesad_store_keep(struct pesad_store *store, const char *file, uint64_t from,
				    const char **path)
{
	char time[TIME_ROOM], stem[STEM_ROOM], name[NAME_ROOM];
	struct pesa_error *error;
	struct stat status;

	print_time(from, time, sizeof(time));
	snprintf(stem, sizeof(stem), "pesa-%s", time);
	error = free_name(store, stem, name, store->path);
	if (error)
		return error;
	if (stat(file, &status) || rename(file, store->path))
		return pesa_error_system(errno, "cannot rename %s to %s", file, store->path);
	*path = store->path;
	error = add(store, name, (uint64_t)status.st_size, clock_of_ages());
	publish(store);
	/* The file exists, but rotation does not know it until the next start. */
	if (error)
		pesad_log_error(store->log, PESAD_LOG_ROTATE, PESAD_LOG_WARNING, error);
	return NULL;
}

void pesad_store_drop(struct pesad_store *store, const char *file)
{
	if (unlink(file) && errno != ENOENT)
		pesad_log_limited(store->log, PESAD_LOG_ROTATE, PESAD_LOG_WARNING,
				  "cannot remove %s: %s", file, strerror(errno));
}

/* ---- Rotation ------------------------------------------------------------------------------ */

/* The newest file is kept whatever its size. */
static bool is_too_much(const struct pesad_store *store, const struct kept *file)
{
	if (store->size && store->bytes > store->size && file + 1 < store->files + store->count)
		return true;
	return store->age && clock_of_ages() - file->born > (int64_t)store->age;
}

void pesad_store_rotate(struct pesad_store *store)
{
	size_t gone = 0;

	for (; gone < store->count && is_too_much(store, &store->files[gone]); gone++) {
		struct kept *file = &store->files[gone];
		struct pesa_error *error = path_of(store, file->name, store->path);

		if (!error && unlink(store->path) && errno != ENOENT)
			error = pesa_error_system(errno, "cannot remove %s", store->path);
		if (error) {
			pesad_log_error(store->log, PESAD_LOG_ROTATE, PESAD_LOG_WARNING, error);
			break;
		}
		store->bytes -= file->bytes;
		pesad_count(&store->metrics->files_removed, 1);
	}
	store->count -= gone;
	if (gone)
		memmove(store->files, store->files + gone, store->count * sizeof(*store->files));
	publish(store);
}
