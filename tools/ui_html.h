/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * HTML output: a page is one file with its style and script inside, that needs no other file and no
 * network.
 *
 * What comes from outside (names of functions, files and commands) goes through ui_html_text(); all
 * else is the program's own.
 */
#ifndef TOOLS_UI_HTML_H
#define TOOLS_UI_HTML_H

#include <stdio.h>

#include "pesa/error.h"

/* Create the file of a page.  The path must live until it is finished. */
struct pesa_error *ui_html_create(const char *path, FILE **out);
/* Close it, in any case.  The error says if not all was written. */
struct pesa_error *ui_html_finish(FILE *out, const char *path);

/* All that is before the content: the title is "kind: name"; `name` is any text, the rest is not.
 */
void ui_html_begin(FILE *out, const char *kind, const char *name, const char *style);
/* All that is behind it. */
void ui_html_end(FILE *out, const char *script);

/* A text, in an element or in an attribute in double quotes.  Control characters become blanks;
 * NULL is nothing. */
void ui_html_text(FILE *out, const char *text);

#endif
