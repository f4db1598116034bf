// SPDX-License-Identifier: GPL-2.0-or-later
/* Text of SQL statements.  See schema.h. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/fleet/schema.h"

void sql_add(struct perfdata_buffer *sql, const char *format, ...)
{
	va_list arguments;
	char *text;
	int size;

	va_start(arguments, format);
	size = vasprintf(&text, format, arguments);
	va_end(arguments);
	if (size < 0) {
		sql->failed = true;
		return;
	}
	perfdata_buffer_append(sql, text, (size_t)size);
	free(text);
}

static bool is_plain(char character)
{
	return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z') ||
	       (character >= '0' && character <= '9') || character == '_';
}

/* All but letters and digits as numbers: no character has a meaning. */
void sql_quote(struct perfdata_buffer *sql, const char *text)
{
	perfdata_buffer_append(sql, "'", 1);
	for (; *text; text++)
		if (is_plain(*text))
			perfdata_buffer_append(sql, text, 1);
		else
			sql_add(sql, "\\x%02X", (unsigned char)*text);
	perfdata_buffer_append(sql, "'", 1);
}

bool sql_is_name(const char *name)
{
	size_t length = strlen(name);

	if (!length || length > 64 || (*name >= '0' && *name <= '9'))
		return false;
	while (*name)
		if (!is_plain(*name++))
			return false;
	return true;
}
