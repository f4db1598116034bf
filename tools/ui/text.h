/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Text: a growing line, and numbers formatted for people.
 */
#ifndef TOOLS_UI_TEXT_H
#define TOOLS_UI_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A growing terminated string.  What has no memory is left out of it, and the program says so when it
 * exits (tools/ui/standard_output.h). */
struct ui_text {
	char *text;
	size_t length, room;
};

void ui_text_add(struct ui_text *line, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/*
 * These functions make the text safe for a terminal (decoder/base/terminal_text.h).  External names
 * must be added by one of the four; they cannot contain styles or line breaks.
 */
void ui_text_add_safe(struct ui_text *line, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Same, cut at `columns` with a mark; 0: not cut. */
void ui_text_add_cut(struct ui_text *line, const char *text, size_t columns, bool utf8);
/*
 * Same, for the name of a function; C++ and Rust template arguments and parameters are left out if
 * the name is longer than `columns`.
 */
void ui_text_add_name(struct ui_text *line, const char *name, size_t columns, bool utf8);
/* Same, for a line of source text; tabs are kept. */
void ui_text_add_source(struct ui_text *line, const char *text);
/* Same as ui_text_add_safe(line, "%s", text), several times as fast. */
void ui_text_put_safe(struct ui_text *line, const char *text);
/* Same as ui_text_add(line, "%s", text). */
void ui_text_put(struct ui_text *line, const char *text);
/* Bytes of a text that was made safe. */
void ui_text_put_bytes(struct ui_text *line, const char *text, size_t length);
/* A number in base 10 or 16, at least `width` places wide (0: any), filled with ' ' or '0' on its left. */
void ui_text_put_number(struct ui_text *line, uint64_t number, unsigned int base,
			unsigned int width, char fill);
/* Blanks until the text is `columns` wide, at least one. */
void ui_text_pad(struct ui_text *line, size_t columns);
/* The text, "" when nothing was added. */
const char *ui_text_get(const struct ui_text *line);
void ui_text_clear(struct ui_text *line);
void ui_text_free(struct ui_text *line);

/* Bytes that any number formatted below fits into. */
#define UI_NUMBER_SIZE 32

/* A count: up to four digits exactly; larger ones with three significant digits and a suffix k, M,
 * G, T, P or E (powers of 1000).
 */
const char *ui_count(char buffer[UI_NUMBER_SIZE], double value);
/* A time in nanoseconds, with three significant digits and a unit: "12.3ms". */
const char *ui_time(char buffer[UI_NUMBER_SIZE], double nanoseconds);
/* A share (0..1) in percent with two decimals: "12.34%". */
const char *ui_share(char buffer[UI_NUMBER_SIZE], double share);

#endif
