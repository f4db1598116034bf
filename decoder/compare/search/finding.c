/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The contents of a finding: its change, estimate, instructions and ties.  See search.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/compare/search/search.h"

#define TIE_GAIN 0.9 /* minimum gain of a tie, relative to the best candidate */
#define TIE_LIKELY \
	6.0 /* or by how much it may be less likely: twice the logarithm, less the penalties */
#define TIE_BESIDE  0.8 /* likewise, of other numbers of the same instructions */
#define TIE_OPCODES 0.7 /* likewise, of opcodes alone, which take turns in a chain of dependences */

struct mnemonic {
	const char *name;
	double executions;
};

static int more_often_first(const void *left, const void *right)
{
	double a = ((const struct mnemonic *)left)->executions;
	double b = ((const struct mnemonic *)right)->executions;

	return a > b ? -1 : a < b;
}

static void name_instructions(const struct compare_search *search,
			      const struct compare_candidate *candidate,
			      struct pesa_compare_finding *finding)
{
	const struct compare_code *code = &search->compare->code;
	struct mnemonic found[64];
	unsigned int count = 0;
	size_t used = 0;

	for (uint32_t i = 0; i < code->count; i++) {
		const char *name;
		unsigned int at;

		if (!compare_touches_node(search->original, candidate, &code->node[i]))
			continue;
		finding->executions += code->node[i].executions;
		name = pesa_opcode_get(code->node[i].insn.opcode)->mnemonic;
		for (at = 0; at < count && found[at].name != name; at++)
			;
		if (at == count && count < sizeof(found) / sizeof(found[0]))
			found[count++] = (struct mnemonic){.name = name};
		if (at < count)
			found[at].executions += code->node[i].executions;
	}
	qsort(found, count, sizeof(*found), more_often_first);
	for (unsigned int i = 0;
	     i < count && used + strlen(found[i].name) + 2 < sizeof(finding->mnemonics); i++)
		used += (size_t)snprintf(finding->mnemonics + used,
					 sizeof(finding->mnemonics) - used, "%s%s", i ? " " : "",
					 found[i].name);
}

static void name_equivalents(const struct compare_search *search,
			     const struct compare_candidate *candidate,
			     struct pesa_compare_finding *finding)
{
	struct compare_candidate other = *candidate;

	if (candidate->kind != PESA_COMPARE_UNITS)
		return;
	for (unsigned int i = 0;
	     i < search->original->resource_count && finding->equivalents < PESA_COMPARE_TIES;
	     i++) {
		other.resource = i;
		if (i != candidate->resource &&
		    compare_is_interchangeable(search->original, candidate->resource, i))
			compare_describe(search->original, &other, candidate->value,
					 finding->equivalent[finding->equivalents++],
					 sizeof(finding->equivalent[0]));
	}
}

void compare_describe_finding(const struct compare_search *search,
			      struct compare_candidate *candidate,
			      struct pesa_compare_finding *finding)
{
	const struct pesa_compare *compare = search->compare;
	int step = candidate->value - candidate->model_value;
	double value = candidate->model_value + step * candidate->theta;
	/* The value that explains most is no whole number for an effect that is not linear: what lies
	 * between them is not certain either. */
	double half = hypot(pesa_estimate_deviations(compare->options.confidence) * abs(step) *
				    candidate->error,
			    value - candidate->value);

	*finding = (struct pesa_compare_finding){
		.kind = candidate->kind,
		.one_write = candidate->narrow,
		.some_opcodes = candidate->opcodes > 0,
		.model = candidate->base_value,
		.measured = candidate->value,
		.deviations = candidate->theta / candidate->error,
		.cycles = finding->cycles + candidate->moved,
		.estimate =
			{
				.value = value,
				.low = value - half,
				.high = value + half,
				.enough = true,
			},
	};
	if (candidate->kind != PESA_COMPARE_UNITS)
		finding->scheduling_class =
			candidate->narrow ? compare->base->identities[candidate->class].write
					  : compare->base->identities[candidate->class].name;
	if (candidate->kind == PESA_COMPARE_UNITS || candidate->kind == PESA_COMPARE_CYCLES)
		finding->resource = compare->base->resources[candidate->resource].name;
	if (candidate->narrow)
		finding->from = compare->base->identities[candidate->class].from;
	else if (candidate->kind == PESA_COMPARE_UNITS)
		finding->from = compare->base->resources[candidate->resource].from;
	compare_describe(compare->model, candidate, candidate->value, finding->change,
			 sizeof(finding->change));
	name_equivalents(search, candidate, finding);
	name_instructions(search, candidate, finding);
	for (unsigned int i = 0; i < candidate->examples; i++) {
		const struct compare_node *node = &compare->code.node[candidate->example[i]];

		finding->example[finding->examples].dso = node->dso;
		finding->example[finding->examples++].address = node->address;
	}
}

static double tie_gain(const struct compare_candidate *best, const struct compare_candidate *other)
{
	if (compare_is_beside(best, other))
		return TIE_BESIDE;
	return best->opcodes && other->opcodes ? TIE_OPCODES : TIE_GAIN;
}

static bool is_tie(const struct compare_search *search, const struct compare_candidate *best,
		   const struct compare_candidate *other)
{
	/* Candidates not tried in this round have the gain from an earlier model. */
	if (other == best || other->refused || !compare_is_visible(search, other))
		return false;
	return other->gain > tie_gain(best, other) * best->gain ||
	       (other->theta > 0.5 &&
		compare_net_gain(search, other) >= compare_net_gain(search, best) - TIE_LIKELY);
}

void compare_rank_tie(const struct compare_search *search, struct compare_ties *ties,
		      const struct compare_candidate *candidate)
{
	double gain = compare_net_gain(search, candidate);
	unsigned int at = ties->count;

	while (at && gain > compare_net_gain(search, ties->one[at - 1]))
		at--;
	if (at == PESA_COMPARE_TIES)
		return;
	ties->count += ties->count < PESA_COMPARE_TIES;
	for (unsigned int i = ties->count - 1; i > at; i--)
		ties->one[i] = ties->one[i - 1];
	ties->one[at] = candidate;
}

static bool has_tie(const struct pesa_compare_finding *finding, const char *change)
{
	for (unsigned int i = 0; i < finding->ties; i++)
		if (!strcmp(finding->tie[i], change))
			return true;
	return false;
}

void compare_name_ties(const struct compare_search *search, struct pesa_compare_finding *finding,
		       const struct compare_ties *ties)
{
	for (unsigned int i = 0; i < ties->count && finding->ties < PESA_COMPARE_TIES; i++) {
		char *text = finding->tie[finding->ties];

		compare_describe(search->compare->model, ties->one[i], ties->one[i]->value, text,
				 sizeof(finding->tie[0]));
		finding->ties += !has_tie(finding, text);
	}
}

void compare_add_ties(struct compare_search *search, struct pesa_compare_finding *finding,
		      const struct compare_candidate *best)
{
	struct compare_ties ties = {.count = 0};

	for (unsigned int i = 0; i < search->candidates; i++)
		if (is_tie(search, best, &search->candidate[i]))
			compare_rank_tie(search, &ties, &search->candidate[i]);
	compare_name_ties(search, finding, &ties);
}

/* ---- Numbers that depend on the data --------------------------------------------------------- */

#define VARIES_LEAST	  8   /* minimum latency in the model, cycles: dividers, square roots */
#define VARIES_SHARE	  0.2 /* of the median: difference of instructions */
#define VARIES_DEVIATIONS 4.0 /* of sampling */
#define VARIES_FRACTION \
	0.1 /* distance of a mean from the nearest integer, cycles; exact profiles only */

/* The mean core time of one instruction of the class. */
struct shown {
	double number; /* cycles per execution */
	double executions;
};

static int by_number(const void *left, const void *right)
{
	const struct shown *a = left, *b = right;

	return a->number < b->number ? -1 : a->number > b->number;
}

static double quantile(const struct shown *shown, size_t count, double part)
{
	double total = 0, sum = 0;

	for (size_t i = 0; i < count; i++)
		total += shown[i].executions;
	for (size_t i = 0; i < count; i++) {
		sum += shown[i].executions;
		if (sum >= part * total)
			return shown[i].number;
	}
	return count ? shown[count - 1].number : 0;
}

/*
 * On an in-order core a long instruction is the oldest one for as long as it executes, so its core
 * time is its latency.  Executions differ if instructions of the class do, or if a mean is not an
 * integer.
 */
static void find_spread(const struct compare_search *search,
			const struct compare_candidate *candidate,
			struct pesa_compare_finding *finding, struct shown *shown)
{
	const struct pesa_compare *compare = search->compare;
	size_t count = 0;
	bool exact = pesa_profile_totals(compare->profile)->exact;
	bool fractional = false;
	double most = 0, apart;

	for (uint32_t i = 0; i < compare->code.count; i++) {
		const struct compare_node *node = &compare->code.node[i];
		double each, deviation;

		if (!compare_touches_node(search->original, candidate, node) ||
		    !(node->occurrences > 0) || !(node->executions > 0))
			continue;
		each = node->time.core / node->executions;
		deviation = sqrt(compare_sampling_variance(compare, node, each)) / node->executions;
		if (deviation > most)
			most = deviation;
		fractional |= exact && fabs(each - round(each)) > VARIES_FRACTION;
		shown[count++] = (struct shown){each, node->executions};
	}
	qsort(shown, count, sizeof(*shown), by_number);
	for (unsigned int i = 0; i < 3; i++)
		finding->spread[i] = quantile(shown, count, 0.1 + 0.4 * i);
	apart = finding->spread[2] - finding->spread[0];
	finding->varies = fractional || (apart > VARIES_DEVIATIONS * most &&
					 apart > VARIES_SHARE * finding->spread[1]);
}

struct pesa_error *compare_find_spread(struct compare_search *search)
{
	struct pesa_compare *compare = search->compare;
	struct shown *shown = calloc(compare->code.count + 1, sizeof(*shown));

	if (!shown)
		return pesa_error_no_memory();
	for (unsigned int i = 0; i < search->candidates; i++) {
		const struct compare_candidate *candidate = &search->candidate[i];
		struct pesa_compare_finding *finding;

		if (candidate->finding == COMPARE_NONE)
			continue;
		finding = &compare->finding[candidate->finding];
		if (!pesa_mca_model_is_out_of_order(compare->model) && finding->scheduling_class &&
		    finding->kind != PESA_COMPARE_ADVANCE && finding->model >= VARIES_LEAST)
			find_spread(search, candidate, finding, shown);
	}
	free(shown);
	return NULL;
}
