// SPDX-License-Identifier: GPL-2.0-or-later
/* Profiles on disk that wait for their profile store.  See spool.h. */
#include "daemon/pesad/push/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_SIZE     128
#define NAME_FORMAT   "%020" PRIu64 "-%020" PRIu64 "-%s.pprof.gz"
#define REFUSED	      "refused-" /* in front of the name of what a store did not take */
#define UNFINISHED    ".new-"	 /* in front of the name of what is being written */
#define ENTRIES_FIRST 64

struct slot {
	struct pesa_spool_entry entry;
	bool lent;
};

struct pesa_spool {
	pthread_mutex_t lock;
	char *path;
	int directory;
	struct pesa_spool_limits limits;
	struct slot *slots; /* oldest first */
	size_t count, room;
	struct pesa_spool_counts counts;
};

/* ---- Names --------------------------------------------------------------------------------- */

static void entry_name(const struct pesa_spool_entry *entry, char name[NAME_SIZE])
{
	snprintf(name, NAME_SIZE, NAME_FORMAT, entry->from, entry->until, entry->id);
}

static bool parse_name(const char *name, struct pesa_spool_entry *entry)
{
	char again[NAME_SIZE];

	*entry = (struct pesa_spool_entry){0};
	if (sscanf(name, "%20" SCNu64 "-%20" SCNu64 "-%36[0-9a-f-]", &entry->from, &entry->until,
		   entry->id) != 3)
		return false;
	entry_name(entry, again);
	return !strcmp(name, again);
}

/* A random UUID (version 4, RFC 9562). */
static bool make_id(char id[PESA_UUID_SIZE])
{
	uint8_t bytes[16];
	size_t length = 0;

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return false;
	bytes[6] = (bytes[6] & 0x0f) | 0x40;
	bytes[8] = (bytes[8] & 0x3f) | 0x80;
	for (unsigned int i = 0; i < sizeof(bytes); i++)
		length += (size_t)snprintf(id + length, PESA_UUID_SIZE - length, "%s%02x",
					   i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
					   bytes[i]);
	return true;
}

/* ---- Slots --------------------------------------------------------------------------------- */

static int compare_slots(const void *left, const void *right)
{
	const struct pesa_spool_entry *a = &((const struct slot *)left)->entry;
	const struct pesa_spool_entry *b = &((const struct slot *)right)->entry;

	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	return strcmp(a->id, b->id);
}

static bool make_room(struct pesa_spool *spool)
{
	size_t room = spool->room ? spool->room * 2 : ENTRIES_FIRST;
	struct slot *grown;

	if (spool->count < spool->room)
		return true;
	grown = reallocarray(spool->slots, room, sizeof(*grown));
	if (!grown)
		return false;
	spool->slots = grown;
	spool->room = room;
	return true;
}

static void insert(struct pesa_spool *spool, const struct pesa_spool_entry *entry)
{
	struct slot slot = {.entry = *entry};
	size_t at = spool->count;

	while (at && compare_slots(&spool->slots[at - 1], &slot) > 0)
		at--;
	memmove(spool->slots + at + 1, spool->slots + at,
		(spool->count - at) * sizeof(*spool->slots));
	spool->slots[at] = slot;
	spool->count++;
	spool->counts.bytes += entry->bytes;
}

static void remove_slot(struct pesa_spool *spool, size_t at)
{
	char name[NAME_SIZE];

	entry_name(&spool->slots[at].entry, name);
	unlinkat(spool->directory, name, 0);
	spool->counts.bytes -= spool->slots[at].entry.bytes;
	spool->count--;
	memmove(spool->slots + at, spool->slots + at + 1,
		(spool->count - at) * sizeof(*spool->slots));
}

static struct slot *find(struct pesa_spool *spool, const struct pesa_spool_entry *entry)
{
	for (size_t i = 0; i < spool->count; i++)
		if (!strcmp(spool->slots[i].entry.id, entry->id))
			return &spool->slots[i];
	return NULL;
}

/* Drop the oldest file that is not borrowed.  false: none. */
static bool drop_oldest(struct pesa_spool *spool)
{
	for (size_t i = 0; i < spool->count; i++)
		if (!spool->slots[i].lent) {
			remove_slot(spool, i);
			spool->counts.dropped_full++;
			return true;
		}
	return false;
}

static void drop_old(struct pesa_spool *spool, uint64_t now)
{
	size_t i = 0;

	while (spool->limits.age && i < spool->count) {
		const struct slot *slot = &spool->slots[i];

		if (!slot->lent && now > slot->entry.until &&
		    now - slot->entry.until > spool->limits.age) {
			remove_slot(spool, i);
			spool->counts.dropped_old++;
		} else {
			i++;
		}
	}
}

/* ---- Opening ------------------------------------------------------------------------------- */

static struct pesa_error *read_directory(struct pesa_spool *spool)
{
	int duplicate = openat(spool->directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *listing = duplicate < 0 ? NULL : fdopendir(duplicate);
	const struct dirent *file;

	if (!listing) {
		int error = errno;

		if (duplicate >= 0)
			close(duplicate);
		return pesa_error_system(error, "%s: cannot be listed", spool->path);
	}
	while ((file = readdir(listing))) {
		struct pesa_spool_entry entry;
		struct stat status;

		if (!strncmp(file->d_name, UNFINISHED, strlen(UNFINISHED))) {
			unlinkat(spool->directory, file->d_name, 0);
			continue;
		}
		if (!parse_name(file->d_name, &entry) ||
		    fstatat(spool->directory, file->d_name, &status, AT_SYMLINK_NOFOLLOW) ||
		    !S_ISREG(status.st_mode))
			continue;
		if (!make_room(spool)) {
			closedir(listing);
			return pesa_error_no_memory();
		}
		entry.bytes = (uint64_t)status.st_size;
		spool->slots[spool->count++] = (struct slot){.entry = entry};
		spool->counts.bytes += entry.bytes;
	}
	closedir(listing);
	if (spool->count)
		qsort(spool->slots, spool->count, sizeof(*spool->slots), compare_slots);
	return NULL;
}

struct pesa_error *pesa_spool_open(const char *directory, const struct pesa_spool_limits *limits,
				   uint64_t now, struct pesa_spool **result)
{
	struct pesa_spool *spool = calloc(1, sizeof(*spool));
	struct pesa_error *error = NULL;

	if (!spool)
		return pesa_error_no_memory();
	pthread_mutex_init(&spool->lock, NULL);
	spool->limits = *limits;
	spool->path = strdup(directory);
	spool->directory = -1;
	if (!spool->path) {
		error = pesa_error_no_memory();
	} else if (mkdir(directory, 0700) && errno != EEXIST) {
		error = pesa_error_system(errno, "%s: cannot make the spool's directory",
					  directory);
	} else {
		spool->directory = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (spool->directory < 0)
			error = pesa_error_system(errno, "%s: cannot be opened as the spool",
						  directory);
		else
			error = read_directory(spool);
	}
	if (error) {
		pesa_spool_close(spool);
		return error;
	}
	drop_old(spool, now);
	while (spool->counts.bytes > limits->bytes && drop_oldest(spool))
		;
	*result = spool;
	return NULL;
}

void pesa_spool_close(struct pesa_spool *spool)
{
	if (!spool)
		return;
	if (spool->directory >= 0)
		close(spool->directory);
	pthread_mutex_destroy(&spool->lock);
	free(spool->slots);
	free(spool->path);
	free(spool);
}

/* ---- In ------------------------------------------------------------------------------------ */

/* Returns 0 or an errno. */
static int write_all(int file, const void *data, size_t size)
{
	const char *bytes = data;

	while (size) {
		ssize_t written = write(file, bytes, size);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return errno;
		bytes += written;
		size -= (size_t)written;
	}
	return 0;
}

/* Write a file and rename it when it is complete and synced.  Returns 0 or an errno. */
static int write_file(struct pesa_spool *spool, const char *name, const void *data, size_t size)
{
	char unfinished[NAME_SIZE + sizeof(UNFINISHED)];
	int file, error;

	snprintf(unfinished, sizeof(unfinished), UNFINISHED "%s", name);
	file = openat(spool->directory, unfinished, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (file < 0)
		return errno;
	error = write_all(file, data, size);
	if (!error && fsync(file))
		error = errno;
	if (close(file) && !error)
		error = errno;
	if (!error && renameat(spool->directory, unfinished, spool->directory, name))
		error = errno;
	if (error)
		unlinkat(spool->directory, unfinished, 0);
	return error;
}

static struct pesa_error *put(struct pesa_spool *spool, struct pesa_spool_entry *entry,
			      const void *data)
{
	char name[NAME_SIZE];
	int error;

	while (spool->counts.bytes + entry->bytes > spool->limits.bytes)
		if (!drop_oldest(spool)) {
			spool->counts.dropped_full++;
			return NULL;
		}
	if (!make_room(spool) || !make_id(entry->id)) {
		spool->counts.dropped_unwritten++;
		return pesa_error_no_memory();
	}
	entry_name(entry, name);
	/* When the disk is full, drop the oldest profiles for the newest one. */
	do
		error = write_file(spool, name, data, entry->bytes);
	while ((error == ENOSPC || error == EDQUOT) && drop_oldest(spool));
	if (error) {
		spool->counts.dropped_unwritten++;
		return pesa_error_system(error, "%s/%s: cannot be written", spool->path, name);
	}
	insert(spool, entry);
	spool->counts.put++;
	return NULL;
}

struct pesa_error *pesa_spool_put(struct pesa_spool *spool, uint64_t from, uint64_t until,
				  const void *data, size_t size, uint64_t now)
{
	struct pesa_spool_entry entry = {.from = from, .until = until, .bytes = size};
	struct pesa_error *error;

	pthread_mutex_lock(&spool->lock);
	drop_old(spool, now);
	error = put(spool, &entry, data);
	pthread_mutex_unlock(&spool->lock);
	return error;
}

/* ---- Out ----------------------------------------------------------------------------------- */

/* Read a whole file; NULL and errno on failure. */
static void *read_whole(struct pesa_spool *spool, const struct pesa_spool_entry *entry)
{
	char name[NAME_SIZE];
	size_t done = 0;
	char *data;
	int file;

	entry_name(entry, name);
	file = openat(spool->directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (file < 0)
		return NULL;
	data = malloc(entry->bytes + 1);
	while (data && done < entry->bytes) {
		ssize_t got = read(file, data + done, entry->bytes - done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			if (!got)
				errno = EIO; /* shorter than it was */
			free(data);
			data = NULL;
			break;
		}
		done += (size_t)got;
	}
	close(file);
	return data;
}

static bool borrow(struct pesa_spool *spool, struct pesa_spool_entry *entry, void **data,
		   struct pesa_error **error)
{
	if (!spool->count || spool->slots[0].lent)
		return false;
	*entry = spool->slots[0].entry;
	*data = read_whole(spool, entry);
	if (!*data) {
		char name[NAME_SIZE];

		entry_name(entry, name);
		*error = pesa_error_system(errno, "%s/%s: cannot be read, dropped", spool->path,
					   name);
		remove_slot(spool, 0);
		spool->counts.dropped_unwritten++;
		return false;
	}
	spool->slots[0].lent = true;
	return true;
}

bool pesa_spool_borrow(struct pesa_spool *spool, uint64_t now, struct pesa_spool_entry *entry,
		       void **data, struct pesa_error **error)
{
	bool any;

	*error = NULL;
	*data = NULL;
	pthread_mutex_lock(&spool->lock);
	drop_old(spool, now);
	any = borrow(spool, entry, data, error);
	pthread_mutex_unlock(&spool->lock);
	return any;
}

void pesa_spool_remove(struct pesa_spool *spool, const struct pesa_spool_entry *entry)
{
	struct slot *slot;

	pthread_mutex_lock(&spool->lock);
	slot = find(spool, entry);
	if (slot)
		remove_slot(spool, (size_t)(slot - spool->slots));
	pthread_mutex_unlock(&spool->lock);
}

/* Remove the oldest of those that are kept, until there is room for one more. */
static void limit_refused(struct pesa_spool *spool)
{
	int duplicate = openat(spool->directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *listing = duplicate < 0 ? NULL : fdopendir(duplicate);
	char oldest[NAME_MAX + 1] = "";
	const struct dirent *file;
	unsigned int count = 0;

	if (!listing && duplicate >= 0)
		close(duplicate);
	while (listing && (file = readdir(listing))) {
		if (strncmp(file->d_name, REFUSED, strlen(REFUSED)))
			continue;
		count++;
		if (!*oldest || strcmp(file->d_name, oldest) < 0)
			snprintf(oldest, sizeof(oldest), "%s", file->d_name);
	}
	if (listing)
		closedir(listing);
	if (count >= PESA_SPOOL_REFUSED_MOST)
		unlinkat(spool->directory, oldest, 0);
}

void pesa_spool_set_aside(struct pesa_spool *spool, const struct pesa_spool_entry *entry)
{
	char name[NAME_SIZE], kept[NAME_SIZE + sizeof(REFUSED)];
	struct slot *slot;

	entry_name(entry, name);
	snprintf(kept, sizeof(kept), REFUSED "%s", name);
	pthread_mutex_lock(&spool->lock);
	slot = find(spool, entry);
	if (slot) {
		limit_refused(spool);
		if (linkat(spool->directory, name, spool->directory, kept, 0))
			spool->counts.dropped_unwritten++;
		remove_slot(spool, (size_t)(slot - spool->slots));
	}
	pthread_mutex_unlock(&spool->lock);
}

void pesa_spool_return(struct pesa_spool *spool, const struct pesa_spool_entry *entry)
{
	struct slot *slot;

	pthread_mutex_lock(&spool->lock);
	slot = find(spool, entry);
	if (slot)
		slot->lent = false;
	pthread_mutex_unlock(&spool->lock);
}

struct pesa_spool_counts pesa_spool_counts(struct pesa_spool *spool)
{
	struct pesa_spool_counts counts;

	pthread_mutex_lock(&spool->lock);
	counts = spool->counts;
	counts.entries = spool->count;
	pthread_mutex_unlock(&spool->lock);
	return counts;
}
