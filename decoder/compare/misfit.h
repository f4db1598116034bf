/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Misfit: the deviation of the engine from a core that its model describes exactly.  Its causes are
 * what the engine does not model: fetch blocks, details of store forwarding, overlap of misses, the
 * order of paths.  It is estimated from the differences themselves, as the robust scale of the
 * relative differences, with the sampling variance subtracted.  A few large differences, such as
 * those due to a wrong entry of the model, have little influence.
 */
#ifndef DECODER_COMPARE_MISFIT_H
#define DECODER_COMPARE_MISFIT_H

#include <stddef.h>

/* At most this in most programs that the model describes (tests/accuracy/trials.py). */
#define COMPARE_MISFIT_USUAL 0.05
/* That of few: a region that differs by more is said to, also where all of a program do. */
#define COMPARE_MISFIT_MOST 0.1

struct compare_difference {
	double relative; /* |measured - predicted| / predicted */
	double variance; /* sampling variance of `relative` */
	double weight;
};

/* Standard deviation of relative differences beyond sampling.  Sorts `difference`. */
double compare_misfit(struct compare_difference *difference, size_t count);
/*
 * The same for regions.  A few regions do not determine the misfit of a program: they may agree by
 * chance.  So the typical misfit of other programs is added, as that of some more regions.
 */
double compare_misfit_borrowed(struct compare_difference *difference, size_t count);

/* The square of a number of standard deviations; beyond `limit` of them, linear. */
double compare_huber_loss(double deviations, double limit);

#endif
