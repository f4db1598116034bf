// SPDX-License-Identifier: GPL-2.0-or-later
/* Where the text of pesa stat goes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/stat/arguments.h"
#include "tools/ui/safe_output.h"

char *stat_join(char *const *words)
{
	size_t size = 1;
	char *joined;

	for (size_t i = 0; words[i]; i++)
		size += strlen(words[i]) + 1;
	joined = calloc(1, size);
	for (size_t i = 0; joined && words[i]; i++) {
		strcat(joined, i ? " " : "");
		strcat(joined, words[i]);
	}
	return joined;
}

static void cannot_write(const char *path)
{
	safe_output_message("pesa stat: cannot write %s: %s", path, strerror(errno));
}

FILE *stat_open(const struct stat_arguments *arguments)
{
	FILE *out = arguments->output ? safe_output_file(arguments->output) : stderr;

	if (!out)
		cannot_write(arguments->output);
	return out;
}

int stat_close(const struct stat_arguments *arguments, FILE *out)
{
	bool written = !ferror(out);

	if (out == stderr ? fflush(out) : fclose(out))
		written = false;
	if (!written && arguments->output)
		cannot_write(arguments->output);
	return written ? 0 : 1;
}
