/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Distance of a measured profile from the golden one, and its floor: see include/pesa/estimate.h.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pesa/estimate.h"
#include "pesa/record.h"

#define NO_DSO UINT32_MAX

/* ---- The floor ------------------------------------------------------------------------------- */

#define RECURSION_HITS_MAX  100 /* expected hits up to which the recursion is used */
#define RECURSION_STEPS_MAX 200000

static uint64_t greatest_common_divisor(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/*
 * E|Y - mean| of the sum Y of `samples` draws, of which a draw gives 1/group[i] with probability[i]
 * and else nothing: 2 * sum over y < mean of (mean - y) P(Y = y), with P by Panjer's recursion for
 * the binomial number of hits on the lattice 1/steps.
 */
static double deviation_by_recursion(const struct pesa_bucket *bucket, const double *probability,
				     double samples, double mean, uint64_t steps, double *scratch)
{
	double hit = 0, a, b, sum = 0;
	uint64_t points = (uint64_t)ceil(mean * (double)steps);

	for (unsigned int i = 0; i < bucket->shares; i++)
		hit += probability[i];
	a = -hit / (1 - hit);
	b = -(samples + 1) * a;
	scratch[0] = exp(samples * log1p(-hit));
	sum = mean * scratch[0];
	for (uint64_t k = 1; k < points; k++) {
		double p = 0;

		for (unsigned int i = 0; i < bucket->shares; i++) {
			uint64_t j = steps / bucket->share[i].group;

			if (j <= k)
				p += (a + b * (double)j / (double)k) * probability[i] / hit *
				     scratch[k - j];
		}
		scratch[k] = p > 0 ? p : 0;
		sum += (mean - (double)k / (double)steps) * scratch[k];
	}
	return 2 * sum;
}

/* Expected |share sampled - share| of one bucket, of `cycles` in all, from `samples` random cycles.
 */
static double expected_deviation(const struct pesa_bucket *bucket, double cycles, double samples,
				 double *probability, double *scratch)
{
	double hit = 0, mean = 0, squares = 0;
	uint64_t steps = 1;

	for (unsigned int i = 0; i < bucket->shares; i++) {
		double group = bucket->share[i].group;

		probability[i] = (double)bucket->share[i].cycles / cycles;
		hit += probability[i];
		mean += probability[i] / group;
		squares += probability[i] / (group * group);
		steps = steps / greatest_common_divisor(steps, bucket->share[i].group) *
			bucket->share[i].group;
	}
	if (hit < 1 && samples * hit <= RECURSION_HITS_MAX &&
	    samples * mean * (double)steps < RECURSION_STEPS_MAX)
		return deviation_by_recursion(bucket, probability, samples, samples * mean, steps,
					      scratch) /
		       samples;
	/* An instruction that retires more than once a cycle can have more hits than cycles. */
	return sqrt(2 / M_PI * fmax(squares - mean * mean, 0) / samples);
}

static struct pesa_error *floor_of(const struct pesa_profile *golden, uint64_t samples,
				   double *floor)
{
	double cycles = (double)pesa_profile_totals(golden)->weight / PESA_CYCLE;
	double *scratch = malloc(RECURSION_STEPS_MAX * sizeof(*scratch)), probability[256];
	double sum = 0;

	if (!scratch)
		return pesa_error_no_memory();
	for (size_t i = 0; i < pesa_profile_instruction_count(golden); i++) {
		const struct pesa_instruction *instruction = pesa_profile_instruction(golden, i);

		for (unsigned int j = 0; j < instruction->buckets; j++)
			sum += expected_deviation(&instruction->bucket[j], cycles, (double)samples,
						  probability, scratch);
	}
	free(scratch);
	*floor = sum / 2;
	return NULL;
}

/* ---- The distance ---------------------------------------------------------------------------- */

static bool same_binary(const struct pesa_dso *a, const struct pesa_dso *b)
{
	if (a->kind != b->kind || a->pid != b->pid)
		return false;
	if (a->build_id_size && b->build_id_size)
		return a->build_id_size == b->build_id_size &&
		       !memcmp(a->build_id, b->build_id, a->build_id_size);
	return !strcmp(a->path, b->path);
}

/* For every dso of `from` the index of the same one in `to`, or NO_DSO. */
static uint32_t *match_binaries(const struct pesa_profile *from, const struct pesa_profile *to)
{
	unsigned int count = pesa_profile_dso_count(from), others = pesa_profile_dso_count(to);
	uint32_t *match = malloc((count + 1) * sizeof(*match));

	for (unsigned int i = 0; match && i < count; i++) {
		match[i] = NO_DSO;
		for (unsigned int j = 0; j < others && match[i] == NO_DSO; j++)
			if (same_binary(pesa_profile_dso(from, i), pesa_profile_dso(to, j)))
				match[i] = j;
	}
	return match;
}

static double share_of(const struct pesa_instruction *instruction, const struct pesa_bucket *bucket,
		       double total)
{
	for (unsigned int i = 0; instruction && i < instruction->buckets; i++)
		if (instruction->bucket[i].state == bucket->state &&
		    instruction->bucket[i].cause == bucket->cause)
			return (double)instruction->bucket[i].weight / total;
	return 0;
}

/*
 * Sum of |share in one - share in other| over the buckets of `one`; with `only_new`, only over
 * those that the other profile does not have.
 */
static double differences(const struct pesa_profile *one, const struct pesa_profile *other,
			  const uint32_t *match, bool only_new)
{
	double one_total = (double)pesa_profile_totals(one)->weight;
	double other_total = (double)pesa_profile_totals(other)->weight, sum = 0;

	for (size_t i = 0; i < pesa_profile_instruction_count(one); i++) {
		const struct pesa_instruction *instruction = pesa_profile_instruction(one, i);
		uint32_t dso = match[instruction->dso];
		const struct pesa_instruction *same =
			dso == NO_DSO ? NULL : pesa_profile_find(other, dso, instruction->address);

		for (unsigned int j = 0; j < instruction->buckets; j++) {
			double there = share_of(same, &instruction->bucket[j], other_total);

			if (!only_new || there == 0)
				sum += fabs((double)instruction->bucket[j].weight / one_total -
					    there);
		}
	}
	return sum;
}

struct pesa_error *pesa_profile_distance(const struct pesa_profile *measured,
					 const struct pesa_profile *golden,
					 struct pesa_distance *distance)
{
	const struct pesa_profile_totals *totals = pesa_profile_totals(measured);
	uint32_t *to_golden, *to_measured;
	struct pesa_error *error = NULL;
	double sum = 0;

	if (!pesa_profile_totals(golden)->exact || !pesa_profile_totals(golden)->weight)
		return pesa_error_create(PESA_ERROR_ARGUMENT,
					 "the golden profile is not an exact one: make it with "
					 "'pesa record --golden FILE'");
	if (!totals->weight)
		return pesa_error_create(PESA_ERROR_ARGUMENT,
					 "the profile to be measured has no samples");
	to_golden = match_binaries(measured, golden);
	to_measured = match_binaries(golden, measured);
	if (!to_golden || !to_measured) {
		error = pesa_error_no_memory();
	} else {
		sum = differences(golden, measured, to_measured, false) +
		      differences(measured, golden, to_golden, true);
		for (unsigned int reason = 0; reason < PESA_UNATTRIBUTED_REASONS; reason++)
			sum += (double)totals->unattributed[reason] / (double)totals->weight;
	}
	free(to_golden);
	free(to_measured);
	if (!error) {
		distance->error = sum / 2;
		distance->samples = totals->samples;
		distance->floor = 0;
		if (totals->samples)
			error = floor_of(golden, totals->samples, &distance->floor);
	}
	return error;
}
