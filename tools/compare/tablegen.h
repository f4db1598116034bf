/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The definitions in a TableGen file: its statements, and the scopes around each of them.
 *
 * Nothing is evaluated.  A statement is a `def`, a `defm` or another one; a scope is what statements
 * are nested in: `let ... in`, `foreach`, `multiclass`, `if`.  Both are spans of the text, as
 * offsets, so that a change replaces exactly what it has to (LLVM's TableGen Programmer's Reference,
 * "Statements").  Files are hostile: every offset is within the text, and nesting is limited.
 */
#ifndef TOOLS_COMPARE_TABLEGEN_H
#define TOOLS_COMPARE_TABLEGEN_H

#include <stdbool.h>
#include <stddef.h>

#include "pesa/error.h"

#define TABLEGEN_NONE ((size_t)-1)

/* A piece of the text. */
struct tablegen_span {
	size_t start, end;
};

enum tablegen_scope_kind {
	TABLEGEN_LET,
	TABLEGEN_FOREACH,
	TABLEGEN_MULTICLASS,
	TABLEGEN_OTHER_SCOPE, /* if, else, defset, a class */
};

struct tablegen_scope {
	enum tablegen_scope_kind kind;
	struct tablegen_span name; /* of a variable of a foreach, of a multiclass; else empty */
	struct tablegen_span head; /* between the keyword and the statements */
	size_t end;		   /* after its last statement and its brace */
	size_t parent;		   /* index, or TABLEGEN_NONE */
};

enum tablegen_statement_kind {
	TABLEGEN_DEF,
	TABLEGEN_DEFM,
	TABLEGEN_OTHER,
};

struct tablegen_statement {
	enum tablegen_statement_kind kind;
	struct tablegen_span span; /* from the keyword to after the semicolon or brace */
	struct tablegen_span body; /* between the braces; empty and 0 if it has none */
	size_t scope;		   /* index, or TABLEGEN_NONE */
};

struct tablegen {
	const char *text;
	size_t size;
	struct tablegen_scope *scope;
	size_t scopes;
	struct tablegen_statement *statement; /* in their order; not those within bodies */
	size_t statements;
};

/* Read a text, which must outlive the result. PESA_ERROR_FORMAT: brackets do not match, or nest too
 * deeply; the message begins with the line. */
struct pesa_error *tablegen_parse(const char *text, size_t size, struct tablegen *result);
void tablegen_free(struct tablegen *tablegen);

/* The number of the line, from 1, that an offset is in. */
size_t tablegen_line(const struct tablegen *tablegen, size_t offset);

/* The next token at or after *offset, before `end`, without comments and blanks; *offset moves
 * after it. False: there is none. A string, or code, is one token. */
bool tablegen_token(const struct tablegen *tablegen, size_t *offset, size_t end,
		    struct tablegen_span *token);
/* Whether a span is this text. */
bool tablegen_is(const struct tablegen *tablegen, struct tablegen_span span, const char *text);

/* The value of the assignment `FIELD = VALUE` in the comma-separated list of a `let`; false: the
 * list has no such field. */
bool tablegen_let_value(const struct tablegen *tablegen, struct tablegen_span head,
			const char *field, struct tablegen_span *value);
/* The value of the statement `let FIELD = VALUE;` in a body; false: the body has none. */
bool tablegen_body_value(const struct tablegen *tablegen, struct tablegen_span body,
			 const char *field, struct tablegen_span *value);
/* Split the contents of brackets, "a, b<c, d>", at its commas. Returns the number of parts, which
 * may be more than `room`. */
size_t tablegen_split(const struct tablegen *tablegen, struct tablegen_span list,
		      struct tablegen_span *part, size_t room);

#endif
