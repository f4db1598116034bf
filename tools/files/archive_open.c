// SPDX-License-Identifier: GPL-2.0-or-later
/* Recordings in archives: see archive_open.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "decoder/base/archive_extract.h"
#include "tools/files/archive_open.h"
#include "tools/files/temporary_directory.h"

/* The archives that were opened; kept until the process exits. */
static struct open_archive {
	char *directory, *recording;
	struct open_archive *next;
} * archives;

static void free_archives(void)
{
	while (archives) {
		struct open_archive *archive = archives;

		archives = archive->next;
		free(archive->directory);
		free(archive->recording);
		free(archive);
	}
}

/* Add the archive's directory and its recording.  NULL: out of memory. */
static struct open_archive *add_archive(const char *directory, const char *subdirectory)
{
	struct open_archive *archive = calloc(1, sizeof(*archive));

	if (!archive || (!archives && atexit(free_archives))) {
		free(archive);
		return NULL;
	}
	archive->next = archives;
	archives = archive;
	if (asprintf(&archive->directory, "%s%s", directory, subdirectory) < 0)
		archive->directory = NULL;
	if (!archive->directory ||
	    asprintf(&archive->recording, "%s/%s", archive->directory, ARCHIVE_RECORDING) < 0)
		archive->recording = NULL;
	return archive->recording ? archive : NULL;
}

/* Return whether a file starts like the tarballs that pesa archive writes. */
static bool is_tarball(int descriptor)
{
	static const struct {
		size_t offset, size;
		const char *magic;
	} kinds[] = {{0, 4, "\x28\xb5\x2f\xfd"}, {0, 2, "\x1f\x8b"}, {257, 5, "ustar"}};
	uint8_t head[512];
	ssize_t size = pread(descriptor, head, sizeof(head), 0);

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (size >= (ssize_t)(kinds[i].offset + kinds[i].size) &&
		    !memcmp(head + kinds[i].offset, kinds[i].magic, kinds[i].size))
			return true;
	return false;
}

/* Read PESA_ARCHIVE_LIMIT: bytes, with an optional suffix K, M, G or T. */
static struct pesa_error *read_limit(uint64_t *limit)
{
	static const char units[] = "KMGT";
	const char *text = getenv("PESA_ARCHIVE_LIMIT"), *unit;
	unsigned int shift = 0;
	uint64_t number;
	char *end;

	*limit = PESA_ARCHIVE_LIMIT;
	if (!text || !*text)
		return NULL;
	errno = 0;
	number = strtoull(text, &end, 10);
	unit = *end ? strchr(units, *end) : NULL;
	if (unit)
		shift = 10 * (unsigned int)(unit - units + 1);
	if (errno || *text < '0' || *text > '9' || (unit ? end[1] : *end) ||
	    number > UINT64_MAX >> shift)
		return pesa_error_create(
			PESA_ERROR_ARGUMENT,
			"PESA_ARCHIVE_LIMIT=%s: is not a number of bytes (allowed: 500M, 20G)",
			text);
	*limit = number << shift;
	return NULL;
}

static struct pesa_error *extract(const char *path, const char *directory)
{
	int descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct pesa_error *error;
	uint64_t limit;

	if (descriptor < 0)
		return pesa_error_system(errno, "%s", directory);
	error = read_limit(&limit);
	if (!error)
		error = pesa_archive_extract(path, ARCHIVE_DIRECTORY, descriptor, limit);
	close(descriptor);
	return error;
}

static struct pesa_error *open_tarball(const char *path, struct open_archive **archive)
{
	const char *directory;
	struct pesa_error *error = temporary_directory_create("pesa-archive", &directory);

	if (!error)
		error = extract(path, directory);
	if (error)
		return error;
	*archive = add_archive(directory, "/" ARCHIVE_DIRECTORY);
	if (!*archive)
		return pesa_error_no_memory();
	if (access((*archive)->recording, R_OK))
		return pesa_error_create(PESA_ERROR_FORMAT,
					 "%s: was not made by pesa archive: has no %s/%s", path,
					 ARCHIVE_DIRECTORY, ARCHIVE_RECORDING);
	return NULL;
}

/* If the file cannot be opened, the caller reports it when it opens it as a recording. */
static struct pesa_error *open_file(const char *path, struct open_archive **archive)
{
	int descriptor = open(path, O_RDONLY | O_CLOEXEC);
	bool tarball = descriptor >= 0 && is_tarball(descriptor);

	if (descriptor >= 0)
		close(descriptor);
	return tarball ? open_tarball(path, archive) : NULL;
}

/* A directory that has a recording; not one made by perf record --threads. */
static struct pesa_error *open_directory(const char *path, struct open_archive **result)
{
	char *recording;
	bool exists;

	if (asprintf(&recording, "%s/%s", path, ARCHIVE_RECORDING) < 0)
		return pesa_error_no_memory();
	exists = !access(recording, F_OK);
	free(recording);
	if (!exists)
		return NULL;
	*result = add_archive(path, "");
	return *result ? NULL : pesa_error_no_memory();
}

struct pesa_error *archive_open(const char *path, const char **directory, const char **recording)
{
	struct pesa_error *error = NULL;
	struct open_archive *archive = NULL;
	struct stat status;

	*directory = *recording = NULL;
	if (!strcmp(path, "-") || stat(path, &status))
		return NULL;
	if (S_ISDIR(status.st_mode))
		error = open_directory(path, &archive);
	else if (S_ISREG(status.st_mode))
		error = open_file(path, &archive);
	if (error || !archive)
		return error;
	*directory = archive->directory;
	*recording = archive->recording;
	return NULL;
}
