// SPDX-License-Identifier: GPL-2.0-or-later
/* Caches build ids of files: see build_ids.h. */
#include "daemon/record/build_ids.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "decoder/binary/program.h"
#include "decoder/base/regular_file.h"

/* Associativity of the cache. */
#define WAYS 8u
#define SETS (PESA_BUILD_IDS_MOST / WAYS)

/* Identifies a file and its contents. */
struct identity {
	uint64_t device, inode, size;
	struct timespec modified, changed;
};

struct known {
	struct identity identity;
	uint64_t asked; /* request number of the last use; 0: free */
	uint8_t size, build_id[PESA_BUILD_ID_MAX];
};

struct pesa_build_ids {
	struct known known[SETS][WAYS];
	uint64_t asked, opened;
};

struct pesa_build_ids *pesa_build_ids_create(void)
{
	return calloc(1, sizeof(struct pesa_build_ids));
}

void pesa_build_ids_free(struct pesa_build_ids *ids)
{
	free(ids);
}

static struct identity identity_of(const struct stat *status)
{
	return (struct identity){.device = status->st_dev,
				 .inode = status->st_ino,
				 .size = (uint64_t)status->st_size,
				 .modified = status->st_mtim,
				 .changed = status->st_ctim};
}

static bool same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static bool same(const struct identity *a, const struct identity *b)
{
	return a->device == b->device && a->inode == b->inode && a->size == b->size &&
	       same_time(&a->modified, &b->modified) && same_time(&a->changed, &b->changed);
}

/* Find a file in the cache, or the place for it, whose identity then differs. */
static struct known *place(struct pesa_build_ids *ids, const struct identity *identity)
{
	const uint64_t parts[] = {identity->device, identity->inode, identity->size,
				  (uint64_t)identity->modified.tv_sec};
	struct known *set, *oldest;
	uint64_t hash = 0;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		hash = (hash ^ hash >> 29 ^ parts[i]) * UINT64_C(0x9e3779b97f4a7c15);
	set = oldest = ids->known[(hash >> 32) % SETS];
	for (struct known *known = set; known < set + WAYS; known++) {
		if (known->asked && same(&known->identity, identity))
			return known;
		if (known->asked < oldest->asked)
			oldest = known;
	}
	return oldest;
}

/*
 * Read a file.  The file may have been replaced between stat() and open(), so the identity is that
 * of the opened file.  NULL: cannot be read.
 */
static const struct known *read_file(struct pesa_build_ids *ids, const char *path)
{
	int fd = pesa_regular_file_open(path, 0);
	struct known *known = NULL;
	struct stat status;

	if (fd < 0)
		return NULL;
	ids->opened++;
	if (!fstat(fd, &status)) {
		struct identity identity = identity_of(&status);

		known = place(ids, &identity);
		known->identity = identity;
		known->asked = ids->asked;
		known->size = (uint8_t)pesa_program_build_id_read(fd, known->build_id,
								  sizeof(known->build_id));
	}
	close(fd);
	return known;
}

uint8_t pesa_build_ids_find(struct pesa_build_ids *ids, const char *path,
			    uint8_t build_id[PESA_BUILD_ID_MAX])
{
	const struct known *found;
	struct identity identity;
	struct known *known;
	struct stat status;

	if (stat(path, &status) || !S_ISREG(status.st_mode))
		return 0;
	ids->asked++;
	identity = identity_of(&status);
	known = place(ids, &identity);
	if (known->asked && same(&known->identity, &identity)) {
		known->asked = ids->asked;
		found = known;
	} else {
		found = read_file(ids, path);
	}
	if (!found)
		return 0;
	memcpy(build_id, found->build_id, found->size);
	return found->size;
}

uint64_t pesa_build_ids_opened(const struct pesa_build_ids *ids)
{
	return ids->opened;
}
