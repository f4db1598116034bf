/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text of the processor model of a comparison, as lines and words. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/compare/model_text.h"

bool model_begins(const char *word, size_t length, const char *prefix)
{
	return length >= strlen(prefix) && !strncmp(word, prefix, strlen(prefix));
}

bool model_is_word(const char *word, size_t length, const char *other)
{
	return length == strlen(other) && !strncmp(word, other, length);
}

void model_lines_free(struct model_lines *lines)
{
	free(lines->text);
	free(lines->line);
}

struct pesa_error *model_lines_split(char *text, size_t size, struct model_lines *lines)
{
	*lines = (struct model_lines){.text = text, .line = calloc(size + 1, sizeof(*lines->line))};
	if (!lines->line)
		return pesa_error_no_memory();
	for (char *rest = text, *end = text + size; rest < end;) {
		char *next = memchr(rest, '\n', (size_t)(end - rest));

		if (next)
			*next = '\0';
		lines->line[lines->count++] = rest;
		rest = next ? next + 1 : end;
	}
	return NULL;
}

bool model_is_line(const char *line, const char *kind, const char *name)
{
	const char *rest = line + strcspn(line, " ");

	if (!model_is_word(line, (size_t)(rest - line), kind))
		return false;
	rest += strspn(rest, " ");
	return !name || model_is_word(rest, strcspn(rest, " "), name);
}

bool model_is_below_class(const char *line)
{
	return *line == '\t' || *line == ' ' || *line == '#' || model_is_line(line, "write", NULL);
}

static struct pesa_error *read_file(const char *path, char **text, size_t *size)
{
	FILE *file = fopen(path, "re");
	size_t room = 0;

	*text = NULL;
	*size = 0;
	if (!file)
		return pesa_error_system(errno, "%s: cannot open the processor model", path);
	do {
		if (*size == room) {
			char *larger = realloc(*text, room = 2 * room + 65536);

			if (!larger) {
				free(*text);
				fclose(file);
				return pesa_error_no_memory();
			}
			*text = larger;
		}
		*size += fread(*text + *size, 1, room - *size, file);
	} while (!feof(file) && !ferror(file));
	fclose(file);
	return NULL;
}

struct pesa_error *model_text_get(const struct comparison *comparison, char **text, size_t *size)
{
	const char *builtin;

	if (comparison->model_path)
		return read_file(comparison->model_path, text, size);
	builtin = pesa_mca_builtin_text(comparison->processor->name, size);
	*text = malloc(*size + 1);
	if (!*text)
		return pesa_error_no_memory();
	memcpy(*text, builtin, *size);
	return NULL;
}

const char *model_line_word(const char *line, const char *key, size_t *length)
{
	size_t prefix = strlen(key);

	while (*line) {
		*length = strcspn(line, " ");
		if (*length > prefix && line[prefix] == '=' && !strncmp(line, key, prefix)) {
			*length -= prefix + 1;
			return line + prefix + 1;
		}
		line += *length;
		line += strspn(line, " ");
	}
	return NULL;
}

const char *model_class_of(const struct model_lines *lines, const char *write,
			   const char **write_line)
{
	const char *class = NULL;

	for (size_t i = 0; i < lines->count; i++) {
		if (model_is_line(lines->line[i], "class", NULL))
			class = lines->line[i];
		if (!model_is_line(lines->line[i], "write", write))
			continue;
		if (write_line)
			*write_line = lines->line[i];
		return class;
	}
	return NULL;
}

const char *model_find_line(const struct model_lines *lines, const char *kind, const char *name)
{
	for (size_t i = 0; i < lines->count; i++)
		if (model_is_line(lines->line[i], kind, name))
			return lines->line[i];
	return NULL;
}
