// SPDX-License-Identifier: GPL-2.0-or-later
/* What pesa stat counts, and where its text goes. */
#include <errno.h>
#include <stdbool.h>
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

char *stat_events(const struct stat_arguments *arguments, const char *defaults,
		  const char *const details[STAT_DETAILS])
{
	char *events = strdup(arguments->events ? arguments->events : defaults);

	for (unsigned int i = 0; i < arguments->detailed && i < STAT_DETAILS && events; i++) {
		char *longer;

		if (asprintf(&longer, "%s,%s", events, details[i]) < 0)
			longer = NULL;
		free(events);
		events = longer;
	}
	return events;
}

struct pesa_error *stat_open(const struct stat_arguments *arguments, FILE **out)
{
	FILE *opened = arguments->output ? safe_output_file(arguments->output) : stderr;

	if (!opened)
		return pesa_error_system(errno, "cannot write %s", arguments->output);
	*out = opened;
	return NULL;
}

struct pesa_error *stat_close(const struct stat_arguments *arguments, FILE *out)
{
	bool written = !ferror(out);

	if (out == stderr ? fflush(out) : fclose(out))
		written = false;
	return written ? NULL
		       : pesa_error_system(errno, "cannot write %s",
					   arguments->output ? arguments->output
							     : "standard error");
}
