// SPDX-License-Identifier: GPL-2.0-or-later
#include "tools/report/blocks.h"

#include <stdlib.h>

#include "tools/ui/text.h"

struct ranked {
	double cycles;
	size_t index;
};

static int most_cycles_first(const void *left, const void *right)
{
	const struct ranked *a = left, *b = right;

	if (a->cycles != b->cycles)
		return a->cycles > b->cycles ? -1 : 1;
	return a->index < b->index ? -1 : 1;
}

/* The blocks with at least a share of the cycles, most of these first; the others are behind them. */
static struct ranked *rank(const struct block_table *table, double limit, size_t *shown)
{
	size_t count = pesa_timed_blocks_count(table->timed);
	double least = limit * pesa_timed_blocks_totals(table->timed)->cycles;
	struct ranked *ranked = calloc(count + 1, sizeof(*ranked));

	if (!ranked)
		return NULL;
	for (size_t i = 0; i < count; i++)
		ranked[i] = (struct ranked){pesa_timed_blocks_at(table->timed, i)->cycles, i};
	qsort(ranked, count, sizeof(*ranked), most_cycles_first);
	for (*shown = 0; *shown < count && ranked[*shown].cycles >= least;)
		++*shown;
	return ranked;
}

struct pesa_error *report_blocks(const struct block_table *table, double limit)
{
	size_t count = pesa_timed_blocks_count(table->timed), shown;
	struct ranked *ranked = rank(table, limit, &shown);
	char share[UI_NUMBER_SIZE], cycles[UI_NUMBER_SIZE];
	struct ui_text line = {0};
	double rest = 0;

	if (!ranked)
		return pesa_error_no_memory();
	block_table_samples(table, &line);
	ui_print_line(table->terminal, ui_text_get(&line));
	fputc('\n', table->terminal->out);
	ui_text_clear(&line);
	block_table_heading(table, &line);
	ui_print_line(table->terminal, ui_text_get(&line));
	for (size_t i = 0; i < shown; i++) {
		ui_text_clear(&line);
		block_table_row(table, ranked[i].index, &line);
		ui_print_line(table->terminal, ui_text_get(&line));
	}
	for (size_t i = shown; i < count; i++)
		rest += ranked[i].cycles;
	if (shown < count)
		fprintf(table->terminal->out,
			"%8s %8s  in %zu more below %g%% each (--percent-limit 0)\n",
			ui_share(share, rest / pesa_timed_blocks_totals(table->timed)->cycles),
			profile_amount(table->input, cycles, rest), count - shown, limit * 100);
	ui_text_free(&line);
	free(ranked);
	return NULL;
}

struct pesa_error *report_blocks_json(const struct block_table *table, double limit,
				      struct ui_json *json)
{
	struct ranked *ranked;
	size_t shown;

	ranked = rank(table, limit, &shown);
	if (!ranked)
		return pesa_error_no_memory();
	ui_json_member(json, "timed_branches", block_totals_json(table));
	ui_json_array_begin(json, "blocks");
	for (size_t i = 0; i < shown; i++)
		ui_json_element(json, block_json(table, ranked[i].index));
	ui_json_array_end(json);
	free(ranked);
	return NULL;
}
