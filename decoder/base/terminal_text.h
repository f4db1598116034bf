/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Text that is safe to show on a terminal, in a log and in a line of a text file.
 *
 * Names of files, threads, functions, regions and command lines are bytes that a recorded program
 * or whoever wrote a file chose.  Shown as they are, they can move the cursor, answer in the
 * user's place (escape sequences), forge lines (line breaks), or turn the order of what stands
 * around them (bidirectional controls).  The functions here keep well-formed UTF-8 (RFC 3629) that
 * can be seen, and write all else as C would:
 *
 *   \x1b        a byte: a control character of ASCII, or a byte that is part of no character
 *   \u202e      a character: controls C1, formatting and bidirectional controls, line and paragraph
 *               separators, and what is invisible by default (Unicode's Cc, Cf, Zl, Zp and
 *   \U000e0041  Default_Ignorable_Code_Point)
 *
 * A backslash stays as it is, so that safe text is unchanged: a name that holds the four characters
 * \x1b looks like one that holds ESC.  JSON output tells them apart.
 */
#ifndef DECODER_BASE_TERMINAL_TEXT_H
#define DECODER_BASE_TERMINAL_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Room for one escaped byte or character, terminated. */
#define TERMINAL_TEXT_ESCAPE 12

/* The code point of a well-formed character of `length` bytes (utf8_length()). */
uint32_t terminal_text_code(const unsigned char *text, size_t length);
/* Whether a character may be shown as it is. */
bool terminal_text_is_visible(uint32_t code);

/*
 * The character, or the byte that is part of none, at `text`, which is terminated: returns its
 * bytes; `escaped` becomes what to show instead, "" if it can be shown as it is.
 */
size_t terminal_text_next(const unsigned char *text, char escaped[TERMINAL_TEXT_ESCAPE]);

bool terminal_text_is_safe(const char *text);
/* A safe copy that the caller frees.  NULL: out of memory. */
char *terminal_text(const char *text);
/* In place of `text`, which has `size` bytes of room; cut between two characters if it must be. */
void terminal_text_in_place(char *text, size_t size);
void terminal_text_print(FILE *out, const char *text);

#endif
