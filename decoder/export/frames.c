// SPDX-License-Identifier: GPL-2.0-or-later
/* The names of an export's places: see frames.h. */
#include <stdlib.h>
#include <string.h>

#include "decoder/export/frames.h"

#define INLINES_MAX 64

/* Make room for `count` more frame numbers. */
static struct pesa_error *reserve(struct export_frames *frames, size_t count)
{
	size_t room = frames->list_room ? frames->list_room * 2 : 1024;
	uint32_t *grown;

	if (frames->listed + count <= frames->list_room)
		return NULL;
	grown = realloc(frames->list, (room + count) * sizeof(*grown));
	if (!grown)
		return pesa_error_no_memory();
	frames->list = grown;
	frames->list_room = room + count;
	return NULL;
}

static struct pesa_error *add_frame(struct export_frames *frames, const char *name,
				    const char *linkage_name, const char *file,
				    unsigned int first_line, unsigned int line)
{
	struct export_function function = {
		.name = distinct_text_get(&frames->texts, name),
		.linkage_name =
			distinct_text_get(&frames->texts, linkage_name ? linkage_name : name),
		.file = distinct_text_get(&frames->texts, file ? file : ""),
		.line = first_line,
	};
	struct export_frame frame = {.line = line};
	uint32_t number;

	if (function.name == DISTINCT_NONE || function.linkage_name == DISTINCT_NONE ||
	    function.file == DISTINCT_NONE)
		return pesa_error_no_memory();
	frame.function = distinct_records_get(&frames->functions, &function);
	if (frame.function == DISTINCT_NONE)
		return pesa_error_no_memory();
	number = distinct_records_get(&frames->frames, &frame);
	if (number == DISTINCT_NONE)
		return pesa_error_no_memory();
	frames->list[frames->listed++] = number;
	return NULL;
}

/* Add the functions at an address of a binary. */
static struct pesa_error *add_frames(struct export_frames *frames, struct export_location *location)
{
	struct pesa_inline_frame inlined[INLINES_MAX];
	const struct pesa_symbol *symbol;
	unsigned int first_line = 0;
	const char *name, *file;
	struct pesa_error *error;
	size_t count;

	error = pesa_symbols_find(frames->symbols, location->dso, location->address, &symbol);
	if (!error)
		error = pesa_symbols_inlines(frames->symbols, location->dso, location->address,
					     inlined, INLINES_MAX, &count);
	if (!error)
		error = reserve(frames, INLINES_MAX);
	if (error)
		return error;
	location->first = (uint32_t)frames->listed;
	for (size_t i = 0; i + 1 < count; i++) {
		location->lines |= inlined[i].source.file != NULL;
		name = inlined[i].function ? inlined[i].function : "[inlined]";
		error = add_frame(frames, name, NULL, inlined[i].source.file, 0,
				  inlined[i].source.line);
		if (error)
			return error;
	}
	name = symbol ? symbol->name : count ? inlined[count - 1].function : NULL;
	if (name) {
		struct pesa_source source, begin;

		if (count)
			source = inlined[count - 1].source;
		else
			error = pesa_symbols_source(frames->symbols, location->dso,
						    location->address, &source);
		if (!error && symbol)
			error = pesa_symbols_source(frames->symbols, location->dso, symbol->start,
						    &begin);
		if (error)
			return error;
		file = source.file;
		if (symbol) {
			if (!file)
				file = begin.file;
			if (file && begin.file && !strcmp(file, begin.file))
				first_line = begin.line;
		}
		location->lines |= source.file != NULL;
		error = add_frame(frames, name, symbol ? symbol->linkage_name : NULL, file,
				  first_line, source.line);
		if (error)
			return error;
	}
	location->frames = (uint32_t)(frames->listed - location->first);
	return NULL;
}

static struct pesa_error *name_node(struct export_frames *frames, uint32_t number)
{
	const struct export_node *node = distinct_records_at(&frames->rows->nodes, number);
	struct export_location key = {.dso = DISTINCT_NONE, .address = node->address}, *location;
	uint32_t before = frames->locations.index.count;

	if (node->dso != DISTINCT_NONE)
		key.dso = frames->dso_of_number[node->dso];
	frames->location[number] = distinct_records_get(&frames->locations, &key);
	if (frames->location[number] == DISTINCT_NONE)
		return pesa_error_no_memory();
	location = distinct_records_at(&frames->locations, frames->location[number]);
	/* Without symbols a location has no frames, only its address. */
	if (frames->location[number] < before || location->dso == DISTINCT_NONE || !frames->symbols)
		return NULL;
	return add_frames(frames, location);
}

/* Number in the profile of each dso that nodes refer to. */
static struct pesa_error *number_dsos(struct export_frames *frames)
{
	uint32_t nodes = frames->rows->nodes.index.count;

	for (uint32_t i = 0; i < nodes; i++) {
		const struct export_node *node = distinct_records_at(&frames->rows->nodes, i);

		if (node->dso != DISTINCT_NONE && node->dso >= frames->numbers)
			frames->numbers = node->dso + 1;
	}
	frames->dso_of_number = malloc((frames->numbers + 1) * sizeof(*frames->dso_of_number));
	if (!frames->dso_of_number)
		return pesa_error_no_memory();
	for (uint32_t i = 0; i < frames->numbers; i++)
		frames->dso_of_number[i] = pesa_profile_dso_of_number(frames->profile, i);
	return NULL;
}

struct pesa_error *export_frames_make(struct export_frames *frames, const struct pesa_export *rows,
				      const struct pesa_profile *profile,
				      struct pesa_symbols *symbols)
{
	uint32_t nodes = rows->nodes.index.count;
	struct pesa_error *error;

	*frames = (struct export_frames){.profile = profile, .symbols = symbols, .rows = rows};
	distinct_records_begin(&frames->functions, sizeof(struct export_function),
			       sizeof(struct export_function));
	distinct_records_begin(&frames->frames, sizeof(struct export_frame),
			       sizeof(struct export_frame));
	distinct_records_begin(&frames->locations, sizeof(struct export_location),
			       offsetof(struct export_location, first));
	frames->location = malloc((nodes + 1) * sizeof(*frames->location));
	if (!frames->location || distinct_text_get(&frames->texts, "") == DISTINCT_NONE)
		return pesa_error_no_memory();
	error = number_dsos(frames);
	for (uint32_t i = 0; i < nodes && !error; i++)
		error = name_node(frames, i);
	return error;
}

void export_frames_free(struct export_frames *frames)
{
	distinct_bytes_free(&frames->texts);
	distinct_records_free(&frames->functions);
	distinct_records_free(&frames->frames);
	distinct_records_free(&frames->locations);
	free(frames->list);
	free(frames->dso_of_number);
	free(frames->location);
}

int export_location_name(const struct export_frames *frames, const struct export_location *location,
			 char *buffer, size_t size)
{
	const char *path, *slash;

	if (location->dso == DISTINCT_NONE)
		return snprintf(buffer, size, "[unattributed: %s]",
				pesa_unattributed_name((enum pesa_unattributed)location->address));
	path = pesa_profile_dso(frames->profile, location->dso)->path;
	slash = strrchr(path, '/');
	if (slash && slash[1])
		path = slash + 1;
	return snprintf(buffer, size, *path == '[' ? "%s" : "[%s]", path);
}
