/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Estimates with their uncertainty: see include/pesa/estimate.h and Documentation/estimates.md. */
#include <math.h>

#include "pesa/estimate.h"
#include "pesa/record.h"

double pesa_estimate_deviations(double confidence)
{
	double z = 1;

	if (!(confidence > 0))
		return 0;
	if (confidence >= 1)
		return INFINITY;
	/* Newton's method on erf(z / sqrt(2)) = confidence; concave for z > 0, so it converges. */
	for (int i = 0; i < 100; i++) {
		double miss = erf(z / M_SQRT2) - confidence;
		double step = miss / (sqrt(2 / M_PI) * exp(-z * z / 2));

		if (step > z / 2)
			step = z / 2;
		if (step < -1)
			step = -1;
		z -= step;
		if (fabs(step) < 1e-13)
			break;
	}
	return z;
}

static struct pesa_estimate exact(double value)
{
	return (struct pesa_estimate){.value = value, .low = value, .high = value, .enough = true};
}

/*
 * Interval of a sum over random samples, from the sum of their squares.  The sum is treated as a
 * Poisson count of value^2 / variance hits, with limits by Wilson and Hilferty's approximation.
 * The number of samples is given, not random, which reduces the variance by value^2 / samples.
 */
static struct pesa_estimate of_sum(double value, double squares, double samples, double confidence)
{
	struct pesa_estimate estimate = {.value = value};
	double z = pesa_estimate_deviations(confidence);
	double variance, hits, root;

	if (!(value > 0) || !(squares > 0))
		return estimate;
	variance = squares - (samples > 0 ? value * value / samples : 0);
	if (variance <= 1e-12 * squares) {
		estimate.low = estimate.high = value;
		return estimate;
	}
	hits = value * value / variance;
	root = 1 - 1 / (9 * hits) - z / (3 * sqrt(hits));
	estimate.low = root > 0 ? value * root * root * root : 0;
	root = 1 - 1 / (9 * (hits + 1)) + z / (3 * sqrt(hits + 1));
	estimate.high = value * (hits + 1) / hits * root * root * root;
	return estimate;
}

/* The number of samples of equal periods that would have the same variance. */
static double effective_samples(const struct pesa_profile *profile)
{
	const struct pesa_profile_totals *totals = pesa_profile_totals(profile);
	double sum = (double)totals->weight / PESA_CYCLE;

	return totals->period_squared > 0 ? sum * sum / totals->period_squared : 0;
}

struct pesa_estimate pesa_estimate_cycles(const struct pesa_profile *profile,
					  const struct pesa_instruction *instruction,
					  double confidence)
{
	double value = (double)instruction->weight / PESA_CYCLE;
	struct pesa_estimate estimate;

	if (pesa_profile_totals(profile)->exact)
		return exact(value);
	estimate =
		of_sum(value, instruction->weight_squared, effective_samples(profile), confidence);
	/* An estimate from late PCs may have an error as large as that of half of the samples. */
	estimate.high =
		fmin(estimate.high, (double)pesa_profile_totals(profile)->weight / PESA_CYCLE);
	estimate.enough = instruction->samples >= PESA_ESTIMATE_SAMPLES_MIN;
	return estimate;
}

/* A number of executions whose error is known: it is worth (value / error)^2 samples. */
static struct pesa_estimate of_flow(double value, double error, double confidence)
{
	double half = pesa_estimate_deviations(confidence) * error;

	return (struct pesa_estimate){
		.value = value,
		.low = fmax(value - half, 0),
		.high = value + half,
		.enough = value * value >= PESA_ESTIMATE_SAMPLES_MIN * error * error && value > 0,
	};
}

struct pesa_estimate pesa_estimate_executions(const struct pesa_profile *profile,
					      const struct pesa_instruction *instruction,
					      double confidence)
{
	double value = (double)instruction->executions, better, error;
	struct pesa_estimate estimate;

	if (pesa_profile_totals(profile)->exact)
		return exact(value);
	if (pesa_profile_better_executions(profile, instruction, &better, &error))
		return of_flow(better, error, confidence);
	estimate =
		of_sum(value, instruction->retired_squared, effective_samples(profile), confidence);
	estimate.enough = instruction->retired_samples >= PESA_ESTIMATE_SAMPLES_MIN;
	return estimate;
}

/* A ratio with the variance of its logarithm. */
static struct pesa_estimate ratio(double cycles, double executions, double variance, bool enough,
				  double confidence)
{
	double spread = exp(pesa_estimate_deviations(confidence) * sqrt(fmax(variance, 0)));
	double value = cycles / executions;

	return (struct pesa_estimate){
		.value = value,
		.low = value / spread,
		.high = value * spread,
		.enough = enough,
	};
}

struct pesa_estimate pesa_estimate_cycles_per_execution(const struct pesa_profile *profile,
							const struct pesa_instruction *instruction,
							double confidence)
{
	double cycles = (double)instruction->weight / PESA_CYCLE;
	double executions = (double)instruction->executions, better, error;
	double period = pesa_profile_totals(profile)->period, of_cycles, relative, apart;
	struct pesa_estimate estimate = {0};

	if (!instruction->executions)
		return estimate;
	estimate.value = cycles / executions;
	if (pesa_profile_totals(profile)->exact)
		return exact(estimate.value);
	if (!instruction->weight)
		return estimate;
	/*
	 * The delta method on the logarithm of the ratio of two sums over the same samples.  One
	 * sample without retirement is added to the observed ones: a rare stall may exist without
	 * having been sampled, and without the added sample equal samples would give an interval of
	 * zero width.
	 */
	of_cycles = (instruction->weight_squared + period * period) / (cycles * cycles);
	relative = of_cycles - 2 * instruction->weight_times_retired / (cycles * executions) +
		   instruction->retired_squared / (executions * executions);
	/*
	 * Executions of the control flow are mostly from other samples: no errors cancel out, but
	 * they have less.  The narrower interval is taken.
	 */
	if (pesa_profile_better_executions(profile, instruction, &better, &error) && better > 0) {
		apart = of_cycles + error * error / (better * better);
		if (apart < relative)
			return ratio(cycles, better, apart,
				     better * better >= PESA_ESTIMATE_SAMPLES_MIN * error * error,
				     confidence);
	}
	return ratio(cycles, executions, relative,
		     instruction->retired_samples >= PESA_ESTIMATE_SAMPLES_MIN, confidence);
}

struct pesa_estimate pesa_estimate_share(double share, uint64_t all, double confidence)
{
	struct pesa_estimate estimate = {.value = share};
	double z = pesa_estimate_deviations(confidence), n = (double)all;
	double middle, half;

	if (!all) {
		estimate.high = 1;
		return estimate;
	}
	middle = (share + z * z / (2 * n)) / (1 + z * z / n);
	half = z / (1 + z * z / n) * sqrt(share * (1 - share) / n + z * z / (4 * n * n));
	/* At a share of 0 or 1 a limit equals the share; rounding must not move the limit past
	 * it. */
	estimate.low = fmax(0, fmin(share, middle - half));
	estimate.high = fmin(1, fmax(share, middle + half));
	estimate.enough = all >= PESA_ESTIMATE_SAMPLES_MIN;
	return estimate;
}

struct pesa_estimate pesa_estimate_taken(const struct pesa_profile *profile,
					 const struct pesa_instruction *instruction,
					 double confidence)
{
	uint64_t known = instruction->transfers_known;
	double share = known ? (double)instruction->transfers_taken / (double)known : 0;

	if (pesa_profile_totals(profile)->exact)
		return exact(share);
	return pesa_estimate_share(share, known, confidence);
}
