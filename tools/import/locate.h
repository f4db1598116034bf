/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a position-independent file was loaded, found from a pipeline trace.
 *
 * Pages keep their place within a page, so a load address puts some page of the file's text at some
 * page of the trace's addresses.  Each such address is tried: from every instruction of the trace
 * the file's text must lead to the next one, by its length or its target.  That is hardly ever so
 * by chance for more than a few.
 */
#ifndef TOOLS_IMPORT_LOCATE_H
#define TOOLS_IMPORT_LOCATE_H

#include "tools/import/text.h"

struct import_locate;

/* NULL: out of memory.  `text` must outlive it. */
struct import_locate *import_locate_create(struct import_text *text);
void import_locate_free(struct import_locate *locate);
/* The instruction at `pc` retired, and after it that at `next`; addresses of the trace. */
void import_locate_step(struct import_locate *locate, uint64_t pc, uint64_t next);
/* Place the files that have no place.  Returns whether all have one now. */
bool import_locate_place(struct import_locate *locate);

#endif
