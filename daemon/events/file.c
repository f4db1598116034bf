// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/events/file.h"
#include "daemon/events/metric.h"
#include "decoder/base/number.h"

#include <ctype.h>
#include <errno.h>
#include <json-c/json.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 8
/* of an event's name: with PMU and modifiers it fits into pesa_event_name.name */
#define NAME_MAX_LENGTH 100u

struct parser {
	const char *path, *text, *at, *end;
	struct pesa_event_file *file;
	const char *entry; /* start of the current entry */
};

/* ---- Problems ------------------------------------------------------------------------------ */

static unsigned int line_of(const struct parser *parser, const char *at)
{
	unsigned int line = 1;

	for (const char *c = parser->text; c < at; c++)
		line += *c == '\n';
	return line;
}

__attribute__((format(printf, 3, 4))) static void complain(struct parser *parser, const char *at,
							   const char *format, ...)
{
	struct pesa_event_file *file = parser->file;
	va_list arguments;
	char what[256];

	file->bad++;
	if (file->problem)
		return;
	va_start(arguments, format);
	vsnprintf(what, sizeof(what), format, arguments);
	va_end(arguments);
	if (asprintf(&file->problem, "%s:%u: %s", parser->path, line_of(parser, at), what) < 0)
		file->problem = NULL;
	/* The message can have names from the file: keep it to one line. */
	for (char *byte = file->problem; byte && *byte; byte++)
		if (iscntrl((unsigned char)*byte))
			*byte = '?';
}

/* ---- Values -------------------------------------------------------------------------------- */

/* A printable string member, or NULL. */
static const char *string_member(json_object *entry, const char *name)
{
	json_object *value = json_object_object_get(entry, name);
	const char *text;

	if (!value || !json_object_is_type(value, json_type_string))
		return NULL;
	text = json_object_get_string(value);
	/* Refuse strings with a zero byte, which would be cut silently. */
	return *text && strlen(text) == (size_t)json_object_get_string_len(value) ? text : NULL;
}

/* "0x101" or 257; of "0x1,0x2" the first.  False: present, but not a number. */
static bool number_member(json_object *entry, const char *name, bool *has, uint64_t *number)
{
	json_object *value = json_object_object_get(entry, name);
	const char *text;

	*has = false;
	if (!value)
		return true;
	if (!json_object_is_type(value, json_type_string) &&
	    !json_object_is_type(value, json_type_int))
		return false;
	text = json_object_get_string(value);
	*has = number_take(&text, 0, number);
	return *has && (!*text || *text == ',');
}

static bool is_name(const char *text)
{
	size_t length = strlen(text);

	for (const char *c = text; *c; c++)
		if (!isgraph((unsigned char)*c) || strchr(",:/{}=", *c))
			return false;
	return length && length <= NAME_MAX_LENGTH;
}

/* ---- Events -------------------------------------------------------------------------------- */

static void free_definition(struct pesa_event_definition *definition)
{
	free(definition->name);
	free(definition->standard);
	free(definition->description);
	free(definition->pmu);
	free(definition->terms);
}

/* Members that are terms of the PMU. */
static const struct {
	const char *member, *term;
} number_terms[] = {
	{"ConfigCode", "config"}, {"EventCode", "event"}, {"UMask", "umask"},
	{"CounterMask", "cmask"}, {"Invert", "inv"},	  {"EdgeDetect", "edge"},
	{"AnyThread", "any"},
};

/* Members that change what is counted and have no term: without them it would be another event. */
static const char *const unknown_terms[] = {"MSRIndex", "MSRValue", "ExtSel",
					    "PortMask", "FCMask",   "LegacyConfigCode"};

static char *append_term(char *terms, const char *text)
{
	char *longer;

	if (!terms)
		return strdup(text);
	longer = realloc(terms, strlen(terms) + strlen(text) + 2);
	if (!longer) {
		free(terms);
		return NULL;
	}
	strcat(longer, ",");
	return strcat(longer, text);
}

/* Returns false after reporting a problem. */
static bool read_terms(struct parser *parser, json_object *entry,
		       struct pesa_event_definition *definition)
{
	bool has_config = json_object_object_get(entry, "ConfigCode");
	const char *filter = string_member(entry, "Filter");

	for (size_t i = 0; i < sizeof(unknown_terms) / sizeof(unknown_terms[0]); i++) {
		bool has;
		uint64_t value;

		if (!number_member(entry, unknown_terms[i], &has, &value) || (has && value)) {
			complain(parser, parser->entry, "%s is not supported", unknown_terms[i]);
			return false;
		}
	}
	for (size_t i = 0; i < sizeof(number_terms) / sizeof(number_terms[0]); i++) {
		char text[64];
		bool has;
		uint64_t value;

		if (!number_member(entry, number_terms[i].member, &has, &value)) {
			complain(parser, parser->entry, "%s is no number", number_terms[i].member);
			return false;
		}
		/* A modifier of 0 needs no term, which the PMU may not have. */
		if (!has || (i > 1 && !value) || (i == 1 && has_config))
			continue;
		snprintf(text, sizeof(text), "%s=0x%llx", number_terms[i].term,
			 (unsigned long long)value);
		definition->terms = append_term(definition->terms, text);
		if (!definition->terms)
			return true; /* reported by the caller */
	}
	if (filter)
		definition->terms = append_term(definition->terms, filter);
	return true;
}

/* "64Bytes", "1e-6 msec" */
static bool read_scale(struct parser *parser, json_object *entry,
		       struct pesa_event_definition *definition)
{
	const char *text = string_member(entry, "ScaleUnit");
	char *end;

	if (!text)
		return true;
	definition->scale = strtod(text, &end);
	if (end == text || !isfinite(definition->scale) || definition->scale <= 0) {
		complain(parser, parser->entry, "ScaleUnit '%.32s' has no factor", text);
		return false;
	}
	end += *end == ' ';
	snprintf(definition->unit, sizeof(definition->unit), "%.*s",
		 (int)sizeof(definition->unit) - 1, end);
	return true;
}

static bool read_names(struct parser *parser, json_object *entry,
		       struct pesa_event_definition *definition)
{
	const char *name = string_member(entry, "EventName");
	const char *standard = string_member(entry, "ArchStdEvent");
	const char *pmu = string_member(entry, "Unit");

	if (!name && !standard) {
		complain(parser, parser->entry, "an event without EventName or ArchStdEvent");
		return false;
	}
	if ((name && !is_name(name)) || (standard && !is_name(standard)) ||
	    (pmu && (!is_name(pmu) || *pmu == '.'))) {
		complain(parser, parser->entry, "'%.64s' is no name of an event or PMU",
			 name && !is_name(name) ? name
			 : pmu && !is_name(pmu) ? pmu
						: standard);
		return false;
	}
	definition->name = name ? strdup(name) : NULL;
	definition->standard = standard ? strdup(standard) : NULL;
	definition->pmu = pmu ? strdup(pmu) : NULL;
	return true;
}

/* "user", "supervisor" */
static bool read_cycles(struct parser *parser, json_object *entry,
			struct pesa_event_definition *definition)
{
	const char *text = string_member(entry, "SampleCycles");

	if (!text)
		return true;
	if (!strcmp(text, "user"))
		definition->cycles = PESA_EVENT_CYCLES_USER;
	else if (!strcmp(text, "supervisor"))
		definition->cycles = PESA_EVENT_CYCLES_SUPERVISOR;
	else
		complain(parser, parser->entry, "SampleCycles is user or supervisor, not '%.32s'",
			 text);
	return definition->cycles != PESA_EVENT_CYCLES_NONE;
}

static bool read_entry(struct parser *parser, json_object *entry,
		       struct pesa_event_definition *definition)
{
	const char *description = string_member(entry, "BriefDescription");
	const char *deprecated = string_member(entry, "Deprecated");
	bool has;

	if (!read_names(parser, entry, definition) || !read_terms(parser, entry, definition) ||
	    !read_scale(parser, entry, definition) || !read_cycles(parser, entry, definition))
		return false;
	if (!definition->terms && !definition->standard) {
		complain(parser, parser->entry, "event %s has neither EventCode nor ConfigCode",
			 definition->name);
		return false;
	}
	if (!number_member(entry, "SampleAfterValue", &has, &definition->period)) {
		complain(parser, parser->entry, "SampleAfterValue is no number");
		return false;
	}
	if (!description)
		description = string_member(entry, "PublicDescription");
	definition->description = description ? strdup(description) : NULL;
	definition->deprecated = deprecated && *deprecated == '1';
	return true;
}

static void free_metric(struct pesa_metric_definition *definition)
{
	free(definition->name);
	free(definition->group);
	free(definition->expression);
	free(definition->description);
}

static struct pesa_error *add_metric(struct parser *parser, json_object *entry)
{
	const char *name = string_member(entry, "MetricName");
	const char *group = string_member(entry, "MetricGroup");
	const char *expression = string_member(entry, "MetricExpr");
	const char *description = string_member(entry, "BriefDescription");
	struct pesa_event_file *file = parser->file;
	struct pesa_metric_definition made, *grown;
	struct pesa_metric *metric;
	struct pesa_error *error;

	if (!name || !is_name(name) || !expression) {
		complain(parser, parser->entry, "a formula needs MetricName and MetricExpr");
		return NULL;
	}
	error = pesa_metric_parse(expression, &metric);
	if (error) {
		complain(parser, parser->entry, "%s", error->message);
		pesa_error_free(error);
		return NULL;
	}
	pesa_metric_free(metric);
	grown = realloc(file->metrics, (file->metric_count + 1) * sizeof(*grown));
	if (!grown)
		return pesa_error_no_memory();
	file->metrics = grown;
	made = (struct pesa_metric_definition){.name = strdup(name),
					       .group = group ? strdup(group) : NULL,
					       .expression = strdup(expression),
					       .description =
						       description ? strdup(description) : NULL};
	if (!made.name || !made.expression) {
		free_metric(&made);
		return pesa_error_no_memory();
	}
	grown[file->metric_count++] = made;
	return NULL;
}

static struct pesa_error *add_entry(struct parser *parser, json_object *entry)
{
	struct pesa_event_file *file = parser->file;
	struct pesa_event_definition definition = {0}, *grown;

	if (!json_object_is_type(entry, json_type_object)) {
		complain(parser, parser->entry, "an event should be an object, {...}");
		return NULL;
	}
	if (json_object_object_get(entry, "MetricExpr")) {
		return add_metric(parser, entry);
	}
	if (!read_entry(parser, entry, &definition)) {
		free_definition(&definition);
		return NULL;
	}
	grown = realloc(file->definitions, (file->count + 1) * sizeof(*grown));
	if (!grown) {
		free_definition(&definition);
		return pesa_error_no_memory();
	}
	file->definitions = grown;
	grown[file->count++] = definition;
	return NULL;
}

/* ---- The array ----------------------------------------------------------------------------- */

static void skip_blanks(struct parser *parser)
{
	while (parser->at < parser->end && strchr(" \t\r\n", *parser->at) && *parser->at)
		parser->at++;
}

static bool take(struct parser *parser, char c)
{
	skip_blanks(parser);
	if (parser->at == parser->end || *parser->at != c)
		return false;
	parser->at++;
	return true;
}

/* Parse one element.  *entry NULL: not JSON, which has been reported. */
static struct pesa_error *parse_entry(struct parser *parser, json_object **entry)
{
	json_tokener *tokener = json_tokener_new_ex(DEPTH_MAX);
	size_t left = (size_t)(parser->end - parser->at);
	enum json_tokener_error problem;

	*entry = NULL;
	if (!tokener)
		return pesa_error_no_memory();
	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_ALLOW_TRAILING_CHARS);
	*entry = json_tokener_parse_ex(tokener, parser->at,
				       left < INT32_MAX ? (int)left : INT32_MAX);
	problem = json_tokener_get_error(tokener);
	parser->at += json_tokener_get_parse_end(tokener);
	if (problem == json_tokener_continue)
		complain(parser, parser->entry, "the file ends within an event");
	else if (problem != json_tokener_success)
		complain(parser, parser->at < parser->end ? parser->at : parser->end, "%s",
			 json_tokener_error_desc(problem));
	if (problem != json_tokener_success) {
		json_object_put(*entry);
		*entry = NULL;
	}
	json_tokener_free(tokener);
	return NULL;
}

static struct pesa_error *parse_array(struct parser *parser)
{
	if (!take(parser, '[')) {
		complain(parser, parser->at, "an event file should be an array, [...]");
		return NULL;
	}
	if (take(parser, ']'))
		return NULL;
	for (;;) {
		struct pesa_error *error;
		json_object *entry;

		skip_blanks(parser);
		parser->entry = parser->at;
		error = parse_entry(parser, &entry);
		if (!error && entry)
			error = add_entry(parser, entry);
		if (error || !entry)
			return error;
		json_object_put(entry);
		if (take(parser, ']'))
			return NULL;
		if (!take(parser, ',')) {
			complain(parser, parser->at, "a comma or ] should be here");
			return NULL;
		}
	}
}

struct pesa_error *pesa_event_file_parse(const char *path, const char *text, size_t size,
					 struct pesa_event_file *file)
{
	struct pesa_event_file parsed = {0};
	struct parser parser = {
		.path = path, .text = text, .at = text, .end = text + size, .file = &parsed};
	struct pesa_error *error = parse_array(&parser);

	if (error)
		pesa_event_file_free(&parsed);
	else
		*file = parsed;
	return error;
}

void pesa_event_file_free(struct pesa_event_file *file)
{
	for (size_t i = 0; i < file->count; i++)
		free_definition(&file->definitions[i]);
	for (size_t i = 0; i < file->metric_count; i++)
		free_metric(&file->metrics[i]);
	free(file->metrics);
	free(file->definitions);
	free(file->problem);
	*file = (struct pesa_event_file){0};
}
