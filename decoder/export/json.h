/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * JSON strings of exports.  The documents are long lists of numbers, which are printed without
 * building a tree first; only strings need escapes.
 */
#ifndef DECODER_EXPORT_JSON_H
#define DECODER_EXPORT_JSON_H

#include <stdio.h>

/* Print the character at `text` as a \u escape; U+FFFD for a byte that is not part of a
 * character. */
void export_json_character(FILE *out, const char *text);
/* Print a quoted string.  Bytes that are not UTF-8 are replaced; characters unsafe on a terminal
 * (decoder/base/terminal_text.h) are escaped. */
void export_json_text(FILE *out, const char *text);

#endif
