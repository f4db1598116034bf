/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The statements of a TableGen file and what is around each of them: see tablegen.h. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "tools/compare/tablegen.h"

#define NESTING_MAX 64

struct parser {
	struct tablegen *tablegen;
	size_t at;
	unsigned int depth;
};

/* ---- Words and signs ------------------------------------------------------------------------- */

static bool is_at(const struct tablegen *tablegen, size_t at, size_t end, const char *text)
{
	size_t length = strlen(text);

	return end - at >= length && !memcmp(tablegen->text + at, text, length);
}

static size_t line_end(const struct tablegen *tablegen, size_t at, size_t end)
{
	const char *found = memchr(tablegen->text + at, '\n', end - at);

	return found ? (size_t)(found - tablegen->text) : end;
}

/* The offset after the first `closing` at or after `from`; `end` if there is none. */
static size_t offset_after(const struct tablegen *tablegen, size_t from, size_t end,
			   const char *closing)
{
	while (from < end && !is_at(tablegen, from, end, closing))
		from++;
	return from < end ? from + strlen(closing) : end;
}

/* Whether '#' begins a preprocessor line: it is the first token of its line, and not a paste. */
static bool is_directive(const struct tablegen *tablegen, size_t at, size_t end)
{
	static const char *const words[] = {"#ifdef", "#ifndef", "#else", "#endif", "#define"};
	size_t first = at;

	while (first && (tablegen->text[first - 1] == ' ' || tablegen->text[first - 1] == '\t'))
		first--;
	if (first && tablegen->text[first - 1] != '\n')
		return false;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (is_at(tablegen, at, end, words[i]))
			return true;
	return false;
}

static size_t skip_blanks(const struct tablegen *tablegen, size_t at, size_t end)
{
	while (at < end) {
		unsigned char c = (unsigned char)tablegen->text[at];

		if (isspace(c))
			at++;
		else if (is_at(tablegen, at, end, "//") ||
			 (c == '#' && is_directive(tablegen, at, end)))
			at = line_end(tablegen, at, end);
		else if (is_at(tablegen, at, end, "/*"))
			at = offset_after(tablegen, at + 2, end, "*/");
		else
			break;
	}
	return at;
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

bool tablegen_token(const struct tablegen *tablegen, size_t *offset, size_t end,
		    struct tablegen_span *token)
{
	const char *text = tablegen->text;
	size_t at = skip_blanks(tablegen, *offset, end);

	token->start = at;
	if (at >= end)
		return false;
	if (text[at] == '"') {
		for (at++; at < end && text[at] != '"'; at++)
			at += text[at] == '\\' && at + 1 < end;
		at += at < end;
	} else if (is_at(tablegen, at, end, "[{")) {
		at = offset_after(tablegen, at + 2, end, "}]");
	} else if (is_word(text[at])) {
		while (at < end && is_word(text[at]))
			at++;
	} else {
		at++;
	}
	token->end = *offset = at;
	return true;
}

bool tablegen_is(const struct tablegen *tablegen, struct tablegen_span span, const char *text)
{
	return span.end - span.start == strlen(text) &&
	       !memcmp(tablegen->text + span.start, text, span.end - span.start);
}

size_t tablegen_line(const struct tablegen *tablegen, size_t offset)
{
	size_t line = 1;

	for (size_t i = 0; i < offset && i < tablegen->size; i++)
		line += tablegen->text[i] == '\n';
	return line;
}

/* Change of the nesting depth by a token. */
static int nesting_of(const struct tablegen *tablegen, struct tablegen_span token)
{
	if (token.end - token.start != 1)
		return 0;
	switch (tablegen->text[token.start]) {
	case '(':
	case '[':
	case '{':
	case '<':
		return 1;
	case ')':
	case ']':
	case '}':
	case '>':
		return -1;
	default:
		return 0;
	}
}

/* ---- Statements ------------------------------------------------------------------------------ */

static struct pesa_error *fail(const struct parser *parser, size_t offset, const char *what)
{
	return pesa_error_create(PESA_ERROR_FORMAT, "%zu: %s",
				 tablegen_line(parser->tablegen, offset), what);
}

static bool next(struct parser *parser, struct tablegen_span *token)
{
	return tablegen_token(parser->tablegen, &parser->at, parser->tablegen->size, token);
}

static bool peek(const struct parser *parser, struct tablegen_span *token)
{
	size_t at = parser->at;

	return tablegen_token(parser->tablegen, &at, parser->tablegen->size, token);
}

/* Make room for one more; their number doubles. */
static bool grow(void *array, size_t count, size_t size)
{
	void **pointer = array, *larger;

	if (count & (count - 1))
		return true;
	larger = realloc(*pointer, (count ? 2 * count : 1) * size);
	if (larger)
		*pointer = larger;
	return larger;
}

/* Skip to `word` or `other` outside of brackets. */
static struct pesa_error *skip_to(struct parser *parser, const char *word, const char *other,
				  struct tablegen_span *found)
{
	size_t begin = parser->at;
	int open = 0;

	while (peek(parser, found)) {
		if (!open && (tablegen_is(parser->tablegen, *found, word) ||
			      (other && tablegen_is(parser->tablegen, *found, other))))
			return NULL;
		open += nesting_of(parser->tablegen, *found);
		if (open < 0)
			return fail(parser, found->start, "a bracket closes that was not opened");
		parser->at = found->end;
	}
	return fail(parser, begin, "a statement does not end");
}

static struct pesa_error *parse_statements(struct parser *parser, size_t scope, bool braced);
static struct pesa_error *parse_statement(struct parser *parser, size_t scope);

/* The body of a scope: statements in braces, or a single one. */
static struct pesa_error *parse_block(struct parser *parser, struct tablegen_scope scope)
{
	struct tablegen *tablegen = parser->tablegen;
	struct tablegen_span token;
	struct pesa_error *error;
	size_t index = tablegen->scopes;

	if (parser->depth >= NESTING_MAX)
		return fail(parser, parser->at, "statements are nested too deeply");
	if (!grow(&tablegen->scope, tablegen->scopes, sizeof(*tablegen->scope)))
		return pesa_error_no_memory();
	tablegen->scope[tablegen->scopes++] = scope;
	parser->depth++;
	if (peek(parser, &token) && tablegen_is(tablegen, token, "{")) {
		parser->at = token.end;
		error = parse_statements(parser, index, true);
	} else {
		error = parse_statement(parser, index);
	}
	parser->depth--;
	tablegen->scope[index].end = parser->at;
	return error;
}

/* `keyword HEAD in STATEMENTS`, `keyword HEAD then STATEMENTS`, `keyword HEAD { STATEMENTS }` */
static struct pesa_error *parse_scope(struct parser *parser, enum tablegen_scope_kind kind,
				      const char *ends, size_t parent)
{
	struct tablegen_scope scope = {.kind = kind, .parent = parent};
	struct tablegen_span token;
	struct pesa_error *error;
	bool named = kind == TABLEGEN_FOREACH || kind == TABLEGEN_MULTICLASS;

	scope.head.start = parser->at;
	if (named && peek(parser, &token))
		scope.name = token;
	error = skip_to(parser, ends, NULL, &token);
	if (error)
		return error;
	scope.head.end = token.start;
	if (!tablegen_is(parser->tablegen, token, "{"))
		parser->at = token.end;
	return parse_block(parser, scope);
}

/* A statement up to its semicolon or the end of its body. */
static struct pesa_error *parse_plain(struct parser *parser, enum tablegen_statement_kind kind,
				      size_t start, size_t scope)
{
	struct tablegen *tablegen = parser->tablegen;
	struct tablegen_statement statement = {
		.kind = kind, .span = {start, start}, .scope = scope};
	struct tablegen_span token;
	struct pesa_error *error = skip_to(parser, ";", "{", &token);

	if (error)
		return error;
	parser->at = token.end;
	if (tablegen_is(tablegen, token, "{")) {
		statement.body.start = token.end;
		error = skip_to(parser, "}", NULL, &token);
		if (error)
			return error;
		statement.body.end = token.start;
		parser->at = token.end;
	}
	statement.span.end = parser->at;
	if (!grow(&tablegen->statement, tablegen->statements, sizeof(*tablegen->statement)))
		return pesa_error_no_memory();
	tablegen->statement[tablegen->statements++] = statement;
	return NULL;
}

static struct pesa_error *parse_statement(struct parser *parser, size_t scope)
{
	static const struct {
		const char *keyword, *ends;
		enum tablegen_scope_kind kind;
	} scopes[] = {
		{"let", "in", TABLEGEN_LET},
		{"foreach", "in", TABLEGEN_FOREACH},
		{"multiclass", "{", TABLEGEN_MULTICLASS},
		{"if", "then", TABLEGEN_OTHER_SCOPE},
		{"defset", "{", TABLEGEN_OTHER_SCOPE},
	};
	struct tablegen *tablegen = parser->tablegen;
	struct tablegen_span token;

	if (!next(parser, &token))
		return fail(parser, parser->at, "a statement is missing");
	for (size_t i = 0; i < sizeof(scopes) / sizeof(scopes[0]); i++)
		if (tablegen_is(tablegen, token, scopes[i].keyword))
			return parse_scope(parser, scopes[i].kind, scopes[i].ends, scope);
	if (tablegen_is(tablegen, token, "else"))
		return parse_block(parser, (struct tablegen_scope){.kind = TABLEGEN_OTHER_SCOPE,
								   .head = {token.end, token.end},
								   .parent = scope});
	if (tablegen_is(tablegen, token, "include"))
		return next(parser, &token) ? NULL : fail(parser, token.start, "a name is missing");
	return parse_plain(parser,
			   tablegen_is(tablegen, token, "def")	  ? TABLEGEN_DEF
			   : tablegen_is(tablegen, token, "defm") ? TABLEGEN_DEFM
								  : TABLEGEN_OTHER,
			   token.start, scope);
}

static struct pesa_error *parse_statements(struct parser *parser, size_t scope, bool braced)
{
	struct tablegen_span token;
	size_t begin = parser->at;
	struct pesa_error *error = NULL;

	while (!error && peek(parser, &token)) {
		if (braced && tablegen_is(parser->tablegen, token, "}")) {
			parser->at = token.end;
			return NULL;
		}
		error = parse_statement(parser, scope);
	}
	return error || !braced ? error : fail(parser, begin, "a brace is not closed");
}

struct pesa_error *tablegen_parse(const char *text, size_t size, struct tablegen *result)
{
	struct parser parser = {.tablegen = result};
	struct pesa_error *error;

	*result = (struct tablegen){.text = text, .size = size};
	error = parse_statements(&parser, TABLEGEN_NONE, false);
	if (error)
		tablegen_free(result);
	return error;
}

void tablegen_free(struct tablegen *tablegen)
{
	free(tablegen->scope);
	free(tablegen->statement);
	*tablegen = (struct tablegen){0};
}

/* ---- Parts of statements --------------------------------------------------------------------- */

static struct tablegen_span trimmed(const struct tablegen *tablegen, struct tablegen_span span)
{
	span.start = skip_blanks(tablegen, span.start, span.end);
	while (span.end > span.start && isspace((unsigned char)tablegen->text[span.end - 1]))
		span.end--;
	return span;
}

size_t tablegen_split(const struct tablegen *tablegen, struct tablegen_span list,
		      struct tablegen_span *part, size_t room)
{
	struct tablegen_span one = {list.start, list.end}, token;
	size_t at = list.start, count = 0;
	int open = 0;

	if (trimmed(tablegen, list).start == list.end)
		return 0;
	while (tablegen_token(tablegen, &at, list.end, &token)) {
		open += nesting_of(tablegen, token);
		if (open || !tablegen_is(tablegen, token, ","))
			continue;
		one.end = token.start;
		if (count < room)
			part[count] = trimmed(tablegen, one);
		count++;
		one = (struct tablegen_span){token.end, list.end};
	}
	if (count < room)
		part[count] = trimmed(tablegen, one);
	return count + 1;
}

/* If a span is "FIELD = VALUE", the value. */
static bool assigned(const struct tablegen *tablegen, struct tablegen_span span, const char *field,
		     struct tablegen_span *value)
{
	struct tablegen_span token;
	size_t at = span.start;

	if (!tablegen_token(tablegen, &at, span.end, &token) ||
	    !tablegen_is(tablegen, token, field) ||
	    !tablegen_token(tablegen, &at, span.end, &token) || !tablegen_is(tablegen, token, "="))
		return false;
	*value = trimmed(tablegen, (struct tablegen_span){at, span.end});
	return true;
}

bool tablegen_let_value(const struct tablegen *tablegen, struct tablegen_span head,
			const char *field, struct tablegen_span *value)
{
	struct tablegen_span part[16];
	size_t count = tablegen_split(tablegen, head, part, sizeof(part) / sizeof(part[0]));

	for (size_t i = 0; i < count && i < sizeof(part) / sizeof(part[0]); i++)
		if (assigned(tablegen, part[i], field, value))
			return true;
	return false;
}

bool tablegen_body_value(const struct tablegen *tablegen, struct tablegen_span body,
			 const char *field, struct tablegen_span *value)
{
	struct tablegen_span token, one = {0};
	size_t at = body.start;
	bool let = false;
	int open = 0;

	one.start = body.start;
	while (tablegen_token(tablegen, &at, body.end, &token)) {
		open += nesting_of(tablegen, token);
		if (open)
			continue;
		if (tablegen_is(tablegen, token, "let")) {
			let = true;
			one.start = token.end;
		} else if (tablegen_is(tablegen, token, ";")) {
			one.end = token.start;
			if (let && assigned(tablegen, one, field, value))
				return true;
			let = false;
		}
	}
	return false;
}
