/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tools/table/code.h"
#include "tools/ui/cycle_stack.h"
#include "tools/ui/predicted.h"
#include "tools/ui/text.h"

#define SHARE_COLUMNS	   8
#define CYCLES_COLUMNS	   7
#define EXECUTIONS_COLUMNS 7
#define COST_COLUMNS	   12
#define BAR_COLUMNS	   14
#define ADDRESS_COLUMNS	   8
#define TEXT_COLUMNS	   34 /* of an instruction's text */
#define BUCKETS_COLUMNS	   48 /* of the largest buckets where the width is unlimited */
#define BUCKETS_LEAST	   13 /* fewer are not worth showing */
#define NAME_COLUMNS	   40 /* longer names are shown without template arguments and parameters */
#define TARGET_LEAST	   8
#define INLINES_MAX	   64
#define HOT_PART	   10 /* an instruction with more than this part of the function is hot */

/* ---- Instructions -------------------------------------------------------------------------- */

/* "beq a0, a1, 0x1234" with the mnemonic in a column. */
static void add_instruction(const struct listing_row *row, struct ui_text *line)
{
	size_t mnemonic = strcspn(row->text, " "), column = ui_columns(ui_text_get(line));

	ui_text_add(line, "%.*s", (int)mnemonic, row->text);
	if (!row->text[mnemonic])
		return;
	ui_text_pad(line, column + 8);
	ui_text_add(line, "%s", row->text + mnemonic + 1);
}

/* How often a branch was taken. */
static void add_taken(const struct code_table *table, const struct listing_row *row,
		      struct ui_text *line)
{
	struct pesa_estimate taken;

	if (!row->instruction || !row->instruction->edges || !row->conditional)
		return;
	taken = pesa_estimate_taken(table->input->profile, row->instruction, PROFILE_CONFIDENCE);
	if (taken.enough)
		ui_text_add(line, " (taken %.0f%%)", taken.value * 100);
}

/* The other function that an instruction goes to, in so many columns at most. */
static void add_target(const struct code_table *table, const struct listing_row *row,
		       size_t columns, struct ui_text *line)
{
	const struct pesa_symbol *target, *own;
	bool utf8 = table->terminal->utf8;
	struct ui_text name = {0};

	if (!row->has_target || columns < TARGET_LEAST)
		return;
	own = profile_symbol(table->input, table->dso, row->address);
	target = profile_symbol(table->input, table->dso, row->target);
	if (!target || target == own)
		return;
	ui_text_add_name(&name, target->name, NAME_COLUMNS, utf8);
	ui_text_add(line, " <");
	ui_text_add_cut(line, ui_text_get(&name), table->terminal->width ? columns - 3 : 0, utf8);
	ui_text_add(line, ">");
	ui_text_free(&name);
}

/* ---- Columns ------------------------------------------------------------------------------- */

static size_t columns_taken(const struct code_table *table)
{
	size_t taken = SHARE_COLUMNS + 1 + table->address + 2 + table->text + table->buckets;

	taken += table->cycles ? 1 + table->cycles : 0;
	taken += table->executions ? 1 + table->executions : 0;
	taken += table->cost ? 1 + table->cost : 0;
	return taken + (table->bar ? 2 + table->bar : 0);
}

/* Columns of the longest text, with a blank, and of the longest address. */
static void measure(struct code_table *table)
{
	struct ui_text line = {0};

	table->text = strlen("Instruction ");
	table->address = strlen("Address");
	for (size_t i = 0; i < table->listing->count; i++) {
		const struct listing_row *row = &table->listing->row[i];
		char digits[24];
		size_t columns;

		ui_text_clear(&line);
		add_instruction(row, &line);
		add_taken(table, row, &line);
		columns = ui_columns(ui_text_get(&line)) + 1;
		if (columns > table->text)
			table->text = columns;
		columns = (size_t)snprintf(digits, sizeof(digits), "%" PRIx64, row->address);
		if (columns > table->address)
			table->address = columns;
	}
	ui_text_free(&line);
}

/* Shorten columns or leave them out, one after the other, until a row fits; none left, the buckets have
 * what remains. */
static void fit_width(struct code_table *table, size_t width)
{
	const struct {
		size_t *column, least;
	} steps[] = {
		{&table->buckets, 26},
		{&table->cycles, 0},
		{&table->executions, 0},
		{&table->bar, 8},
		{&table->buckets, BUCKETS_LEAST},
		{&table->buckets, 0},
		{&table->bar, 0},
		{&table->cost, 0},
	};
	size_t taken = columns_taken(table);

	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps) && taken > width; i++) {
		size_t *column = steps[i].column;

		/* A column that is left out is so as a whole. */
		if (steps[i].least && *column > taken - width + steps[i].least)
			*column -= taken - width;
		else if (*column > steps[i].least)
			*column = steps[i].least;
		taken = columns_taken(table);
	}
	if (table->buckets && taken < width)
		table->buckets += width - taken;
}

void code_table_fit(struct code_table *table, const struct listing *listing, uint32_t dso)
{
	bool plain = table->input->plain;

	table->listing = listing;
	table->dso = dso;
	table->cycles = CYCLES_COLUMNS;
	table->executions = plain ? 0 : EXECUTIONS_COLUMNS;
	table->cost = plain && !table->deskid ? 0 : COST_COLUMNS;
	table->bar = plain ? 0 : BAR_COLUMNS;
	table->address = ADDRESS_COLUMNS;
	table->text = TEXT_COLUMNS;
	table->buckets = plain && !table->deskid ? 0 : BUCKETS_COLUMNS;
	if (!table->terminal->width)
		return;
	measure(table);
	fit_width(table, table->terminal->width);
}

/* ---- Lines --------------------------------------------------------------------------------- */

void code_table_heading(const struct code_table *table, struct ui_text *line)
{
	const struct ui_terminal *terminal = table->terminal;
	size_t column;

	ui_text_add(line, "%s%*s", ui_style(terminal, UI_BOLD), SHARE_COLUMNS, "Share");
	if (table->cycles)
		ui_text_add(line, " %*s", (int)table->cycles, profile_amount_title(table->input));
	if (table->executions)
		ui_text_add(line, " %*s", (int)table->executions, "Execs");
	column = ui_columns(ui_text_get(line));
	if (table->cost) {
		ui_text_add(line, " %*s", (int)table->cost,
			    table->deskid					? "95%"
			    : pesa_profile_totals(table->input->profile)->exact ? "Cycles/exec"
			    : terminal->utf8					? "Cyc/exec ±95%"
										: "Cyc/exec 95%");
		column += 1 + table->cost;
	}
	if (table->bar) {
		ui_text_add(line, "  Stack");
		column += 2 + table->bar;
	}
	if (ui_columns(ui_text_get(line)) < column)
		ui_text_pad(line, column);
	ui_text_add(line, " %*s  ", (int)table->address, "Address");
	column = ui_columns(ui_text_get(line));
	ui_text_add(line, "Instruction");
	if (table->buckets) {
		ui_text_pad(line, column + table->text);
		ui_text_add(line, "%s",
			    table->deskid ? "Predicted, cycles an execution" : "Largest buckets");
	}
	ui_text_add(line, "%s", ui_style(terminal, UI_PLAIN));
}

/* "1.2k-3.4k", the interval of estimated cycles. */
static void add_interval(const struct code_table *table, const struct pesa_instruction *instruction,
			 char *text, size_t size)
{
	char low[UI_NUMBER_SIZE], high[UI_NUMBER_SIZE];
	struct pesa_estimate cycles;

	text[0] = '\0';
	if (!instruction)
		return;
	cycles = pesa_estimate_cycles(table->input->profile, instruction, PROFILE_CONFIDENCE);
	if (cycles.enough)
		snprintf(text, size, "%s-%s", profile_amount(table->input, low, cycles.low),
			 profile_amount(table->input, high, cycles.high));
	else
		snprintf(text, size, "too few");
}

/* Share, cycles, executions and cost. */
static void add_figures(const struct code_table *table, const struct pesa_instruction *instruction,
			struct ui_text *line)
{
	const struct profile_input *input = table->input;
	const struct ui_terminal *terminal = table->terminal;
	char share[UI_NUMBER_SIZE] = "", number[UI_NUMBER_SIZE] = "", cost[64];
	bool hot = instruction && instruction->weight > table->listing->weight / HOT_PART;

	if (instruction)
		ui_share(share, profile_share(input, instruction->weight));
	ui_text_add(line, "%s%*s%s", hot ? ui_style(terminal, UI_HOT) : "", SHARE_COLUMNS, share,
		    hot ? ui_style(terminal, UI_PLAIN) : "");
	if (table->cycles)
		ui_text_add(line, " %*s", (int)table->cycles,
			    instruction
				    ? profile_amount(input, number, cycles_of(instruction->weight))
				    : "");
	if (table->executions)
		ui_text_add(
			line, " %*s", (int)table->executions,
			!instruction ? ""
			: pesa_estimate_executions(input->profile, instruction, PROFILE_CONFIDENCE)
					.enough
				? ui_count(number, (double)profile_executions(input, instruction))
				: "too few");
	if (table->cost) {
		if (table->deskid)
			add_interval(table, instruction, cost, sizeof(cost));
		else
			listing_cost(input, terminal, instruction, cost, sizeof(cost));
		ui_text_add(line, " %*s%s",
			    ui_columns(cost) < table->cost ? (int)(table->cost - ui_columns(cost))
							   : 0,
			    "", cost);
	}
}

/* The text of an instruction, and its largest buckets. */
static void add_instruction_and_buckets(const struct code_table *table,
					const struct listing_row *row,
					const struct cycle_stack *stack, struct ui_text *line)
{
	const struct ui_terminal *terminal = table->terminal;
	size_t column = ui_columns(ui_text_get(line)) + table->text, taken, width;
	struct ui_text branch = {0};

	width = terminal->width ? terminal->width : column + TEXT_COLUMNS + NAME_COLUMNS;
	add_instruction(row, line);
	add_taken(table, row, &branch);
	taken = ui_columns(ui_text_get(line)) + ui_columns(ui_text_get(&branch));
	add_target(table, row, width > taken ? width - taken : 0, line);
	ui_text_add(line, "%s", ui_text_get(&branch));
	ui_text_free(&branch);
	if ((!stack->count && !table->deskid) || !table->buckets)
		return;
	ui_text_pad(line, column);
	column = ui_columns(ui_text_get(line));
	width = !terminal->width	   ? BUCKETS_COLUMNS
		: terminal->width > column ? terminal->width - column
					   : 0;
	if (table->deskid)
		predicted_text(pesa_deskid_find(table->deskid, table->dso, row->address), line,
			       width);
	else if (width >= BUCKETS_LEAST)
		cycle_stack_buckets(line, terminal, stack,
				    pesa_profile_capabilities(table->input->profile),
				    CYCLE_STATE_ALL, stack->weight, (unsigned int)width);
}

struct pesa_error *code_table_row(const struct code_table *table, const struct listing_row *row,
				  struct ui_text *line)
{
	struct cycle_stack stack = {0};
	struct pesa_error *error =
		row->instruction ? cycle_stack_add(&stack, row->instruction) : NULL;

	if (!error) {
		cycle_stack_sort(&stack);
		add_figures(table, row->instruction, line);
		if (table->bar) {
			ui_text_add(line, "  ");
			cycle_stack_bar(line, table->terminal, &stack, CYCLE_STATE_ALL,
					table->listing->hottest, (unsigned int)table->bar);
		}
		ui_text_add(line, " %*" PRIx64 "  ", (int)table->address, row->address);
		add_instruction_and_buckets(table, row, &stack, line);
	}
	cycle_stack_free(&stack);
	return error;
}

/* ---- Source -------------------------------------------------------------------------------- */

static struct pesa_error *find_place(const struct code_table *table, uint64_t address,
				     struct code_place *place)
{
	struct pesa_inline_frame frame[INLINES_MAX];
	struct pesa_error *error;
	size_t count;

	error = pesa_symbols_inlines(table->input->symbols, table->dso, address, frame, INLINES_MAX,
				     &count);
	if (error)
		return error;
	*place = (struct code_place){0};
	if (count)
		place->source = frame[0].source;
	if (count > 1)
		place->function = frame[0].function;
	return NULL;
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

struct pesa_error *code_table_source(const struct code_table *table, uint64_t address,
				     struct code_place *last, struct ui_text *line)
{
	const struct ui_terminal *terminal = table->terminal;
	struct code_place place;
	struct pesa_error *error = find_place(table, address, &place);
	const char *text;

	if (error)
		return error;
	if (!place.source.file || !place.source.line ||
	    (same_text(place.source.file, last->source.file) &&
	     place.source.line == last->source.line && same_text(place.function, last->function)))
		return NULL;
	*last = place;
	error = source_text_line(table->sources, place.source.file, place.source.line, &text);
	if (error)
		return error;
	ui_text_add(line, "%s", ui_style(terminal, UI_SOURCE));
	ui_text_add_safe(line, "%s:%u", profile_base_name(place.source.file), place.source.line);
	ui_text_pad(line, 20);
	if (text)
		ui_text_add_source(line, text);
	if (place.function) {
		ui_text_add(line, "%s   %s inlined ", ui_style(terminal, UI_DIM),
			    terminal->utf8 ? "←" : "<-");
		ui_text_add_name(line, place.function, NAME_COLUMNS, terminal->utf8);
	}
	ui_text_add(line, "%s", ui_style(terminal, UI_PLAIN));
	return NULL;
}
