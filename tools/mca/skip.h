/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * -skip-unsupported-instructions=parse-failure: leaves out what an assembler rejects, with a warning
 * for each: the statement if the assembler's message has a column, otherwise the line.
 */
#ifndef TOOLS_MCA_SKIP_H
#define TOOLS_MCA_SKIP_H

#include "tools/mca/reader.h"

/*
 * Replace by blanks the statements that an assembler rejected.  `messages` is its output for the file
 * `input`, which has the reader's lines.  *skipped: number of these statements; 0: the messages are
 * about something else.
 */
struct pesa_error *mca_skip_rejected(struct mca_reader *reader, const char *messages,
				     const char *input, unsigned int *skipped);

#endif
