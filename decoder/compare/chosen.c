/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Choices for the paths, saved and taken back: see chosen.h. */
#include <stdlib.h>

#include "decoder/compare/chosen.h"
#include "decoder/compare/waits.h"

struct pesa_error *compare_chosen_save(const struct pesa_compare *compare,
				       const struct compare_path_options *options,
				       struct compare_chosen *chosen)
{
	*chosen = (struct compare_chosen){
		.node = calloc(compare->code.count + 1, sizeof(*chosen->node)),
		.kinds = compare->kinds,
		.in_sets = compare->code.in_sets,
		.directions = options->directions,
		.ordered_cycles = compare->predictor.ordered_cycles,
	};
	if (!chosen->node)
		return pesa_error_no_memory();
	for (uint32_t i = 0; i < compare->code.count; i++) {
		const struct compare_node *node = &compare->code.node[i];

		chosen->node[i] = (struct compare_chosen_node){.misses = node->misses,
							       .late = node->late,
							       .uncertain = node->uncertain,
							       .waits = node->waits,
							       .waits_part = node->waits_part,
							       .ambiguous = node->ambiguous};
	}
	return NULL;
}

void compare_chosen_restore(struct pesa_compare *compare, struct compare_path_options *options,
			    const struct compare_chosen *chosen)
{
	for (uint32_t i = 0; i < compare->code.count && chosen->node; i++) {
		struct compare_node *node = &compare->code.node[i];

		node->misses = chosen->node[i].misses;
		node->late = chosen->node[i].late;
		node->uncertain = chosen->node[i].uncertain;
		node->waits = chosen->node[i].waits;
		node->waits_part = chosen->node[i].waits_part;
		node->ambiguous = chosen->node[i].ambiguous;
	}
	compare->kinds = chosen->kinds;
	compare->code.in_sets = chosen->in_sets;
	options->directions = chosen->directions;
	compare->predictor.ordered_cycles = chosen->ordered_cycles;
}

void compare_chosen_free(struct compare_chosen *chosen)
{
	free(chosen->node);
	chosen->node = NULL;
}

void compare_chosen_forget(struct pesa_compare *compare, struct compare_path_options *options)
{
	compare_forget_waits(&compare->code);
	for (uint32_t i = 0; i < compare->code.count; i++)
		compare->code.node[i].uncertain = 0;
	options->directions = COMPARE_EVENLY;
	compare->predictor.ordered_cycles = 0;
}
