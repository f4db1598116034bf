/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Blocks that nearly always follow each other, as one: see traces.h. */
#include <stdlib.h>
#include <string.h>

#include "decoder/compare/search/traces.h"

struct compare_trace_sum {
	double value, own, change;
};

struct pesa_error *compare_traces_make(const struct pesa_compare *compare,
				       struct compare_traces *traces)
{
	uint32_t blocks = compare->regions.groups;

	traces->of = calloc(blocks + 1, sizeof(*traces->of));
	traces->sum = calloc(blocks + 1, sizeof(*traces->sum));
	return traces->of && traces->sum
		       ? compare_paths_join(&compare->paths, &compare->code, blocks, traces->of)
		       : pesa_error_no_memory();
}

void compare_traces_free(struct compare_traces *traces)
{
	free(traces->of);
	free(traces->sum);
}

double compare_explained_of_traces(const struct compare_search *search,
				   const struct compare_traces *traces,
				   const struct compare_candidate *candidate)
{
	const struct compare_residuals *residuals = &search->residuals;
	uint32_t blocks = search->compare->regions.groups;
	double with = 0, without = 0;

	memset(traces->sum, 0, blocks * sizeof(*traces->sum));
	for (uint32_t i = 0; i < blocks; i++)
		if (residuals->block[i].variance > 0) {
			struct compare_trace_sum *sum = &traces->sum[traces->of[i]];

			sum->value += residuals->block[i].value;
			sum->own += residuals->block[i].own;
		}
	for (uint32_t i = 0; i < candidate->effects; i++) {
		const struct compare_effect *effect = &candidate->effect[i];
		const struct compare_residual *one = &residuals->node[effect->node];

		if (one->variance > 0)
			traces->sum[traces->of[one->block]].change += effect->cycles;
	}
	for (uint32_t i = 0; i < blocks; i++) {
		const struct compare_trace_sum *sum = &traces->sum[i];

		if (sum->change == 0)
			continue;
		with += compare_beyond(sum->value, sum->own);
		without += compare_beyond(sum->value - sum->change, sum->own);
	}
	return compare_part_explained(without, with);
}
