/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Text that is safe to print on a terminal, in a log and in a line of a text file.
 *
 * Names of files, threads, functions, regions and command lines are bytes chosen by a recorded
 * program or by the author of a file.  Printed unchanged, they can move the cursor, send input to
 * the terminal (escape sequences), forge lines (line breaks), or reorder the surrounding text
 * (bidirectional controls).  The functions here keep visible well-formed UTF-8 (RFC 3629), and
 * escape everything else as in C:
 *
 *   \x1b        a byte: a control character of ASCII, or a byte that is part of no character
 *   \u202e      a character: controls C1, formatting and bidirectional controls, line and paragraph
 *               separators, and what is invisible by default (Unicode's Cc, Cf, Zl, Zp and
 *   \U000e0041  Default_Ignorable_Code_Point)
 *
 * A backslash is not escaped, so that safe text is unchanged: a name with the four characters \x1b
 * is printed like one with ESC.  JSON output distinguishes them.
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
/* Whether a character may be printed unchanged. */
bool terminal_text_is_visible(uint32_t code);

/*
 * Parse the character at `text`, which is terminated, or the byte that is not part of one.  Returns
 * its number of bytes; `escaped` is set to its escape, "" if it can be printed unchanged.
 */
size_t terminal_text_next(const unsigned char *text, char escaped[TERMINAL_TEXT_ESCAPE]);

bool terminal_text_is_safe(const char *text);
/* A safe copy, which the caller frees.  NULL: out of memory. */
char *terminal_text(const char *text);
/* Make `text` safe in its buffer of `size` bytes; truncated between two characters if necessary. */
void terminal_text_in_place(char *text, size_t size);
void terminal_text_print(FILE *out, const char *text);

#endif
