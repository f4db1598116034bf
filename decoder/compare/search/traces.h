/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Traces: basic blocks that nearly always follow each other, as one.
 *
 * Whether a wait is in one block or in the next one is decided by chance.  What is wrong with their
 * sum is not, so a finding is weighed by these as well (evidence.c).
 */
#ifndef DECODER_COMPARE_SEARCH_TRACES_H
#define DECODER_COMPARE_SEARCH_TRACES_H

#include "decoder/compare/search/search.h"

struct compare_trace_sum;

struct compare_traces {
	uint32_t *of;		       /* by block: its trace */
	struct compare_trace_sum *sum; /* by trace; contents undefined between calls */
};

/* Join the blocks of all paths.  Free with compare_traces_free(), also after an error. */
struct pesa_error *compare_traces_make(const struct pesa_compare *compare,
				       struct compare_traces *traces);
void compare_traces_free(struct compare_traces *traces);
/* The part of the differences of traces that a finding explains; `candidate` is what becomes of the
 * prediction without it. */
double compare_explained_of_traces(const struct compare_search *search,
				   const struct compare_traces *traces,
				   const struct compare_candidate *candidate);

#endif
