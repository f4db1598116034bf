// SPDX-License-Identifier: GPL-2.0-or-later
/* pesa compare on timed branches: blocks, measured and predicted. */
#include <inttypes.h>
#include <math.h>

#include "tools/compare/comparison.h"
#include "tools/table/blocks.h"
#include "tools/ui/text.h"

/* Widths of the terminal from which on there are columns: what is left is enough for a place. */
#define INTERVAL_FROM 90
#define SHARE_FROM    110
#define KIND_FROM     124

static struct block_table table_of(const struct comparison *comparison,
				   const struct ui_terminal *terminal)
{
	return (struct block_table){.input = &comparison->input,
				    .terminal = terminal,
				    .isas = comparison->isas,
				    .timed = pesa_timed_compare_blocks(comparison->timed)};
}

struct pesa_error *compare_timed(struct comparison *comparison)
{
	struct pesa_compare_options chosen;

	pesa_compare_options_default(&chosen);
	chosen.processor = comparison->processor->name;
	chosen.core = comparison->core;
	return pesa_timed_compare_predict(comparison->timed, comparison->input.profile,
					  comparison->model, &chosen);
}

/* ---- What is shown --------------------------------------------------------------------------- */

/* Blocks, or loops of several blocks. */
struct rows {
	size_t count;
	const struct pesa_timed_difference *(*at)(const struct pesa_timed_compare *timed,
						  size_t index);
};

static struct rows blocks_of(const struct comparison *comparison)
{
	return (struct rows){pesa_timed_compare_count(comparison->timed), pesa_timed_compare_at};
}

static struct rows loops_of(const struct comparison *comparison)
{
	return (struct rows){pesa_timed_compare_loop_count(comparison->timed),
			     pesa_timed_compare_loop_at};
}

static double all_cycles(const struct comparison *comparison)
{
	return pesa_timed_blocks_totals(pesa_timed_compare_blocks(comparison->timed))->cycles;
}

/* The share of all cycles that code has: of a loop that of its passes, by what one takes. */
static double share_of(const struct comparison *comparison, const struct pesa_timed_difference *one)
{
	double all = all_cycles(comparison), cycles = one->measured * one->program;

	if (one->block != SIZE_MAX)
		cycles = pesa_timed_blocks_at(pesa_timed_compare_blocks(comparison->timed),
					      one->block)
				 ->cycles;
	return all > 0 ? cycles / all : 0;
}

static const char *symbol_of(const struct comparison *comparison,
			     const struct pesa_timed_difference *one)
{
	const struct pesa_symbol *symbol = profile_symbol(&comparison->input, one->dso, one->start);

	return symbol ? symbol->name : NULL;
}

static bool is_large(const struct comparison *comparison, const struct pesa_timed_difference *one)
{
	return share_of(comparison, one) >= comparison->wanted->min_share;
}

static bool is_wanted(const struct comparison *comparison, const struct pesa_timed_difference *one)
{
	return is_large(comparison, one) && compare_wants(comparison, symbol_of(comparison, one));
}

bool compare_timed_has_wanted(struct comparison *comparison)
{
	const struct pesa_timed_compare *timed = comparison->timed;
	const char *path = comparison->wanted->input.path;
	struct pesa_error *error = NULL;
	bool any = false;

	if (!comparison->wanted->symbol)
		return true;
	error = name_search_begin(&comparison->search, comparison->wanted->symbol);
	for (size_t i = 0; i < pesa_timed_compare_count(timed) && !error; i++) {
		const char *name = symbol_of(comparison, pesa_timed_compare_at(timed, i));

		if (name)
			error = name_search_consider(&comparison->search, name, NULL);
	}
	if (error)
		return !profile_fail("compare", error);
	for (size_t i = 0; i < pesa_timed_compare_count(timed); i++)
		any |= is_wanted(comparison, pesa_timed_compare_at(timed, i));
	if (!any)
		profile_complain(
			"compare",
			"%s: no block with %g%% of all cycles is in a function '%s'; "
			"'pesa report --block' lists blocks, and --min-share shows smaller "
			"ones",
			path, 100 * comparison->wanted->min_share, comparison->wanted->symbol);
	return any;
}

/* ---- Text ------------------------------------------------------------------------------------ */

static void add_part(struct ui_text *text, double part, double all, const char *what)
{
	if (part > 0 && all > 0)
		ui_text_add(text, ", %.1f%% %s", 100 * part / all, what);
}

/* How many blocks differ in a direction, by how many cycles of the program, and how many of them may
 * differ because they miss. */
static void add_sum(const struct comparison *comparison, struct rows rows,
		    enum pesa_timed_verdict verdict, const char *singular, const char *plural,
		    struct ui_text *text)
{
	double cycles = 0, all = all_cycles(comparison);
	size_t count = 0, memory = 0;

	for (size_t i = 0; i < rows.count; i++) {
		const struct pesa_timed_difference *one = rows.at(comparison->timed, i);

		if (one->verdict != verdict || !is_large(comparison, one))
			continue;
		count++;
		memory += one->memory;
		cycles += one->cycles;
	}
	ui_text_add(text, "%zu %s %s (%+.1f%% of all cycles", count, count == 1 ? singular : plural,
		    pesa_timed_verdict_name(verdict), all > 0 ? 100 * cycles / all : 0);
	if (verdict == PESA_TIMED_SLOWER && count)
		ui_text_add(text, "; %zu of them with loads or stores, which may miss", memory);
	ui_text_add(text, ")");
}

static void add_sums(const struct comparison *comparison, struct rows rows, const char *singular,
		     const char *plural, struct ui_text *text)
{
	add_sum(comparison, rows, PESA_TIMED_SLOWER, singular, plural, text);
	ui_text_add(text, ", ");
	add_sum(comparison, rows, PESA_TIMED_FASTER, singular, plural, text);
	ui_text_add(text, "\n");
}

static void print_totals(const struct comparison *comparison, struct ui_terminal *terminal)
{
	const struct pesa_timed_compare_totals *totals =
		pesa_timed_compare_totals(comparison->timed);
	double all = totals->cycles;
	struct ui_text text = {0};

	ui_text_add(&text, "\n");
	ui_text_add_safe(
		&text,
		"model %s%s%s; compared are timed branches: cycles from one taken transfer "
		"of control to the next",
		comparison->cpu, comparison->core_known ? ", core " : "",
		comparison->core_known ? pesa_profile_capabilities(comparison->input.profile)->core
				       : "");
	ui_text_add(&text,
		    "\n%" PRIu64 " branch stacks on the model, of %" PRIu64
		    "; of their cycles %.1f%% compared",
		    totals->samples, pesa_timed_compare_samples(comparison->timed),
		    all > 0 ? 100 * totals->compared / all : 0);
	add_part(&text, totals->warming, all, "before enough has run");
	add_part(&text, totals->mispredicted, all, "behind a mispredicted transfer");
	add_part(&text, totals->ordering, all, "with instructions that order others");
	add_part(&text, totals->unsupported, all, "with instructions that the model does not have");
	add_part(&text, totals->no_text, all, "in code that cannot be read");
	add_part(&text, totals->saturated, all, "with more cycles than an entry holds");
	ui_text_add(&text, "; misfit of blocks %.1f%%, of loops %.1f%%\n", 100 * totals->misfit,
		    100 * totals->misfit_loops);
	ui_text_add(&text,
		    "measured, predicted: cycles of an execution, means over the middle half of a "
		    "block's executions, so that misses, mispredictions and interrupts of fewer "
		    "than a quarter do not count\n");
	add_sums(comparison, blocks_of(comparison), "block", "blocks", &text);
	add_sums(comparison, loops_of(comparison), "loop of several blocks",
		 "loops of several blocks", &text);
	ui_text_add(&text, "no entry of the model is named: these counts do not tell which "
			   "instruction of a block waited\n");
	ui_print_wrapped(terminal, ui_text_get(&text), 0, 0);
	ui_text_free(&text);
}

/* What a difference is said to be; nothing where it is shown as 0. */
static const char *shown_verdict(const struct pesa_timed_difference *one)
{
	if (one->verdict == PESA_TIMED_AGREES || fabs(one->difference.value) < 0.005)
		return "";
	return pesa_timed_verdict_name(one->verdict);
}

static bool is_shown(const struct ui_terminal *terminal, unsigned int from)
{
	return !terminal->width || terminal->width >= from;
}

static void add_heading(const struct ui_terminal *terminal, const char *executions,
			const char *kind, const char *what, struct ui_text *line)
{
	ui_text_add(line, "%s%8s", ui_style(terminal, UI_BOLD), "Off");
	if (is_shown(terminal, SHARE_FROM))
		ui_text_add(line, " %8s %8s", "Share", executions);
	ui_text_add(line, " %9s %9s %9s", "Measured", "Predicted", "Differ");
	if (is_shown(terminal, INTERVAL_FROM))
		ui_text_add(line, " %8s", "95%");
	ui_text_add(line, " %-7s", "");
	if (is_shown(terminal, KIND_FROM))
		ui_text_add(line, " %-11s", kind);
	ui_text_add(line, "  %s%s", what, ui_style(terminal, UI_PLAIN));
}

static void add_row(const struct comparison *comparison, const struct block_table *table,
		    const struct pesa_timed_difference *one, struct ui_text *line)
{
	const struct ui_terminal *terminal = table->terminal;
	double all = all_cycles(comparison), half;
	char share[UI_NUMBER_SIZE], executions[UI_NUMBER_SIZE], blocks[32] = "";

	half = (one->difference.high - one->difference.low) / 2;
	snprintf(blocks, sizeof(blocks), "%.1f", one->blocks);
	ui_text_add(line, "%+7.2f%%", all > 0 ? 100 * one->cycles / all : 0);
	if (is_shown(terminal, SHARE_FROM))
		ui_text_add(line, " %8s %8s", ui_share(share, share_of(comparison, one)),
			    ui_count(executions, one->program));
	ui_text_add(line, " %9.2f %9.2f %+9.2f", one->measured, one->predicted,
		    one->difference.value);
	if (is_shown(terminal, INTERVAL_FROM))
		ui_text_add(line, " %8.2f", half);
	ui_text_add(line, " %-7s", shown_verdict(one));
	if (is_shown(terminal, KIND_FROM))
		ui_text_add(line, " %-4s %-6s",
			    one->block == SIZE_MAX ? blocks
			    : one->loop		   ? "loop"
						   : "",
			    one->memory ? "memory" : "");
	ui_text_add(line, "  ");
	block_table_place(table, one->dso, one->start, one->last, line);
}

static void print_rows(const struct comparison *comparison, const struct block_table *table,
		       struct rows rows, const char *executions, const char *kind, const char *what)
{
	FILE *out = table->terminal->out;
	struct ui_text line = {0};
	size_t small = 0;

	fputc('\n', out);
	add_heading(table->terminal, executions, kind, what, &line);
	ui_print_line(table->terminal, ui_text_get(&line));
	for (size_t i = 0; i < rows.count; i++) {
		const struct pesa_timed_difference *one = rows.at(comparison->timed, i);

		small += !is_large(comparison, one);
		if (!is_wanted(comparison, one))
			continue;
		ui_text_clear(&line);
		add_row(comparison, table, one, &line);
		ui_print_line(table->terminal, ui_text_get(&line));
	}
	ui_text_free(&line);
	if (small)
		fprintf(out, "%zu more with less than %g%% of all cycles (--min-share 0)\n", small,
			100 * comparison->wanted->min_share);
}

void compare_timed_print(const struct comparison *comparison, struct ui_terminal *terminal)
{
	const struct block_table table = table_of(comparison, terminal);

	profile_print_header(&comparison->input, terminal);
	print_totals(comparison, terminal);
	print_rows(comparison, &table, blocks_of(comparison), "Execs", "", "Block");
	if (pesa_timed_compare_loop_count(comparison->timed))
		print_rows(comparison, &table, loops_of(comparison), "Passes", "Blocks", "Loop");
	profile_print_problems(&comparison->input, terminal);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static json_object *difference_json(const struct comparison *comparison,
				    const struct block_table *table,
				    const struct pesa_timed_difference *one)
{
	json_object *object, *quantiles = json_object_new_array();

	if (one->block != SIZE_MAX) {
		object = block_json(table, one->block);
		json_object_object_add(object, "loop", json_object_new_boolean(one->loop));
	} else {
		object = json_object_new_object();
		json_object_object_add(
			object, "dso",
			ui_json_string(pesa_profile_dso(table->input->profile, one->dso)->path));
		json_object_object_add(object, "symbol",
				       ui_json_string(symbol_of(comparison, one)));
		json_object_object_add(object, "start", ui_json_count(one->start));
		json_object_object_add(object, "last", ui_json_count(one->last));
		json_object_object_add(object, "executions", ui_json_number(one->program));
		json_object_object_add(object, "share", ui_json_number(share_of(comparison, one)));
		json_object_object_add(object, "blocks", ui_json_number(one->blocks));
	}
	json_object_object_add(object, "memory", json_object_new_boolean(one->memory));
	json_object_object_add(object, "compared", ui_json_count(one->executions));
	json_object_object_add(object, "compared_samples", ui_json_count(one->samples));
	json_object_object_add(object, "measured", ui_json_number(one->measured));
	json_object_object_add(object, "predicted", ui_json_number(one->predicted));
	json_object_object_add(object, "difference", ui_json_number(one->difference.value));
	json_object_object_add(object, "interval", profile_json_interval(one->difference));
	json_object_object_add(object, "around", ui_json_number(one->around));
	for (size_t i = 0; i < PESA_TIMED_QUANTILES; i++)
		json_object_array_add(quantiles, ui_json_number(one->quantile[i]));
	json_object_object_add(object, "quantiles", quantiles);
	json_object_object_add(object, "cycles_off", ui_json_number(one->cycles));
	json_object_object_add(object, "verdict",
			       ui_json_string(pesa_timed_verdict_name(one->verdict)));
	return object;
}

static json_object *totals_json(const struct comparison *comparison)
{
	const struct pesa_timed_compare_totals *totals =
		pesa_timed_compare_totals(comparison->timed);
	json_object *object = json_object_new_object();

	json_object_object_add(object, "samples", ui_json_count(totals->samples));
	json_object_object_add(object, "executed", ui_json_count(totals->instructions));
	json_object_object_add(object, "cycles", ui_json_number(totals->cycles));
	json_object_object_add(object, "compared", ui_json_number(totals->compared));
	json_object_object_add(object, "warming", ui_json_number(totals->warming));
	json_object_object_add(object, "mispredicted", ui_json_number(totals->mispredicted));
	json_object_object_add(object, "ordering", ui_json_number(totals->ordering));
	json_object_object_add(object, "unsupported", ui_json_number(totals->unsupported));
	json_object_object_add(object, "no_text", ui_json_number(totals->no_text));
	json_object_object_add(object, "saturated", ui_json_number(totals->saturated));
	json_object_object_add(object, "misfit", ui_json_number(totals->misfit));
	json_object_object_add(object, "misfit_loops", ui_json_number(totals->misfit_loops));
	return object;
}

static void add_rows(const struct comparison *comparison, const struct block_table *table,
		     struct rows rows, const char *name, struct ui_json *json)
{
	ui_json_array_begin(json, name);
	for (size_t i = 0; i < rows.count; i++) {
		const struct pesa_timed_difference *one = rows.at(comparison->timed, i);

		if (is_wanted(comparison, one))
			ui_json_element(json, difference_json(comparison, table, one));
	}
	ui_json_array_end(json);
}

void compare_timed_json(const struct comparison *comparison)
{
	const struct block_table table = table_of(comparison, NULL);
	struct ui_json json;

	ui_json_begin(&json, stdout, "compare");
	profile_json_header_for(&comparison->input, &json, comparison->cpu);
	ui_json_member(&json, "timed_branches", block_totals_json(&table));
	ui_json_member(&json, "timed", totals_json(comparison));
	add_rows(comparison, &table, blocks_of(comparison), "blocks", &json);
	add_rows(comparison, &table, loops_of(comparison), "loops", &json);
	profile_json_problems(&comparison->input, &json);
	ui_json_end(&json);
}
