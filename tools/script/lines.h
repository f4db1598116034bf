/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parts of lines that equal samples share: text by what it was made of.
 *
 * Samples of a program that runs for a while are mostly equal but for their time.  Texts are
 * forgotten when they take too much memory, and by script_lines_clear(), when something else that they
 * were made of changes: mappings, or names.
 */
#ifndef TOOLS_SCRIPT_LINES_H
#define TOOLS_SCRIPT_LINES_H

#include "decoder/base/distinct.h"

struct script_lines {
	struct distinct_bytes keys;
	struct script_piece {
		size_t offset, length;
	} * piece; /* by key */
	size_t piece_room;
	char *text;
	size_t used, room;
};

/* The number of a key.  *text is what was added for it, or NULL.  DISTINCT_NONE: there is no memory to
 * keep a text for it. */
uint32_t script_lines_find(struct script_lines *lines, const void *key, size_t size,
			   const char **text, size_t *length);
/* Keep a text for the key that was found last, and has none.  Without memory nothing is kept. */
void script_lines_add(struct script_lines *lines, uint32_t key, const char *text, size_t length);
void script_lines_clear(struct script_lines *lines);

#endif
