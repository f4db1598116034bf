/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the samples of microloops (loops.h) tell: where interrupts are taken, and whether the estimate
 * finds what held each loop up.
 */
#ifndef TOOLS_CALIBRATE_LEARN_H
#define TOOLS_CALIBRATE_LEARN_H

#include "tools/calibrate/loops.h"
#include "tools/plain/plain.h"

/* Shares of the cycles of a loop. */
struct microloop_result {
	double cycles;	  /* an iteration, as sampled */
	double known;	  /* that its holders have at least; NaN: it has none */
	double sampled;	  /* on the holders by the PC of the samples; NaN likewise */
	double estimated; /* on the holders as estimated; NaN likewise */
};

/* One for each loop, in `results`. */
void learn_results(const struct microloops *loops, const struct plain_estimate *plain,
		   struct microloop_result *results);
/* Fill in what was learned, for a calibration that describes the recording. */
void learn_ways(const struct plain_estimate *plain, struct pesa_calibration *calibration);

#endif
