/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sampled simulation: which pieces of a program run through the pipeline, and what the whole is
 * estimated to take.  After R. Wunderlich, T. Wenisch, B. Falsafi, J. Hoe, "SMARTS: accelerating
 * microarchitecture simulation via rigorous statistical sampling", ISCA 2003.
 *
 * Progress of the program is counted in words of its trace (core/step.h), which are there whether
 * the pipeline runs or not.  A chunk is WINDOW_WORDS of them.  Chunks are divided into strata of
 * `weight` consecutive ones, and of each stratum one chunk, drawn at random, is measured: its
 * cycles, instructions and events stand for those of the stratum.  So each chunk is measured with
 * probability 1 / weight and counts `weight` times: sums over the measured chunks are unbiased
 * estimates of those over all chunks, whatever the program does and however the weights are chosen,
 * as long as the weight of a stratum is known before its chunk is drawn.
 *
 * The clock counts the cycles of the program by that estimate: each cycle that is measured is
 * `weight` cycles of the program.  Samples are taken where the clock reaches the next one.  So each
 * sample stands for a period, as on a core that runs through.
 *
 * Weights are chosen so that WINDOWS_PER_PERIOD strata take a period, by the cycles that the
 * last windows took.  The first strata are short, so that a short program has several.
 *
 * Before a window the pipeline runs unmeasured for WARM_WORDS, to fill its queues; behind it for
 * SETTLE_WORDS, to know why its last cycle ended.  Between these, the trace changes caches, TLBs and
 * predictors only.
 */
#ifndef TOOLS_VCORE_WINDOWS_WINDOWS_H
#define TOOLS_VCORE_WINDOWS_WINDOWS_H

#include <stdbool.h>
#include <stdint.h>

#include "decoder/core/window_sums.h"

#define WINDOW_WORDS	   512u
#define WARM_WORDS	   1024u
#define SETTLE_WORDS	   32u
#define WINDOWS_PER_PERIOD 8u

enum windows_phase {
	WINDOWS_CONTENTS, /* caches, TLBs and predictors only */
	WINDOWS_WARM,	  /* the pipeline runs, unmeasured, before a window */
	WINDOWS_MEASURED,
	WINDOWS_SETTLE, /* the pipeline runs, unmeasured, behind a window */
};

struct windows {
	bool on;
	enum windows_phase phase;
	uint64_t left;	 /* words until the phase ends */
	uint64_t weight; /* of the stratum: chunks */
	uint64_t gap;	 /* words between two windows in which the pipeline does not run */
	uint64_t behind; /* chunks of the stratum behind its window */
	uint64_t most;	 /* of the next stratum's weight; grows */
	uint64_t period; /* cycles */
	uint64_t random;
	uint64_t mean;	      /* cycles of a window, by the last ones; in 1 / WINDOWS_UNIT */
	uint64_t clock;	      /* estimated cycles of the program before the window */
	uint64_t begin;	      /* cycle of the pipeline in which the window begins */
	uint64_t next_sample; /* by the clock */
	struct window_sums sums;
};

#define WINDOWS_UNIT 256u

/* Begin with the first stratum; `first`: cycles to the first sample. */
void windows_begin(struct windows *windows, uint64_t period, uint64_t first, uint64_t seed);
/* The phase has ended: begin the next one. */
void windows_next(struct windows *windows);
/* The window begins in cycle `cycle` of the pipeline. */
void windows_open(struct windows *windows, uint64_t cycle);
/* The window took so many cycles and instructions. */
void windows_close(struct windows *windows, uint64_t cycles, uint64_t instructions);
/* Estimated cycles of `words` that did not run through the pipeline. */
uint64_t windows_cycles_of(const struct windows *windows, uint64_t words);

/* The pipeline's cycle in which the next sample is due; UINT64_MAX: not in this phase. */
static inline uint64_t windows_due(const struct windows *windows)
{
	if (windows->phase != WINDOWS_MEASURED)
		return UINT64_MAX;
	return windows->begin + (windows->next_sample - windows->clock) / windows->weight;
}

/*
 * A sample was taken in cycle `cycle` of the pipeline; the next one comes `interval` cycles of the
 * program later.  Returns its cycle like windows_due(), which is later.
 */
static inline uint64_t windows_sampled(struct windows *windows, uint64_t cycle, uint64_t interval)
{
	uint64_t due;

	windows->next_sample += interval;
	due = windows_due(windows);
	return due > cycle ? due : cycle + 1;
}

#endif
