/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Misfit: what the engine does not model (fetch blocks, store forwarding, what a miss hides, the
 * order of paths) makes it differ from any core, also from one that its model describes exactly.
 * How much is estimated from the differences themselves: the robust scale of the relative ones,
 * with the part that sampling explains taken out.  A few large differences, as a wrong entry of the
 * model makes them, do not move it.
 */
#ifndef DECODER_COMPARE_MISFIT_H
#define DECODER_COMPARE_MISFIT_H

#include <stddef.h>

struct compare_difference {
	double relative; /* |measured - predicted| / predicted */
	double variance; /* of it, by sampling */
	double weight;
};

/* The standard deviation of relative differences beyond sampling.  Sorts `difference`. */
double compare_misfit(struct compare_difference *difference, size_t count);

#endif
