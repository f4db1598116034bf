/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The document of `pesa diff --json`, which the page has too.
 */
#ifndef TOOLS_DIFF_JSON_H
#define TOOLS_DIFF_JSON_H

#include "tools/diff/rows.h"
#include "tools/ui/json.h"

/* Whether a row did not change significantly and has fewer cycles than `limit` on both sides. */
bool diff_is_small(const struct diff_row *row, double limit);

/* Write the members of the document; rows that are small are left out. */
void diff_json(struct ui_json *json, const struct profile_input input[DIFF_SIDES], enum diff_by by,
	       const struct diff_rows *rows, double limit);

#endif
