/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Export as comma-separated values (RFC 4180): a header, and a row for each instruction, line or
 * function and for each reason of unattributed cycles.
 *
 * All rows have the same columns.  A column that does not apply is empty, as is an interval from
 * too few samples.  In every row cycles = sum of the cycles by state + unattributed cycles.
 */
#ifndef TOOLS_EXPORT_CSV_H
#define TOOLS_EXPORT_CSV_H

#include <stdio.h>

#include "pesa/export.h"
#include "tools/ui/profile_input.h"

/*
 * keys: GROUP_BY_* of tools/groups/groups.h.  rows: of the same recording, for inclusive cycles if it
 * has call chains; NULL: without them.  The caller checks `out` for errors.
 */
struct pesa_error *export_csv(const struct profile_input *input, unsigned int keys,
			      const struct pesa_export *rows, FILE *out);

#endif
