/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Effects that have been determined: the search comes back to the same model again and again, as
 * findings are removed and selected anew, and executing the paths is most of its time.
 *
 * An effect depends on the findings in the model, in any order (no two of them change the same
 * number), and on the change.
 */
#ifndef DECODER_COMPARE_TRIED_H
#define DECODER_COMPARE_TRIED_H

#include "decoder/compare/search/fit.h"

struct compare_tried_effect;

#define COMPARE_TRIED_LISTS 512

struct compare_tried {
	struct compare_tried_effect *newest[COMPARE_TRIED_LISTS]; /* by their key */
	size_t bytes; /* of all effects; what exceeds the limit is not remembered */
};

/* Copy the effect of a change, on the model with the findings, into the candidate; *known: it was
 * remembered.  That on all paths is preferred to a screened one. */
struct pesa_error *compare_tried_find(const struct compare_tried *tried,
				      const struct pesa_compare *compare, const char *change,
				      struct compare_candidate *candidate, bool *known);
/* Remember the candidate's effect.  Without memory for it nothing is remembered. */
void compare_tried_add(struct compare_tried *tried, const struct pesa_compare *compare,
		       const char *change, const struct compare_candidate *candidate);
void compare_tried_free(struct compare_tried *tried);

#endif
