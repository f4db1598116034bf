/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Paths through a program from a file, see path.h. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/mca/path.h"

static bool add_line(struct mca_path *path, uint64_t address, unsigned int line)
{
	unsigned int count = path->count;

	if (!(count & (count - 1))) {
		size_t size = count ? 2 * (size_t)count : 1;
		void *successors = realloc(path->successor, size * sizeof(*path->successor));
		void *lines;

		if (!successors)
			return false;
		path->successor = successors;
		lines = realloc(path->line, size * sizeof(*path->line));
		if (!lines)
			return false;
		path->line = lines;
	}
	path->successor[count] = address;
	path->line[count] = line;
	path->count++;
	return true;
}

/* Parse one line; *found: it has an address.  False: it is not valid. */
static bool parse_line(char *line, uint64_t *address, bool *found)
{
	char *end;

	line[strcspn(line, "#")] = '\0';
	line += strspn(line, " \t\r\n");
	*found = *line;
	if (!*found)
		return true;
	if (!isxdigit((unsigned char)*line))
		return false;
	errno = 0;
	*address = strtoull(line, &end, 16);
	return !errno && !end[strspn(end, " \t\r\n")];
}

struct pesa_error *mca_path_parse(FILE *stream, const char *file, struct mca_path *path)
{
	struct pesa_error *error = NULL;
	bool entry = false, found;
	unsigned int number = 0;
	char *line = NULL;
	size_t size = 0;

	while (!error && getline(&line, &size, stream) >= 0) {
		uint64_t address;

		number++;
		if (!parse_line(line, &address, &found)) {
			line[strcspn(line, "\r\n")] = '\0';
			error = pesa_error_create(
				PESA_ERROR_FORMAT,
				"%s:%u: expected a hexadecimal address, found '%.40s'", file,
				number, line);
		} else if (found && !entry) {
			path->entry = address;
			entry = true;
		} else if (found && path->count >= MCA_PATH_MAX) {
			error = pesa_error_create(PESA_ERROR_FORMAT,
						  "%s:%u: more than %d branches; cut the trace",
						  file, number, MCA_PATH_MAX);
		} else if (found && !add_line(path, address, number)) {
			error = pesa_error_no_memory();
		}
	}
	if (!error && ferror(stream))
		error = pesa_error_system(errno, "%s: cannot read", file);
	if (!error && !entry)
		error = pesa_error_create(PESA_ERROR_FORMAT, "%s: there is no address in it", file);
	free(line);
	return error;
}

struct pesa_error *mca_path_read(const char *file, struct mca_path *path)
{
	FILE *stream = fopen(file, "re");
	struct pesa_error *error;

	if (!stream)
		return pesa_error_system(errno, "%s: cannot open the branch trace", file);
	error = mca_path_parse(stream, file, path);
	fclose(stream);
	return error;
}

void mca_path_free(struct mca_path *path)
{
	free(path->successor);
	free(path->line);
	memset(path, 0, sizeof(*path));
}
