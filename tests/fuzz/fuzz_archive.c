/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzz target: archives of others.  Whatever one has in it, what was extracted are regular files of
 * mode 0600 and directories of mode 0700 below the one name, no larger than the limit.
 */
#include <fcntl.h>
#include <ftw.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "decoder/base/archive_extract.h"

#define LIMIT	    (256 * 1024)
#define DESCRIPTORS 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t bytes;
static size_t root_length;

/* Look at one thing and remove it. */
static int look(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	const char *name = path + root_length;

	(void)type;
	if (walk->level) {
		if (strncmp(name, "/top", 4) || (name[4] && name[4] != '/'))
			abort();
		if (!(S_ISREG(status->st_mode) && (status->st_mode & 07777) == 0600) &&
		    !(S_ISDIR(status->st_mode) && (status->st_mode & 07777) == 0700))
			abort();
		if (S_ISREG(status->st_mode))
			bytes += (uint64_t)status->st_size;
	} else if ((status->st_mode & 07777) != 0700) {
		abort();
	}
	return remove(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char directory[] = "/tmp/pesa-fuzz-archive-XXXXXX", path[64];
	int file = memfd_create("archive", MFD_CLOEXEC), descriptor;

	if (file < 0 || write(file, data, size) != (ssize_t)size || !mkdtemp(directory))
		abort();
	descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	pesa_error_free(pesa_archive_extract(path, "top", descriptor, LIMIT));
	bytes = 0;
	root_length = strlen(directory);
	if (nftw(directory, look, DESCRIPTORS, FTW_DEPTH | FTW_PHYS) || bytes > LIMIT)
		abort();
	close(descriptor);
	close(file);
	return 0;
}
