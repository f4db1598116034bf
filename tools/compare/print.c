/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pesa compare as text. */
#include <inttypes.h>
#include <math.h>

#include "tools/compare/comparison.h"
#include "tools/ui/text.h"

#define OPCODES_SHOWN  8     /* of a kind of evidence */
#define ORDERING_SHARE 0.001 /* of all cycles, from which on a kind is named */
#define BAR_COLUMNS    10
#define BARS_WIDE      104  /* columns of a terminal that has room for the bars */
#define NUMBERS_WIDE   80   /* for measured and predicted cycles */
#define SHOWN_SHARE    0.01 /* of a region's core time: instructions with less are folded */
#define UNSTABLE_SHOWN 0.02 /* of the predicted time of a region */
#define TEXT_COLUMNS   34

static const char *const verdicts[] = {
	[PESA_COMPARE_TOO_FEW] = "too few",
	[PESA_COMPARE_AGREES] = "",
	[PESA_COMPARE_SLOWER] = "slower",
	[PESA_COMPARE_FASTER] = "faster",
};

const char *compare_verdict(enum pesa_compare_verdict verdict)
{
	return verdicts[verdict];
}

const char *compare_shown_verdict(enum pesa_compare_verdict verdict, double difference, double step)
{
	return fabs(difference) < step / 2 ? "" : compare_verdict(verdict);
}

static void print_totals(const struct comparison *comparison, struct ui_terminal *terminal)
{
	const struct pesa_compare_totals *totals = pesa_compare_totals(comparison->compare);
	const struct pesa_compare_time *time = &totals->time;
	double all = totals->cycles > 0 ? totals->cycles / 100 : 1;
	struct ui_text text = {0};
	char corrected[64] = "";

	if (pesa_compare_finding_count(comparison->compare) && totals->measured > 0)
		snprintf(corrected, sizeof(corrected), ", with the findings %.0f (%+.1f%%)",
			 totals->corrected, 100 * (totals->corrected / totals->measured - 1));
	ui_text_add(&text, "\n");
	ui_text_add_safe(
		&text,
		"model %s%s%s; compared is core time: retiring, and stalled without an event",
		comparison->cpu, comparison->core_known ? ", core " : "",
		comparison->core_known ? pesa_profile_capabilities(comparison->input.profile)->core
				       : "");
	ui_text_add(&text,
		    "\ncore time %.1f%%, stalled with an event %.1f%%, flushed %.1f%%, drained "
		    "%.1f%% of all cycles\n",
		    time->core / all, time->event / all, time->flushed / all, time->drained / all);
	if (totals->unsupported > 0)
		ui_text_add(
			&text,
			"%.2f%% of all cycles are in instructions that the model does not have\n",
			totals->unsupported / all);
	if (totals->no_text > 0)
		ui_text_add(&text,
			    "%.2f%% of all cycles are in code that cannot be read; nothing is "
			    "predicted for it\n",
			    totals->no_text / all);
	if (time->unknown > 0)
		ui_text_add(
			&text,
			"%.2f%% of all cycles are of samples that tell only where, not in which "
			"state: they cannot be compared\n",
			time->unknown / all);
	ui_text_add(
		&text,
		"on predicted paths %.1f%% of the core time: measured %.0f cycles, predicted %.0f "
		"(%+.1f%%)%s; misfit of regions %.1f%%, of instructions %.1f%%\n",
		time->core > 0 ? 100 * totals->covered / time->core : 0, totals->measured,
		totals->predicted,
		totals->measured > 0 ? 100 * (totals->predicted / totals->measured - 1) : 0,
		corrected, 100 * totals->misfit_region, 100 * totals->misfit_instruction);
	if (totals->ended_early)
		ui_text_add(&text,
			    "the search ended before its last steps, after %.0f million "
			    "instructions on the model: much is wrong at once, and findings may "
			    "be missing; compare again with the model that --write-model writes\n",
			    (double)totals->instructions / 1e6);
	ui_print_wrapped(terminal, ui_text_get(&text), 0, 0);
	ui_text_free(&text);
}

static void print_orderings(const struct comparison *comparison, struct ui_terminal *terminal)
{
	double all = pesa_compare_totals(comparison->compare)->cycles;
	char text[512];

	for (unsigned int i = 0; i < pesa_compare_ordering_count(comparison->compare); i++) {
		const struct pesa_compare_ordering ordering =
			pesa_compare_ordering(comparison->compare, i);

		if (ordering.cycles < ORDERING_SHARE * all)
			continue;
		compare_ordering_text(comparison, &ordering, text, sizeof(text));
		ui_print_wrapped(terminal, text, 0, 0);
	}
	if (compare_chosen_text(comparison, text, sizeof(text)))
		ui_print_wrapped(terminal, text, 0, 0);
}

/* A bar of retiring and stalled cycles. */
static void add_bar(struct ui_text *line, const struct ui_terminal *terminal, double retiring,
		    double stalled, double whole)
{
	struct cycle_stack stack = {0};
	double scale = whole > 0 ? 1e6 / whole : 0;

	stack.state_weight[PESA_STATE_RETIRING] = (uint64_t)(retiring * scale);
	/* The measured one is a difference of estimates, and may be less than nothing. */
	stack.state_weight[PESA_STATE_STALLED] = (uint64_t)(fmax(0, stalled) * scale);
	cycle_stack_bar(line, terminal, &stack, CYCLE_STATE_ALL, 1000000, BAR_COLUMNS);
}

static void add_number(struct ui_text *line, double value)
{
	if (isnan(value))
		ui_text_add(line, " %8s", "-");
	else
		ui_text_add(line, " %8.2f", value);
}

/* On a narrow terminal bars are left out first, then the numbers that a difference is of. */
static bool has_bars(const struct ui_terminal *terminal)
{
	return !terminal->width || terminal->width >= BARS_WIDE;
}

static bool has_numbers(const struct ui_terminal *terminal)
{
	return !terminal->width || terminal->width >= NUMBERS_WIDE;
}

static void print_heads(const struct ui_terminal *terminal)
{
	struct ui_text line = {0};

	if (has_bars(terminal))
		ui_text_add(&line, "  %-*s %-*s", BAR_COLUMNS, "measured", BAR_COLUMNS,
			    "predicted");
	if (has_numbers(terminal))
		ui_text_add(&line, " %8s %9s", "measured", "predicted");
	ui_text_add(&line, " %17s", "difference");
	ui_print_line(terminal, ui_text_get(&line));
	ui_text_free(&line);
}

static void print_instruction(const struct comparison *comparison,
			      const struct ui_terminal *terminal,
			      const struct pesa_compare_instruction *instruction, double most)
{
	struct ui_text line = {0};
	double executions = instruction->executions.value, retiring;
	char text[192];

	retiring = executions > 0 ? instruction->time.retiring / executions : 0;
	if (has_bars(terminal)) {
		ui_text_add(&line, "  ");
		add_bar(&line, terminal, retiring, instruction->core.value - retiring, most);
		ui_text_add(&line, " ");
		add_bar(&line, terminal, instruction->predicted_stack[0],
			instruction->predicted_stack[1], most);
	}
	if (has_numbers(terminal)) {
		add_number(&line, executions > 0 ? instruction->core.value : NAN);
		ui_text_add(&line, " ");
		add_number(&line, instruction->predicted);
	}
	if (instruction->difference.enough)
		ui_text_add(&line, " %+8.2f ±%-6.2f", instruction->difference.value,
			    instruction->difference.high - instruction->difference.value);
	else
		ui_text_add(&line, " %8s %-7s", "", "");
	ui_text_add(&line, " %-7s",
		    instruction->verdict == PESA_COMPARE_TOO_FEW
			    ? ""
			    : compare_shown_verdict(instruction->verdict,
						    instruction->difference.value, 0.01));
	compare_text_of(comparison, instruction, text, sizeof(text));
	ui_text_add(&line, " %8" PRIx64 "  %-*s %s", instruction->address, TEXT_COLUMNS, text,
		    instruction->scheduling_class ? instruction->scheduling_class : "");
	if (instruction->waiting != PESA_COMPARE_WAITS_AS_CODED)
		ui_text_add(&line, "  %s", compare_waiting(instruction->waiting));
	ui_print_line(terminal, ui_text_get(&line));
	ui_text_free(&line);
}

static void print_region(const struct comparison *comparison, const struct ui_terminal *terminal,
			 const struct pesa_compare_region *region)
{
	const struct pesa_compare_time *time = &region->time;
	double all = pesa_compare_totals(comparison->compare)->cycles, most = 0, shown = 0;
	double whole = time->core + time->event + time->flushed + time->drained + time->unknown;
	struct ui_text line = {0};
	size_t folded = 0;

	ui_text_add(&line, "%s", ui_style(terminal, UI_BOLD));
	ui_text_add_safe(&line, "%5.2f%%  %s %s %" PRIx64 "-%" PRIx64, 100 * whole / all,
			 region->loop ? "loop in" : "rest of",
			 region->symbol ? region->symbol : "[unknown]", region->start, region->end);
	ui_text_add(&line, "%s", ui_style(terminal, UI_PLAIN));
	ui_text_add_safe(
		&line, "  %s",
		profile_base_name(pesa_profile_dso(comparison->input.profile, region->dso)->path));
	fputc('\n', terminal->out);
	ui_print_line(terminal, ui_text_get(&line));
	ui_text_clear(&line);
	ui_text_add(&line,
		    "core %.0f, event %.0f, flushed %.0f, drained %.0f; on paths %.0f%%: measured "
		    "%.0f, predicted %.0f, difference %+.1f%% ±%.1f%% %s",
		    time->core, time->event, time->flushed, time->drained, 100 * region->covered,
		    region->measured.value, region->predicted,
		    region->predicted > 0 ? 100 * region->difference.value / region->predicted : 0,
		    region->predicted > 0
			    ? 100 * (region->difference.high - region->difference.value) /
				      region->predicted
			    : 0,
		    compare_shown_verdict(region->verdict,
					  region->predicted > 0 ? 100 * region->difference.value /
									  region->predicted
								: 0,
					  0.1));
	ui_print_wrapped(terminal, ui_text_get(&line), 2, 0);
	if (region->predicted > 0 && region->unstable >= UNSTABLE_SHOWN * region->predicted) {
		ui_text_clear(&line);
		ui_text_add(&line, "the prediction depends on the state before it: ±%.1f%%",
			    100 * region->unstable / region->predicted);
		ui_print_wrapped(terminal, ui_text_get(&line), 2, 0);
	}
	ui_text_free(&line);
	for (size_t i = 0; i < region->count; i++) {
		const struct pesa_compare_instruction *instruction =
			pesa_compare_instruction(comparison->compare, region, i);

		if (instruction->core.value > most && instruction->executions.value > 0)
			most = instruction->core.value;
		if (instruction->predicted > most)
			most = instruction->predicted;
	}
	for (size_t i = 0; i < region->count; i++) {
		const struct pesa_compare_instruction *instruction =
			pesa_compare_instruction(comparison->compare, region, i);

		if (instruction->time.core < SHOWN_SHARE * time->core &&
		    !(instruction->predicted * instruction->executions.value >=
		      SHOWN_SHARE * time->core)) {
			folded++;
			continue;
		}
		if (!shown++)
			print_heads(terminal);
		print_instruction(comparison, terminal, instruction, most);
	}
	if (folded)
		fprintf(terminal->out, "  (%zu instructions with less than 1%% of its core time)\n",
			folded);
}

static void print_finding(const struct comparison *comparison, const struct ui_terminal *terminal,
			  unsigned int rank, const struct pesa_compare_finding *finding)
{
	double all = pesa_compare_totals(comparison->compare)->cycles;
	struct ui_text line = {0};
	char name[192], executions[UI_NUMBER_SIZE], measured[16], opcodes[1024];

	compare_finding_name(finding, name, sizeof(name));
	if (finding->varies)
		snprintf(measured, sizeof(measured), "varies");
	else
		snprintf(measured, sizeof(measured), "%d", finding->measured);
	ui_text_add(&line, "%4u  %-28s %6d %8s  %6.1f to %-7.1f %6s %+7.2f%%  %s", rank, name,
		    finding->model, measured,
		    finding->varies ? finding->spread[0] : finding->estimate.low,
		    finding->varies ? finding->spread[2] : finding->estimate.high,
		    ui_count(executions, finding->executions), 100 * finding->cycles / all,
		    finding->mnemonics);
	ui_print_line(terminal, ui_text_get(&line));
	ui_text_clear(&line);
	ui_text_add(&line, "at");
	for (unsigned int i = 0; i < finding->examples; i++) {
		const struct pesa_symbol *symbol = profile_symbol(
			&comparison->input, finding->example[i].dso, finding->example[i].address);

		ui_text_add(&line, " %" PRIx64, finding->example[i].address);
		if (symbol)
			ui_text_add_safe(&line, " (%s)", symbol->name);
	}
	ui_text_add(&line, "\n");
	if (finding->from) {
		ui_text_add_safe(&line, "defined at %s", finding->from);
		ui_text_add(&line, "\n");
	}
	if (finding->some_opcodes)
		ui_text_add(&line, "not all of %s\n", finding->scheduling_class);
	compare_opcodes_text(comparison, rank - 1, opcodes, sizeof(opcodes));
	if (*opcodes)
		ui_text_add(&line, "%s\n", opcodes);
	if (finding->varies)
		ui_text_add(
			&line,
			"executions differ: 10%% are in instructions of up to %.1f cycles, half "
			"%.1f, 90%% %.1f; no number is proposed\n",
			finding->spread[0], finding->spread[1], finding->spread[2]);
	for (unsigned int i = 0; i < finding->equivalents; i++)
		ui_text_add(&line, "or %s: the model does not tell these units apart\n",
			    finding->equivalent[i]);
	for (unsigned int i = 0; i < finding->ties; i++)
		ui_text_add(&line, "or %s: this measurement cannot tell them apart\n",
			    finding->tie[i]);
	ui_print_wrapped(terminal, ui_text_get(&line), 6, 0);
	ui_text_free(&line);
}

static void print_findings(const struct comparison *comparison, const struct ui_terminal *terminal)
{
	unsigned int count = pesa_compare_finding_count(comparison->compare);
	struct ui_text line = {0};
	char left[512];
	bool unexplained = compare_unexplained_text(comparison, left, sizeof(left));

	if (!count && !unexplained) {
		fprintf(terminal->out, "\n%s\n",
			pesa_compare_totals(comparison->compare)->predicted > 0
				? "no entry of the model is significantly wrong"
				: "nothing could be compared, so nothing is said of the model");
		return;
	}
	if (!count) {
		fputs("\nno finding\n", terminal->out);
		ui_print_wrapped(terminal, left, 0, 0);
		return;
	}
	fputc('\n', terminal->out);
	ui_text_add(&line, "%srank  %-28s %6s %8s  %17s %6s %8s  instructions%s",
		    ui_style(terminal, UI_BOLD), "entry of the model", "model", "measured",
		    "interval", "execs", "moves", ui_style(terminal, UI_PLAIN));
	ui_print_line(terminal, ui_text_get(&line));
	ui_text_free(&line);
	for (unsigned int i = 0; i < count; i++)
		print_finding(comparison, terminal, i + 1,
			      pesa_compare_finding(comparison->compare, i));
	if (unexplained)
		ui_print_wrapped(terminal, left, 0, 0);
	fprintf(terminal->out, "\nthe prediction below is that of the model with these numbers\n");
}

static void print_redirects(const struct comparison *comparison, const struct ui_terminal *terminal)
{
	double all = pesa_compare_totals(comparison->compare)->cycles;
	bool any = false;

	for (unsigned int i = 0; i < pesa_compare_redirect_count(comparison->compare); i++) {
		const struct pesa_compare_redirect *row =
			pesa_compare_redirect(comparison->compare, i);
		char executed[UI_NUMBER_SIZE], name[64];

		if (row->cycles < ORDERING_SHARE * all)
			continue;
		if (!any)
			fprintf(terminal->out, "\n%s%-34s %8s %8s %10s %6s%s\n",
				ui_style(terminal, UI_BOLD), "flushed behind", "executed", "cycles",
				"each", "model", ui_style(terminal, UI_PLAIN));
		any = true;
		snprintf(name, sizeof(name), "%s%s%s", pesa_compare_redirect_name(row->kind),
			 row->mispredicted ? ", mispredicted" : "",
			 row->unaligned ? ", odd half" : "");
		fprintf(terminal->out, "%-34s %8s %7.2f%% ", name, ui_count(executed, row->count),
			100 * row->cycles / all);
		if (row->count > 0)
			fprintf(terminal->out, "%10.2f %6.0f\n", row->cycles / row->count,
				row->model);
		else
			fprintf(terminal->out, "%10s %6s\n", "-", "-");
	}
}

void compare_print(const struct comparison *comparison, struct ui_terminal *terminal)
{
	profile_print_header(&comparison->input, terminal);
	print_totals(comparison, terminal);
	print_orderings(comparison, terminal);
	print_findings(comparison, terminal);
	print_redirects(comparison, terminal);
	for (size_t i = 0; i < pesa_compare_region_count(comparison->compare); i++) {
		const struct pesa_compare_region *region =
			pesa_compare_region(comparison->compare, i);

		if (compare_wants(comparison, region->symbol))
			print_region(comparison, terminal, region);
	}
	profile_print_problems(&comparison->input, terminal);
}
