// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/table/blocks.h"

#include <inttypes.h>
#include <string.h>

#include "tools/ui/text.h"

#define NAME_COLUMNS 40
#define BAR_COLUMNS  10 /* of the distribution */
/* Widths of the terminal from which on there is the binary, the distribution, median and instructions:
 * what is left beside them is enough for a block. */
#define BINARY_FROM	  144
#define DISTRIBUTION_FROM 126
#define MEDIAN_FROM	  100
#define LOW		  0.05 /* shares of the executions: the distribution is shown between these */
#define HIGH		  0.95

/* Instructions of a block; 0: its text is not at hand. */
static uint32_t instructions_of(const struct block_table *table,
				const struct pesa_timed_block *block)
{
	struct listing_row row = {.address = block->start};
	uint32_t count = 1;

	for (; row.address < block->last; row.address += row.length, count++) {
		listing_decode(table->input, table->isas, block->dso, &row);
		if (!row.length)
			return 0;
	}
	return row.address == block->last ? count : 0;
}

static double mean_of(const struct pesa_timed_block *block)
{
	return block->executions > 0 ? block->cycles / block->executions : 0;
}

static double share_of(const struct block_table *table, const struct pesa_timed_block *block)
{
	double all = pesa_timed_blocks_totals(table->timed)->cycles;

	return all > 0 ? block->cycles / all : 0;
}

/* A period that is no count of cycles tells nothing about how many executions a sample stands for. */
static bool has_executions(const struct block_table *table)
{
	return !table->input->time && !table->input->other;
}

/* "1.23": instructions a cycle. */
static const char *add_rate(char text[UI_NUMBER_SIZE], uint32_t instructions, double mean)
{
	if (!instructions || !(mean > 0))
		return "";
	snprintf(text, UI_NUMBER_SIZE, "%.2f", instructions / mean);
	return text;
}

/* A cost: one digit behind the point as long as that tells something. */
static const char *cost_text(char text[UI_NUMBER_SIZE], double cycles)
{
	if (cycles >= 1000)
		return ui_count(text, cycles);
	snprintf(text, UI_NUMBER_SIZE, "%.*f", cycles < 100 ? 2 : 1, cycles);
	return text;
}

/* The distribution between two shares of the executions, as so many bars. */
static void add_bars(const struct block_table *table, size_t index, uint32_t low, uint32_t high,
		     struct ui_text *line)
{
	static const char *const bars[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	static const char ascii[] = " .:-=+*#@";
	const size_t steps = sizeof(bars) / sizeof(*bars) - 1;
	double sum[BAR_COLUMNS] = {0}, most = 0;
	size_t count;
	const struct pesa_timed_count *distribution =
		pesa_timed_blocks_distribution(table->timed, index, &count);
	uint64_t width = (uint64_t)high - low + 1;

	for (size_t i = 0; i < count; i++) {
		uint32_t cycles = distribution[i].cycles;

		if (cycles >= low && cycles <= high)
			sum[(uint64_t)(cycles - low) * BAR_COLUMNS / width] +=
				distribution[i].executions;
	}
	for (size_t i = 0; i < BAR_COLUMNS; i++)
		most = sum[i] > most ? sum[i] : most;
	for (size_t i = 0; i < BAR_COLUMNS; i++) {
		size_t step = most > 0 ? (size_t)(sum[i] / most * (double)steps + 0.5) : 0;

		if (!step && sum[i] > 0)
			step = 1;
		if (table->terminal->utf8)
			ui_text_add(line, "%s", bars[step]);
		else
			ui_text_add(line, "%c", ascii[step]);
	}
}

static void add_distribution(const struct block_table *table, size_t index, struct ui_text *line)
{
	uint32_t low = pesa_timed_blocks_quantile(table->timed, index, LOW);
	uint32_t high = pesa_timed_blocks_quantile(table->timed, index, HIGH);
	bool saturated = high == PESA_BRANCH_CYCLES_MOST;

	ui_text_add(line, "%6" PRIu32 " ", low);
	add_bars(table, index, low, high, line);
	ui_text_add(line, " %" PRIu32 "%s", high, saturated ? "+" : "");
}

/* "mainSort+0x12-0x2e", or addresses where there is no symbol. */
static void add_place(const struct block_table *table, uint32_t dso, uint64_t start, uint64_t last,
		      struct ui_text *line)
{
	const struct pesa_symbol *symbol = profile_symbol(table->input, dso, start);
	const struct pesa_symbol *end = profile_symbol(table->input, dso, last);

	if (symbol) {
		ui_text_add_name(line, symbol->name, NAME_COLUMNS, table->terminal->utf8);
		ui_text_add(line, "+0x%" PRIx64, start - symbol->start);
	} else {
		ui_text_add(line, "0x%" PRIx64, start);
	}
	if (symbol && symbol == end)
		ui_text_add(line, "-0x%" PRIx64, last - symbol->start);
	else
		ui_text_add(line, "-0x%" PRIx64, last);
}

/* "sort.c:12-15", where the lines of the first and the last instruction are known. */
static void add_lines(const struct block_table *table, uint32_t dso, uint64_t start, uint64_t end,
		      struct ui_text *line)
{
	struct pesa_source first = profile_source(table->input, dso, start);
	struct pesa_source last = profile_source(table->input, dso, end);

	if (!first.file || !first.line)
		return;
	ui_text_add_safe(line, "  %s:%u", profile_base_name(first.file), first.line);
	if (last.file && !strcmp(last.file, first.file) && last.line != first.line)
		ui_text_add(line, "-%u", last.line);
}

void block_table_place(const struct block_table *table, uint32_t dso, uint64_t start, uint64_t last,
		       struct ui_text *line)
{
	add_place(table, dso, start, last, line);
	add_lines(table, dso, start, last, line);
}

static bool is_shown(const struct block_table *table, unsigned int from)
{
	return !table->terminal->width || table->terminal->width >= from;
}

void block_table_heading(const struct block_table *table, struct ui_text *line)
{
	ui_text_add(line, "%s%8s %8s %8s %8s", ui_style(table->terminal, UI_BOLD), "Share",
		    profile_amount_title(table->input), "Execs", "Cyc/exec");
	if (is_shown(table, MEDIAN_FROM))
		ui_text_add(line, " %8s", "Median");
	ui_text_add(line, " %6s", "IPC");
	if (is_shown(table, MEDIAN_FROM))
		ui_text_add(line, " %5s", "Insns");
	if (is_shown(table, DISTRIBUTION_FROM))
		ui_text_add(line, " %-24s ", "    5% of executions  95%");
	if (is_shown(table, BINARY_FROM))
		ui_text_add(line, " %-16s ", "Binary");
	ui_text_add(line, "  Block%s", ui_style(table->terminal, UI_PLAIN));
}

/* Share, cycles, executions, and what one of these takes. */
static void add_figures(const struct block_table *table, size_t index, struct ui_text *line)
{
	const struct pesa_timed_block *block = pesa_timed_blocks_at(table->timed, index);
	uint32_t instructions = instructions_of(table, block);
	char share[UI_NUMBER_SIZE], cycles[UI_NUMBER_SIZE], executions[UI_NUMBER_SIZE];
	char mean[UI_NUMBER_SIZE], rate[UI_NUMBER_SIZE], count[UI_NUMBER_SIZE] = "";

	if (instructions)
		snprintf(count, sizeof(count), "%" PRIu32, instructions);
	ui_text_add(line, "%8s %8s %8s %8s", ui_share(share, share_of(table, block)),
		    profile_amount(table->input, cycles, block->cycles),
		    has_executions(table) ? ui_count(executions, block->executions) : "",
		    cost_text(mean, mean_of(block)));
	if (is_shown(table, MEDIAN_FROM))
		ui_text_add(line, " %8" PRIu32,
			    pesa_timed_blocks_quantile(table->timed, index, 0.5));
	ui_text_add(line, " %6s", add_rate(rate, instructions, mean_of(block)));
	if (is_shown(table, MEDIAN_FROM))
		ui_text_add(line, " %5s", count);
}

void block_table_row(const struct block_table *table, size_t index, struct ui_text *line)
{
	const struct pesa_timed_block *block = pesa_timed_blocks_at(table->timed, index);
	size_t column;

	add_figures(table, index, line);
	if (is_shown(table, DISTRIBUTION_FROM)) {
		ui_text_add(line, " ");
		column = ui_columns(ui_text_get(line));
		add_distribution(table, index, line);
		ui_text_pad(line, column + 25);
	}
	if (is_shown(table, BINARY_FROM)) {
		ui_text_add(line, " ");
		column = ui_columns(ui_text_get(line));
		ui_text_add_cut(line, profile_binary_name(table->input, block->dso), 16,
				table->terminal->utf8);
		ui_text_pad(line, column + 17);
	}
	ui_text_add(line, "  ");
	block_table_place(table, block->dso, block->start, block->last, line);
}

void block_table_note(const struct block_table *table, size_t index, struct ui_text *line)
{
	const struct pesa_timed_block *block = pesa_timed_blocks_at(table->timed, index);
	uint32_t instructions = instructions_of(table, block);
	char share[UI_NUMBER_SIZE], executions[UI_NUMBER_SIZE], mean[UI_NUMBER_SIZE];
	char rate[UI_NUMBER_SIZE];

	ui_text_add(line, "%s%8s  block to %" PRIx64 ": %s cycles (median %" PRIu32 ")",
		    ui_style(table->terminal, UI_DIM), ui_share(share, share_of(table, block)),
		    block->last, cost_text(mean, mean_of(block)),
		    pesa_timed_blocks_quantile(table->timed, index, 0.5));
	if (has_executions(table))
		ui_text_add(line, ", %s executions", ui_count(executions, block->executions));
	if (instructions)
		ui_text_add(line, ", %" PRIu32 " instructions, IPC %s", instructions,
			    add_rate(rate, instructions, mean_of(block)));
	ui_text_add(line, ", 5%%-95%%:");
	add_distribution(table, index, line);
	ui_text_add(line, "%s", ui_style(table->terminal, UI_PLAIN));
}

bool block_table_has_samples(const struct block_table *table)
{
	return pesa_timed_blocks_totals(table->timed)->samples > 0;
}

void block_table_samples(const struct block_table *table, struct ui_text *line)
{
	const struct pesa_timed_totals *totals = pesa_timed_blocks_totals(table->timed);
	char share[UI_NUMBER_SIZE];

	ui_text_add(line,
		    "  timed branches of %" PRIu64 " samples, %" PRIu64 " blocks in their stacks",
		    totals->samples, totals->seen);
	if (totals->broken > 0)
		ui_text_add(line, ", %s between transfers that no straight-line code joins",
			    ui_share(share, totals->broken / totals->cycles));
}

/* ---- JSON ---------------------------------------------------------------------------------- */

json_object *block_json(const struct block_table *table, size_t index)
{
	const struct pesa_timed_block *block = pesa_timed_blocks_at(table->timed, index);
	const struct pesa_symbol *symbol = profile_symbol(table->input, block->dso, block->start);
	const struct pesa_source source = profile_source(table->input, block->dso, block->start);
	uint32_t instructions = instructions_of(table, block);
	json_object *object = json_object_new_object(), *distribution = json_object_new_array();
	size_t count;
	const struct pesa_timed_count *counts =
		pesa_timed_blocks_distribution(table->timed, index, &count);

	json_object_object_add(
		object, "dso",
		block->dso == UINT32_MAX
			? NULL
			: ui_json_string(
				  pesa_profile_dso(table->input->profile, block->dso)->path));
	json_object_object_add(object, "symbol", ui_json_string(profile_symbol_name(symbol)));
	json_object_object_add(object, "start", ui_json_count(block->start));
	json_object_object_add(object, "last", ui_json_count(block->last));
	json_object_object_add(object, "file", ui_json_string(source.file));
	json_object_object_add(object, "line", source.file ? ui_json_count(source.line) : NULL);
	json_object_object_add(object, "instructions",
			       instructions ? ui_json_count(instructions) : NULL);
	json_object_object_add(object, "cycles", ui_json_number(block->cycles));
	json_object_object_add(object, "share", ui_json_number(share_of(table, block)));
	json_object_object_add(object, "executions",
			       has_executions(table) ? ui_json_number(block->executions) : NULL);
	json_object_object_add(object, "cycles_per_execution", ui_json_number(mean_of(block)));
	json_object_object_add(object, "median",
			       ui_json_count(pesa_timed_blocks_quantile(table->timed, index, 0.5)));
	json_object_object_add(object, "seen", ui_json_count(block->seen));
	json_object_object_add(object, "saturated", ui_json_count(block->saturated));
	json_object_object_add(object, "mispredicted", ui_json_count(block->mispredicted));
	for (size_t i = 0; i < count; i++) {
		json_object *one = json_object_new_object();

		json_object_object_add(one, "cycles", ui_json_count(counts[i].cycles));
		json_object_object_add(one, "seen", ui_json_count(counts[i].seen));
		json_object_object_add(
			one, "share",
			ui_json_number(block->executions > 0
					       ? counts[i].executions / block->executions
					       : 0));
		json_object_array_add(distribution, one);
	}
	json_object_object_add(object, "distribution", distribution);
	return object;
}

json_object *block_totals_json(const struct block_table *table)
{
	const struct pesa_timed_totals *totals = pesa_timed_blocks_totals(table->timed);
	json_object *object = json_object_new_object();

	json_object_object_add(object, "samples", ui_json_count(totals->samples));
	json_object_object_add(object, "untimed", ui_json_count(totals->untimed));
	json_object_object_add(object, "seen", ui_json_count(totals->seen));
	json_object_object_add(object, "cycles", ui_json_number(totals->cycles));
	json_object_object_add(object, "broken", ui_json_number(totals->broken));
	return object;
}
