/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the load address of a position-independent file from a pipeline trace.
 *
 * A file is loaded at whole pages, so some page of the trace's addresses is some page of the file's
 * text.  Each such address is tried: from every traced instruction the file's text must lead to the
 * next one, by its length or its target.  By chance that is rarely true for more than a few.
 */
#ifndef TOOLS_IMPORT_LOCATE_H
#define TOOLS_IMPORT_LOCATE_H

#include "tools/import/text.h"

struct import_locate;

/* NULL: out of memory.  `text` must outlive it. */
struct import_locate *import_locate_create(struct import_text *text);
void import_locate_free(struct import_locate *locate);
/* The instruction at `pc` retired, then the one at `next`; addresses of the trace. */
void import_locate_step(struct import_locate *locate, uint64_t pc, uint64_t next);
/* Find addresses of the files without one.  Returns whether all have one now. */
bool import_locate_place(struct import_locate *locate);

#endif
