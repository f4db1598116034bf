/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "decoder/read_file.h"

#define FIRST_ROOM 65536

struct pesa_error *pesa_read_file(const char *path, char **result, size_t *result_size)
{
	FILE *stream = fopen(path, "re");
	struct pesa_error *error = NULL;
	size_t size = 0, room = 0, got;
	char *text = NULL;

	if (!stream)
		return pesa_error_system(errno, "%s", path);
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
	} while (got);
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
