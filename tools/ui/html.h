/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * HTML output: a page is one file with its style, scripts and data inside, that needs no other file
 * and no network, and by its content security policy has none.
 *
 * Style and scripts are files of the source tree that the assembler includes (UI_HTML_FILE).  What
 * comes from outside (names of functions, files, commands) goes through ui_html_text(), or as JSON
 * through a struct ui_json whose `in_page` is set; all else is the program's own.  A script runs
 * only with the page's own random number, so that none could come in by a name, either.
 *
 * Common to all pages, in tools/ui/html/: page.css (colours of the retire states, tables, focus) and
 * table.js (a button in a column's head sorts by it, by the cells' data-key where they have one).
 */
#ifndef TOOLS_UI_HTML_H
#define TOOLS_UI_HTML_H

#include <stdio.h>

#include "pesa/error.h"

/* A file, named from the top of the source tree, as a terminated text. */
#define UI_HTML_FILE(name, path)                                                          \
	extern const char name[];                                                         \
	__asm__(".pushsection .rodata\n.hidden " #name "\n.globl " #name "\n" #name ":\n" \
		".incbin \"" path "\"\n.byte 0\n.popsection\n")

#define UI_HTML_NONCE_SIZE 33

struct ui_html {
	FILE *out;
	const char *path;
	char nonce[UI_HTML_NONCE_SIZE]; /* hexadecimal */
};

/* Create the file of a page.  The path must live until the page is finished. */
struct pesa_error *ui_html_create(struct ui_html *page, const char *path);
/* Close it, in any case.  The error says if not all was written. */
struct pesa_error *ui_html_finish(struct ui_html *page);

/* All that is before the content: the title is "kind: name"; `style` follows the common one. */
void ui_html_begin(struct ui_html *page, const char *kind, const char *name, const char *style);
/* A script, one of the source tree. */
void ui_html_script(struct ui_html *page, const char *script);
/* All that is behind the content and the scripts; the common script is here. */
void ui_html_end(struct ui_html *page);

/* A text, in an element or in an attribute in double quotes.  Control characters become blanks;
 * NULL is nothing. */
void ui_html_text(FILE *out, const char *text);

#endif
