// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/record/target_options.h"
#include "tools/ui/profile_options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void option_add_numbers(const struct argp_state *state, const char *option, const char *text,
			pid_t **numbers, size_t *count)
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
			profile_bad_value(state, option, text, "numbers, separated by commas");
		grown = realloc(*numbers, (*count + 1) * sizeof(*grown));
		if (!grown)
			profile_parse_failed(state, 1, pesa_error_no_memory());
		*numbers = grown;
		grown[(*count)++] = (pid_t)number;
		if (!*end)
			return;
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
