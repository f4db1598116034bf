/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Terminal: the capabilities of the output.
 *
 * Colours are used on terminals that support them (and if NO_COLOR is not set), unless the user
 * decides; bars and characters beyond ASCII only in a UTF-8 locale.  Lines are cut at the width of
 * the terminal (or COLUMNS), but never in a file or a pipe.
 */
#ifndef TOOLS_UI_TERMINAL_H
#define TOOLS_UI_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum ui_when { UI_AUTO, UI_ALWAYS, UI_NEVER };

/* "auto", "always", "never"; false: invalid. */
bool ui_when_parse(const char *text, enum ui_when *when);

struct ui_terminal {
	FILE *out;
	bool colour, utf8, is_terminal;
	unsigned int width; /* columns; 0: unlimited */
};

/* Describe standard output.  Sets the locale's character type. */
struct ui_terminal ui_terminal_open(enum ui_when colour);

/* Styles; UI_PLAIN ends the current one. */
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

/* Return whether a byte starts a character, that is, is not a continuation byte of UTF-8. */
static inline bool ui_begins_character(char byte)
{
	return ((unsigned char)byte & 0xc0) != 0x80;
}

/* Columns of a text with UTF-8 and escape sequences. */
size_t ui_columns(const char *text);
/* Remove the escape sequences. */
void ui_remove_escapes(char *text);

/* Print a line (without newline), cut to the terminal's width with a mark. */
void ui_print_line(const struct ui_terminal *terminal, const char *line);

/* The bytes of the text's first line that fit into `room` columns (0: all of them).  If the line does not
 * fit, it is broken at its last blank, if it has one. */
size_t ui_fitting(const char *text, size_t room);
/*
 * Print text wrapped to the terminal's width, or to `default_width` columns if that is unlimited
 * (0: one line), each line indented by `indent` blanks.  Lines break at blanks; words longer than a
 * line are split.
 * No escape sequences.
 */
void ui_print_wrapped(const struct ui_terminal *terminal, const char *text, unsigned int indent,
		      unsigned int default_width);

#endif
