// SPDX-License-Identifier: GPL-2.0-or-later
/* State maps: the meaning of a producer's stage names and labels.  See map.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/trace/map.h"
#include "decoder/base/read_file.h"

static const char *const standard_causes[] = {
	"icache-miss", "itlb-miss", "branch-mispredict", "dcache-miss", "dtlb-miss",
};

#define STANDARD_CAUSES (sizeof(standard_causes) / sizeof(standard_causes[0]))

enum key_kind { KEY_FORMAT, KEY_TEXT, KEY_NUMBER, KEY_OFFSET, KEY_STAGES };

static const struct key {
	const char *name;
	enum key_kind kind;
	size_t offset, size; /* offset and size of the field; for text, bytes */
	int64_t low, high;
} keys[] = {
#define AT(field) \
	offsetof(struct pesa_pipeline_map, field), sizeof(((struct pesa_pipeline_map *)0)->field)
	{"format", KEY_FORMAT, AT(format), 0, 0},
	{"name", KEY_TEXT, AT(name), 0, 0},
	{"summary", KEY_TEXT, AT(summary), 0, 0},
	{"recognise", KEY_TEXT, AT(recognise), 0, 0},
	{"core", KEY_TEXT, AT(core), 0, 0},
	{"pc.label", KEY_NUMBER, AT(pc_label), 0, 2},
	{"pc.base", KEY_NUMBER, AT(pc_base), 10, 16},
	{"pc.after", KEY_TEXT, AT(pc_after), 0, 0},
	{"dispatch", KEY_STAGES, AT(dispatch), 0, 0},
	{"complete", KEY_STAGES, AT(complete), 0, 0},
	{"complete.offset", KEY_OFFSET, AT(complete_offset), -100, 100},
	{"retire", KEY_STAGES, AT(retire), 0, 0},
	{"retire.offset", KEY_OFFSET, AT(retire_offset), -100, 100},
	{"rollback", KEY_STAGES, AT(rollback), 0, 0},
	{"fetch.depth", KEY_NUMBER, AT(front_depth), 0, 1000},
	{"micro-ops", KEY_NUMBER, AT(micro_ops), 0, 256},
	{"lane", KEY_NUMBER, AT(lane), 0, 1000},
	{"stall.lane", KEY_NUMBER, AT(stall_lane), 0, 1000},
	{"flush.until", KEY_TEXT, AT(until), 0, 0},
#undef AT
};

#define KEYS (sizeof(keys) / sizeof(keys[0]))

static const struct {
	const char *name;
	enum map_mark_what what;
} mark_keys[] = {
	{"exception", MAP_EXCEPTION},
	{"flush", MAP_FLUSH},
	{"serialise", MAP_SERIALISE},
};

static const struct {
	const char *word;
	enum map_mark_kind kind;
} mark_kinds[] = {{"label", MAP_LABEL}, {"stage", MAP_IN}, {"stall", MAP_STALL}};

/* ---- Lines ----------------------------------------------------------------------------------- */

struct line {
	const char *file;
	unsigned int number;
	char key[MAP_TEXT + 16], value[128];
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static struct pesa_error *refuse(const struct line *line, const char *allowed)
{
	return pesa_error_create(PESA_ERROR_FORMAT, "%s:%u: '%s' is no value for %s; allowed: %s",
				 line->file, line->number, line->value, line->key, allowed);
}

/* Copy without surrounding blanks; false: it does not fit. */
static bool copy_trimmed(char *to, size_t room, const char *from, const char *end)
{
	while (from < end && is_blank(*from))
		from++;
	while (end > from && is_blank(end[-1]))
		end--;
	if ((size_t)(end - from) >= room)
		return false;
	memcpy(to, from, (size_t)(end - from));
	to[end - from] = '\0';
	return true;
}

/* Quotes preserve blanks at the ends of a text. */
static void unquote(char *text)
{
	size_t length = strlen(text);

	if (length >= 2 && text[0] == '"' && text[length - 1] == '"') {
		memmove(text, text + 1, length - 2);
		text[length - 2] = '\0';
	}
}

static struct pesa_error *set_text(const struct line *line, char *to, size_t room)
{
	char text[sizeof(line->value)];

	memcpy(text, line->value, sizeof(text));
	unquote(text);
	if (strlen(text) >= room)
		return pesa_error_create(PESA_ERROR_FORMAT,
					 "%s:%u: the value of %s is longer than %zu bytes",
					 line->file, line->number, line->key, room - 1);
	memcpy(to, text, strlen(text) + 1);
	return NULL;
}

static struct pesa_error *set_number(const struct line *line, const struct key *key, int64_t *value)
{
	char allowed[64], *end;
	long long number;

	errno = 0;
	number = strtoll(line->value, &end, 10);
	if (errno || *end || end == line->value || number < key->low || number > key->high) {
		snprintf(allowed, sizeof(allowed), "%lld to %lld", (long long)key->low,
			 (long long)key->high);
		return refuse(line, allowed);
	}
	*value = number;
	return NULL;
}

static struct pesa_error *set_stages(const struct line *line, struct map_stages *stages)
{
	const char *at = line->value;

	stages->count = 0;
	while (*at) {
		size_t length = strcspn(at, " \t,");

		if (length >= MAP_STAGE || stages->count == MAP_STAGES)
			return refuse(line, "up to 8 names of stages of up to 15 bytes");
		if (length) {
			memcpy(stages->name[stages->count], at, length);
			stages->name[stages->count++][length] = '\0';
		}
		at += length + strspn(at + length, " \t,");
	}
	return stages->count ? NULL : refuse(line, "names of stages");
}

static struct pesa_error *set_key(struct pesa_pipeline_map *map, const struct line *line,
				  const struct key *key)
{
	char *field = (char *)map + key->offset;
	struct pesa_error *error = NULL;
	int64_t number;
	uint32_t small;

	switch (key->kind) {
	case KEY_FORMAT:
		if (!strcmp(line->value, "kanata"))
			map->format = PESA_PIPELINE_KANATA;
		else if (!strcmp(line->value, "o3pipeview"))
			map->format = PESA_PIPELINE_O3PIPEVIEW;
		else
			error = refuse(line, "kanata, o3pipeview");
		break;
	case KEY_TEXT:
		error = set_text(line, field, key->size);
		break;
	case KEY_NUMBER:
		error = set_number(line, key, &number);
		if (error)
			break;
		small = (uint32_t)number;
		memcpy(field, &small, sizeof(small));
		break;
	case KEY_OFFSET:
		error = set_number(line, key, &number);
		if (!error)
			memcpy(field, &number, sizeof(number));
		break;
	case KEY_STAGES:
		error = set_stages(line, (struct map_stages *)(void *)field);
		break;
	}
	return error;
}

/* "[front|empty] label|stage|stall TEXT" */
static struct pesa_error *add_mark(struct pesa_pipeline_map *map, const struct line *line,
				   enum map_mark_what what, const char *cause)
{
	static const char allowed[] = "[front|empty] label TEXT, stage NAME or stall NAME";
	const char *at = line->value;
	struct map_mark *mark;
	size_t length = strcspn(at, " \t");
	unsigned int kind = 0;

	if (map->marks == MAP_MARKS)
		return pesa_error_create(PESA_ERROR_FORMAT, "%s:%u: more than %u marks", line->file,
					 line->number, MAP_MARKS);
	mark = &map->mark[map->marks];
	memset(mark, 0, sizeof(*mark));
	mark->what = what;
	mark->bit = -1;
	if (strlen(cause) >= sizeof(mark->cause) || strchr(cause, ','))
		return refuse(line, "a cause's name of up to 63 bytes, without a comma");
	memcpy(mark->cause, cause, strlen(cause) + 1);
	if (length == 5 && !strncmp(at, "front", 5))
		mark->scope = MAP_FRONT;
	else if (length == 5 && !strncmp(at, "empty", 5))
		mark->scope = MAP_EMPTY;
	if (mark->scope != MAP_ALWAYS) {
		at += length + strspn(at + length, " \t");
		length = strcspn(at, " \t");
	}
	while (kind < sizeof(mark_kinds) / sizeof(mark_kinds[0]) &&
	       (strlen(mark_kinds[kind].word) != length ||
		strncmp(mark_kinds[kind].word, at, length)))
		kind++;
	if (kind == sizeof(mark_kinds) / sizeof(mark_kinds[0]))
		return refuse(line, allowed);
	mark->kind = mark_kinds[kind].kind;
	at += length + strspn(at + length, " \t");
	length = strlen(at);
	if (!length || length >= (mark->kind == MAP_LABEL ? MAP_TEXT : MAP_STAGE))
		return refuse(line, allowed);
	memcpy(mark->text, at, length + 1);
	unquote(mark->text);
	if (!mark->text[0])
		return refuse(line, allowed);
	map->marks++;
	return NULL;
}

static struct pesa_error *parse_line(struct pesa_pipeline_map *map, uint64_t *seen,
				     const struct line *line)
{
	if (!strncmp(line->key, "cause.", 6) && line->key[6])
		return add_mark(map, line, MAP_CAUSE, line->key + 6);
	for (unsigned int i = 0; i < sizeof(mark_keys) / sizeof(mark_keys[0]); i++)
		if (!strcmp(line->key, mark_keys[i].name))
			return add_mark(map, line, mark_keys[i].what, "");
	for (unsigned int i = 0; i < KEYS; i++) {
		if (strcmp(line->key, keys[i].name))
			continue;
		if (*seen >> i & 1)
			return pesa_error_create(PESA_ERROR_FORMAT, "%s:%u: %s is set twice",
						 line->file, line->number, line->key);
		*seen |= UINT64_C(1) << i;
		return set_key(map, line, &keys[i]);
	}
	return pesa_error_create(PESA_ERROR_FORMAT,
				 "%s:%u: '%s' is no key of a state map; "
				 "Documentation/pipeline-traces.md lists them",
				 line->file, line->number, line->key);
}

static struct pesa_error *check(const char *name, const struct pesa_pipeline_map *map)
{
	if (!map->name[0])
		return pesa_error_create(PESA_ERROR_FORMAT, "%s: the map sets no name", name);
	if (map->pc_base != 10 && map->pc_base != 16)
		return pesa_error_create(PESA_ERROR_FORMAT, "%s: pc.base is neither 10 nor 16",
					 name);
	if (!map->dispatch.count)
		return pesa_error_create(
			PESA_ERROR_FORMAT,
			"%s: the map sets no dispatch: the stage in which an instruction is in the reorder buffer",
			name);
	return NULL;
}

struct pesa_error *pesa_pipeline_map_parse(const char *name, const char *text, size_t size,
					   struct pesa_pipeline_map **result)
{
	struct pesa_pipeline_map *map = calloc(1, sizeof(*map));
	struct line line = {.file = name};
	struct pesa_error *error = NULL;
	const char *end = text + size;
	uint64_t seen = 0;

	if (!map)
		return pesa_error_no_memory();
	map->pc_base = 16;
	map->stall_lane = 1;
	while (text < end && !error) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));
		const char *next = stop ? stop + 1 : end, *equals;
		char whole[256];

		stop = stop ? stop : end;
		line.number++;
		if (memchr(text, 0, (size_t)(stop - text)) ||
		    !copy_trimmed(whole, sizeof(whole), text, stop)) {
			error = pesa_error_create(PESA_ERROR_FORMAT,
						  "%s:%u: a line of more than %zu bytes, or with a "
						  "zero byte: this is no state map",
						  name, line.number, sizeof(whole) - 1);
			break;
		}
		text = next;
		if (!whole[0] || whole[0] == '#')
			continue;
		equals = strchr(whole, '=');
		if (!equals || !copy_trimmed(line.key, sizeof(line.key), whole, equals) ||
		    !copy_trimmed(line.value, sizeof(line.value), equals + 1,
				  whole + strlen(whole)))
			error = pesa_error_create(PESA_ERROR_FORMAT,
						  "%s:%u: not of the form 'key = value'", name,
						  line.number);
		else
			error = parse_line(map, &seen, &line);
	}
	if (!error)
		error = check(name, map);
	if (error) {
		free(map);
		return error;
	}
	*result = map;
	return NULL;
}

struct pesa_error *pesa_pipeline_map_load(const char *path, struct pesa_pipeline_map **map)
{
	struct pesa_error *error;
	char *text;
	size_t size;

	error = pesa_read_file(path, &text, &size);
	if (error)
		return error;
	error = pesa_pipeline_map_parse(path, text, size, map);
	free(text);
	return error;
}

void pesa_pipeline_map_free(struct pesa_pipeline_map *map)
{
	free(map);
}

/* ---- Lookups --------------------------------------------------------------------------------- */

const char *pesa_pipeline_map_name(const struct pesa_pipeline_map *map)
{
	return map->name;
}

enum pesa_pipeline_format pesa_pipeline_map_format(const struct pesa_pipeline_map *map)
{
	return map->format;
}

static const char *find(const char *text, size_t size, const char *what)
{
	return *what ? memmem(text, size, what, strlen(what)) : NULL;
}

bool pesa_pipeline_map_recognises(const struct pesa_pipeline_map *map, const char *text,
				  size_t size)
{
	return find(text, size, map->recognise) != NULL;
}

bool pesa_pipeline_map_core(const struct pesa_pipeline_map *map, const char *text, size_t size,
			    char name[PESA_CAPABILITY_NAME_MAX])
{
	const char *at = find(text, size, map->core), *end = text + size;
	size_t length = 0;

	if (!at)
		return false;
	at += strlen(map->core);
	while (at + length < end && length < PESA_CAPABILITY_NAME_MAX - 1 && at[length] > ' ' &&
	       at[length] != '/' && at[length] < 127)
		length++;
	memcpy(name, at, length);
	name[length] = '\0';
	return length != 0;
}

/* The bit with this name; -1: none. */
static int find_cause(const struct pesa_capabilities *capabilities, const char *name)
{
	for (unsigned int bit = 0; bit < STANDARD_CAUSES; bit++)
		if (!strcmp(standard_causes[bit], name))
			return (int)bit;
	for (unsigned int bit = PESA_CAUSE_IMPLEMENTATION_FIRST; bit < PESA_CAUSE_COUNT; bit++)
		if (capabilities->cause_mask >> bit & 1 &&
		    !strcmp(capabilities->cause_names[bit], name))
			return (int)bit;
	return -1;
}

struct pesa_error *pesa_pipeline_map_bind(struct pesa_pipeline_map *map,
					  struct pesa_capabilities *capabilities, bool keep)
{
	unsigned int next = PESA_CAUSE_IMPLEMENTATION_FIRST;

	for (unsigned int i = 0; i < map->marks; i++) {
		struct map_mark *mark = &map->mark[i];

		if (mark->what != MAP_CAUSE)
			continue;
		mark->bit = find_cause(capabilities, mark->cause);
		if (mark->bit >= 0 || keep)
			continue;
		while (next < PESA_CAUSE_COUNT && capabilities->cause_mask >> next & 1)
			next++;
		if (next == PESA_CAUSE_COUNT)
			return pesa_error_create(PESA_ERROR_ARGUMENT,
						 "the state map %s names more causes than there "
						 "are bits: '%s' has none",
						 map->name, mark->cause);
		capabilities->cause_mask |= (uint16_t)(1u << next);
		snprintf(capabilities->cause_names[next], sizeof(capabilities->cause_names[next]),
			 "%s", mark->cause);
		mark->bit = (int)next;
	}
	return NULL;
}

bool map_has_mark(const struct pesa_pipeline_map *map, enum map_mark_what what)
{
	for (unsigned int i = 0; i < map->marks; i++)
		if (map->mark[i].what == what)
			return true;
	return false;
}

bool map_has_cause(const struct pesa_pipeline_map *map, unsigned int bit)
{
	for (unsigned int i = 0; i < map->marks; i++)
		if (map->mark[i].what == MAP_CAUSE && map->mark[i].bit == (int)bit)
			return true;
	return false;
}

bool map_stage_is(const struct map_stages *stages, const char *name)
{
	for (unsigned int i = 0; i < stages->count; i++)
		if (!strcmp(stages->name[i], name))
			return true;
	return false;
}

bool pesa_pipeline_detect(const char *text, size_t size, enum pesa_pipeline_format *format)
{
	static const char kanata[] = "Kanata\t", view[] = "O3PipeView:";

	if (size >= sizeof(kanata) - 1 && !memcmp(text, kanata, sizeof(kanata) - 1))
		*format = PESA_PIPELINE_KANATA;
	else if (memmem(text, size, view, sizeof(view) - 1))
		*format = PESA_PIPELINE_O3PIPEVIEW;
	else
		return false;
	return true;
}
