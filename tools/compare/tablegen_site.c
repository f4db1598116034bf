/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where LLVM's files define something, and what the definition says now: see tablegen_site.h. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/compare/tablegen_files.h"
#include "tools/compare/tablegen_site.h"

#define BINDINGS_MAX 4
#define COMMENT_MAX  76 /* columns of a comment, without its indentation */

/* ---- Finding a definition -------------------------------------------------------------------- */

/* The first argument list of a statement, between < and >. */
bool tablegen_find_arguments(const struct tablegen *tablegen,
			     const struct tablegen_statement *statement,
			     struct tablegen_span *arguments)
{
	struct tablegen_span token;
	size_t at = statement->span.start, end = statement->span.end;
	int open = 0;

	while (tablegen_token(tablegen, &at, end, &token)) {
		if (tablegen_is(tablegen, token, "<")) {
			if (!open++)
				arguments->start = token.end;
		} else if (tablegen_is(tablegen, token, ">") && open && !--open) {
			arguments->end = token.start;
			return true;
		}
	}
	return false;
}

/* A variable in a name, and the text that replaces it. */
struct binding {
	struct tablegen_span variable;
	const char *text;
	int length;
};

/* How an argument matches the name of a SchedWrite. */
struct match {
	struct binding binding[BINDINGS_MAX];
	unsigned int bindings;
	const char *rest; /* of the name: "", or _LMUL, or _LMUL_ESEW */
	bool pattern;	  /* it is a string, or several pasted together */
};

/* Length of the part of a name that a variable replaces: up to the string pasted after it, or the
 * LMUL. */
static size_t length_of_variable(const struct tablegen *tablegen, size_t at, size_t end,
				 const char *name)
{
	struct tablegen_span token;
	size_t length = strspn(name, "0123456789");

	while (tablegen_token(tablegen, &at, end, &token)) {
		const char *text = tablegen->text + token.start, *found;

		if (*text != '"')
			continue;
		found = memmem(name, strlen(name), text + 1, token.end - token.start - 2);
		return found ? (size_t)(found - name) : 0;
	}
	return length ? length : strcspn(name, "_");
}

/*
 * Whether an argument names a SchedWrite: itself, or as a string that the LMUL and SEW are added to,
 * which may be pasted together of strings and numbers ("WriteVLSEG" # nf # "e" # eew).
 */
static bool names(const struct tablegen *tablegen, struct tablegen_span argument, const char *write,
		  struct match *match)
{
	struct tablegen_span token;
	size_t at = argument.start;

	*match = (struct match){.rest = write};
	if (tablegen_is(tablegen, argument, write)) {
		match->rest = write + strlen(write);
		return true;
	}
	while (tablegen_token(tablegen, &at, argument.end, &token)) {
		const char *text = tablegen->text + token.start;
		size_t length = token.end - token.start;

		if (*text == '#')
			continue;
		if (*text == '"' && length > 2 && !strncmp(text + 1, match->rest, length - 2)) {
			match->rest += length - 2;
			match->pattern = true;
		} else if (isalpha((unsigned char)*text) && match->pattern &&
			   match->bindings < BINDINGS_MAX) {
			length = length_of_variable(tablegen, at, argument.end, match->rest);
			if (!length)
				return false;
			match->binding[match->bindings++] =
				(struct binding){token, match->rest, (int)length};
			match->rest += length;
		} else {
			return false;
		}
	}
	return match->pattern && (!*match->rest || *match->rest == '_');
}

/* The contents of !cast<CLASS>(...); any other argument unchanged. */
static struct tablegen_span without_cast(const struct tablegen *tablegen,
					 struct tablegen_span argument)
{
	const char *text = tablegen->text + argument.start, *open;
	size_t length = argument.end - argument.start;

	if (length < 6 || memcmp(text, "!cast", 5) != 0 || text[length - 1] != ')')
		return argument;
	open = memchr(text, '(', length);
	if (open)
		argument = (struct tablegen_span){(size_t)(open + 1 - tablegen->text),
						  argument.end - 1};
	return argument;
}

/* The argument of a statement that names a SchedWrite. */
static bool find_name(const struct tablegen *tablegen, const struct tablegen_statement *statement,
		      const char *write, struct match *match)
{
	struct tablegen_span arguments, part[TABLEGEN_PARTS_MAX];
	size_t count;

	if (!tablegen_find_arguments(tablegen, statement, &arguments))
		return false;
	count = tablegen_split(tablegen, arguments, part, TABLEGEN_PARTS_MAX);
	for (size_t i = 0; i < count && i < TABLEGEN_PARTS_MAX; i++)
		if (names(tablegen, without_cast(tablegen, part[i]), write, match))
			return true;
	return false;
}

bool tablegen_is_called(const struct tablegen *tablegen, const struct tablegen_statement *statement,
			const char *name)
{
	size_t at = statement->span.start;
	struct tablegen_span keyword, token;

	return tablegen_token(tablegen, &at, statement->span.end, &keyword) &&
	       tablegen_token(tablegen, &at, statement->span.end, &token) &&
	       tablegen_is(tablegen, token, name);
}

bool tablegen_defines(const struct tablegen *tablegen, const struct tablegen_statement *statement,
		      const char *write)
{
	size_t at = statement->span.start;
	struct tablegen_span token;
	bool after_colon = false;
	struct match match;

	if (statement->kind == TABLEGEN_OTHER || (!tablegen_is_called(tablegen, statement, write) &&
						  !find_name(tablegen, statement, write, &match)))
		return false;
	while (tablegen_token(tablegen, &at, statement->span.end, &token)) {
		const char *text = tablegen->text + token.start;
		size_t length = token.end - token.start;

		/* `: SchedWrite`, LMULSchedWrites, LMULSEWSchedWritesF: declarations. */
		if ((after_colon && tablegen_is(tablegen, token, "SchedWrite")) ||
		    tablegen_is(tablegen, token, "InstRW") ||
		    memmem(text, length, "SchedWrites", 11))
			return false;
		after_colon = *text == ':';
	}
	return true;
}

/* Whether a statement is in `let Unsupported = true`. */
static bool is_unsupported(const struct tablegen *tablegen, size_t scope)
{
	struct tablegen_span value;

	for (; scope != TABLEGEN_NONE; scope = tablegen->scope[scope].parent)
		if (tablegen->scope[scope].kind == TABLEGEN_LET &&
		    tablegen_let_value(tablegen, tablegen->scope[scope].head, "Unsupported",
				       &value))
			return true;
	return false;
}

/* Distance of a statement from a line, in lines. */
static size_t distance(const struct tablegen *tablegen, const struct tablegen_statement *statement,
		       size_t line)
{
	size_t first = tablegen_line(tablegen, statement->span.start);
	size_t last = tablegen_line(tablegen, statement->span.end - 1);

	return line < first ? first - line : line > last ? line - last : 0;
}

/* The wanted statement nearest to a line: in another version of LLVM it has moved. */
static const struct tablegen_statement *
nearest(const struct tablegen *tablegen, size_t line,
	bool (*is_wanted)(const struct tablegen *tablegen,
			  const struct tablegen_statement *statement, const char *name),
	const char *name)
{
	const struct tablegen_statement *best = NULL;

	for (size_t i = 0; i < tablegen->statements; i++) {
		const struct tablegen_statement *one = &tablegen->statement[i];

		if (is_wanted(tablegen, one, name) && !is_unsupported(tablegen, one->scope) &&
		    (!best || distance(tablegen, one, line) < distance(tablegen, best, line)))
			best = one;
	}
	return best;
}

/* Find a statement at one of the places "FILE:LINE,FILE:LINE": the innermost matching one. */
struct pesa_error *tablegen_find_statement(
	struct tablegen_files *files, const char *from, const char *name,
	bool (*is_wanted)(const struct tablegen *tablegen,
			  const struct tablegen_statement *statement, const char *name),
	struct tablegen_site *site)
{
	for (const char *place = from; place && *place;) {
		size_t length = strcspn(place, ",+"), colon = strcspn(place, ":");
		struct pesa_error *error;

		if (colon >= length)
			break;
		error = tablegen_files_get(files, place, colon, &site->file);
		if (error)
			return error;
		site->statement = nearest(&site->file->tablegen,
					  strtoul(place + colon + 1, NULL, 10), is_wanted, name);
		if (site->statement)
			return NULL;
		if (place[length] == '+')
			return pesa_error_create(PESA_ERROR_UNSUPPORTED,
						 "%s has several definitions (%s)", name, from);
		place += length + (place[length] == ',');
	}
	return pesa_error_create(PESA_ERROR_NOT_FOUND,
				 "no definition of %s that can be changed is at %s", name,
				 from ? from : "any place that the model names");
}

struct pesa_error *tablegen_unsupported(const struct tablegen_site *site, const char *what)
{
	return pesa_error_create(PESA_ERROR_UNSUPPORTED, "%s:%zu: %s", site->file->name,
				 tablegen_line(&site->file->tablegen, site->statement->span.start),
				 what);
}

/* ---- Parts of a definition ------------------------------------------------------------------- */

/* Whether a name is the variable of a loop around the statement. */
static bool is_loop_variable(const struct tablegen_site *site, struct tablegen_span name)
{
	const struct tablegen *tablegen = &site->file->tablegen;

	for (size_t i = site->statement->scope; i != TABLEGEN_NONE; i = tablegen->scope[i].parent) {
		const struct tablegen_scope *scope = &tablegen->scope[i];

		if (scope->kind == TABLEGEN_FOREACH &&
		    tablegen_length(scope->name) == tablegen_length(name) &&
		    !strncmp(tablegen->text + scope->name.start, tablegen->text + name.start,
			     (size_t)tablegen_length(name)))
			return true;
	}
	return false;
}

/* Add the value of a variable. */
static void add_condition(struct tablegen_site *site, struct tablegen_span variable,
			  const char *text, int length, bool number)
{
	size_t used = strlen(site->condition);

	snprintf(site->condition + used, sizeof(site->condition) - used, "%s!eq(%.*s, %s%.*s%s)",
		 used ? ", " : "", tablegen_length(variable),
		 site->file->tablegen.text + variable.start, number ? "" : "\"", length, text,
		 number ? "" : "\"");
	site->conditions++;
}

/* The arguments of a statement that are variables of loops are the LMUL and the SEW, in this
 * order. */
struct pesa_error *tablegen_find_condition(struct tablegen_site *site, const char *write)
{
	const struct tablegen *tablegen = &site->file->tablegen;
	struct tablegen_span arguments, part[TABLEGEN_PARTS_MAX], variable[2];
	size_t count, variables = 0;
	char lmul[8] = "", sew[8] = "", joined[TABLEGEN_CONDITION_SIZE];
	struct match match;

	if (!find_name(tablegen, site->statement, write, &match) ||
	    !tablegen_find_arguments(tablegen, site->statement, &arguments))
		return NULL;
	count = tablegen_split(tablegen, arguments, part, TABLEGEN_PARTS_MAX);
	for (size_t i = 0; i < count && i < TABLEGEN_PARTS_MAX; i++)
		if (variables < 2 && is_loop_variable(site, part[i]))
			variable[variables++] = part[i];
	for (unsigned int i = 0; i < match.bindings; i++)
		add_condition(site, match.binding[i].variable, match.binding[i].text,
			      match.binding[i].length,
			      strspn(match.binding[i].text, "0123456789") >=
				      (size_t)match.binding[i].length);
	if (*match.rest) {
		if (sscanf(match.rest, "_%7[MF0-9]_E%7[0-9]", lmul, sew) < 1 ||
		    variables != (*sew ? 2U : 1U))
			return tablegen_unsupported(
				site, "it defines several SchedWrites, by no loop around it");
		add_condition(site, variable[0], lmul, (int)strlen(lmul), false);
		if (*sew)
			add_condition(site, variable[1], sew, (int)strlen(sew), true);
	}
	if (site->conditions > 1) {
		memcpy(joined, site->condition, sizeof(joined));
		snprintf(site->condition, sizeof(site->condition), "!and(%.400s)", joined);
	}
	return NULL;
}

/* The innermost scope that gives a field a value; TABLEGEN_NONE: there is none. */
size_t tablegen_scope_of_field(const struct tablegen_site *site, const char *field,
			       struct tablegen_span *value)
{
	const struct tablegen *tablegen = &site->file->tablegen;

	for (size_t i = site->statement->scope; i != TABLEGEN_NONE; i = tablegen->scope[i].parent)
		if (tablegen->scope[i].kind == TABLEGEN_LET &&
		    tablegen_let_value(tablegen, tablegen->scope[i].head, field, value))
			return i;
	return TABLEGEN_NONE;
}

/* The present value of a field of a definition, as text; false: the default of its class. */
bool tablegen_value_of_field(const struct tablegen_site *site, const char *field,
			     struct tablegen_span *value)
{
	const struct tablegen *tablegen = &site->file->tablegen;

	return (site->statement->body.start &&
		tablegen_body_value(tablegen, site->statement->body, field, value)) ||
	       tablegen_scope_of_field(site, field, value) != TABLEGEN_NONE;
}

/* The list of resources of a definition, between its brackets. */
bool tablegen_find_resources(const struct tablegen_site *site, struct tablegen_span *resources)
{
	const struct tablegen *tablegen = &site->file->tablegen;
	struct tablegen_span arguments, part[TABLEGEN_PARTS_MAX];
	size_t count;

	if (!tablegen_find_arguments(&site->file->tablegen, site->statement, &arguments))
		return false;
	count = tablegen_split(tablegen, arguments, part, TABLEGEN_PARTS_MAX);
	for (size_t i = 0; i < count && i < TABLEGEN_PARTS_MAX; i++)
		if (tablegen->text[part[i].start] == '[') {
			*resources = (struct tablegen_span){part[i].start + 1, part[i].end - 1};
			return true;
		}
	return false;
}

/* ---- Text ------------------------------------------------------------------------------------ */

/* The indentation before an offset; 0 if other text precedes it in its line. */
int tablegen_indentation(const struct tablegen *tablegen, size_t at, const char **blanks)
{
	size_t start = at;

	while (start && (tablegen->text[start - 1] == ' ' || tablegen->text[start - 1] == '\t'))
		start--;
	*blanks = tablegen->text + start;
	return start && tablegen->text[start - 1] != '\n' ? 0 : (int)(at - start);
}

/* Write a comment in lines of at most 80 columns, each indented like the following line. */
void tablegen_write_comment(FILE *out, const char *evidence, const char *blanks, int indent)
{
	while (*evidence) {
		size_t room = indent < 40 ? (size_t)(COMMENT_MAX - indent) : 36;
		size_t length = strlen(evidence);

		if (length > room)
			for (length = room; length > room / 2 && evidence[length] != ' '; length--)
				;
		fprintf(out, "// %.*s\n%.*s", (int)length, evidence, indent, blanks);
		evidence += length;
		evidence += strspn(evidence, " ");
	}
}

/* Put a comment before a statement, or before the scope that contains only it. */
struct pesa_error *tablegen_add_comment(const struct tablegen_site *site, size_t at,
					const char *evidence)
{
	struct pesa_error *error;
	const char *blanks;
	int indent = tablegen_indentation(&site->file->tablegen, at, &blanks);
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return pesa_error_no_memory();
	tablegen_write_comment(out, evidence, blanks, indent);
	if (fclose(out))
		return pesa_error_no_memory();
	error = tablegen_replace(site->file, (struct tablegen_span){at, at}, text);
	free(text);
	return error;
}
