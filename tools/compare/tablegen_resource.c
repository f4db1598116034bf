/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Findings about units of resources and about read advances into replacements of text: see
 * tablegen_change.h. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/compare/tablegen_files.h"
#include "tools/compare/tablegen_site.h"

#define TEXT_SIZE 4096

/* ---- Resources ------------------------------------------------------------------------------- */

static bool has_word(const struct tablegen *tablegen, const struct tablegen_statement *statement,
		     const char *word)
{
	size_t at = statement->span.start;
	struct tablegen_span token;

	while (tablegen_token(tablegen, &at, statement->span.end, &token))
		if (tablegen_is(tablegen, token, word))
			return true;
	return false;
}

/* Whether a statement defines a resource with this name, possibly prefixed by that of a
 * multiclass. */
static bool defines_resource(const struct tablegen *tablegen,
			     const struct tablegen_statement *statement, const char *name)
{
	struct tablegen_span token;
	size_t at = statement->span.start, length, size = strlen(name);

	if (statement->kind != TABLEGEN_DEF ||
	    !tablegen_token(tablegen, &at, statement->span.end, &token) ||
	    !tablegen_token(tablegen, &at, statement->span.end, &token))
		return false;
	length = (size_t)tablegen_length(token);
	return length <= size &&
	       !strncmp(tablegen->text + token.start, name + size - length, length) &&
	       (has_word(tablegen, statement, "ProcResource") ||
		has_word(tablegen, statement, "ProcResGroup"));
}

/* Take a resource out of a group. */
static struct pesa_error *leave_group(struct tablegen_files *files, const char *line,
				      const char *resource, const char *evidence)
{
	struct tablegen_site site = {0};
	struct tablegen_span members, part[TABLEGEN_PARTS_MAX], span;
	char group[TABLEGEN_NAME_SIZE];
	const char *name = line + strcspn(line, " ") + 1;
	size_t length = 0, count, place = TABLEGEN_NONE;
	const char *from = model_line_word(line, "from", &length);
	char places[TABLEGEN_NAME_SIZE * 2] = "";
	struct pesa_error *error;

	snprintf(group, sizeof(group), "%.*s", (int)strcspn(name, " "), name);
	if (from)
		snprintf(places, sizeof(places), "%.*s", (int)length, from);
	error = tablegen_find_statement(files, places, group, defines_resource, &site);
	if (error)
		return error;
	if (!tablegen_find_resources(&site, &members))
		return tablegen_unsupported(&site, "its members are no list");
	count = tablegen_split(&site.file->tablegen, members, part, TABLEGEN_PARTS_MAX);
	for (size_t i = 0; i < count && i < TABLEGEN_PARTS_MAX; i++)
		if (tablegen_is(&site.file->tablegen, part[i], resource))
			place = i;
	if (place == TABLEGEN_NONE || count < 2)
		return tablegen_unsupported(&site, "which of its members is meant is not known");
	span = part[place];
	if (place)
		span.start = part[place - 1].end;
	else
		span.end = part[place + 1].start;
	error = tablegen_replace(site.file, span, "");
	return error ? error : tablegen_add_comment(&site, site.statement->span.start, evidence);
}

/* Whether a line `group` has a member. */
static bool has_member(const char *line, const char *member)
{
	while (*line) {
		size_t length = strcspn(line, " ");

		if (model_is_word(line, length, member))
			return true;
		line += length;
		line += strspn(line, " ");
	}
	return false;
}

struct pesa_error *tablegen_change_units(struct tablegen_files *files,
					 const struct compare_edit *edit,
					 const struct model_lines *model, const char *evidence)
{
	const char *resource = edit->finding->resource;
	struct pesa_error *error = NULL;
	struct tablegen_span arguments, part[TABLEGEN_PARTS_MAX];
	struct tablegen_site site = {0};
	char number[32];
	bool any = false;

	if (!edit->finding->measured) {
		for (size_t i = 0; i < model->count && !error; i++)
			if (model_is_line(model->line[i], "group", NULL) &&
			    has_member(model->line[i], resource)) {
				any = true;
				error = leave_group(files, model->line[i], resource, evidence);
			}
		return error || any ? error
				    : pesa_error_create(PESA_ERROR_NOT_FOUND,
							"%s is in no group of the model", resource);
	}
	error = tablegen_find_statement(files, edit->from, resource, defines_resource, &site);
	if (error)
		return error;
	if (!tablegen_find_arguments(&site.file->tablegen, site.statement, &arguments) ||
	    tablegen_split(&site.file->tablegen, arguments, part, TABLEGEN_PARTS_MAX) != 1 ||
	    !isdigit((unsigned char)site.file->text[part[0].start]))
		return tablegen_unsupported(&site, "its number of units is no number");
	snprintf(number, sizeof(number), "%d", edit->finding->measured);
	error = tablegen_replace(site.file, part[0], number);
	return error ? error : tablegen_add_comment(&site, site.statement->span.start, evidence);
}

/* ---- Read advances --------------------------------------------------------------------------- */

static bool defines_advance(const struct tablegen *tablegen,
			    const struct tablegen_statement *statement, const char *name)
{
	return statement->kind != TABLEGEN_OTHER && has_word(tablegen, statement, name) &&
	       has_word(tablegen, statement, "ReadAdvance");
}

static struct pesa_error *change_advance(struct tablegen_files *files, const char *read,
					 const struct model_lines *model, int cycles,
					 const char *evidence)
{
	const char *line = model_find_line(model, "read", read), *from = NULL;
	struct tablegen_span arguments, part[TABLEGEN_PARTS_MAX];
	struct tablegen_site site = {0};
	char places[TABLEGEN_NAME_SIZE * 2] = "", number[32];
	struct pesa_error *error;
	size_t length = 0;

	if (line)
		from = model_line_word(line, "from", &length);
	if (from)
		snprintf(places, sizeof(places), "%.*s", (int)length, from);
	error = tablegen_find_statement(files, places, read, defines_advance, &site);
	if (error)
		return error;
	if (!tablegen_find_arguments(&site.file->tablegen, site.statement, &arguments) ||
	    tablegen_split(&site.file->tablegen, arguments, part, TABLEGEN_PARTS_MAX) < 2)
		return tablegen_unsupported(&site, "its cycles are no argument");
	snprintf(number, sizeof(number), "%d", cycles);
	error = tablegen_replace(site.file, part[1], number);
	return error ? error : tablegen_add_comment(&site, site.statement->span.start, evidence);
}

/* The SchedReads that have an advance for the SchedWrites of a finding. */
struct pesa_error *tablegen_change_advances(struct tablegen_files *files,
					    const struct compare_edit *edit,
					    const struct model_lines *model, const char *evidence)
{
	const char *class = model_find_line(model, "class", edit->finding->scheduling_class);
	char done[TEXT_SIZE] = " ";
	struct pesa_error *error = NULL;
	bool inside = false;

	for (size_t i = 0; i < model->count && class && !error; i++) {
		const char *reads, *line = model->line[i];
		size_t length = 0;

		if (model_is_line(line, "class", NULL))
			inside = line == class;
		if (!inside || !model_is_line(line, "write", NULL))
			continue;
		reads = model_line_word(line, "reads", &length);
		for (unsigned int operand = 0; reads && length && !error; operand++) {
			size_t size = strcspn(reads, ", ");
			char name[TABLEGEN_NAME_SIZE], key[TABLEGEN_NAME_SIZE + 2], word[32];

			snprintf(name, sizeof(name), "%.*s", (int)(size < length ? size : length),
				 reads);
			snprintf(key, sizeof(key), " %s ", name);
			snprintf(word, sizeof(word), " advance=%u:", operand);
			if (strstr(class, word) && !strstr(done, key) &&
			    strlen(done) + strlen(key) < sizeof(done)) {
				strcat(done, key + 1);
				error = change_advance(files, name, model, edit->finding->measured,
						       evidence);
			}
			length -= size < length ? size + 1 : length;
			reads += size + 1;
		}
	}
	return error || done[1] ? error
				: pesa_error_create(PESA_ERROR_NOT_FOUND,
						    "the model names no SchedRead of %s",
						    edit->finding->scheduling_class);
}
