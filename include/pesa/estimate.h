/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file
 * Estimates with their uncertainty.
 *
 * With period P, executions(i) ~ P x (samples in which i retired), cycles(i) ~ P x (its summed weight),
 * exposed cycles per execution = cycles / executions (design: "Estimates").  Each is a function of
 * random samples; the functions here give the value and its two-sided confidence interval, and say
 * when there are too few samples for either.  An exact profile has intervals of width zero.
 *
 * Threads: every function here may be called by any thread at any time: a profile is only read.
 */
#ifndef PESA_ESTIMATE_H
#define PESA_ESTIMATE_H

#include <stdbool.h>
#include <stdint.h>

#include "pesa/api.h"
#include "pesa/profile.h"

PESA_DECLARATIONS_BEGIN

/** A value with its interval. */
struct pesa_estimate {
	double value; /**< the estimate */
	double low;   /**< lower bound of its interval */
	double high;  /**< upper bound */
	bool enough;  /**< false: too few samples, the digits mean nothing */
};

/** Minimum number of samples for an estimate to be shown. */
#define PESA_ESTIMATE_SAMPLES_MIN 10

/** Cycles that the instruction held up the program.  `confidence`: 0.95 for 95 %, in all functions.
 * @any_thread @nothing_owned */
struct pesa_estimate pesa_estimate_cycles(const struct pesa_profile *profile,
					  const struct pesa_instruction *instruction,
					  double confidence);
/** How often the instruction was executed.
 * @any_thread @nothing_owned */
struct pesa_estimate pesa_estimate_executions(const struct pesa_profile *profile,
					      const struct pesa_instruction *instruction,
					      double confidence);
/** Exposed cycles of one execution.
 * @any_thread @nothing_owned */
struct pesa_estimate pesa_estimate_cycles_per_execution(const struct pesa_profile *profile,
							const struct pesa_instruction *instruction,
							double confidence);
/** Probability that a control transfer at this instruction is taken.
 * @any_thread @nothing_owned */
struct pesa_estimate pesa_estimate_taken(const struct pesa_profile *profile,
					 const struct pesa_instruction *instruction,
					 double confidence);
/** Wilson's interval of a share that `all` independent samples gave.
 * @any_thread @nothing_owned */
struct pesa_estimate pesa_estimate_share(double share, uint64_t all, double confidence);
/** How many standard deviations of a normal distribution lie on either side: 1.96 for 0.95.
 * @any_thread @nothing_owned */
double pesa_estimate_deviations(double confidence);

/**
 * Distance of two profiles: 1/2 * sum over (instruction, bucket) of |share measured - share golden|,
 * what was measured but not attributed being one bucket more (TEA, ISCA 2023, section "error").
 *
 * The floor is the distance to expect of ideal random sampling of as many cycles of the golden profile:
 * each bucket then is a sum of independent draws that give it 0 or 1/group of a cycle, whose mean
 * absolute deviation is computed exactly (Panjer's recursion of the compound binomial distribution)
 * or, where hits are many, from the normal distribution.
 *
 * Both are given at three levels, each of which merges buckets of the level before.  So hardware
 * that records less can be compared at the level that it records.
 */
enum pesa_distance_level {
	PESA_DISTANCE_STACK,	   /**< instruction, state and set of causes: what pesa shows */
	PESA_DISTANCE_CAUSES,	   /**< instruction and set of causes: TEA's definition */
	PESA_DISTANCE_INSTRUCTION, /**< instruction: TIP's definition */
	PESA_DISTANCE_LEVELS	   /**< how many there are */
};

/** The distance at one level: shares of all cycles, 0 to 1. */
struct pesa_distance_figures {
	double error; /**< of the measured profile */
	double floor; /**< to expect of ideal random sampling */
};

/** What pesa_profile_distance() found. */
struct pesa_distance {
	struct pesa_distance_figures at[PESA_DISTANCE_LEVELS]; /**< by level */
	/** The finest level that the samples of `measured` record.  At a finer level the error is
	 * only due to what they lack. */
	enum pesa_distance_level level;
	uint64_t samples; /**< of `measured` */
};
/** Compute the distance of `measured` from `golden`, at every level.  PESA_ERROR_ARGUMENT: `golden` is
 * not exact, or `measured` has no samples.
 * @any_thread @nothing_owned */
struct pesa_error *pesa_profile_distance(const struct pesa_profile *measured,
					 const struct pesa_profile *golden,
					 struct pesa_distance *distance);

PESA_DECLARATIONS_END

#endif
