/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What all findings explain together, which says how much evidence each of them needs (evidence.c). */
#ifndef DECODER_COMPARE_SEARCH_TOGETHER_H
#define DECODER_COMPARE_SEARCH_TOGETHER_H

#include "decoder/compare/search/search.h"

struct compare_together {
	double blocks, instructions; /* parts explained */
	double likelier;	     /* twice the logarithm, less the penalties */
	bool large;		     /* whether blocks differed by much without them */
};

/* Weigh the findings of the present model; makes the residuals. */
struct compare_together compare_weigh_together(struct compare_search *search);
/* Whether they make nearly all differences vanish, by more than chance. */
bool compare_are_right(const struct compare_together *together);

/* Of the core time, by which a finding moves the program that explains nearly all. */
#define COMPARE_NEARLY_ALL_LEAST 0.05
/* Whether a finding explains nearly all that it touches, and with the others nearly all that differs. */
bool compare_explains_nearly_all(const struct pesa_compare_finding *finding,
				 const struct compare_together *together);

#endif
