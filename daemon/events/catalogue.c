// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/events/catalogue.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "decoder/base/read_file.h"

#define DEFAULT_PMU "cpu"

/* ---- The processor ------------------------------------------------------------------------- */

/* The value of "KEY : VALUE" on the first line that has the key. */
static bool read_key(const char *information, const char *key, char *value, size_t size)
{
	size_t length = strlen(key);

	for (const char *line = information; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, length) || !strchr("\t :", line[length]))
			continue;
		line += strcspn(line, ":\n");
		if (*line != ':')
			continue;
		line += 1 + strspn(line + 1, " \t");
		snprintf(value, size, "%.*s", (int)strcspn(line, " \t\r\n"), line);
		return *value;
	}
	return false;
}

bool pesa_cpu_id(const char *root, char id[PESA_CPU_ID_MAX])
{
	char vendor[24], architecture[24], implementation[24], path[PATH_MAX];
	struct pesa_error *error;
	char *information;
	size_t size;
	bool found;

	snprintf(path, sizeof(path), "%s/proc/cpuinfo", root);
	error = pesa_read_file(path, &information, &size);
	if (error) {
		pesa_error_free(error);
		return false;
	}
	found = read_key(information, "mvendorid", vendor, sizeof(vendor)) &&
		read_key(information, "marchid", architecture, sizeof(architecture)) &&
		read_key(information, "mimpid", implementation, sizeof(implementation));
	free(information);
	if (found)
		snprintf(id, PESA_CPU_ID_MAX, "%s-%s-%s", vendor, architecture, implementation);
	return found;
}

/* ---- Files --------------------------------------------------------------------------------- */

static void note_problem(struct pesa_event_catalogue *catalogue, size_t bad, char **problem)
{
	catalogue->bad += bad;
	if (catalogue->problem)
		return;
	catalogue->problem = *problem;
	*problem = NULL;
}

/* Append the events of a file to `all`. */
static struct pesa_error *read_events(struct pesa_event_catalogue *catalogue, const char *path,
				      struct pesa_event_file *all)
{
	struct pesa_event_definition *grown;
	struct pesa_metric_definition *metrics;
	struct pesa_event_file file;
	struct pesa_error *error;
	size_t size;
	char *text;

	error = pesa_read_file(path, &text, &size);
	if (error)
		return error;
	error = pesa_event_file_parse(path, text, size, &file);
	free(text);
	if (error)
		return error;
	note_problem(catalogue, file.bad, &file.problem);
	grown = realloc(all->definitions,
			(all->count + file.count + 1) * sizeof(*all->definitions));
	if (!grown) {
		pesa_event_file_free(&file);
		return pesa_error_no_memory();
	}
	all->definitions = grown;
	for (size_t i = 0; i < file.count; i++)
		grown[all->count++] = file.definitions[i];
	metrics = realloc(all->metrics,
			  (all->metric_count + file.metric_count + 1) * sizeof(*all->metrics));
	if (!metrics) {
		file.count = 0;
		pesa_event_file_free(&file);
		return pesa_error_no_memory();
	}
	all->metrics = metrics;
	for (size_t i = 0; i < file.metric_count; i++)
		metrics[all->metric_count++] = file.metrics[i];
	file.metric_count = 0;
	file.count = 0;
	pesa_event_file_free(&file);
	return NULL;
}

static int is_event_file(const struct dirent *entry)
{
	const char *dot = strrchr(entry->d_name, '.');

	return entry->d_name[0] != '.' && dot && !strcmp(dot, ".json");
}

static struct pesa_error *read_directory(struct pesa_event_catalogue *catalogue,
					 const char *directory, struct pesa_event_file *all)
{
	struct dirent **entries;
	struct pesa_error *error = NULL;
	int count = scandir(directory, &entries, is_event_file, alphasort);

	if (count < 0)
		return pesa_error_system(errno, "cannot read the event files in %s", directory);
	for (int i = 0; i < count; i++) {
		char path[PATH_MAX];

		if (!error && (size_t)snprintf(path, sizeof(path), "%s/%s", directory,
					       entries[i]->d_name) < sizeof(path))
			error = read_events(catalogue, path, all);
		free(entries[i]);
	}
	free(entries);
	return error;
}

/* ---- Standard events ----------------------------------------------------------------------- */

static const struct pesa_event_definition *find_standard(const struct pesa_event_file *file,
							 const char *name)
{
	for (size_t i = 0; i < file->count; i++) {
		const struct pesa_event_definition *definition = &file->definitions[i];

		if (definition->name && definition->terms && !strcasecmp(definition->name, name))
			return definition;
	}
	return NULL;
}

static bool copy_missing(char **text, const char *standard)
{
	if (!*text && standard)
		*text = strdup(standard);
	return *text || !standard;
}

/* Copy the members that an event lacks from the standard event that it names. */
static bool complete(struct pesa_event_definition *definition,
		     const struct pesa_event_definition *standard)
{
	if (definition->scale <= 0) {
		definition->scale = standard->scale;
		memcpy(definition->unit, standard->unit, sizeof(definition->unit));
	}
	if (!definition->period)
		definition->period = standard->period;
	return copy_missing(&definition->name, standard->name) &&
	       copy_missing(&definition->description, standard->description) &&
	       copy_missing(&definition->pmu, standard->pmu) &&
	       copy_missing(&definition->terms, standard->terms);
}

static struct pesa_error *complete_all(struct pesa_event_catalogue *catalogue)
{
	struct pesa_event_file *events = &catalogue->events;
	size_t kept = 0;

	for (size_t i = 0; i < events->count; i++) {
		struct pesa_event_definition *definition = &events->definitions[i];
		const struct pesa_event_definition *standard = NULL;
		char *problem = NULL;

		if (definition->standard) {
			standard = find_standard(&catalogue->standard, definition->standard);
			if (!standard)
				standard = find_standard(events, definition->standard);
			if (standard && !complete(definition, standard))
				return pesa_error_no_memory();
		}
		if (definition->name && definition->terms) {
			struct pesa_event_definition whole = *definition;

			*definition = events->definitions[kept];
			events->definitions[kept++] = whole;
			continue;
		}
		if (asprintf(&problem, "%s: there is no standard event %s for ArchStdEvent",
			     catalogue->directory, definition->standard) < 0)
			problem = NULL;
		note_problem(catalogue, 1, &problem);
		free(problem);
	}
	while (events->count > kept) {
		struct pesa_event_file rest = {.definitions = calloc(1, sizeof(*rest.definitions)),
					       .count = 1};

		if (!rest.definitions)
			return pesa_error_no_memory();
		rest.definitions[0] = events->definitions[--events->count];
		pesa_event_file_free(&rest);
	}
	return NULL;
}

static int compare_names(const void *left, const void *right)
{
	const struct pesa_event_definition *a = left, *b = right;

	return strcasecmp(a->name, b->name);
}

/* ---- The catalogue ------------------------------------------------------------------------- */

/* *selected: the caller frees it; NULL: the map has no row for the id. */
static struct pesa_error *select_directory(struct pesa_event_catalogue *catalogue,
					   const char *directory, const char *map_path,
					   const char *id, char **selected)
{
	const struct pesa_event_map_row *row;
	struct pesa_event_map map;
	struct pesa_error *error;
	size_t size;
	char *text;

	*selected = NULL;
	if (!id)
		return pesa_error_create(PESA_ERROR_ARGUMENT,
					 "%s is by processor, and this machine's has no id: say "
					 "which with --cpu-id MVENDORID-MARCHID-MIMPID",
					 directory);
	error = pesa_read_file(map_path, &text, &size);
	if (error)
		return error;
	error = pesa_event_map_parse(map_path, text, size, &map);
	free(text);
	if (error)
		return error;
	note_problem(catalogue, map.bad, &map.problem);
	row = pesa_event_map_find(&map, id);
	if (row && asprintf(selected, "%s/%s", directory, row->directory) < 0) {
		*selected = NULL;
		error = pesa_error_no_memory();
	}
	pesa_event_map_free(&map);
	return error;
}

static struct pesa_error *load(struct pesa_event_catalogue *catalogue, const char *directory,
			       const char *id)
{
	char map[PATH_MAX];
	struct pesa_error *error;

	if ((size_t)snprintf(map, sizeof(map), "%s/mapfile.csv", directory) >= sizeof(map))
		return pesa_error_create(PESA_ERROR_ARGUMENT, "%.64s...: too long a name",
					 directory);
	if (access(map, F_OK)) {
		catalogue->directory = strdup(directory);
		if (!catalogue->directory)
			return pesa_error_no_memory();
	} else {
		error = select_directory(catalogue, directory, map, id, &catalogue->directory);
		if (error || !catalogue->directory)
			return error;
		error = read_directory(catalogue, directory, &catalogue->standard);
		if (error)
			return error;
	}
	error = read_directory(catalogue, catalogue->directory, &catalogue->events);
	if (!error)
		error = complete_all(catalogue);
	if (!error && catalogue->events.count)
		qsort(catalogue->events.definitions, catalogue->events.count,
		      sizeof(*catalogue->events.definitions), compare_names);
	return error;
}

struct pesa_error *pesa_event_catalogue_load(const char *directory, const char *id,
					     struct pesa_event_catalogue *catalogue)
{
	struct pesa_event_catalogue loaded = {0};
	struct pesa_error *error = load(&loaded, directory, id);

	if (error)
		pesa_event_catalogue_free(&loaded);
	else
		*catalogue = loaded;
	return error;
}

void pesa_event_catalogue_free(struct pesa_event_catalogue *catalogue)
{
	pesa_event_file_free(&catalogue->events);
	pesa_event_file_free(&catalogue->standard);
	free(catalogue->directory);
	free(catalogue->problem);
	*catalogue = (struct pesa_event_catalogue){0};
}

const struct pesa_event_definition *
pesa_event_catalogue_find(const struct pesa_event_catalogue *catalogue, const char *name)
{
	const struct pesa_event_definition key = {.name = (char *)name};

	return catalogue->events.count
		       ? bsearch(&key, catalogue->events.definitions, catalogue->events.count,
				 sizeof(key), compare_names)
		       : NULL;
}

const struct pesa_event_definition *
pesa_event_catalogue_leader(const struct pesa_event_catalogue *catalogue,
			    enum pesa_event_cycles cycles)
{
	for (size_t i = 0; i < catalogue->events.count; i++)
		if (catalogue->events.definitions[i].cycles == cycles)
			return &catalogue->events.definitions[i];
	return NULL;
}

/* A Unit is in capitals, the PMU's name in sysfs is not. */
static void name_pmu(const struct pesa_event_definition *definition, char *name, size_t size)
{
	snprintf(name, size, "%s", definition->pmu ? definition->pmu : DEFAULT_PMU);
	for (; *name; name++)
		*name = (char)tolower((unsigned char)*name);
}

struct pesa_error *pesa_event_catalogue_resolve(const struct pesa_event_definition *definition,
						const char *devices, struct pesa_event_name *event)
{
	struct pesa_pmu_event found;
	struct pesa_error *error;
	struct pesa_pmu pmu;
	char name[128];

	name_pmu(definition, name, sizeof(name));
	error = pesa_pmu_open(devices, name, &pmu);
	if (!error)
		error = pesa_pmu_terms(&pmu, definition->terms, &found);
	if (error)
		return pesa_error_prefix(error, "event %s of the event files: ", definition->name);
	event->attr.type = found.attr.type;
	event->attr.config = found.attr.config;
	event->attr.config1 = found.attr.config1;
	event->attr.config2 = found.attr.config2;
	event->pmu = pmu;
	event->max_precise = pmu.max_precise;
	event->period = definition->period ? definition->period : found.period;
	event->scale = definition->scale > 0 ? definition->scale : 1;
	memcpy(event->unit, definition->unit, sizeof(event->unit));
	return NULL;
}

void pesa_event_catalogue_each(const struct pesa_event_catalogue *catalogue,
			       pesa_event_function function, void *context)
{
	for (size_t i = 0; i < catalogue->events.count; i++) {
		const struct pesa_event_definition *definition = &catalogue->events.definitions[i];
		char pmu[128], terms[512];

		if (definition->deprecated)
			continue;
		name_pmu(definition, pmu, sizeof(pmu));
		snprintf(terms, sizeof(terms), "%s/%s/", pmu, definition->terms);
		function(context, &(struct pesa_event_entry){.kind = PESA_EVENT_FILE,
							     .name = definition->name,
							     .description = definition->description,
							     .terms = terms});
	}
}
