// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/record/target_options.h"
#include "tools/ui/safe_output.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int option_bad_value(const char *command, const char *option, const char *text, const char *allowed)
{
	safe_output_message("pesa %s: '%s' is no value for %s; allowed: %s", command, text, option,
			    allowed);
	return 2;
}

int option_add_numbers(const char *command, const char *option, const char *text, pid_t **numbers,
		       size_t *count)
{
	const char *at = text;

	for (;;) {
		pid_t *grown;
		char *end;
		long number;

		errno = 0;
		number = strtol(at, &end, 10);
		if (errno || *at < '0' || *at > '9' || number <= 0 || number > INT32_MAX ||
		    (*end && *end != ','))
			return option_bad_value(command, option, text,
						"numbers, separated by commas");
		grown = realloc(*numbers, (*count + 1) * sizeof(*grown));
		if (!grown) {
			safe_output_message("pesa %s: out of memory", command);
			return 1;
		}
		*numbers = grown;
		grown[(*count)++] = (pid_t)number;
		if (!*end)
			return 0;
		at = end + 1;
	}
}

struct suffix {
	const char *text; /* NULL ends the table */
	double factor;
};

static bool read_scaled(const char *text, const struct suffix *suffixes, double plain,
			double *value)
{
	char *end;
	double number;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	number = strtod(text, &end);
	if (errno || !(number > 0) || number > 1e15)
		return false;
	if (!*end) {
		*value = number * plain;
		return plain > 0;
	}
	for (; suffixes->text; suffixes++)
		if (!strcmp(end, suffixes->text)) {
			*value = number * suffixes->factor;
			return true;
		}
	return false;
}

bool option_read_bytes(const char *text, double plain, double *bytes)
{
	static const struct suffix suffixes[] = {
		{"B", 1}, {"K", 1 << 10}, {"M", 1 << 20}, {"G", 1 << 30}, {NULL, 0}};

	return read_scaled(text, suffixes, plain, bytes);
}

bool option_read_time(const char *text, double plain, double *nanoseconds)
{
	static const struct suffix suffixes[] = {{"ms", 1e6},	{"s", 1e9},	{"m", 60e9},
						 {"h", 3600e9}, {"d", 86400e9}, {NULL, 0}};

	return read_scaled(text, suffixes, plain, nanoseconds);
}
