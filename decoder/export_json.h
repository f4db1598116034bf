/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * JSON texts of exports.  Their documents are long lists of numbers that are printed as they come,
 * so no tree of them is built; only texts need care.
 */
#ifndef DECODER_EXPORT_JSON_H
#define DECODER_EXPORT_JSON_H

#include <stdio.h>

/* A text in quotes.  Bytes that are no UTF-8 are replaced. */
void export_json_text(FILE *out, const char *text);

#endif
