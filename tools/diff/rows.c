// SPDX-License-Identifier: GPL-2.0-or-later
/* See rows.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/diff/match.h"
#include "tools/diff/rows.h"
#include "tools/names/match.h"

#define DISCOVERY_RATE 0.05

struct making {
	const struct profile_input *input; /* of both sides */
	const struct diff_wanted *wanted;
	struct diff_rows *rows;
	struct profile_groups groups[DIFF_SIDES];
	struct listing_isas *isas[DIFF_SIDES];
	struct name_search search; /* for wanted->symbol */
};

/* ---- Figures ------------------------------------------------------------------------------- */

static bool is_exact(const struct making *making, enum diff_side side)
{
	return pesa_profile_totals(making->input[side].profile)->exact;
}

static double scale_of(const struct making *making, enum diff_side side)
{
	return side == DIFF_NEW ? making->rows->scale : 1;
}

/*
 * For many instructions: at most the whole cycle of a sample counts for them, which is also usual.
 */
static double variance_of_group(const struct making *making, enum diff_side side, double cycles)
{
	const struct pesa_profile_totals *totals = pesa_profile_totals(making->input[side].profile);
	double all = cycles_of(totals->weight), period = totals->period;

	if (totals->exact || !(all > 0))
		return 0;
	/* Plus one sample, because a small number of samples may be 0 by chance. */
	return period * cycles * (1 - cycles / all) + period * period;
}

static double variance_of_instruction(const struct making *making, enum diff_side side,
				      const struct pesa_instruction *instruction)
{
	const struct pesa_profile_totals *totals = pesa_profile_totals(making->input[side].profile);
	double cycles = cycles_of(instruction->weight), variance;

	if (totals->exact || !totals->samples)
		return 0;
	variance = instruction->weight_squared - cycles * cycles / (double)totals->samples;
	return (variance > 0 ? variance : 0) + totals->period * totals->period;
}

/* The function exists but has no samples. */
static double variance_of_nothing(const struct making *making, enum diff_side side)
{
	return variance_of_group(making, side, 0);
}

/* Cycles of a group for each execution of one of its instructions. */
static struct pesa_estimate cost_of_group(const struct making *making, enum diff_side side,
					  double cycles, const struct pesa_instruction *entry)
{
	double executions = (double)entry->executions, spread;
	struct pesa_estimate cost = {.value = cycles / executions};

	if (is_exact(making, side))
		return (struct pesa_estimate){cost.value, cost.value, cost.value, true};
	/* Variance of the logarithm; the correlation of both makes it slightly too large. */
	spread = variance_of_group(making, side, cycles) / (cycles * cycles) +
		 entry->retired_squared / (executions * executions);
	spread = exp(pesa_estimate_deviations(PROFILE_CONFIDENCE) * sqrt(spread));
	cost.low = cost.value / spread;
	cost.high = cost.value * spread;
	cost.enough = entry->retired_samples >= PESA_ESTIMATE_SAMPLES_MIN;
	return cost;
}

static struct diff_figures figures_of_group(const struct making *making, enum diff_side side,
					    uint64_t weight, const struct pesa_instruction *entry)
{
	struct diff_figures figures = {.present = true};
	double cycles = cycles_of(weight), scale = scale_of(making, side);

	figures.cycles = cycles * scale;
	figures.variance = variance_of_group(making, side, cycles) * scale * scale;
	if (!entry)
		return figures;
	figures.samples = entry->retired_samples;
	figures.has_executions = true;
	figures.executions = (double)entry->executions;
	if (entry->executions && weight)
		figures.cost = cost_of_group(making, side, cycles, entry);
	return figures;
}

static struct pesa_error *set_figures(const struct making *making, enum diff_side side,
				      uint32_t dso, const struct listing_row *row,
				      struct diff_figures *result)
{
	const struct profile_input *input = &making->input[side];
	const struct pesa_instruction *instruction = row->instruction;
	double scale = scale_of(making, side);
	struct diff_figures figures = {.present = true, .dso = dso, .address = row->address};
	struct pesa_source source;
	struct pesa_error *error;

	error = pesa_symbols_source(input->symbols, dso, row->address, &source);
	if (error)
		return error;
	figures.file = source.file;
	figures.line = source.line;
	if (!instruction) {
		figures.variance = variance_of_nothing(making, side) * scale * scale;
		*result = figures;
		return NULL;
	}
	figures.cycles = cycles_of(instruction->weight) * scale;
	figures.variance = variance_of_instruction(making, side, instruction) * scale * scale;
	figures.samples = instruction->samples;
	figures.has_executions = true;
	figures.executions = (double)instruction->executions;
	if (instruction->executions)
		figures.cost = pesa_estimate_cycles_per_execution(input->profile, instruction,
								  PROFILE_CONFIDENCE);
	*result = figures;
	return NULL;
}

/* ---- Tests --------------------------------------------------------------------------------- */

static struct diff_change change(double value, double variance)
{
	double deviation = sqrt(variance);
	double half = pesa_estimate_deviations(PROFILE_CONFIDENCE) * deviation;

	return (struct diff_change){
		.known = true,
		.value = value,
		.low = value - half,
		.high = value + half,
		.p = deviation > 0     ? erfc(fabs(value) / deviation / sqrt(2))
		     : fabs(value) > 0 ? 0
				       : 1,
	};
}

/* Variance of the logarithm, derived from the confidence interval. */
static double log_variance(struct pesa_estimate cost)
{
	double half = log(cost.high / cost.low) / 2 / pesa_estimate_deviations(PROFILE_CONFIDENCE);

	return half * half;
}

static void test_row(const struct making *making, struct diff_row *row)
{
	const struct diff_figures *old = &row->side[DIFF_OLD], *new = &row->side[DIFF_NEW];
	double variance = 0;

	/* Code that does not exist on one side has exactly 0 cycles there. */
	for (unsigned int side = 0; side < DIFF_SIDES; side++)
		if (row->side[side].present)
			variance += row->side[side].variance;
	row->cycles = change(new->cycles - old->cycles, variance);
	/* Too few samples: the test needs large numbers. */
	if (!is_exact(making, DIFF_OLD) && !is_exact(making, DIFF_NEW)) {
		double period[DIFF_SIDES];

		for (unsigned int side = 0; side < DIFF_SIDES; side++)
			period[side] = pesa_profile_totals(making->input[side].profile)->period *
				       scale_of(making, (enum diff_side)side);
		if (old->cycles < PESA_ESTIMATE_SAMPLES_MIN * period[DIFF_OLD] &&
		    new->cycles < PESA_ESTIMATE_SAMPLES_MIN *period[DIFF_NEW])
			row->cycles.p = 1;
	}
	if (!old->cost.enough || !new->cost.enough || !(old->cost.low > 0) || !(new->cost.low > 0))
		return;
	row->cost = change(log(new->cost.value / old->cost.value),
			   log_variance(old->cost) + log_variance(new->cost));
	/* Reported as a difference in cycles, tested as a ratio. */
	row->cost.value = new->cost.value - old->cost.value;
	row->cost.low = old->cost.value * (exp(row->cost.low) - 1);
	row->cost.high = old->cost.value * (exp(row->cost.high) - 1);
}

static int ascending(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return a < b ? -1 : a > b;
}

/* The largest p that is significant. */
static double limit_of(double *p, size_t count)
{
	double limit = -1;

	if (count)
		qsort(p, count, sizeof(*p), ascending);
	for (size_t i = 0; i < count; i++)
		if (p[i] <= DISCOVERY_RATE * (double)(i + 1) / (double)count)
			limit = p[i];
	return limit;
}

static struct pesa_error *mark_significant(struct diff_rows *rows)
{
	double *p = calloc(rows->count + 1, sizeof(*p)), limit;
	size_t known = 0;

	if (!p)
		return pesa_error_no_memory();
	for (size_t i = 0; i < rows->count; i++)
		p[i] = rows->row[i].cycles.p;
	limit = limit_of(p, rows->count);
	for (size_t i = 0; i < rows->count; i++)
		rows->row[i].cycles.significant = rows->row[i].cycles.p <= limit;
	for (size_t i = 0; i < rows->count; i++)
		if (rows->row[i].cost.known)
			p[known++] = rows->row[i].cost.p;
	limit = limit_of(p, known);
	for (size_t i = 0; i < rows->count; i++)
		rows->row[i].cost.significant =
			rows->row[i].cost.known && rows->row[i].cost.p <= limit;
	free(p);
	return NULL;
}

static int significant_first(const void *left, const void *right)
{
	const struct diff_row *a = left, *b = right;
	double size_a = fabs(a->cycles.value), size_b = fabs(b->cycles.value);

	if (a->cycles.significant != b->cycles.significant)
		return a->cycles.significant ? -1 : 1;
	if (size_a != size_b)
		return size_a > size_b ? -1 : 1;
	for (unsigned int side = 0; side < DIFF_SIDES; side++)
		if (a->side[side].address != b->side[side].address)
			return a->side[side].address < b->side[side].address ? -1 : 1;
	return strcmp(a->function ? a->function : "", b->function ? b->function : "");
}

/* ---- Rows ---------------------------------------------------------------------------------- */

/* NULL: out of memory. */
static struct diff_row *new_row(struct diff_rows *rows)
{
	if (rows->count == rows->room) {
		size_t room = rows->room ? 2 * rows->room : 64;
		struct diff_row *grown = realloc(rows->row, room * sizeof(*grown));

		if (!grown)
			return NULL;
		rows->row = grown;
		rows->room = room;
	}
	rows->row[rows->count] = (struct diff_row){0};
	return &rows->row[rows->count++];
}

static const char *function_name(const struct profile_group *group)
{
	return group->symbol && group->symbol->name ? group->symbol->name : "[unknown]";
}

/* The name for a pair, of which either may be NULL: the new one, unless only the old one is a symbol's. */
static const char *pair_name(const struct profile_group *old, const struct profile_group *new)
{
	return function_name(!new || (old && diff_is_unnamed(new)) ? old : new);
}

/* A row for a function; either may be NULL. */
static struct pesa_error *add_function(struct making *making, const struct profile_group *old,
				       const struct profile_group *new)
{
	const struct profile_group *group[DIFF_SIDES] = {old, new};
	struct diff_row *row = new_row(making->rows);

	if (!row)
		return pesa_error_no_memory();
	row->function = pair_name(old, new);
	for (unsigned int side = 0; side < DIFF_SIDES; side++) {
		if (!group[side])
			continue;
		row->side[side] = figures_of_group(making, (enum diff_side)side,
						   group[side]->weight, group[side]->entry);
		row->side[side].has_executions = group[side]->has_executions;
		row->side[side].dso = group[side]->dso;
		row->side[side].address = group[side]->symbol ? group[side]->symbol->start : 0;
	}
	return NULL;
}

/* List the code of a function; the list is empty without a symbol or if the code is missing. */
static struct pesa_error *list_code(struct making *making, enum diff_side side,
				    const struct profile_group *group, struct diff_code *code)
{
	*code = (struct diff_code){.input = &making->input[side]};
	if (!group || !group->symbol)
		return NULL;
	code->dso = group->dso;
	return listing_add(&code->listing, code->input, making->isas[side], group->dso,
			   group->symbol->start, group->symbol->start + group->symbol->size);
}

static struct pesa_error *add_instruction(struct making *making, const char *function,
					  const struct diff_code code[DIFF_SIDES],
					  const size_t at[DIFF_SIDES])
{
	struct diff_row *row = new_row(making->rows);
	bool moved = false;

	if (!row)
		return pesa_error_no_memory();
	row->function = function;
	for (unsigned int side = 0; side < DIFF_SIDES; side++) {
		const struct listing_row *instruction;
		struct pesa_error *error;

		if (at[side] == DIFF_NONE)
			continue;
		instruction = &code[side].listing.row[at[side]];
		error = set_figures(making, (enum diff_side)side, code[side].dso, instruction,
				    &row->side[side]);
		if (error)
			return error;
		/* Use the new side's text if there is one. */
		free(row->old_text);
		row->old_text = row->text;
		row->text = strdup(instruction->text);
		if (!row->text)
			return pesa_error_no_memory();
		/* A moved target or address is not a change of the instruction. */
		moved |= instruction->has_target || !strncmp(instruction->text, "auipc ", 6);
	}
	if (row->old_text && (moved || !strcmp(row->old_text, row->text))) {
		free(row->old_text);
		row->old_text = NULL;
	}
	return NULL;
}

/* Rows in the order of the new code; removed instructions come before their successors. */
static struct pesa_error *add_instructions(struct making *making, const char *function,
					   const struct diff_code code[DIFF_SIDES],
					   const size_t *partner)
{
	const size_t old_count = code[DIFF_OLD].listing.count;
	const size_t new_count = code[DIFF_NEW].listing.count;
	struct pesa_error *error = NULL;
	size_t old = 0, new = 0;

	while (!error && (old < old_count || new < new_count)) {
		size_t at[DIFF_SIDES] = {DIFF_NONE, DIFF_NONE};

		if (old < old_count && partner[old] == DIFF_NONE) {
			at[DIFF_OLD] = old++;
		} else if (old < old_count && partner[old] == new) {
			at[DIFF_OLD] = old++;
			at[DIFF_NEW] = new ++;
		} else {
			at[DIFF_NEW] = new ++;
		}
		error = add_instruction(making, function, code, at);
	}
	return error;
}

/* ---- Lines --------------------------------------------------------------------------------- */

/* A line of a function, on one side. */
struct line {
	const char *file;
	unsigned int number;
	uint64_t weight;
	const struct pesa_instruction *entry; /* its instruction that retired most often */
	uint64_t address;
	size_t partner; /* the matching line of the other side, or DIFF_NONE */
	size_t votes;	/* the number of matching instructions in both lines */
};

struct lines {
	struct line *line;
	size_t count;
	size_t *of; /* the index of an instruction's line */
};

static struct pesa_error *list_lines(const struct diff_code *code, struct lines *lines)
{
	const struct listing *listing = &code->listing;

	lines->line = calloc(listing->count + 1, sizeof(*lines->line));
	lines->of = calloc(listing->count + 1, sizeof(*lines->of));
	lines->count = 0;
	if (!lines->line || !lines->of)
		return pesa_error_no_memory();
	for (size_t i = 0; i < listing->count; i++) {
		const struct listing_row *row = &listing->row[i];
		struct pesa_source source;
		struct pesa_error *error;
		struct line *line;
		size_t at = 0;

		error = pesa_symbols_source(code->input->symbols, code->dso, row->address, &source);
		if (error)
			return error;
		while (at < lines->count && (lines->line[at].number != source.line ||
					     lines->line[at].file != source.file))
			at++;
		lines->of[i] = at;
		line = &lines->line[at];
		if (at == lines->count) {
			lines->count++;
			*line = (struct line){.file = source.file,
					      .number = source.line,
					      .address = row->address,
					      .partner = DIFF_NONE};
		}
		if (!row->instruction)
			continue;
		line->weight += row->instruction->weight;
		if (!line->entry || row->instruction->executions > line->entry->executions)
			line->entry = row->instruction;
	}
	return NULL;
}

/*
 * Match an old line with the new line that has most of its instructions; if several old lines
 * compete, the one with most instructions wins.
 */
static void match_lines(struct lines *old, struct lines *new, const size_t *partner, size_t count,
			size_t *votes)
{
	for (size_t i = 0; i < old->count; i++) {
		struct line *line = &old->line[i];

		memset(votes, 0, new->count * sizeof(*votes));
		for (size_t j = 0; j < count; j++)
			if (old->of[j] == i && partner[j] != DIFF_NONE)
				votes[new->of[partner[j]]]++;
		for (size_t j = 0; j < new->count; j++) {
			if (votes[j] > line->votes) {
				line->votes = votes[j];
				line->partner = j;
			}
		}
		if (line->partner == DIFF_NONE || new->line[line->partner].votes >= line->votes) {
			line->partner = DIFF_NONE;
			continue;
		}
		if (new->line[line->partner].partner != DIFF_NONE)
			old->line[new->line[line->partner].partner].partner = DIFF_NONE;
		new->line[line->partner].partner = i;
		new->line[line->partner].votes = line->votes;
	}
}

static struct pesa_error *add_line(struct making *making, const char *function,
				   const struct diff_code *code, const struct line *old,
				   const struct line *new)
{
	const struct line *line[DIFF_SIDES] = {old, new};
	struct diff_row *row = new_row(making->rows);

	if (!row)
		return pesa_error_no_memory();
	row->function = function;
	for (unsigned int side = 0; side < DIFF_SIDES; side++) {
		struct diff_figures *figures = &row->side[side];

		if (!line[side])
			continue;
		*figures = figures_of_group(making, (enum diff_side)side, line[side]->weight,
					    line[side]->entry);
		figures->has_executions = true;
		figures->dso = code[side].dso;
		figures->address = line[side]->address;
		figures->file = line[side]->file;
		figures->line = line[side]->number;
	}
	return NULL;
}

/* Match the lines of both sides by their instructions. */
static struct pesa_error *list_and_match(const struct diff_code code[DIFF_SIDES],
					 const size_t *partner, struct lines lines[DIFF_SIDES])
{
	struct pesa_error *error = NULL;
	size_t *votes;

	for (unsigned int side = 0; side < DIFF_SIDES && !error; side++)
		error = list_lines(&code[side], &lines[side]);
	if (error)
		return error;
	votes = calloc(lines[DIFF_NEW].count + 1, sizeof(*votes));
	if (!votes)
		return pesa_error_no_memory();
	match_lines(&lines[DIFF_OLD], &lines[DIFF_NEW], partner, code[DIFF_OLD].listing.count,
		    votes);
	free(votes);
	return NULL;
}

static struct pesa_error *add_lines(struct making *making, const char *function,
				    const struct diff_code code[DIFF_SIDES], const size_t *partner)
{
	struct lines lines[DIFF_SIDES] = {0};
	struct pesa_error *error = list_and_match(code, partner, lines);

	for (size_t i = 0; !error && i < lines[DIFF_NEW].count; i++) {
		const struct line *new = &lines[DIFF_NEW].line[i];

		error = add_line(making, function, code,
				 new->partner == DIFF_NONE ? NULL
							   : &lines[DIFF_OLD].line[new->partner],
				 new);
	}
	for (size_t i = 0; !error && i < lines[DIFF_OLD].count; i++)
		if (lines[DIFF_OLD].line[i].partner == DIFF_NONE)
			error = add_line(making, function, code, &lines[DIFF_OLD].line[i], NULL);
	for (unsigned int side = 0; side < DIFF_SIDES; side++) {
		free(lines[side].line);
		free(lines[side].of);
	}
	return error;
}

/* ---- Functions ----------------------------------------------------------------------------- */

/* Whether both sides have the same code at the same addresses. */
static bool same_code(const struct diff_code code[DIFF_SIDES])
{
	return code[DIFF_OLD].listing.count == code[DIFF_NEW].listing.count &&
	       diff_same_build(pesa_profile_dso(code[DIFF_OLD].input->profile, code[DIFF_OLD].dso),
			       pesa_profile_dso(code[DIFF_NEW].input->profile, code[DIFF_NEW].dso));
}

/* Find the partner in the new code of each instruction of the old code; the caller frees it. */
static struct pesa_error *match_code(const struct diff_code code[DIFF_SIDES], size_t **result)
{
	size_t count = code[DIFF_OLD].listing.count;
	size_t *partner = calloc(count + 1, sizeof(*partner));
	struct pesa_error *error = NULL;

	if (!partner)
		return pesa_error_no_memory();
	if (count && same_code(code))
		for (size_t i = 0; i < count; i++)
			partner[i] = i;
	else
		error = diff_match_instructions(&code[DIFF_OLD], &code[DIFF_NEW], partner);
	if (error)
		free(partner);
	else
		*result = partner;
	return error;
}

/* Rows for the lines or instructions of a function; either side may be NULL. */
static struct pesa_error *add_inside(struct making *making, const struct profile_group *old,
				     const struct profile_group *new)
{
	const char *function = pair_name(old, new);
	struct diff_code code[DIFF_SIDES] = {0};
	struct pesa_error *error;
	size_t *partner = NULL;

	/* Without a symbol the bounds of the code are unknown: add the function as a whole. */
	if ((old && !old->symbol) || (new && !new->symbol))
		return add_function(making, old, new);
	error = list_code(making, DIFF_OLD, old, &code[DIFF_OLD]);
	if (!error)
		error = list_code(making, DIFF_NEW, new, &code[DIFF_NEW]);
	if (!error)
		error = match_code(code, &partner);
	if (!error)
		error = making->wanted->by == DIFF_BY_LINE
				? add_lines(making, function, code, partner)
				: add_instructions(making, function, code, partner);
	free(partner);
	listing_free(&code[DIFF_OLD].listing);
	listing_free(&code[DIFF_NEW].listing);
	return error;
}

static const char *linkage_name(const struct profile_group *group)
{
	return group->symbol ? group->symbol->linkage_name : NULL;
}

/* Find out what the wanted name means among the functions of both sides. */
static struct pesa_error *consider_all(struct making *making)
{
	struct pesa_error *error = NULL;

	for (unsigned int side = 0; side < DIFF_SIDES; side++) {
		const struct profile_groups *groups = &making->groups[side];

		for (size_t i = 0; i < groups->count && !error; i++)
			error = name_search_consider(&making->search,
						     function_name(&groups->group[i]),
						     linkage_name(&groups->group[i]));
	}
	return error;
}

static struct pesa_error *add(struct making *making, const struct profile_group *old,
			      const struct profile_group *new)
{
	bool wanted = !making->wanted->symbol;
	struct pesa_error *error = NULL;

	if (!wanted && new)
		error = name_search_means(&making->search, function_name(new), linkage_name(new),
					  &wanted);
	if (!wanted && old && !error)
		error = name_search_means(&making->search, function_name(old), linkage_name(old),
					  &wanted);
	if (error || !wanted)
		return error;
	return making->wanted->by == DIFF_BY_SYMBOL ? add_function(making, old, new)
						    : add_inside(making, old, new);
}

static struct pesa_error *list_side(void *context, unsigned int side,
				    const struct profile_group *group, struct diff_code *code)
{
	return list_code(context, (enum diff_side)side, group, code);
}

static struct pesa_error *add_all(struct making *making)
{
	const struct profile_groups *old = &making->groups[DIFF_OLD];
	const struct profile_groups *new = &making->groups[DIFF_NEW];
	size_t *partner = calloc(old->count + 1, sizeof(*partner));
	bool *matched = calloc(new->count + 1, sizeof(*matched));
	struct pesa_error *error =
		partner && matched ? diff_match_functions(&making->input[DIFF_OLD], old,
							  &making->input[DIFF_NEW], new, partner)
				   : pesa_error_no_memory();

	if (!error)
		error = diff_match_code(old, new, list_side, making, partner);
	if (!error)
		error = diff_match_places(old, new, list_side, making, partner);
	for (size_t i = 0; !error && i < old->count; i++) {
		const bool both = partner[i] != DIFF_NONE;

		if (both)
			matched[partner[i]] = true;
		error = add(making, &old->group[i], both ? &new->group[partner[i]] : NULL);
	}
	for (size_t i = 0; !error && i < new->count; i++)
		if (!matched[i])
			error = add(making, NULL, &new->group[i]);
	free(partner);
	free(matched);
	return error;
}

static void free_row(struct diff_row *row)
{
	free(row->text);
	free(row->old_text);
}

bool diff_row_is_unsampled(const struct diff_row *row)
{
	return !(row->side[DIFF_OLD].cycles > 0) && !(row->side[DIFF_NEW].cycles > 0);
}

/*
 * Remove instructions and lines without samples on both sides, unless a whole function is listed.
 */
static void drop_unsampled(struct diff_rows *rows)
{
	size_t kept = 0;

	for (size_t i = 0; i < rows->count; i++) {
		if (diff_row_is_unsampled(&rows->row[i]))
			free_row(&rows->row[i]);
		else
			rows->row[kept++] = rows->row[i];
	}
	rows->count = kept;
}

static struct pesa_error *prepare(struct making *making)
{
	struct pesa_error *error = NULL;

	for (unsigned int side = 0; side < DIFF_SIDES && !error; side++) {
		making->isas[side] = listing_isas_create(&making->input[side]);
		error = making->isas[side] ? profile_groups_make(&making->input[side],
								 GROUP_BY_DSO | GROUP_BY_SYMBOL,
								 &making->groups[side])
					   : pesa_error_no_memory();
	}
	return error;
}

struct pesa_error *diff_rows_make(const struct profile_input input[DIFF_SIDES],
				  const struct diff_wanted *wanted, struct diff_rows *rows)
{
	struct making making = {.input = input, .wanted = wanted, .rows = rows};
	double total[DIFF_SIDES];
	struct pesa_error *error;

	*rows = (struct diff_rows){.scale = 1};
	for (unsigned int side = 0; side < DIFF_SIDES; side++)
		total[side] = cycles_of(pesa_profile_totals(input[side].profile)->weight);
	if (wanted->shares && total[DIFF_NEW] > 0)
		rows->scale = total[DIFF_OLD] / total[DIFF_NEW];
	error = prepare(&making);
	if (!error && wanted->symbol)
		error = name_search_begin(&making.search, wanted->symbol);
	if (!error && wanted->symbol)
		error = consider_all(&making);
	if (!error)
		error = add_all(&making);
	rows->nearest = making.search.suggestion;
	name_search_end(&making.search);
	if (!wanted->symbol)
		drop_unsampled(rows);
	for (size_t i = 0; !error && i < rows->count; i++)
		test_row(&making, &rows->row[i]);
	if (!error)
		error = mark_significant(rows);
	if (!error && rows->count && !(wanted->symbol && wanted->by != DIFF_BY_SYMBOL))
		qsort(rows->row, rows->count, sizeof(*rows->row), significant_first);
	for (unsigned int side = 0; side < DIFF_SIDES; side++) {
		profile_groups_free(&making.groups[side]);
		listing_isas_free(making.isas[side]);
	}
	return error;
}

void diff_rows_free(struct diff_rows *rows)
{
	for (size_t i = 0; i < rows->count; i++)
		free_row(&rows->row[i]);
	free(rows->row);
}
