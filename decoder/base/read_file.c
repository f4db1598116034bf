/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "decoder/base/read_file.h"
#include "decoder/base/regular_file.h"

#define FIRST_ROOM 65536

static struct pesa_error *too_large(const char *path, size_t most)
{
	return pesa_error_create(PESA_ERROR_UNSUPPORTED, "%s: has more than %zu bytes", path, most);
}

/* Read the stream and close it. */
static struct pesa_error *read_stream(FILE *stream, const char *path, size_t most, char **result,
				      size_t *result_size)
{
	struct pesa_error *error = NULL;
	size_t size = 0, room = 0, got;
	char *text = NULL;

	do {
		if (size + 1 >= room) {
			size_t wanted = room ? room * 2 : FIRST_ROOM;
			char *grown = realloc(text, wanted);

			if (!grown) {
				error = pesa_error_no_memory();
				break;
			}
			text = grown;
			room = wanted;
		}
		got = fread(text + size, 1, room - size - 1, stream);
		size += got;
		if (size > most)
			error = too_large(path, most);
	} while (got && !error);
	if (!error && ferror(stream))
		error = pesa_error_system(errno, "%s", path);
	fclose(stream);
	if (error) {
		free(text);
		return error;
	}
	text[size] = '\0';
	*result = text;
	*result_size = size;
	return NULL;
}

struct pesa_error *pesa_read_file(const char *path, char **text, size_t *size)
{
	FILE *stream = fopen(path, "re");

	if (!stream)
		return pesa_error_system(errno, "%s", path);
	return read_stream(stream, path, SIZE_MAX, text, size);
}

static struct pesa_error *check(int file, const char *path, bool own)
{
	struct stat status;

	if (fstat(file, &status))
		return pesa_error_system(errno, "%s", path);
	if (own && status.st_uid && status.st_uid != geteuid())
		return pesa_error_create(PESA_ERROR_UNSUPPORTED,
					 "%s: belongs to user %u, neither to root nor to who reads "
					 "it (chown it if you trust it)",
					 path, status.st_uid);
	return status.st_size > PESA_READ_MOST ? too_large(path, PESA_READ_MOST) : NULL;
}

struct pesa_error *pesa_read_foreign_file(const char *path, bool own, char **text, size_t *size)
{
	int file = pesa_regular_file_open(path, own ? O_NOFOLLOW : 0);
	struct pesa_error *error;
	FILE *stream;

	if (file < 0)
		return pesa_regular_file_failed(path);
	error = check(file, path, own);
	stream = error ? NULL : fdopen(file, "r");
	if (stream)
		return read_stream(stream, path, PESA_READ_MOST, text, size);
	if (!error)
		error = pesa_error_system(errno, "%s", path);
	close(file);
	return error;
}
