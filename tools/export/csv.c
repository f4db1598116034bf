/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pesa export --format csv: see csv.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/base/terminal_text.h"
#include "tools/export/csv.h"
#include "tools/ui/listing.h"
#include "tools/groups/groups.h"

struct csv {
	const struct profile_input *input;
	struct listing_isas *isas;
	unsigned int keys;
	const struct profile_groups *inclusive; /* sorted by comparison(); NULL: none */
	FILE *out;
	bool row_started;
	bool failed; /* memory ran out: a field is missing */
};

struct csv_row {
	const struct profile_group *group; /* NULL: unattributed */
	enum pesa_unattributed reason;	   /* of unattributed cycles */
	uint64_t weight;
	struct pesa_estimate cycles, executions, cost; /* not `enough`: empty */
	struct listing_row instruction;
	struct pesa_source source;
};

/* ---- Fields -------------------------------------------------------------------------------- */

static void begin_field(struct csv *csv)
{
	if (csv->row_started)
		fputc(',', csv->out);
	csv->row_started = true;
}

static void end_row(struct csv *csv)
{
	fputs("\r\n", csv->out);
	csv->row_started = false;
}

/*
 * Quote fields with separators.  Line breaks and control characters could be quoted too, but many
 * line-based readers would fail: they are escaped, so that a row is one line and safe for a
 * terminal.
 */
static void put_text(struct csv *csv, const char *text)
{
	char *safe = text ? terminal_text(text) : NULL;

	begin_field(csv);
	csv->failed |= text && !safe;
	if (!safe)
		return;
	if (!safe[strcspn(safe, ",\"")]) {
		fputs(safe, csv->out);
	} else {
		fputc('"', csv->out);
		for (const char *sign = safe; *sign; sign++) {
			if (*sign == '"')
				fputc('"', csv->out);
			fputc(*sign, csv->out);
		}
		fputc('"', csv->out);
	}
	free(safe);
}

static void put_number(struct csv *csv, double number)
{
	begin_field(csv);
	fprintf(csv->out, "%.15g", number);
}

static void put_cycles(struct csv *csv, uint64_t weight)
{
	put_number(csv, cycles_of(weight));
}

static void put_interval(struct csv *csv, const struct pesa_estimate *estimate)
{
	if (estimate->enough) {
		put_number(csv, estimate->low);
		put_number(csv, estimate->high);
	} else {
		put_text(csv, NULL);
		put_text(csv, NULL);
	}
}

/* ---- Columns ------------------------------------------------------------------------------- */

static const struct pesa_dso *dso_of(const struct csv *csv, const struct csv_row *row)
{
	return row->group ? pesa_profile_dso(csv->input->profile, row->group->dso) : NULL;
}

static void put_binary(struct csv *csv, const struct csv_row *row)
{
	const struct pesa_dso *dso = csv->keys == GROUP_BY_LINE ? NULL : dso_of(csv, row);
	char build_id[2 * PESA_BUILD_ID_MAX + 1] = "";

	put_text(csv, dso ? dso->path : NULL);
	for (unsigned int i = 0; dso && i < dso->build_id_size; i++)
		snprintf(build_id + i * 2, 3, "%02x", dso->build_id[i]);
	put_text(csv, build_id);
}

static void put_address(struct csv *csv, const struct csv_row *row)
{
	const struct pesa_instruction *instruction = row->group ? row->group->instruction : NULL;
	const struct pesa_symbol *symbol = row->group ? row->group->symbol : NULL;

	begin_field(csv);
	if (instruction)
		fprintf(csv->out, "0x%" PRIx64, instruction->address);
	else if (symbol)
		fprintf(csv->out, "0x%" PRIx64, symbol->start);
}

static void put_symbol(struct csv *csv, const struct csv_row *row)
{
	char name[64];

	if (!row->group) {
		snprintf(name, sizeof(name), "[unattributed: %s]",
			 pesa_unattributed_name(row->reason));
		put_text(csv, name);
	} else if (csv->keys == GROUP_BY_LINE) {
		put_text(csv, NULL);
	} else {
		put_text(csv, profile_symbol_name(row->group->symbol));
	}
}

static void put_source(struct csv *csv, const struct csv_row *row)
{
	put_text(csv, row->source.file);
	begin_field(csv);
	if (row->source.file)
		fprintf(csv->out, "%u", row->source.line);
}

static void put_instruction(struct csv *csv, const struct csv_row *row)
{
	put_text(csv, row->instruction.text);
}

static void put_executions(struct csv *csv, const struct csv_row *row)
{
	begin_field(csv);
	if (row->group && row->group->has_executions && !csv->input->plain)
		fprintf(csv->out, "%" PRIu64, profile_group_executions(csv->input, row->group));
	put_interval(csv, &row->executions);
}

static void put_all_cycles(struct csv *csv, const struct csv_row *row)
{
	put_cycles(csv, row->weight);
	put_interval(csv, &row->cycles);
}

static void put_cost(struct csv *csv, const struct csv_row *row)
{
	if (row->cost.enough)
		put_number(csv, row->cost.value);
	else
		put_text(csv, NULL);
	put_interval(csv, &row->cost);
}

static void put_states(struct csv *csv, const struct csv_row *row)
{
	uint64_t unknown = row->group ? row->weight : 0;

	for (unsigned int state = 0; state < PESA_STATE_COUNT; state++) {
		uint64_t weight = row->group ? row->group->stack.state_weight[state] : 0;

		put_cycles(csv, weight);
		unknown -= weight;
	}
	put_cycles(csv, unknown);
	put_cycles(csv, row->group ? 0 : row->weight);
}

static int compare_functions(const void *a, const void *b)
{
	const struct profile_group *left = a, *right = b;

	if (left->dso != right->dso)
		return left->dso < right->dso ? -1 : 1;
	return ((uintptr_t)left->symbol > (uintptr_t)right->symbol) -
	       ((uintptr_t)left->symbol < (uintptr_t)right->symbol);
}

static int compare_lines(const void *a, const void *b)
{
	const struct pesa_source *left = &((const struct profile_group *)a)->source;
	const struct pesa_source *right = &((const struct profile_group *)b)->source;
	int order;

	if (!left->file || !right->file)
		return (left->file != NULL) - (right->file != NULL);
	order = strcmp(left->file, right->file);
	return order ? order : (left->line > right->line) - (left->line < right->line);
}

static int (*comparison(const struct csv *csv))(const void *a, const void *b)
{
	return csv->keys & GROUP_BY_SYMBOL ? compare_functions : compare_lines;
}

static void put_inclusive(struct csv *csv, const struct csv_row *row)
{
	const struct profile_groups *groups = csv->inclusive;
	const struct profile_group *found =
		groups && row->group ? bsearch(row->group, groups->group, groups->count,
					       sizeof(*groups->group), comparison(csv))
				     : NULL;

	if (found)
		put_cycles(csv, found->all_weight);
	else
		put_text(csv, NULL);
}

static const struct {
	const char *names;
	void (*put)(struct csv *csv, const struct csv_row *row);
} columns[] = {
	{"binary,build_id", put_binary},
	{"address", put_address},
	{"symbol", put_symbol},
	{"file,line", put_source},
	{"instruction", put_instruction},
	{"executions,executions_low,executions_high", put_executions},
	{"cycles,cycles_low,cycles_high", put_all_cycles},
	{"cycles_per_execution,cycles_per_execution_low,cycles_per_execution_high", put_cost},
	{"retiring,stalled,flushed,drained,unknown,unattributed", put_states},
	{"cycles_inclusive", put_inclusive},
};

#define COLUMNS (sizeof(columns) / sizeof(*columns))

/* ---- Rows ---------------------------------------------------------------------------------- */

/* For a group of instructions: from the share of samples, as in report. */
static struct pesa_estimate cycles_of_share(const struct profile_input *input, uint64_t weight)
{
	const struct pesa_profile_totals *totals = pesa_profile_totals(input->profile);
	struct pesa_estimate estimate = {.value = cycles_of(weight)};
	double all = cycles_of(totals->weight);

	if (totals->exact) {
		estimate.low = estimate.high = estimate.value;
		estimate.enough = true;
		return estimate;
	}
	estimate = pesa_estimate_share(profile_share(input, weight), totals->samples,
				       PROFILE_CONFIDENCE);
	estimate.value *= all;
	estimate.low *= all;
	estimate.high *= all;
	return estimate;
}

static void put_row(struct csv *csv, const struct csv_row *row)
{
	for (size_t i = 0; i < COLUMNS; i++)
		columns[i].put(csv, row);
	end_row(csv);
}

static void put_group(struct csv *csv, const struct profile_group *group)
{
	const struct profile_input *input = csv->input;
	const struct pesa_instruction *instruction = group->instruction;
	struct csv_row row = {.group = group, .weight = group->weight, .source = group->source};

	if (instruction) {
		row.cycles = pesa_estimate_cycles(input->profile, instruction, PROFILE_CONFIDENCE);
		row.instruction.address = instruction->address;
		row.instruction.instruction = instruction;
		listing_decode(input, csv->isas, group->dso, &row.instruction);
		row.source = profile_source(input, group->dso, instruction->address);
	} else {
		row.cycles = cycles_of_share(input, group->weight);
		if (csv->keys & GROUP_BY_SYMBOL && group->symbol)
			row.source = profile_source(input, group->dso, group->symbol->start);
	}
	if (group->entry && !input->plain)
		row.executions =
			pesa_estimate_executions(input->profile, group->entry, PROFILE_CONFIDENCE);
	if (instruction && !input->plain)
		row.cost = pesa_estimate_cycles_per_execution(input->profile, instruction,
							      PROFILE_CONFIDENCE);
	put_row(csv, &row);
}

static void put_unattributed(struct csv *csv)
{
	const struct pesa_profile_totals *totals = pesa_profile_totals(csv->input->profile);

	for (unsigned int i = 0; i < PESA_UNATTRIBUTED_REASONS; i++) {
		struct csv_row row = {.reason = (enum pesa_unattributed)i,
				      .weight = totals->unattributed[i]};

		if (!row.weight)
			continue;
		row.cycles = cycles_of_share(csv->input, row.weight);
		put_row(csv, &row);
	}
}

static struct pesa_error *add_inclusive(struct csv *csv, const struct pesa_export *rows,
					struct profile_groups *groups)
{
	const struct profile_grouping grouping = {
		.keys = csv->keys, .children = true, .rows = rows};
	struct pesa_error *error;

	if (!rows || !profile_calls_recorded(rows))
		return NULL;
	error = profile_groups_make_by(csv->input, &grouping, groups);
	if (error)
		return error;
	qsort(groups->group, groups->count, sizeof(*groups->group), comparison(csv));
	csv->inclusive = groups;
	return NULL;
}

static void put_rows(struct csv *csv, const struct profile_groups *groups)
{
	const struct profile_groups *inclusive = csv->inclusive;

	for (size_t i = 0; i < COLUMNS; i++) {
		begin_field(csv);
		fputs(columns[i].names, csv->out);
	}
	end_row(csv);
	for (size_t i = 0; i < groups->count; i++)
		put_group(csv, &groups->group[i]);
	/* What is only in call chains. */
	for (size_t i = 0; inclusive && i < inclusive->count; i++)
		if (!inclusive->group[i].weight)
			put_group(csv, &inclusive->group[i]);
	put_unattributed(csv);
}

struct pesa_error *export_csv(const struct profile_input *input, unsigned int keys,
			      const struct pesa_export *rows, FILE *out)
{
	struct csv csv = {.input = input, .keys = keys, .out = out};
	struct profile_groups groups, inclusive = {0};
	struct pesa_error *error = profile_groups_make(input, keys, &groups);

	if (error)
		return error;
	error = add_inclusive(&csv, rows, &inclusive);
	csv.isas = error ? NULL : listing_isas_create(input);
	if (!error && !csv.isas)
		error = pesa_error_no_memory();
	if (!error)
		put_rows(&csv, &groups);
	if (!error && csv.failed)
		error = pesa_error_no_memory();
	profile_groups_free(&groups);
	profile_groups_free(&inclusive);
	listing_isas_free(csv.isas);
	return error;
}
