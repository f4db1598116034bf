/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * -skip-unsupported-instructions=parse-failure: what an assembler does not understand is left out,
 * statement by statement where it says the column, else line by line, with a warning for each.
 */
#ifndef TOOLS_MCA_SKIP_H
#define TOOLS_MCA_SKIP_H

#include "tools/mca/reader.h"

/*
 * Blank the statements that the messages of an assembler, which it gave of the file `input` with
 * the reader's lines, reject.  *skipped: how many those were; 0: the messages are about something
 * else.
 */
struct pesa_error *mca_skip_rejected(struct mca_reader *reader, const char *messages,
				     const char *input, unsigned int *skipped);

#endif
