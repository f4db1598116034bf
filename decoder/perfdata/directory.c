// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Directories written by perf record --threads: `data` has the header, the features and some
 * records; data.0, data.1, ... have the records of one thread each.  Rounds apply to one file only.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "decoder/perfdata/reader.h"

/* Open one file of the directory; negative with errno set on failure. */
static int open_part(int directory, const char *name, uint64_t *size)
{
	int descriptor = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat status;

	if (descriptor >= 0 && !fstat(descriptor, &status) && S_ISREG(status.st_mode)) {
		*size = status.st_size;
		return descriptor;
	}
	if (descriptor >= 0) {
		close(descriptor);
		errno = EINVAL;
	}
	return -1;
}

struct pesa_error *perfdata_open_directory(struct pesa_perfdata *reader)
{
	uint64_t size;

	reader->directory = reader->descriptor;
	reader->descriptor = open_part(reader->directory, "data", &reader->file_size);
	if (reader->descriptor < 0)
		return pesa_error_system(
			errno, "%s: is a directory, and not one of perf record: its file 'data'",
			reader->path);
	for (reader->total_size = reader->file_size;; reader->total_size += size) {
		char name[16];
		int part;

		snprintf(name, sizeof(name), "data.%u", reader->parts);
		part = open_part(reader->directory, name, &size);
		if (part < 0)
			return NULL;
		close(part);
		reader->parts++;
	}
}

bool perfdata_next_part(struct pesa_perfdata *reader)
{
	uint64_t size;
	char name[16];
	int part;

	if (reader->part == reader->parts)
		return false;
	snprintf(name, sizeof(name), "data.%u", reader->part++);
	part = open_part(reader->directory, name, &size);
	if (part < 0) {
		perfdata_damage(reader, 1, 0, 0, "a part of the directory that is gone");
		return true;
	}
	/* Each file is a separate zstd stream. */
	if (reader->decompressor)
		ZSTD_DCtx_reset(reader->decompressor, ZSTD_reset_session_only);
	close(reader->descriptor);
	reader->descriptor = part;
	reader->parts_done += reader->file.offset;
	reader->file_position = reader->file.offset = 0;
	reader->data_end = reader->claimed_end = size;
	return true;
}
