/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Export as comma-separated values (RFC 4180): a header and a row for each instruction, line or
 * function, and for each reason why cycles belong to none of them.
 *
 * Columns are the same whatever a row is; those that it does not have are empty, as are intervals
 * of which there are too few samples.  In every row the cycles are the sum of those by state and of
 * those unattributed.
 */
#ifndef TOOLS_EXPORT_CSV_H
#define TOOLS_EXPORT_CSV_H

#include <stdio.h>

#include "tools/ui/profile_input.h"

/* keys: of tools/ui/profile_groups.h.  False: out of memory. */
bool export_csv(const struct profile_input *input, unsigned int keys, FILE *out);

#endif
