// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The page of `pesa topdown --html`: one file that needs no other, no network and no script to be
 * read; a script of a few lines sorts the table.  Nodes are disclosure elements, so a keyboard
 * opens them.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tools/topdown/view.h"
#include "tools/ui/html.h"
#include "tools/ui/text.h"

UI_HTML_FILE(topdown_html_style, "tools/topdown/html/topdown.css");

static const char *class_of(enum pesa_topdown_node node)
{
	while (pesa_topdown_nodes[node].level > 1)
		node = pesa_topdown_nodes[node].parent;
	return node == PESA_TOPDOWN_RETIRING   ? "r"
	       : node == PESA_TOPDOWN_BAD      ? "s"
	       : node == PESA_TOPDOWN_FRONTEND ? "f"
					       : "b";
}

static double half(struct pesa_estimate share)
{
	return (share.high - share.low) / 2;
}

static void write_share(FILE *out, struct pesa_estimate share)
{
	fprintf(out, "%.2f%%", share.value * 100);
	if (!share.enough)
		fputs(" (too few)", out);
	else if (half(share) > 0)
		fprintf(out, " ±%.2f", half(share) * 100);
}

static void write_instructions(const struct topdown_view *view, FILE *out,
			       enum pesa_topdown_node node)
{
	const struct pesa_topdown_instruction *hottest[TOPDOWN_HOTTEST_MAX];
	size_t found = topdown_hottest(view, node, hottest);

	if (!found)
		return;
	fputs("<div class=scroll><table><thead><tr><th "
	      "class=n>Share<th>Address<th>Instruction<th>Function<th>Line<tbody>\n",
	      out);
	for (size_t i = 0; i < found; i++) {
		const struct pesa_topdown_instruction *one = hottest[i];
		struct topdown_location location;

		topdown_locate(view, one, &location);
		fputs("<tr><td class=n>", out);
		write_share(out, topdown_instruction_share(view, one, node));
		fprintf(out, "<td><code>%" PRIx64 "</code><td><code>", one->address);
		ui_html_text(out, location.row.text);
		fputs("</code><td>", out);
		ui_html_text(out, location.name);
		fputs("<td>", out);
		if (location.source.file) {
			ui_html_text(out, profile_base_name(location.source.file));
			fprintf(out, ":%u", location.source.line);
		}
		fputc('\n', out);
	}
	fputs("</table></div>\n", out);
}

/* Whether no node beside this one has a larger share, nor beside those that it is in. */
static bool is_largest(const struct topdown_view *view, enum pesa_topdown_node node)
{
	for (; pesa_topdown_nodes[node].level; node = pesa_topdown_nodes[node].parent) {
		double share = pesa_topdown_share(view->topdown, node, PROFILE_CONFIDENCE).value;

		for (unsigned int i = PESA_TOPDOWN_SLOTS + 1; i < PESA_TOPDOWN_NODES_COUNT; i++) {
			enum pesa_topdown_node other = (enum pesa_topdown_node)i;

			if (pesa_topdown_nodes[other].parent == pesa_topdown_nodes[node].parent &&
			    topdown_is_shown(view, other) &&
			    pesa_topdown_share(view->topdown, other, PROFILE_CONFIDENCE).value >
				    share)
				return false;
		}
	}
	return true;
}

/* A node with those below it; the largest ones are open. */
static void write_node(const struct topdown_view *view, FILE *out, enum pesa_topdown_node node)
{
	const struct pesa_topdown_node_facts *facts = &pesa_topdown_nodes[node];
	struct pesa_estimate share = pesa_topdown_share(view->topdown, node, PROFILE_CONFIDENCE);
	double counted = view->has_counts ? view->counted.retire[node] : NAN;
	double dispatch = view->has_counts ? view->counted.dispatch[node] : NAN;

	fprintf(out, "<details class=%s%s><summary><span>%s</span><span class=n>", class_of(node),
		is_largest(view, node) ? " open" : "", facts->name);
	write_share(out, share);
	fprintf(out, "</span><span class=bar aria-hidden=true><i style=\"width:%.3f%%\"></i>",
		share.value * 100);
	if (share.enough && half(share) > 0)
		fprintf(out, "<b style=\"left:%.3f%%;width:%.3f%%\"></b>", share.low * 100,
			(share.high - share.low) * 100);
	if (!isnan(counted))
		fprintf(out, "<u style=\"left:%.3f%%\"></u>", counted * 100);
	fputs("</span></summary>\n<p>", out);
	if (!isnan(counted))
		fprintf(out, "Counted: %.2f%%", counted * 100);
	if (!isnan(dispatch))
		fprintf(out, "%s %.2f%% at dispatch", isnan(counted) ? "Counted:" : ",",
			dispatch * 100);
	fputs(isnan(counted) && isnan(dispatch) ? "" : ". ", out);
	ui_html_text(out, topdown_advice(node));
	fputs("</p>\n", out);
	for (unsigned int i = node + 1; i < PESA_TOPDOWN_NODES_COUNT; i++)
		if (pesa_topdown_nodes[i].parent == node &&
		    topdown_is_shown(view, (enum pesa_topdown_node)i))
			write_node(view, out, (enum pesa_topdown_node)i);
	if (topdown_is_last(view, node))
		write_instructions(view, out, node);
	fputs("</details>\n", out);
}

static const char *const row_titles[TOPDOWN_BY_COUNT] = {
	[TOPDOWN_BY_SYMBOL] = "Function", [TOPDOWN_BY_LINE] = "Line",
	[TOPDOWN_BY_THREAD] = "Thread",	  [TOPDOWN_BY_CPU] = "CPU",
	[TOPDOWN_BY_TIME] = "Time",
};

static void write_row(const struct topdown_view *view, FILE *out, const struct topdown_row *row,
		      size_t number)
{
	double part = topdown_row_part(view, row);

	fprintf(out, "<tr><td class=n data-key=\"%g\">%.2f%%<td data-key=\"", part, part * 100);
	if (view->by == TOPDOWN_BY_TIME)
		fprintf(out, "%zu", number);
	else
		ui_html_text(out, row->label);
	fputs("\">", out);
	ui_html_text(out, row->label);
	fputs("<td><span class=stack aria-hidden=true>", out);
	for (unsigned int i = PESA_TOPDOWN_SLOTS + 1; i < PESA_TOPDOWN_NODES_COUNT; i++) {
		enum pesa_topdown_node node = (enum pesa_topdown_node)i;

		if (pesa_topdown_nodes[node].level == 1)
			fprintf(out, "<i class=%s style=\"width:%.2f%%\"></i>", class_of(node),
				topdown_row_share(view, row, node).value * 100);
	}
	fputs("</span>", out);
	for (unsigned int i = PESA_TOPDOWN_SLOTS + 1; i < PESA_TOPDOWN_NODES_COUNT; i++) {
		enum pesa_topdown_node node = (enum pesa_topdown_node)i;
		struct pesa_estimate share = topdown_row_share(view, row, node);

		if (!topdown_is_last(view, node))
			continue;
		fprintf(out, "<td class=n data-key=\"%g\">", share.value);
		if (share.enough)
			fprintf(out, "%.1f%%", share.value * 100);
		else
			fputs("too few", out);
	}
	fputc('\n', out);
}

static void write_rows(const struct topdown_view *view, FILE *out)
{
	fprintf(out,
		"<h2>By %s</h2>\n<div class=scroll><table><thead><tr><th "
		"class=n><button>Share</button><th><button>%s</button><th>",
		view->by == TOPDOWN_BY_CPU	? "CPU"
		: view->by == TOPDOWN_BY_SYMBOL ? "function"
		: view->by == TOPDOWN_BY_LINE	? "line"
		: view->by == TOPDOWN_BY_THREAD ? "thread"
						: "time",
		row_titles[view->by]);
	for (unsigned int i = PESA_TOPDOWN_SLOTS + 1; i < PESA_TOPDOWN_NODES_COUNT; i++)
		if (topdown_is_last(view, (enum pesa_topdown_node)i))
			fprintf(out, "<th class=n><button>%s</button>", pesa_topdown_nodes[i].name);
	fputs("<tbody>\n", out);
	for (size_t i = 0; i < view->rows; i++)
		write_row(view, out, &view->row[i], i);
	fputs("</table></div>\n", out);
}

static void write_head(const struct topdown_view *view, struct ui_html *page)
{
	FILE *out = page->out;
	const struct profile_input *input = view->input;
	const struct pesa_capabilities *capabilities = pesa_profile_capabilities(input->profile);
	const struct pesa_profile_totals *totals = pesa_profile_totals(input->profile);
	const char *command = pesa_profile_cmdline(input->profile);
	char cycles[UI_NUMBER_SIZE];
	bool recorded;
	unsigned int width = pesa_topdown_width(view->topdown, &recorded);

	ui_html_begin(page, "Top-down", command ? command : input->options->path,
		      (const char *const[]){topdown_html_style, NULL});
	fputs("<h1>", out);
	ui_html_text(out, command ? command : input->options->path);
	fputs("</h1>\n<p class=facts>", out);
	if (capabilities->core[0]) {
		fputs("Core ", out);
		ui_html_text(out, capabilities->core);
		fputs(", ", out);
	}
	fprintf(out, "%u slots a cycle%s, %s cycles, ", width,
		recorded ? "" : " (the most that retired together)",
		ui_count(cycles, cycles_of(totals->weight)));
	if (totals->exact)
		fputs("every one of them attributed", out);
	else
		fprintf(out, "%" PRIu64 " samples, %" PRIu64 " lost", totals->samples,
			totals->lost);
	fprintf(out,
		".</p>\n<p class=facts>Bars: share of all slots; the thin bar inside is the 95%% "
		"interval%s.</p>\n",
		view->has_counts ? ", the upright line what was counted" : "");
}

static void write_split(const struct topdown_view *view, FILE *out)
{
	const struct pesa_topdown_counted *counted = &view->counted;

	if (!view->has_counts || !counted->has_split || isnan(counted->mispredict_share))
		return;
	fprintf(out,
		"<p>Bad speculation at dispatch: %.2f%% of it mispredicts, (A + C&thinsp;W) / (A + B + "
		"(C + D)&thinsp;W). Slots issued on wrong paths behind mispredicts A = %" PRIu64
		", behind clears B = %" PRIu64 "; cycles of recovery C = %" PRIu64 ", D = %" PRIu64
		"; W = %g.</p>\n",
		counted->mispredict_share * 100, counted->issued_mispredicts,
		counted->issued_clears, counted->recovery_mispredicts, counted->recovery_clears,
		counted->width);
}

struct pesa_error *topdown_write_html(const struct topdown_view *view, const char *path)
{
	struct pesa_error *error;
	struct ui_html page;

	error = ui_html_create(&page, path);
	if (error)
		return error;
	write_head(view, &page);
	fputs("<h2>Slots</h2>\n", page.out);
	for (unsigned int i = PESA_TOPDOWN_SLOTS + 1; i < PESA_TOPDOWN_NODES_COUNT; i++)
		if (pesa_topdown_nodes[i].level == 1)
			write_node(view, page.out, (enum pesa_topdown_node)i);
	write_split(view, page.out);
	if (view->by != TOPDOWN_BY_NOTHING)
		write_rows(view, page.out);
	ui_html_end(&page);
	return ui_html_finish(&page);
}
