/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Terminal: what the place that output goes to can show.
 *
 * Colour only where a terminal shows it (and NO_COLOR is not set), unless the user says otherwise;
 * bars and signs beyond ASCII only where the locale's character set is UTF-8; lines are cut at the
 * width of the terminal (or COLUMNS), and never where output goes to a file or a pipe.
 */
#ifndef TOOLS_UI_TERMINAL_H
#define TOOLS_UI_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum ui_when { UI_AUTO, UI_ALWAYS, UI_NEVER };

/* "auto", "always", "never"; false if it is none of them. */
bool ui_when_parse(const char *text, enum ui_when *when);

struct ui_terminal {
	FILE *out;
	bool colour, utf8, is_terminal;
	unsigned int width; /* columns; 0: unlimited */
};

/* Standard output as it is.  Sets the locale of character types. */
struct ui_terminal ui_terminal_open(enum ui_when colour);

/* Styles; UI_PLAIN ends any. */
enum ui_style {
	UI_PLAIN,
	UI_BOLD,
	UI_DIM,
	UI_RETIRING, /* one for each state of the retire stage, in the order of PESA_STATE_* */
	UI_STALLED,
	UI_FLUSHED,
	UI_DRAINED,
	UI_HOT,	   /* a large share */
	UI_SOURCE, /* program text */
	UI_STYLES,
};

/* The escape sequence for a style, "" without colour. */
const char *ui_style(const struct ui_terminal *terminal, enum ui_style style);

/* Not a further byte of a character of UTF-8, which takes no column. */
static inline bool ui_begins_character(char byte)
{
	return ((unsigned char)byte & 0xc0) != 0x80;
}

/* Columns that a text takes, escape sequences and UTF-8 considered. */
size_t ui_columns(const char *text);

/* Print a line (without its newline), cut to the terminal's width with a mark where it was cut. */
void ui_print_line(const struct ui_terminal *terminal, const char *line);

/* Print lines of text as lines that are no wider than the terminal, or than `otherwise` columns
 * where its width is unlimited (0: in one line), each behind `indent` blanks.  They are broken at
 * blanks, and a word that is wider than that is cut in pieces.  No escape sequences. */
void ui_print_wrapped(const struct ui_terminal *terminal, const char *text, unsigned int indent,
		      unsigned int otherwise);

#endif
