/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * JSON texts of exports.  Their documents are long lists of numbers that are printed as they come,
 * so no tree of them is built; only texts need care.
 */
#ifndef DECODER_EXPORT_JSON_H
#define DECODER_EXPORT_JSON_H

#include <stdio.h>

/* The character at `text` as \u and digits; U+FFFD for a byte that is part of none. */
void export_json_character(FILE *out, const char *text);
/* A text in quotes.  Bytes that are no UTF-8 are replaced; characters that a terminal should not
 * get (decoder/base/terminal_text.h) are escaped. */
void export_json_text(FILE *out, const char *text);

#endif
