/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * HTML output: a page is one file that contains its style, scripts and data.  It needs no other
 * file and no network, and its content security policy forbids both.
 *
 * Style and scripts are source files that the assembler includes (UI_HTML_FILE).  External text
 * (names of functions, files, commands) is written with ui_html_text(), or as JSON with a struct
 * ui_json whose `in_page` is set; everything else is constant.  Scripts run only with the page's
 * random nonce, so that a name cannot inject one.
 *
 * All pages share the files in tools/ui/html/: page.css (colours of the retire states, tables,
 * focus) and table.js (buttons in column heads sort the table, by the cells' data-key if present).
 * Pages laid out by scripts have elements.js too, those with flame graphs frames.js and flame.js.
 */
#ifndef TOOLS_UI_HTML_H
#define TOOLS_UI_HTML_H

#include <stdio.h>

#include "pesa/error.h"

/* Include a file, named from the top of the source tree, as a terminated string. */
#define UI_HTML_FILE(name, path)                                                          \
	extern const char name[];                                                         \
	__asm__(".pushsection .rodata\n.hidden " #name "\n.globl " #name "\n" #name ":\n" \
		".incbin \"" path "\"\n.byte 0\n.popsection\n")

/* Scripts and styles that several pages have. */
extern const char ui_html_elements_script[]; /* numbers, elements, bars of cycle stacks */
extern const char ui_html_flame_style[];
extern const char ui_html_frames_script[]; /* data of a flame graph; after the elements */
extern const char ui_html_flame_script[];  /* the graph; after the frames */

#define UI_HTML_NONCE_SIZE 33

struct ui_html {
	FILE *out;
	const char *path;
	char nonce[UI_HTML_NONCE_SIZE]; /* hexadecimal */
};

/* Create the file of a page.  The path must exist until the page is finished. */
struct pesa_error *ui_html_create(struct ui_html *page, const char *path);
/* Close the file.  Returns an error if not everything was written. */
struct pesa_error *ui_html_finish(struct ui_html *page);

/*
 * Write everything before the content: the title is "kind: name"; `styles`, which ends with NULL,
 * follow the common style.
 */
void ui_html_begin(struct ui_html *page, const char *kind, const char *name,
		   const char *const styles[]);
/* Write a script, one of the source tree. */
void ui_html_script(struct ui_html *page, const char *script);
/* Write everything after the content and the scripts, and the common script. */
void ui_html_end(struct ui_html *page);

/*
 * Write text in an element, or in an attribute in double quotes.  Control characters become blanks;
 * NULL is empty.
 */
void ui_html_text(FILE *out, const char *text);

#endif
