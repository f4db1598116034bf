/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/base/terminal_text.h"
#include "pesa/error.h"

static const struct pesa_error out_of_memory = {
	.code = PESA_ERROR_NO_MEMORY,
	.message = (char *)"out of memory",
};

struct pesa_error *pesa_error_no_memory(void)
{
	return (struct pesa_error *)&out_of_memory;
}

static struct pesa_error *create(enum pesa_error_code code, int system_error, char *message)
{
	char *safe = message ? terminal_text(message) : NULL;
	struct pesa_error *error = safe ? malloc(sizeof(*error)) : NULL;

	free(message);
	if (!error) {
		free(safe);
		return pesa_error_no_memory();
	}
	*error = (struct pesa_error){.code = code, .system_error = system_error, .message = safe};
	return error;
}

struct pesa_error *pesa_error_vcreate(enum pesa_error_code code, const char *format,
				      va_list arguments)
{
	char *message;

	if (vasprintf(&message, format, arguments) < 0)
		message = NULL;
	return create(code, 0, message);
}

struct pesa_error *pesa_error_create(enum pesa_error_code code, const char *format, ...)
{
	struct pesa_error *error;
	va_list arguments;

	va_start(arguments, format);
	error = pesa_error_vcreate(code, format, arguments);
	va_end(arguments);
	return error;
}

struct pesa_error *pesa_error_lines(struct pesa_error *first, const char *const *lines)
{
	for (; first != &out_of_memory && *lines; lines++) {
		char *safe = terminal_text(*lines), *whole;

		if (!safe || asprintf(&whole, "%s\n%s", first->message, safe) < 0)
			whole = NULL;
		free(safe);
		if (!whole)
			break;
		free(first->message);
		first->message = whole;
	}
	return first;
}

struct pesa_error *pesa_error_system(int system_error, const char *format, ...)
{
	char *message, *whole;
	va_list arguments;

	va_start(arguments, format);
	if (vasprintf(&message, format, arguments) < 0)
		message = NULL;
	va_end(arguments);
	if (!message)
		return pesa_error_no_memory();
	if (asprintf(&whole, "%s: %s", message, strerror(system_error)) < 0)
		whole = NULL;
	free(message);
	return create(PESA_ERROR_SYSTEM, system_error, whole);
}

struct pesa_error *pesa_error_prefix(struct pesa_error *error, const char *format, ...)
{
	char *prefix, *safe, *whole;
	va_list arguments;

	if (!error || error == &out_of_memory)
		return error;
	va_start(arguments, format);
	if (vasprintf(&prefix, format, arguments) < 0)
		prefix = NULL;
	va_end(arguments);
	if (!prefix)
		return error;
	safe = terminal_text(prefix);
	free(prefix);
	if (!safe)
		return error;
	if (asprintf(&whole, "%s%s", safe, error->message) >= 0) {
		free(error->message);
		error->message = whole;
	}
	free(safe);
	return error;
}

void pesa_error_free(struct pesa_error *error)
{
	if (!error || error == &out_of_memory)
		return;
	free(error->message);
	free(error);
}
