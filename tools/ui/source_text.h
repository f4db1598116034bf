/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Source text: lines of source files, by the paths in debug information.
 *
 * A file is read once, with preference for one below a root directory.  Missing files are
 * remembered, so that each is reported once.
 */
#ifndef TOOLS_UI_SOURCE_TEXT_H
#define TOOLS_UI_SOURCE_TEXT_H

#include "pesa/error.h"

struct source_texts;

/* root may be NULL.  NULL: out of memory. */
struct source_texts *source_texts_create(const char *root);
void source_texts_free(struct source_texts *texts);

/* Get a line (from 1) without its newline, valid until the texts are freed; NULL: no such file or
 * line. */
struct pesa_error *source_text_line(struct source_texts *texts, const char *path, unsigned int line,
				    const char **text);
/* Call `missing` with the path of every file that could not be read. */
void source_texts_missing(const struct source_texts *texts,
			  void (*missing)(void *context, const char *path), void *context);

#endif
