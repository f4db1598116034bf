/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The page of `pesa diff --html`: two flame graphs, one below the other, whose frames have the colour of
 * their change, and the rows with the significance of each.
 *
 * The page has three documents: that of `pesa diff --json`, and the frames of each side in the form
 * of `pesa report --html` (Documentation/json.md).
 */
#ifndef TOOLS_DIFF_HTML_H
#define TOOLS_DIFF_HTML_H

#include "pesa/export.h"
#include "tools/diff/rows.h"

/*
 * Write the page.  `samples` were collected by their listeners while the profiles were loaded; rows and
 * frames with less than `limit` of all cycles are left out.
 */
struct pesa_error *diff_write_html(const struct profile_input input[DIFF_SIDES],
				   const struct pesa_export *const samples[DIFF_SIDES],
				   enum diff_by by, const struct diff_rows *rows, double limit,
				   const char *path);

#endif
