/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The page of `pesa report --html`: a flame graph by cycles, the functions, and source and
 * instructions of those that matter, each with its cycle stack.
 *
 * The page contains its data as one JSON document (Documentation/json.md, "report --html"); the
 * scripts in tools/report/html/ build the page from it when it is opened.  The size of the document
 * is bounded: functions and frames with few cycles are summed up, functions below a limit have no
 * instructions, and what was left out is counted.
 */
#ifndef TOOLS_REPORT_HTML_H
#define TOOLS_REPORT_HTML_H

#include "decoder/base/distinct.h"
#include "pesa/export.h"
#include "tools/ui/frame_tree.h"
#include "tools/ui/listing.h"
#include "tools/groups/groups.h"
#include "tools/ui/source_text.h"
#include "tools/ui/json.h"
#include "tools/why/waits.h"

/* Functions and frames with less than this fraction of the limit are summed up. */
#define REPORT_HTML_REST 0.1

struct report_page {
	const struct profile_input *input;
	const struct pesa_export *rows; /* weights by task, call chain and address */
	struct listing_isas *isas;
	struct source_texts *sources;
	/* Names, source lines and causes: each is written once and referred to by its number. */
	struct distinct_bytes texts;
	struct profile_groups functions; /* by dso and symbol */
	size_t shown;			 /* number of functions that are not summed up */
	struct profile_groups inclusive; /* the same with children; none without call chains */
	struct reasons reasons;		 /* what instructions waited for */
	bool has_reasons;
	double limit;	 /* minimum share of all cycles of a function with instructions */
	bool no_callers; /* frames of functions alone, although there are call chains */
	/* Of each row its frame in "frames", set by report_html_frames(); for the timeline. */
	uint32_t *frame_of_row;
};

/*
 * Write the page.  `rows` were collected by their listener while the profile was loaded; limit: as
 * in struct report_page.
 */
struct pesa_error *report_write_html(const struct profile_input *input,
				     const struct pesa_export *rows, struct listing_isas *isas,
				     double limit, const char *path);

/* Write the parts "frames", "timeline" (after the frames), "code", and, at the end, "texts" of the document. */
struct pesa_error *report_html_frames(struct report_page *page, struct ui_json *json);
struct pesa_error *report_html_timeline(struct report_page *page, struct ui_json *json);
struct pesa_error *report_html_code(struct report_page *page, struct ui_json *json);
void report_html_texts(const struct report_page *page, struct ui_json *json);

#endif
