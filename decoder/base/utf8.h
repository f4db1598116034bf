/* SPDX-License-Identifier: GPL-2.0-or-later */
/* UTF-8 (RFC 3629) for formats that require it: names of files and threads may have any bytes. */
#ifndef DECODER_BASE_UTF8_H
#define DECODER_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of the well-formed character at `text`, 0 if it is none. */
size_t utf8_length(const unsigned char *text);
/* Whether the whole text is well-formed. */
bool utf8_is_clean(const char *text);
/* A copy with the replacement character for each byte that is not part of a character.  The caller
 * frees it.  NULL: out of memory. */
char *utf8_clean(const char *text);

#endif
