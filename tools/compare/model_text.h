/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The text of the processor model of a comparison, as lines and words
 * (Documentation/processor-model.md): for what writes it changed, and what looks up in it where LLVM
 * defines what.
 */
#ifndef TOOLS_COMPARE_MODEL_TEXT_H
#define TOOLS_COMPARE_MODEL_TEXT_H

#include "tools/compare/comparison.h"

struct model_lines {
	char *text;	   /* lines end with NUL */
	const char **line; /* `count` of them */
	size_t count;
};

/* The text of the model; the caller frees it. */
struct pesa_error *model_text_get(const struct comparison *comparison, char **text, size_t *size);
/* Split a text into lines, which take ownership of it. */
struct pesa_error *model_lines_split(char *text, size_t size, struct model_lines *lines);
void model_lines_free(struct model_lines *lines);

bool model_begins(const char *word, size_t length, const char *prefix);
bool model_is_word(const char *word, size_t length, const char *other);
/* Whether a line has this kind and name; name NULL: any name. */
bool model_is_line(const char *line, const char *kind, const char *name);
/* Whether a line belongs to the line `class` above it. */
bool model_is_below_class(const char *line);

/* The line with this kind and name; NULL: none. */
const char *model_find_line(const struct model_lines *lines, const char *kind, const char *name);
/* The line `class` above the first line `write` of this name, which is *write_line (may be NULL). */
const char *model_class_of(const struct model_lines *lines, const char *write,
			   const char **write_line);
/* The value of the first word KEY=VALUE of a line; NULL: none. */
const char *model_line_word(const char *line, const char *key, size_t *length);

#endif
