// SPDX-License-Identifier: GPL-2.0-or-later
/* Maps from processors to event files: see file.h. */
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/events/file.h"

#define PATTERN_MAX 256u
#define COLUMNS	    4u

static void complain(struct pesa_event_map *map, const char *path, unsigned int line,
		     const char *what)
{
	map->bad++;
	if (!map->problem && asprintf(&map->problem, "%s:%u: %s", path, line, what) < 0)
		map->problem = NULL;
}

/* Bounded repetitions and back references can take unlimited time and memory; ids need neither. */
static bool compile(const char *pattern, regex_t *expression)
{
	char whole[PATTERN_MAX + 8];

	if (strlen(pattern) > PATTERN_MAX || strpbrk(pattern, "{(\\"))
		return false;
	/* Nested repetitions double time and memory with each level. */
	for (const char *at = pattern; *at; at++)
		if (strchr("*+?", at[0]) && at[1] && strchr("*+?", at[1]))
			return false;
	snprintf(whole, sizeof(whole), "^(%s)$", pattern);
	return !regcomp(expression, whole, REG_EXTENDED | REG_NOSUB | REG_ICASE);
}

static bool is_pattern(const char *text)
{
	regex_t expression;

	if (!compile(text, &expression))
		return false;
	regfree(&expression);
	return true;
}

/* The path must stay below the directory of the map. */
static bool is_directory(const char *text)
{
	return *text && *text != '/' && strcmp(text, "..") && strncmp(text, "../", 3) &&
	       !strstr(text, "/../") && strlen(text) < 512;
}

static struct pesa_error *add_row(struct pesa_event_map *map, char *const *columns)
{
	struct pesa_event_map_row row = {.pattern = strdup(columns[0]),
					 .directory = strdup(columns[2]),
					 .type = strdup(columns[3])};
	struct pesa_event_map_row *grown =
		realloc(map->rows, (map->count + 1) * sizeof(*map->rows));

	if (grown)
		map->rows = grown;
	if (!grown || !row.pattern || !row.directory || !row.type) {
		free(row.pattern);
		free(row.directory);
		free(row.type);
		return pesa_error_no_memory();
	}
	grown[map->count++] = row;
	return NULL;
}

static struct pesa_error *parse_line(struct pesa_event_map *map, const char *path,
				     unsigned int number, char *line)
{
	char *columns[COLUMNS] = {NULL}, *rest = line;
	size_t count = 0;

	line[strcspn(line, "\r")] = '\0';
	if (!*line || *line == '#')
		return NULL;
	while (count < COLUMNS && rest)
		columns[count++] = strsep(&rest, ",");
	if (count < COLUMNS || rest)
		complain(map, path, number, "should be ID,VERSION,DIRECTORY,TYPE");
	else if (!*columns[0] || !is_pattern(columns[0]))
		complain(map, path, number, "the id is no pattern that is understood");
	else if (!is_directory(columns[2]))
		complain(map, path, number, "the directory is none below that of the map");
	else
		return add_row(map, columns);
	return NULL;
}

struct pesa_error *pesa_event_map_parse(const char *path, const char *text, size_t size,
					struct pesa_event_map *map)
{
	struct pesa_event_map parsed = {0};
	char *copy = strndup(text, size), *rest = copy, *line;
	struct pesa_error *error = copy ? NULL : pesa_error_no_memory();

	for (unsigned int number = 1; !error && (line = strsep(&rest, "\n")); number++)
		error = parse_line(&parsed, path, number, line);
	free(copy);
	if (error)
		pesa_event_map_free(&parsed);
	else
		*map = parsed;
	return error;
}

const struct pesa_event_map_row *pesa_event_map_find(const struct pesa_event_map *map,
						     const char *id)
{
	for (size_t i = 0; i < map->count; i++) {
		regex_t expression;
		bool matches;

		if (strcmp(map->rows[i].type, "core") ||
		    !compile(map->rows[i].pattern, &expression))
			continue;
		matches = !regexec(&expression, id, 0, NULL, 0);
		regfree(&expression);
		if (matches)
			return &map->rows[i];
	}
	return NULL;
}

void pesa_event_map_free(struct pesa_event_map *map)
{
	for (size_t i = 0; i < map->count; i++) {
		free(map->rows[i].pattern);
		free(map->rows[i].directory);
		free(map->rows[i].type);
	}
	free(map->rows);
	free(map->problem);
	*map = (struct pesa_event_map){0};
}
