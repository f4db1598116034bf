/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdlib.h>

#include "tools/report/calls.h"
#include "tools/report/html.h"
#include "tools/ui/html.h"

UI_HTML_FILE(report_html_style, "tools/report/html/report.css");
UI_HTML_FILE(report_html_content, "tools/report/html/content.html");
UI_HTML_FILE(report_html_data, "tools/report/html/data.js");
UI_HTML_FILE(report_html_times, "tools/report/html/timeline.js");
UI_HTML_FILE(report_html_graph, "tools/report/html/graph.js");
UI_HTML_FILE(report_html_functions, "tools/report/html/functions.js");
UI_HTML_FILE(report_html_instructions, "tools/report/html/instructions.js");
UI_HTML_FILE(report_html_start, "tools/report/html/start.js");

/* Write the number and the cycles of what is left out. */
static void write_left_out(struct ui_json *json, const char *name, size_t count, uint64_t weight)
{
	json_object *object = json_object_new_object();

	json_object_object_add(object, "count", ui_json_count(count));
	json_object_object_add(object, "cycles", ui_json_number(cycles_of(weight)));
	ui_json_member(json, name, object);
}

/* Inclusive cycles of a function. */
static json_object *inclusive_of(const struct report_page *page,
				 const struct profile_group *function)
{
	for (size_t i = 0; i < page->inclusive.count; i++) {
		const struct profile_group *one = &page->inclusive.group[i];

		if (one->dso == function->dso && one->symbol == function->symbol)
			return ui_json_number(cycles_of(one->all_weight));
	}
	return NULL;
}

static void write_functions(struct report_page *page, struct ui_json *json)
{
	const struct profile_groups *functions = &page->functions;
	uint64_t weight = 0, without_code = 0;
	size_t with_code = 0;

	ui_json_array_begin(json, "functions");
	for (; page->shown < functions->count; page->shown++) {
		const struct profile_group *group = &functions->group[page->shown];
		json_object *one;

		if (profile_share(page->input, group->weight) < page->limit * REPORT_HTML_REST)
			break;
		one = profile_group_json(page->input, functions, group);
		if (page->inclusive.count)
			json_object_object_add(one, "children_cycles", inclusive_of(page, group));
		ui_json_element(json, one);
	}
	ui_json_array_end(json);
	for (size_t i = page->shown; i < functions->count; i++)
		weight += functions->group[i].weight;
	write_left_out(json, "functions_left_out", functions->count - page->shown, weight);
	for (size_t i = 0; i < functions->count; i++)
		if (profile_share(page->input, functions->group[i].weight) >= page->limit)
			with_code++;
		else
			without_code += functions->group[i].weight;
	write_left_out(json, "code_left_out", functions->count - with_code, without_code);
}

static struct pesa_error *write_data(struct report_page *page, FILE *out)
{
	struct pesa_error *error;
	struct ui_json json;

	ui_json_begin(&json, out, "report");
	json.in_page = true;
	profile_json_header(page->input, &json);
	ui_json_member(&json, "limit", ui_json_number(page->limit));
	write_functions(page, &json);
	error = report_html_frames(page, &json);
	if (!error)
		error = report_html_timeline(page, &json);
	if (!error)
		error = report_html_code(page, &json);
	if (error)
		return error;
	profile_json_problems(page->input, &json);
	report_html_texts(page, &json);
	ui_json_end(&json);
	return NULL;
}

static struct pesa_error *write_page(struct report_page *page, struct ui_html *html)
{
	const char *command = pesa_profile_cmdline(page->input->profile);
	const char *const scripts[] = {
		ui_html_elements_script,  report_html_data,  ui_html_frames_script,
		ui_html_flame_script,	  report_html_graph, report_html_functions,
		report_html_instructions, report_html_times, report_html_start};
	struct pesa_error *error;

	ui_html_begin(html, "pesa report", command ? command : page->input->options->path,
		      (const char *const[]){ui_html_flame_style, report_html_style, NULL});
	fputs(report_html_content, html->out);
	fputs("<script type=application/json id=data>", html->out);
	error = write_data(page, html->out);
	fputs("</script>\n", html->out);
	for (size_t i = 0; i < sizeof(scripts) / sizeof(*scripts); i++)
		ui_html_script(html, scripts[i]);
	ui_html_end(html);
	return error;
}

/*
 * Find what instructions waited for.  That needs a processor model: a recording that names none, or has
 * nothing to predict, has a page without.
 */
static struct pesa_error *open_reasons(struct report_page *page)
{
	struct pesa_error *lacking;
	struct pesa_error *error =
		reasons_find(&page->reasons, page->input, page->isas, &page->has_reasons, &lacking);

	if (lacking)
		profile_complain("report", "the page does not say why instructions stalled: %s",
				 lacking->message);
	pesa_error_free(lacking);
	return error;
}

struct pesa_error *report_write_html(const struct profile_input *input,
				     const struct pesa_export *rows, struct listing_isas *isas,
				     double limit, const char *path)
{
	struct report_page page = {.input = input, .rows = rows, .isas = isas, .limit = limit};
	struct pesa_error *error, *closing;
	struct ui_html html;

	error = ui_html_create(&html, path);
	if (error)
		return error;
	page.sources = source_texts_create(input->options->symbol_root);
	error = page.sources ? NULL : pesa_error_no_memory();
	if (!error)
		error = profile_groups_make(input, GROUP_BY_DSO | GROUP_BY_SYMBOL, &page.functions);
	if (!error && profile_calls_recorded(rows))
		error = profile_groups_make_functions(input, rows, &page.inclusive);
	if (!error)
		error = open_reasons(&page);
	if (!error)
		error = write_page(&page, &html);
	closing = ui_html_finish(&html);
	if (error)
		pesa_error_free(closing);
	else
		error = closing;
	reasons_close(&page.reasons);
	profile_groups_free(&page.functions);
	profile_groups_free(&page.inclusive);
	source_texts_free(page.sources);
	distinct_bytes_free(&page.texts);
	free(page.frame_of_row);
	return error;
}
