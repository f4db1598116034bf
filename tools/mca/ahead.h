/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lines that are assembled ahead by all processors.
 *
 * What the built-in assembler makes of a statement depends on its text and on the ISA, which is that of
 * the first statement.  So threads assemble the statements of many lines, before directives and labels are
 * read line by line, which may show that the lines are not supported: then that work is lost.
 */
#ifndef TOOLS_MCA_AHEAD_H
#define TOOLS_MCA_AHEAD_H

#include <stdbool.h>
#include <stddef.h>

#include "pesa/assemble.h"
#include "tools/mca/reader.h"

struct mca_ahead;

/* For the lines of `reader`.  NULL: there are few lines, one processor or no memory; then assemble one by
 * one. */
struct mca_ahead *mca_ahead_create(const struct mca_reader *reader);
void mca_ahead_free(struct mca_ahead *ahead);

/*
 * What pesa_assemble() says of a statement on line number `line` (from 0).  Lines are asked for in ascending
 * order, and with the same ISA.  `ahead` may be NULL.
 */
bool mca_ahead_assemble(struct mca_ahead *ahead, const struct pesa_isa *isa, unsigned int line,
			const char *text, size_t length, struct pesa_assembly *assembly);

/* The text without white space on both sides. */
void mca_trim(const char **text, size_t *length);

#endif
