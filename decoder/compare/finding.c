/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The contents of a finding: its change, estimate, instructions and ties.  See search.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/compare/search.h"

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

		if (!compare_touches(search->original, candidate, code->node[i].class))
			continue;
		finding->executions += search->executions[i];
		name = pesa_opcode_get(code->node[i].insn.opcode)->mnemonic;
		for (at = 0; at < count && found[at].name != name; at++)
			;
		if (at == count && count < sizeof(found) / sizeof(found[0]))
			found[count++] = (struct mnemonic){.name = name};
		if (at < count)
			found[at].executions += search->executions[i];
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
	double half = pesa_estimate_deviations(compare->options.confidence) * abs(step) *
		      candidate->error;

	*finding = (struct pesa_compare_finding){
		.kind = candidate->kind,
		.model = candidate->base_value,
		.measured = candidate->value,
		.deviations = candidate->theta / candidate->error,
		.cycles = finding->cycles + candidate->moved,
		.estimate =
			{
				.value = candidate->value,
				.low = candidate->value - half,
				.high = candidate->value + half,
				.enough = true,
			},
	};
	if (candidate->kind != PESA_COMPARE_UNITS)
		finding->scheduling_class = compare->base->class_names[candidate->class];
	if (candidate->kind == PESA_COMPARE_UNITS || candidate->kind == PESA_COMPARE_CYCLES)
		finding->resource = compare->base->resources[candidate->resource].name;
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

void compare_add_tie(struct compare_search *search, struct pesa_compare_finding *finding,
		     const struct compare_candidate *candidate)
{
	if (finding->ties < PESA_COMPARE_TIES)
		compare_describe(search->compare->model, candidate, candidate->value,
				 finding->tie[finding->ties++], sizeof(finding->tie[0]));
}
