// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>

#include "tools/diff/html.h"
#include "tools/diff/json.h"
#include "tools/diff/sides.h"
#include "tools/report/html.h"
#include "tools/ui/html.h"

UI_HTML_FILE(diff_html_style, "tools/diff/html/diff.css");
UI_HTML_FILE(diff_html_content, "tools/diff/html/content.html");
UI_HTML_FILE(diff_html_graphs, "tools/diff/html/graphs.js");
UI_HTML_FILE(diff_html_rows, "tools/diff/html/rows.js");

/* The frames of one side, and the texts that they refer to. */
static struct pesa_error *write_frames(const struct profile_input *input,
				       const struct pesa_export *samples, double limit,
				       bool callers, const char *id, FILE *out)
{
	struct report_page page = {
		.input = input, .rows = samples, .limit = limit, .no_callers = !callers};
	struct pesa_error *error;
	struct ui_json json;

	fprintf(out, "<script type=application/json id=%s>", id);
	ui_json_begin(&json, out, "diff");
	json.in_page = true;
	error = report_html_frames(&page, &json);
	if (!error)
		report_html_texts(&page, &json);
	ui_json_end(&json);
	fputs("</script>\n", out);
	distinct_bytes_free(&page.texts);
	free(page.frame_of_row);
	return error;
}

static struct pesa_error *write_page(struct ui_html *html,
				     const struct profile_input input[DIFF_SIDES],
				     const struct pesa_export *const samples[DIFF_SIDES],
				     enum diff_by by, const struct diff_rows *rows, double limit)
{
	static const char *const ids[DIFF_SIDES] = {"frames-old", "frames-new"};
	const char *const scripts[] = {ui_html_elements_script, ui_html_frames_script,
				       ui_html_flame_script, diff_html_graphs, diff_html_rows};
	/* Frames are compared by their callers, which both or neither have to have. */
	const bool callers = profile_calls_recorded(samples[DIFF_OLD]) &&
			     profile_calls_recorded(samples[DIFF_NEW]);
	struct pesa_error *error = NULL;
	struct ui_json json;

	ui_html_begin(html, "pesa diff", input[DIFF_NEW].options->path,
		      (const char *const[]){ui_html_flame_style, diff_html_style, NULL});
	fputs(diff_html_content, html->out);
	fputs("<script type=application/json id=data>", html->out);
	ui_json_begin(&json, html->out, "diff");
	json.in_page = true;
	diff_json(&json, input, by, rows, limit * all_cycles(&input[DIFF_OLD]));
	ui_json_end(&json);
	fputs("</script>\n", html->out);
	for (unsigned int side = 0; side < DIFF_SIDES && !error; side++)
		error = write_frames(&input[side], samples[side], limit, callers, ids[side],
				     html->out);
	for (size_t i = 0; i < sizeof(scripts) / sizeof(*scripts); i++)
		ui_html_script(html, scripts[i]);
	ui_html_end(html);
	return error;
}

struct pesa_error *diff_write_html(const struct profile_input input[DIFF_SIDES],
				   const struct pesa_export *const samples[DIFF_SIDES],
				   enum diff_by by, const struct diff_rows *rows, double limit,
				   const char *path)
{
	struct pesa_error *error, *closing;
	struct ui_html html;

	error = ui_html_create(&html, path);
	if (error)
		return error;
	error = write_page(&html, input, samples, by, rows, limit);
	closing = ui_html_finish(&html);
	if (!error)
		return closing;
	pesa_error_free(closing);
	return error;
}
