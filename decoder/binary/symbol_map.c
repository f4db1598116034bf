/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/base/read_file.h"
#include "decoder/binary/symbol_map.h"

/* Longest accepted line, in bytes: template names are long, but not that long. */
#define LINE_MAX_BYTES 65536

/* Parse start, size, name; false if the (terminated) line is malformed. */
static bool parse_line(char *line, struct pesa_symbol_candidate *symbol)
{
	char *end, *name;

	errno = 0;
	symbol->start = strtoull(line, &end, 16);
	if (end == line || *end != ' ' || errno)
		return false;
	line = end + 1;
	symbol->size = strtoull(line, &end, 16);
	if (end == line || *end != ' ' || errno)
		return false;
	name = end + 1;
	if (!*name || symbol->start + symbol->size < symbol->start)
		return false;
	symbol->name = name;
	symbol->binding = PESA_SYMBOL_GLOBAL;
	symbol->latest_wins = true;
	return true;
}

struct pesa_error *pesa_symbol_map_parse(const char *text, size_t size,
					 struct pesa_symbol_table *table, size_t *ignored)
{
	struct pesa_error *error = NULL;
	const char *end = text + size;

	*ignored = 0;
	while (text < end && !error) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		size_t length = (size_t)((newline ? newline : end) - text);
		struct pesa_symbol_candidate symbol = {0};
		char *line;

		if (length && length <= LINE_MAX_BYTES) {
			line = strndup(text, length);
			if (!line)
				return pesa_error_no_memory();
			if (parse_line(line, &symbol))
				error = pesa_symbol_table_add(table, &symbol);
			else
				(*ignored)++;
			free(line);
		} else if (length) {
			(*ignored)++;
		}
		text += length + 1;
	}
	return error;
}

struct pesa_error *pesa_symbol_map_load(const char *path, struct pesa_symbol_table *table)
{
	struct pesa_error *error;
	size_t size, ignored;
	char *text;

	error = pesa_read_foreign_file(path, true, &text, &size);
	if (error)
		return error;
	error = pesa_symbol_map_parse(text, size, table, &ignored);
	if (!error && ignored)
		error = pesa_error_create(PESA_ERROR_FORMAT, "%s: %zu line%s not 'START SIZE NAME'",
					  path, ignored, ignored == 1 ? " is" : "s are");
	free(text);
	return error;
}
