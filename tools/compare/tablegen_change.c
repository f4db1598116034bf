/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Findings into replacements of text in LLVM's files: see tablegen_change.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/compare/tablegen_change.h"
#include "tools/compare/tablegen_files.h"
#include "tools/compare/tablegen_site.h"

#define TEXT_SIZE 4096

/* Fields of ProcWriteResources (llvm/Target/TargetSchedule.td) that differ between definitions. */
static const char *const fields[] = {
	"Latency",  "ReleaseAtCycles", "AcquireAtCycles", "NumMicroOps", "BeginGroup",
	"EndGroup", "SingleIssue",     "RetireOOO",	  "Unsupported",
};

/* The new value of a field. */
struct value {
	const char *field;
	char text[TEXT_SIZE];
};

/* ---- New values ------------------------------------------------------------------------------ */

/* The new number; in a loop, for the LMUL and SEW of the SchedWrite alone, and the old value for
 * others. */
static struct pesa_error *condition_value(const struct tablegen_site *site, struct value *value,
					  const char *text, const char *otherwise)
{
	const struct tablegen_given *given =
		tablegen_find_given(site->file, site->statement, value->field);
	struct tablegen_span now;
	int length;

	if (!*site->condition)
		length = snprintf(value->text, sizeof(value->text), "%s", text);
	else if (given)
		length = snprintf(value->text, sizeof(value->text), "!if(%s, %s, %s)",
				  site->condition, text, given->value);
	else if (tablegen_value_of_field(site, value->field, &now))
		length = snprintf(value->text, sizeof(value->text), "!if(%s, %s, %.*s)",
				  site->condition, text, tablegen_length(now),
				  site->file->tablegen.text + now.start);
	else
		length = snprintf(value->text, sizeof(value->text), "!if(%s, %s, %s)",
				  site->condition, text, otherwise);
	return (size_t)length < sizeof(value->text)
		       ? NULL
		       : tablegen_unsupported(site, "too many of its SchedWrites change");
}

static struct pesa_error *number_value(const struct tablegen_site *site, struct value *value,
				       const char *field, long number)
{
	char text[32];

	value->field = field;
	snprintf(text, sizeof(text), "%ld", number);
	return condition_value(site, value, text, "1");
}

/* Uses of a SchedWrite in the model: "RESOURCE:[ACQUIRE-]RELEASE,...". */
struct uses {
	unsigned int count, place; /* of the resource that changes */
	long release[TABLEGEN_PARTS_MAX];
};

static bool read_uses(const struct model_lines *model, const char *write, const char *resource,
		      struct uses *uses)
{
	const char *class = model_class_of(model, write, NULL);
	size_t length = 0, at = 0;
	const char *list = class ? model_line_word(class, "uses", &length) : NULL;
	bool found = false;

	*uses = (struct uses){0};
	while (list && at < length && uses->count < TABLEGEN_PARTS_MAX) {
		size_t size = strcspn(list + at, ",") < length - at ? strcspn(list + at, ",")
								    : length - at;
		const char *colon = memchr(list + at, ':', size);
		const char *dash =
			colon ? memchr(colon, '-', size - (size_t)(colon - list - at)) : NULL;

		if (model_is_word(list + at, colon ? (size_t)(colon - list) - at : size,
				  resource)) {
			uses->place = uses->count;
			found = true;
		}
		uses->release[uses->count++] = dash    ? strtol(dash + 1, NULL, 10)
					       : colon ? strtol(colon + 1, NULL, 10)
						       : 1;
		at += size + 1;
	}
	return found;
}

/* Find a resource in the list of a definition: by its name, or by its position in the model. */
static size_t place_of(const struct tablegen_site *site, const struct tablegen_span *part,
		       size_t count, const char *resource, const struct uses *uses)
{
	for (size_t i = 0; i < count; i++)
		if (tablegen_is(&site->file->tablegen, part[i], resource))
			return i;
	return count == 1 ? 0 : count == uses->count ? uses->place : TABLEGEN_NONE;
}

/* ReleaseAtCycles, with the number of one resource changed. */
static struct pesa_error *release_value(const struct tablegen_site *site, struct value *value,
					const struct model_lines *model, const char *write,
					const char *resource, long number)
{
	const struct tablegen *tablegen = &site->file->tablegen;
	struct tablegen_span resources, part[TABLEGEN_PARTS_MAX], now, old[TABLEGEN_PARTS_MAX];
	struct uses uses;
	size_t count, place, olds = 0, used = 0;
	bool known, any;
	char text[TEXT_SIZE / 2] = "[", ones[TEXT_SIZE / 8] = "[";

	value->field = "ReleaseAtCycles";
	if (!read_uses(model, write, resource, &uses) || !tablegen_find_resources(site, &resources))
		return tablegen_unsupported(site, "its resources are no list");
	count = tablegen_split(tablegen, resources, part, TABLEGEN_PARTS_MAX);
	if (!count || count > TABLEGEN_PARTS_MAX)
		return tablegen_unsupported(site, "its resources are no list");
	place = place_of(site, part, count, resource, &uses);
	if (place == TABLEGEN_NONE)
		return tablegen_unsupported(site, "which of its resources is meant is not known");
	any = tablegen_value_of_field(site, value->field, &now);
	known = any && tablegen->text[now.start] == '[';
	if (known) {
		now = (struct tablegen_span){now.start + 1, now.end - 1};
		olds = tablegen_split(tablegen, now, old, TABLEGEN_PARTS_MAX);
		known = olds == count;
		any = olds > 0;
	}
	if (any && !known && uses.count != count)
		return tablegen_unsupported(site, "its ReleaseAtCycles are no list");
	for (size_t i = 0; i < count; i++) {
		const char *comma = i ? ", " : "";
		size_t room = sizeof(text) - strlen(text);

		if (i == place)
			snprintf(text + strlen(text), room, "%s%ld", comma, number);
		else if (known)
			snprintf(text + strlen(text), room, "%s%.*s", comma,
				 tablegen_length(old[i]), tablegen->text + old[i].start);
		else
			snprintf(text + strlen(text), room, "%s%ld", comma,
				 any ? uses.release[i] : 1L);
		used += (size_t)snprintf(ones + 1 + used, sizeof(ones) - 1 - used, "%s1", comma);
	}
	snprintf(text + strlen(text), sizeof(text) - strlen(text), "]");
	snprintf(ones + strlen(ones), sizeof(ones) - strlen(ones), "]");
	return condition_value(site, value, text, ones);
}

/* The fields that a finding changes, of which there are at most two. */
static struct pesa_error *new_values(const struct tablegen_site *site,
				     const struct compare_edit *edit,
				     const struct model_lines *model, struct value *value,
				     unsigned int *count)
{
	const struct pesa_compare_finding *finding = edit->finding;
	const char *second = strchr(finding->change, ' '), *resource;
	char name[TABLEGEN_NAME_SIZE];
	struct pesa_error *error;

	*count = 1;
	switch (finding->kind) {
	case PESA_COMPARE_LATENCY:
		error = number_value(site, &value[0], "Latency", finding->measured);
		/* A unit that is occupied for as long: "WRITE.latency=N WRITE.RESOURCE=N". */
		resource = strrchr(finding->change, '.') + 1;
		if (error || !second || !strncmp(resource, "latency=", 8))
			return error;
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(resource, "="), resource);
		error = release_value(site, &value[1], model, edit->write, name, finding->measured);
		*count = error ? 0 : 2;
		return error;
	case PESA_COMPARE_ISSUE:
		return number_value(site, &value[0], "NumMicroOps",
				    strtol(strrchr(finding->change, '=') + 1, NULL, 10));
	default:
		return release_value(site, &value[0], model, edit->write, finding->resource,
				     finding->measured);
	}
}

/* ---- Changing a definition ------------------------------------------------------------------- */

/* Whether a scope holds no other statement. */
static bool is_alone(const struct tablegen_site *site, size_t scope)
{
	const struct tablegen *tablegen = &site->file->tablegen;
	const struct tablegen_scope *around = &tablegen->scope[scope];

	for (size_t i = 0; i < tablegen->statements; i++) {
		const struct tablegen_statement *one = &tablegen->statement[i];

		if (one != site->statement && one->span.start >= around->head.start &&
		    one->span.end <= around->end)
			return false;
	}
	return true;
}

/* Offset of the keyword of a scope: `let`, before its head. */
static size_t keyword_of(const struct tablegen *tablegen, size_t scope)
{
	return tablegen->scope[scope].head.start - strlen("let");
}

/* Replace a piece of the file by a text that gives fields these values. */
static struct pesa_error *replace(const struct tablegen_site *site, struct tablegen_span span,
				  const char *text, const struct value *value, unsigned int count)
{
	struct pesa_error *error = tablegen_replace(site->file, span, text);

	for (unsigned int i = 0; i < count && !error; i++)
		error = tablegen_give(site->file, site->statement, value[i].field, value[i].text);
	return error;
}

/* Change the value of a field in place: in the body, or in a `let` around this definition alone. */
static struct pesa_error *change_in_place(const struct tablegen_site *site,
					  const struct value *value, bool *done, size_t *comment)
{
	const struct tablegen *tablegen = &site->file->tablegen;
	struct tablegen_span now;
	size_t scope;

	*done = false;
	if (site->statement->body.start &&
	    tablegen_body_value(tablegen, site->statement->body, value->field, &now)) {
		*done = true;
		return replace(site, now, value->text, value, 1);
	}
	scope = tablegen_scope_of_field(site, value->field, &now);
	if (scope == TABLEGEN_NONE || !is_alone(site, scope))
		return NULL;
	*done = true;
	if (keyword_of(tablegen, scope) < *comment)
		*comment = keyword_of(tablegen, scope);
	return replace(site, now, value->text, value, 1);
}

/* The body added by an earlier change to a definition without one, or NULL. */
static struct tablegen_replacement *find_body(const struct tablegen_site *site)
{
	for (size_t i = 0; i < site->file->replacements; i++) {
		struct tablegen_replacement *one = &site->file->replacement[i];

		if (one->span.end == site->statement->span.end &&
		    one->span.start + 1 == one->span.end)
			return one;
	}
	return NULL;
}

/* Add fields to it. */
static struct pesa_error *extend_body(const struct tablegen_site *site,
				      struct tablegen_replacement *body, const struct value *value,
				      unsigned int count)
{
	struct pesa_error *error = NULL;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return pesa_error_no_memory();
	/* " { let A = 1; }" */
	fprintf(out, "%.*s", (int)(strrchr(body->text, ';') + 1 - body->text), body->text);
	for (unsigned int i = 0; i < count; i++)
		fprintf(out, " let %s = %s;", value[i].field, value[i].text);
	fputs(strrchr(body->text, ';') + 1, out);
	if (fclose(out))
		return pesa_error_no_memory();
	free(body->text);
	body->text = text;
	for (unsigned int i = 0; i < count && !error; i++) {
		error = tablegen_give(site->file, site->statement, value[i].field, value[i].text);
		if (!error)
			site->file->given[site->file->givens - 1].replacement =
				(size_t)(body - site->file->replacement);
	}
	return error;
}

/* Add fields to the body of a definition, which is added if it has none. */
static struct pesa_error *change_body(const struct tablegen_site *site, const struct value *value,
				      unsigned int count)
{
	const struct tablegen_statement *statement = site->statement;
	const struct tablegen *tablegen = &site->file->tablegen;
	struct tablegen_replacement *earlier = statement->body.start ? NULL : find_body(site);
	struct tablegen_span span = {statement->span.end - 1, statement->span.end};
	struct pesa_error *error;
	const char *blanks;
	int indent = tablegen_indentation(tablegen, statement->span.start, &blanks);
	bool lines = statement->body.start && memchr(tablegen->text + statement->body.start, '\n',
						     statement->body.end - statement->body.start);
	char *text;
	size_t size;
	FILE *out;

	if (earlier)
		return extend_body(site, earlier, value, count);
	out = open_memstream(&text, &size);
	if (!out)
		return pesa_error_no_memory();
	if (statement->body.start)
		span.start = span.end = statement->body.start;
	else
		fputs(" {", out);
	lines |= count > 1;
	for (unsigned int i = 0; i < count; i++) {
		if (lines)
			fprintf(out, "\n%.*s  let %s = %s;", indent, blanks, value[i].field,
				value[i].text);
		else
			fprintf(out, " let %s = %s;", value[i].field, value[i].text);
	}
	if (!statement->body.start && lines)
		fprintf(out, "\n%.*s}", indent, blanks);
	else if (!statement->body.start)
		fputs(" }", out);
	if (fclose(out))
		return pesa_error_no_memory();
	error = replace(site, span, text, value, count);
	free(text);
	return error;
}

/* Put `let FIELD = VALUE in` before a definition, inside of all other scopes. */
static struct pesa_error *change_around(const struct tablegen_site *site, const struct value *value,
					unsigned int count)
{
	struct tablegen_span span = {site->statement->span.start, site->statement->span.start};
	struct pesa_error *error;
	const char *blanks;
	int indent = tablegen_indentation(&site->file->tablegen, span.start, &blanks);
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return pesa_error_no_memory();
	for (unsigned int i = 0; i < count; i++)
		fprintf(out, "%s%s = %s", i ? ", " : "let ", value[i].field, value[i].text);
	fprintf(out, " in\n%.*s", indent, blanks);
	if (fclose(out))
		return pesa_error_no_memory();
	error = replace(site, span, text, value, count);
	free(text);
	return error;
}

static struct pesa_error *change_write(struct tablegen_files *files,
				       const struct compare_edit *edit,
				       const struct model_lines *model, const char *evidence)
{
	struct tablegen_site site = {0};
	struct value value[2], left[2];
	unsigned int count = 0, rest = 0;
	size_t comment;
	struct pesa_error *error =
		tablegen_find_statement(files, edit->from, edit->write, tablegen_defines, &site);

	if (!error)
		error = tablegen_find_condition(&site, edit->write);
	if (!error)
		error = new_values(&site, edit, model, value, &count);
	if (error)
		return error;
	comment = site.statement->span.start;
	for (unsigned int i = 0; i < count && !error; i++) {
		struct tablegen_given *given =
			tablegen_find_given(site.file, site.statement, value[i].field);
		bool done = true;

		if (given && !*site.condition && strcmp(given->value, value[i].text) != 0)
			error = tablegen_unsupported(
				&site, "another finding changes it: change this one, and "
				       "compare again");
		else if (given)
			error = tablegen_give_again(site.file, given, value[i].text);
		else
			error = change_in_place(&site, &value[i], &done, &comment);
		if (!error && !done)
			left[rest++] = value[i];
	}
	if (!error)
		error = tablegen_add_comment(&site, comment, evidence);
	if (error || !rest)
		return error;
	return site.statement->kind == TABLEGEN_DEF ? change_body(&site, left, rest)
						    : change_around(&site, left, rest);
}

/* ---- Opcodes of their own -------------------------------------------------------------------- */

/* Where to insert a statement that is inside `let SchedModel`, but after all `let`s of fields. */
static size_t behind_fields(const struct tablegen_site *site)
{
	const struct tablegen *tablegen = &site->file->tablegen;
	size_t at = site->statement->span.end;
	struct tablegen_span value;

	for (size_t i = site->statement->scope; i != TABLEGEN_NONE; i = tablegen->scope[i].parent) {
		bool any = false;

		for (size_t j = 0; j < sizeof(fields) / sizeof(fields[0]) &&
				   tablegen->scope[i].kind == TABLEGEN_LET;
		     j++)
			any |= tablegen_let_value(tablegen, tablegen->scope[i].head, fields[j],
						  &value);
		if (any)
			at = tablegen->scope[i].end;
	}
	return at;
}

static bool is_in(const struct tablegen_site *site, enum tablegen_scope_kind kind)
{
	const struct tablegen *tablegen = &site->file->tablegen;

	for (size_t i = site->statement->scope; i != TABLEGEN_NONE; i = tablegen->scope[i].parent)
		if (tablegen->scope[i].kind == kind)
			return true;
	return false;
}

/* A new name: the name of the file, "Write" and the opcode. */
static void make_name(const struct tablegen_site *site, const char *opcode, char *name, size_t size)
{
	const char *file = site->file->name;
	size_t prefix = strncmp(file, "RISCVSched", 10) ? 0 : 10;
	unsigned int number = 1;

	snprintf(name, size, "%.*sWrite%s", (int)strcspn(file + prefix, "."), file + prefix,
		 opcode);
	while (strstr(site->file->text, name) && number < 100)
		snprintf(name, size, "%.*sWrite%s%u", (int)strcspn(file + prefix, "."),
			 file + prefix, opcode, ++number);
}

static void write_opcodes(FILE *out, const struct tablegen_site *site,
			  const struct compare_edit *edit, const struct value *value,
			  unsigned int count, const char *reads, const char *blanks, int indent)
{
	const struct tablegen *tablegen = &site->file->tablegen;
	struct tablegen_span resources = {0}, now;
	char name[TABLEGEN_NAME_SIZE];
	bool class = is_in(site, TABLEGEN_MULTICLASS);

	make_name(site, edit->opcode[0]->name, name, sizeof(name));
	tablegen_find_resources(site, &resources);
	fprintf(out, "def %s : SchedWriteRes<[%.*s]> {", name, tablegen_length(resources),
		tablegen->text + resources.start);
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		const struct value *changed = NULL;

		for (unsigned int j = 0; j < count; j++)
			if (!strcmp(value[j].field, fields[i]))
				changed = &value[j];
		if (changed)
			fprintf(out, "\n%.*s  let %s = %s;", indent, blanks, fields[i],
				changed->text);
		else if (tablegen_value_of_field(site, fields[i], &now))
			fprintf(out, "\n%.*s  let %s = %.*s;", indent, blanks, fields[i],
				tablegen_length(now), tablegen->text + now.start);
	}
	fprintf(out, "\n%.*s}\n%.*sdef : InstRW<[", indent, blanks, indent, blanks);
	if (class)
		fprintf(out, "!cast<SchedWriteRes>(NAME # \"%s\")", name);
	else
		fputs(name, out);
	/* READ,READ,... */
	for (const char *read = reads; read && *read;) {
		size_t length = strcspn(read, ", ");

		fprintf(out, ", %.*s", (int)length, read);
		read = read[length] == ',' ? read + length + 1 : NULL;
	}
	/* In a multiclass a name may be an argument's. */
	fprintf(out, "],\n%.*s             (%s", indent, blanks, class ? "instregex" : "instrs");
	for (size_t i = 0; i < edit->opcodes; i++)
		fprintf(out, class ? "%s \"^%s$\"" : "%s %s", i ? "," : "", edit->opcode[i]->name);
	fputs(")>;", out);
}

/* Whether any read-advance depends on a SchedWrite: then its latency has its name. */
static bool has_readers(const struct model_lines *model, const char *write)
{
	const char *class = model_class_of(model, write, NULL);
	size_t length = 0;
	const char *latency = class ? model_line_word(class, "latency", &length) : NULL;

	return latency && memchr(latency, ':', length);
}

/* The line `write` of a SchedWrite that lists an opcode; its other lines may have other
 * SchedReads. */
static const char *find_write_of(const struct model_lines *model, const char *write,
				 const char *opcode)
{
	const char *inside = NULL;

	for (size_t i = 0; i < model->count; i++) {
		const char *line = model->line[i];

		if (*line != '\t' && *line != ' ') {
			if (*line != '#')
				inside = model_is_line(line, "write", write) ? line : NULL;
			continue;
		}
		while (inside && *line) {
			size_t length = strcspn(line, " \t");

			if (model_is_word(line, length, opcode))
				return inside;
			line += length;
			line += strspn(line, " \t");
		}
	}
	return NULL;
}

static struct pesa_error *change_opcodes(struct tablegen_files *files,
					 const struct compare_edit *edit,
					 const struct model_lines *model, const char *evidence)
{
	struct tablegen_site site = {0};
	struct value value[2];
	unsigned int count = 0;
	const char *line = NULL, *reads = NULL, *blanks;
	struct tablegen_span resources, at;
	struct pesa_error *error =
		tablegen_find_statement(files, edit->from, edit->write, tablegen_defines, &site);
	int indent;
	size_t length;
	char *text;
	FILE *out;

	if (!error)
		error = tablegen_find_condition(&site, edit->write);
	if (error)
		return error;
	if (*site.condition || is_in(&site, TABLEGEN_FOREACH))
		return tablegen_unsupported(&site, "single opcodes of a loop are not changed");
	if (!tablegen_find_resources(&site, &resources) || strchr(edit->write, '+') ||
	    tablegen_is_called(&site.file->tablegen, site.statement, edit->write))
		return tablegen_unsupported(
			&site, "its opcodes have an InstRW already, to be split by hand");
	error = new_values(&site, edit, model, value, &count);
	if (error)
		return error;
	line = find_write_of(model, edit->write, edit->opcode[0]->name);
	if (line)
		reads = model_line_word(line, "reads", &length);
	at.start = at.end = behind_fields(&site);
	indent = tablegen_indentation(&site.file->tablegen, site.statement->span.start, &blanks);
	for (size_t i = site.statement->scope;
	     i != TABLEGEN_NONE && site.file->tablegen.scope[i].end == at.end;
	     i = site.file->tablegen.scope[i].parent)
		indent = tablegen_indentation(&site.file->tablegen,
					      keyword_of(&site.file->tablegen, i), &blanks);
	out = open_memstream(&text, &length);
	if (!out)
		return pesa_error_no_memory();
	fprintf(out, "\n\n%.*s", indent, blanks);
	tablegen_write_comment(out, evidence, blanks, indent);
	if (has_readers(model, edit->write))
		tablegen_write_comment(
			out,
			"Read advances that list the SchedWrite do not hold for this "
			"one, unless it is added to them.",
			blanks, indent);
	write_opcodes(out, &site, edit, value, count, reads, blanks, indent);
	if (fclose(out))
		return pesa_error_no_memory();
	error = tablegen_replace(site.file, at, text);
	free(text);
	return error;
}

struct pesa_error *tablegen_change(struct tablegen_files *files, const struct compare_edit *edit,
				   const struct model_lines *model, const char *evidence)
{
	if (edit->finding->kind == PESA_COMPARE_UNITS)
		return tablegen_change_units(files, edit, model, evidence);
	if (edit->finding->kind == PESA_COMPARE_ADVANCE)
		return tablegen_change_advances(files, edit, model, evidence);
	if (!edit->write)
		return pesa_error_create(PESA_ERROR_NOT_FOUND,
					 "the model does not say what LLVM calls %s",
					 edit->finding->scheduling_class);
	if (edit->opcodes)
		return change_opcodes(files, edit, model, evidence);
	return change_write(files, edit, model, evidence);
}
