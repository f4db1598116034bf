/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What was chosen for the paths by the measurement (compare_predict_ordered()), to be taken back when
 * another choice turns out to be farther from it.
 */
#ifndef DECODER_COMPARE_CHOSEN_H
#define DECODER_COMPARE_CHOSEN_H

#include "decoder/compare/inside.h"

struct compare_chosen_node {
	double misses, late, uncertain;
	double waits_part;
	uint8_t waits;
	bool ambiguous;
};

struct compare_chosen {
	struct compare_chosen_node *node; /* by node */
	struct compare_kinds kinds;
	bool in_sets;
	enum compare_directions directions;
	unsigned int ordered_cycles;
};

/* Copy the present choices.  The caller frees them, also after an error. */
struct pesa_error *compare_chosen_save(const struct pesa_compare *compare,
				       const struct compare_path_options *options,
				       struct compare_chosen *chosen);
/* Make these the present choices; predictions are of the others until paths are predicted again. */
void compare_chosen_restore(struct pesa_compare *compare, struct compare_path_options *options,
			    const struct compare_chosen *chosen);
void compare_chosen_free(struct compare_chosen *chosen);
/* Take back what was chosen, but how instructions order others, and loads that miss. */
void compare_chosen_forget(struct pesa_compare *compare, struct compare_path_options *options);

#endif
