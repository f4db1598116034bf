// SPDX-License-Identifier: GPL-2.0-or-later
/* Names of output files: see output_name.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "tools/ui/output_name.h"

static struct pesa_error *put_host(FILE *out)
{
	struct utsname names;

	if (uname(&names))
		return pesa_error_system(errno, "cannot read the name of this host");
	fprintf(out, "%.*s", (int)strcspn(names.nodename, "./"), names.nodename);
	return NULL;
}

/* Parse "{NAME}"; *end is set after it. */
static struct pesa_error *put_variable(const char *pattern, const char *at, const char **end,
				       FILE *out)
{
	size_t length = *at == '{' ? strcspn(at, "}") : 0;
	struct pesa_error *error = NULL;
	const char *value;
	char *name;

	if (length < 2 || at[length] != '}')
		return pesa_error_create(PESA_ERROR_ARGUMENT,
					 "%s: %%q is followed by a variable in braces: %%q{NAME}",
					 pattern);
	*end = at + length + 1;
	name = strndup(at + 1, length - 1);
	if (!name)
		return pesa_error_no_memory();
	value = getenv(name);
	if (!value || !*value)
		error = pesa_error_create(PESA_ERROR_NOT_FOUND,
					  "%s: the environment variable %s is not set", pattern,
					  name);
	else if (strchr(value, '/') || !strcmp(value, ".") || !strcmp(value, ".."))
		error = pesa_error_create(PESA_ERROR_ARGUMENT,
					  "%s: %s is '%s', which cannot be part of a file name",
					  pattern, name, value);
	else
		fputs(value, out);
	free(name);
	return error;
}

static struct pesa_error *put(const char *pattern, FILE *out)
{
	struct pesa_error *error = NULL;
	const char *at = pattern;

	while (!error && *at) {
		if (*at != '%') {
			fputc(*at++, out);
			continue;
		}
		at += 2;
		switch (at[-1]) {
		case '%':
			fputc('%', out);
			break;
		case 'p':
			fprintf(out, "%ld", (long)getpid());
			break;
		case 'h':
			error = put_host(out);
			break;
		case 'q':
			error = put_variable(pattern, at, &at, out);
			break;
		default:
			return pesa_error_create(PESA_ERROR_ARGUMENT,
						 "%s: %% is followed by p (process), h (host), "
						 "q{VARIABLE} or another %%",
						 pattern);
		}
	}
	return error;
}

struct pesa_error *output_name(const char *pattern, char **name)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	struct pesa_error *error;

	if (!out)
		return pesa_error_no_memory();
	error = put(pattern, out);
	if (fclose(out) && !error)
		error = pesa_error_no_memory();
	if (error)
		free(text);
	else
		*name = text;
	return error;
}
