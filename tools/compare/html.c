/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pesa compare --html: one file, with its style and script, that needs nothing else.
 *
 * It is complete without the script, which sorts tables and filters regions.  Everything that can
 * be done with a pointer can be done with the keyboard: headers are buttons, regions are summaries.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "tools/compare/comparison.h"
#include "tools/ui/html.h"

UI_HTML_FILE(compare_html_style, "tools/compare/html/compare.css");
UI_HTML_FILE(compare_html_filter, "tools/compare/html/filter.js");
UI_HTML_FILE(compare_html_examples, "tools/compare/html/examples.js");

static void head_cell(FILE *out, const char *class, const char *name)
{
	fprintf(out, "<th scope=col%s%s><button type=button>%s</button></th>",
		*class ? " class=" : "", class, name);
}

static void number_cell(FILE *out, int digits, double value, const char *unit)
{
	if (isnan(value))
		fputs("<td data-key=\"\">&ndash;</td>", out);
	else
		fprintf(out, "<td data-key=%.9g>%.*f%s</td>", value, digits, value, unit);
}

static void difference_cells(FILE *out, struct pesa_estimate difference,
			     enum pesa_compare_verdict verdict)
{
	const char *shown = compare_shown_verdict(verdict, difference.value, 0.01);

	if (!difference.enough) {
		fputs("<td data-key=\"\">too few</td><td class=text></td>", out);
		return;
	}
	fprintf(out, "<td data-key=%.9g>%+.2f &plusmn; %.2f</td><td class=\"text %s\">%s</td>",
		difference.value, difference.value, difference.high - difference.value, shown,
		shown);
}

/* ---- Parts --------------------------------------------------------------------------------- */

static void write_bar(FILE *out, const char *what, double retiring, double stalled, double most)
{
	double scale = most > 0 ? 100 / most : 0;

	fprintf(out,
		"<div class=bar role=img aria-label=\"%s: retiring %.2f, stalled %.2f "
		"cycles\"><span class=retiring style=\"width:%.1f%%\"></span><span class=stalled "
		"style=\"width:%.1f%%\"></span></div>",
		what, retiring, stalled, retiring * scale, stalled * scale);
}

static void write_instruction(FILE *out, const struct comparison *comparison,
			      const struct pesa_compare_instruction *instruction, double most)
{
	double executions = instruction->executions.value, retiring, measured;
	char text[192];

	retiring = executions > 0 ? instruction->time.retiring / executions : 0;
	measured = executions > 0 ? instruction->core.value : NAN;
	compare_text_of(comparison, instruction, text, sizeof(text));
	fprintf(out,
		"<tr id=i%" PRIu32 "-%" PRIx64 "><td class=code data-key=%" PRIu64 ">%" PRIx64
		"</td><td class=code>",
		instruction->dso, instruction->address, instruction->address, instruction->address);
	ui_html_text(out, text);
	fprintf(out, "</td><td class=text data-key=%.9g>", isnan(measured) ? 0 : measured);
	write_bar(out, "measured", retiring, isnan(measured) ? 0 : measured - retiring, most);
	write_bar(out, "predicted", instruction->predicted_stack[0],
		  instruction->predicted_stack[1], most);
	fputs("</td>", out);
	number_cell(out, 2, measured, "");
	number_cell(out, 2, instruction->predicted, "");
	difference_cells(out, instruction->difference, instruction->verdict);
	fprintf(out, "<td data-key=%.9g class=wide>%.0f</td><td class=\"text wide\">", executions,
		executions);
	ui_html_text(out, instruction->scheduling_class);
	if (instruction->waiting != PESA_COMPARE_WAITS_AS_CODED)
		fprintf(out, "%s<small>%s</small>", instruction->scheduling_class ? "<br>" : "",
			compare_waiting(instruction->waiting));
	fputs("</td></tr>\n", out);
}

static void write_region(FILE *out, const struct comparison *comparison,
			 const struct pesa_compare_region *region, bool open)
{
	const struct pesa_compare_time *time = &region->time;
	double all = pesa_compare_totals(comparison->compare)->cycles, most = 0;
	double whole = time->core + time->event + time->flushed + time->drained + time->unknown;

	fputs("<details data-name=\"", out);
	ui_html_text(out, region->symbol ? region->symbol : "[unknown]");
	fprintf(out, "\"%s><summary><strong>%.2f%%</strong> %s <code>", open ? " open" : "",
		100 * whole / all, region->loop ? "loop in" : "rest of");
	ui_html_text(out, region->symbol ? region->symbol : "[unknown]");
	fprintf(out, "</code> %" PRIx64 "&ndash;%" PRIx64, region->start, region->end);
	if (region->difference.enough)
		fprintf(out,
			": measured %.0f, predicted %.0f cycles, %+.1f%% &plusmn; %.1f%% <span "
			"class=\"%s\">%s</span>",
			region->measured.value, region->predicted,
			100 * region->difference.value / region->predicted,
			100 * (region->difference.high - region->difference.value) /
				region->predicted,
			compare_verdict(region->verdict), compare_verdict(region->verdict));
	fprintf(out,
		"</summary>\n<p>Core time %.0f cycles; stalled with an event %.0f, flushed %.0f, "
		"drained %.0f.</p>\n<div class=scroll><table><thead><tr>",
		time->core, time->event, time->flushed, time->drained);
	head_cell(out, "text", "Address");
	head_cell(out, "text", "Instruction");
	head_cell(out, "text", "Measured over predicted");
	head_cell(out, "", "Measured");
	head_cell(out, "", "Predicted");
	head_cell(out, "", "Difference");
	head_cell(out, "text", "Verdict");
	head_cell(out, "wide", "Executions");
	head_cell(out, "\"text wide\"", "Class");
	fputs("</tr></thead><tbody>\n", out);
	for (size_t i = 0; i < region->count; i++) {
		const struct pesa_compare_instruction *one =
			pesa_compare_instruction(comparison->compare, region, i);

		if (one->executions.value > 0 && one->core.value > most)
			most = one->core.value;
		if (one->predicted > most)
			most = one->predicted;
	}
	for (size_t i = 0; i < region->count; i++)
		write_instruction(out, comparison,
				  pesa_compare_instruction(comparison->compare, region, i), most);
	fputs("</tbody></table></div></details>\n", out);
}

/* Whether a region that the page shows has the instruction. */
static bool is_shown(const struct comparison *comparison, const struct pesa_compare_place *place)
{
	for (size_t i = 0; i < pesa_compare_region_count(comparison->compare); i++) {
		const struct pesa_compare_region *region =
			pesa_compare_region(comparison->compare, i);

		if (!compare_wants(comparison, region->symbol) || region->dso != place->dso)
			continue;
		for (size_t number = 0; number < region->count; number++)
			if (pesa_compare_instruction(comparison->compare, region, number)
				    ->address == place->address)
				return true;
	}
	return false;
}

/* The address of an example, which leads to its row in the regions. */
static void write_example(FILE *out, const struct comparison *comparison,
			  const struct pesa_compare_place *place)
{
	bool shown = is_shown(comparison, place);

	if (shown)
		fprintf(out, "<a href=#i%" PRIu32 "-%" PRIx64 ">", place->dso, place->address);
	fprintf(out, "%" PRIx64 "%s", place->address, shown ? "</a> " : " ");
}

static void write_finding(FILE *out, const struct comparison *comparison, unsigned int rank,
			  const struct pesa_compare_finding *finding)
{
	double all = pesa_compare_totals(comparison->compare)->cycles;
	char text[1024];

	fprintf(out, "<tr><td data-key=%u>%u</td><td class=text>", rank, rank);
	compare_finding_name(finding, text, sizeof(text));
	ui_html_text(out, text);
	if (finding->from) {
		fputs("<br><small>", out);
		ui_html_text(out, finding->from);
		fputs("</small>", out);
	}
	fputs("</td><td class=text>", out);
	compare_opcodes_text(comparison, rank - 1, text, sizeof(text));
	ui_html_text(out, *text ? text : finding->mnemonics);
	fputs("</td>", out);
	number_cell(out, 0, finding->model, "");
	if (finding->varies)
		fputs("<td class=text>varies</td>", out);
	else
		number_cell(out, 0, finding->measured, "");
	fprintf(out, "<td class=text>%.1f to %.1f</td>",
		finding->varies ? finding->spread[0] : finding->estimate.low,
		finding->varies ? finding->spread[2] : finding->estimate.high);
	number_cell(out, 0, finding->executions, "");
	number_cell(out, 2, 100 * finding->cycles / all, "%");
	fputs("<td class=code>", out);
	for (unsigned int i = 0; i < finding->examples; i++)
		write_example(out, comparison, &finding->example[i]);
	fputs("</td><td class=text>", out);
	for (unsigned int i = 0; i < finding->equivalents; i++) {
		fputs(i ? ", " : "", out);
		ui_html_text(out, finding->equivalent[i]);
	}
	for (unsigned int i = 0; i < finding->ties; i++) {
		fputs(i || finding->equivalents ? ", " : "", out);
		ui_html_text(out, finding->tie[i]);
	}
	fputs("</td></tr>\n", out);
}

static void write_findings(FILE *out, const struct comparison *comparison)
{
	unsigned int count = pesa_compare_finding_count(comparison->compare);
	char text[512];

	fputs("<h2>Findings</h2>\n", out);
	if (compare_unexplained_text(comparison, text, sizeof(text))) {
		fputs(count ? "<p>" : "<p>No finding; ", out);
		ui_html_text(out, text);
		fputs("</p>\n", out);
		if (!count)
			return;
	}
	if (!count) {
		fputs(pesa_compare_totals(comparison->compare)->predicted > 0
			      ? "<p>No entry of the model is significantly wrong.</p>\n"
			      : "<p>Nothing could be compared.</p>\n",
		      out);
		return;
	}
	fputs("<div class=scroll><table><thead><tr>", out);
	head_cell(out, "", "Rank");
	head_cell(out, "text", "Entry");
	head_cell(out, "text", "Instructions");
	head_cell(out, "", "Model");
	head_cell(out, "", "Measured");
	head_cell(out, "text", "Interval");
	head_cell(out, "", "Executions");
	head_cell(out, "", "Moves");
	head_cell(out, "text", "Examples");
	head_cell(out, "text", "Or");
	fputs("</tr></thead><tbody>\n", out);
	for (unsigned int i = 0; i < count; i++)
		write_finding(out, comparison, i + 1, pesa_compare_finding(comparison->compare, i));
	fputs("</tbody></table></div>\n", out);
}

static void write_page(struct ui_html *page, const struct comparison *comparison)
{
	FILE *out = page->out;
	const struct pesa_compare_totals *totals = pesa_compare_totals(comparison->compare);
	const char *command = pesa_profile_cmdline(comparison->input.profile);
	double all = totals->cycles > 0 ? totals->cycles / 100 : 1;
	size_t shown = 0;
	char chosen[512];

	ui_html_begin(page, "pesa compare", comparison->wanted->input.path,
		      (const char *const[]){compare_html_style, NULL});
	fputs("<h1>Measured against ", out);
	ui_html_text(out, comparison->cpu);
	fputs("</h1>\n<p><code>", out);
	ui_html_text(out, command ? command : comparison->wanted->input.path);
	fprintf(out,
		"</code></p>\n<p>Core time %.1f%%, stalled with an event %.1f%%, flushed %.1f%%, "
		"drained %.1f%% of %.0f cycles. On predicted paths: measured %.0f, predicted %.0f "
		"cycles.</p>\n<ul class=legend><li><i class=retiring></i>retiring</li><li><i "
		"class=stalled></i>stalled</li></ul>\n",
		totals->time.core / all, totals->time.event / all, totals->time.flushed / all,
		totals->time.drained / all, totals->cycles, totals->measured, totals->predicted);
	if (compare_chosen_text(comparison, chosen, sizeof(chosen))) {
		fputs("<p>", out);
		ui_html_text(out, chosen);
		fputs("</p>\n", out);
	}
	write_findings(out, comparison);
	fputs("<h2>Regions</h2>\n<p hidden><label>Function: <input id=filter "
	      "type=search></label></p>\n",
	      out);
	for (size_t i = 0; i < pesa_compare_region_count(comparison->compare); i++) {
		const struct pesa_compare_region *region =
			pesa_compare_region(comparison->compare, i);

		if (compare_wants(comparison, region->symbol))
			write_region(out, comparison, region, !shown++);
	}
	ui_html_script(page, compare_html_filter);
	ui_html_script(page, compare_html_examples);
	ui_html_end(page);
}

struct pesa_error *compare_write_html(const struct comparison *comparison)
{
	struct pesa_error *error;
	struct ui_html page;

	error = ui_html_create(&page, comparison->wanted->html);
	if (error)
		return error;
	write_page(&page, comparison);
	return ui_html_finish(&page);
}
