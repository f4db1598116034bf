/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The page of `pesa report --html`: a flame graph by cycles, the functions, and source and
 * instructions of those that matter, each with its cycle stack.
 *
 * The page holds what it shows as one JSON document (Documentation/json.md, "report --html"), from
 * which its scripts make it: tools/report_html.  Its size is bounded: functions and frames with few
 * cycles are summed up, functions below a limit have no instructions, and what was left out is
 * counted.
 */
#ifndef TOOLS_REPORT_HTML_H
#define TOOLS_REPORT_HTML_H

#include "decoder/base/distinct.h"
#include "pesa/export.h"
#include "tools/ui/frame_tree.h"
#include "tools/ui/listing.h"
#include "tools/ui/profile_groups.h"
#include "tools/ui/source_text.h"
#include "tools/ui/json.h"

/* Functions with a smaller part than this of the limit are summed up, frames too. */
#define REPORT_HTML_REST 0.1

struct report_page {
	const struct profile_input *input;
	const struct pesa_export *rows; /* who was running what, called from where */
	struct listing_isas *isas;
	struct source_texts *sources;
	struct distinct_bytes
		texts; /* names, source lines, causes: written once, named by number */
	struct profile_groups functions; /* by dso and symbol */
	size_t shown;			 /* of the functions */
	double limit; /* share of all cycles from which on a function has instructions */
};

/* Write the page.  `rows` listened while the profile was loaded; limit: as in struct report_page.
 */
struct pesa_error *report_write_html(const struct profile_input *input,
				     const struct pesa_export *rows, struct listing_isas *isas,
				     double limit, const char *path);

/* The parts of the document: "frames", "code".  False: out of memory. */
bool report_html_frames(struct report_page *page, struct ui_json *json);
bool report_html_code(struct report_page *page, struct ui_json *json);

#endif
