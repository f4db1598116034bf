/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "decoder/base/regular_file.h"

#define BINARY_MOST (INT64_C(16) << 30) /* bytes */

int pesa_regular_file_open(const char *path, int flags)
{
	int looked = open(path, O_PATH | O_CLOEXEC | flags), fd = -1, failed = EINVAL;
	char same[32];
	struct stat status;

	if (looked < 0)
		return -1;
	if (!fstat(looked, &status) && S_ISREG(status.st_mode)) {
		snprintf(same, sizeof(same), "/proc/self/fd/%d", looked);
		fd = open(same, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		failed = errno;
	}
	close(looked);
	errno = failed;
	return fd;
}

int pesa_binary_open(const char *path)
{
	int fd = pesa_regular_file_open(path, 0);
	struct stat status;

	if (fd >= 0 && (fstat(fd, &status) || status.st_size > BINARY_MOST)) {
		close(fd);
		errno = EFBIG;
		return -1;
	}
	return fd;
}

struct pesa_error *pesa_regular_file_failed(const char *path)
{
	return errno == EINVAL
		       ? pesa_error_create(PESA_ERROR_UNSUPPORTED, "%s: is no regular file", path)
		       : pesa_error_system(errno, "%s", path);
}
