/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Distance of a measured profile from the exact (golden) one, and its floor: see
 * include/pesa/estimate.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/base/arithmetic.h"
#include "pesa/estimate.h"
#include "pesa/record.h"

#define NO_DSO UINT32_MAX

/* ---- The floor ------------------------------------------------------------------------------- */

#define RECURSION_HITS_MAX  100 /* expected hits up to which the recursion is used */
#define RECURSION_STEPS_MAX 200000

/*
 * E|Y - mean| of the sum Y of `samples` draws.  A draw adds 1/group[i] with probability[i],
 * otherwise nothing.  It is 2 * sum over y < mean of (mean - y) P(Y = y), with P by Panjer's
 * recursion for the binomial number of hits on the lattice 1/steps.
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

/* Expected |sampled share - exact share| of one bucket: `samples` random cycles out of `cycles`. */
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
	/* An instruction that retires more than once in a cycle can have more hits than cycles. */
	return sqrt(2 / M_PI * fmax(squares - mean * mean, 0) / samples);
}

/* ---- Levels ---------------------------------------------------------------------------------- */

/* Whether two buckets of an instruction are equal at a level. */
static bool same_bucket(const struct pesa_bucket *a, const struct pesa_bucket *b,
			enum pesa_distance_level level)
{
	return (level > PESA_DISTANCE_STACK || a->state == b->state) &&
	       (level > PESA_DISTANCE_CAUSES || a->cause == b->cause);
}

/* Weight of all buckets that equal `bucket` at the level. */
static uint64_t weight_like(const struct pesa_instruction *instruction,
			    const struct pesa_bucket *bucket, enum pesa_distance_level level)
{
	uint64_t weight = 0;

	for (unsigned int i = 0; instruction && i < instruction->buckets; i++)
		if (same_bucket(&instruction->bucket[i], bucket, level))
			weight += instruction->bucket[i].weight;
	return weight;
}

/* Whether the bucket is the first of those that equal it at the level. */
static bool is_first(const struct pesa_instruction *instruction, unsigned int index,
		     enum pesa_distance_level level)
{
	for (unsigned int i = 0; i < index; i++)
		if (same_bucket(&instruction->bucket[i], &instruction->bucket[index], level))
			return false;
	return true;
}

#define GROUPS 256u /* values of pesa_share.group */

/* The shares of all buckets that equal the bucket at `index`, summed by group. */
static unsigned int shares_like(const struct pesa_instruction *instruction, unsigned int index,
				enum pesa_distance_level level, struct pesa_share share[GROUPS])
{
	uint64_t cycles[GROUPS] = {0};
	unsigned int count = 0;

	for (unsigned int i = index; i < instruction->buckets; i++) {
		const struct pesa_bucket *bucket = &instruction->bucket[i];

		if (!same_bucket(bucket, &instruction->bucket[index], level))
			continue;
		for (unsigned int j = 0; j < bucket->shares; j++)
			cycles[bucket->share[j].group] += bucket->share[j].cycles;
	}
	for (unsigned int group = 1; group < GROUPS; group++)
		if (cycles[group])
			share[count++] = (struct pesa_share){(uint8_t)group, cycles[group]};
	return count;
}

static struct pesa_error *floor_of(const struct pesa_profile *golden, uint64_t samples,
				   enum pesa_distance_level level, double *floor)
{
	double cycles = (double)pesa_profile_totals(golden)->weight / PESA_CYCLE;
	double *scratch = malloc(RECURSION_STEPS_MAX * sizeof(*scratch)), probability[GROUPS];
	struct pesa_share share[GROUPS];
	double sum = 0;

	if (!scratch)
		return pesa_error_no_memory();
	for (size_t i = 0; i < pesa_profile_instruction_count(golden); i++) {
		const struct pesa_instruction *instruction = pesa_profile_instruction(golden, i);

		for (unsigned int j = 0; j < instruction->buckets; j++) {
			struct pesa_bucket bucket = {.share = share};

			if (!is_first(instruction, j, level))
				continue;
			bucket.shares = shares_like(instruction, j, level, share);
			sum += expected_deviation(&bucket, cycles, (double)samples, probability,
						  scratch);
		}
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

/* For every dso of `from`: index of the same dso in `to`, or NO_DSO. */
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

/*
 * Sum of |share in one - share in other| over the buckets of `one`.  With `only_new`, only over the
 * buckets that the other profile does not have.
 */
static double differences(const struct pesa_profile *one, const struct pesa_profile *other,
			  const uint32_t *match, enum pesa_distance_level level, bool only_new)
{
	double one_total = (double)pesa_profile_totals(one)->weight;
	double other_total = (double)pesa_profile_totals(other)->weight, sum = 0;

	for (size_t i = 0; i < pesa_profile_instruction_count(one); i++) {
		const struct pesa_instruction *instruction = pesa_profile_instruction(one, i);
		uint32_t dso = match[instruction->dso];
		const struct pesa_instruction *same =
			dso == NO_DSO ? NULL : pesa_profile_find(other, dso, instruction->address);

		for (unsigned int j = 0; j < instruction->buckets; j++) {
			const struct pesa_bucket *bucket = &instruction->bucket[j];
			uint64_t there;

			if (!is_first(instruction, j, level))
				continue;
			there = weight_like(same, bucket, level);
			if (!only_new || !there)
				sum += fabs((double)weight_like(instruction, bucket, level) /
						    one_total -
					    (double)there / other_total);
		}
	}
	return sum;
}

/* The finest level for which the profile has data. */
static enum pesa_distance_level level_of(const struct pesa_profile *profile)
{
	enum pesa_distance_level level = PESA_DISTANCE_INSTRUCTION;

	for (size_t i = 0; i < pesa_profile_instruction_count(profile); i++) {
		const struct pesa_instruction *instruction = pesa_profile_instruction(profile, i);

		for (unsigned int j = 0; j < instruction->buckets; j++) {
			if (instruction->bucket[j].state != PESA_STATE_UNKNOWN)
				return PESA_DISTANCE_STACK;
			if (instruction->bucket[j].cause)
				level = PESA_DISTANCE_CAUSES;
		}
	}
	return level;
}

struct pesa_error *pesa_profile_distance(const struct pesa_profile *measured,
					 const struct pesa_profile *golden,
					 struct pesa_distance *distance)
{
	const struct pesa_profile_totals *totals = pesa_profile_totals(measured);
	uint32_t *to_golden, *to_measured;
	struct pesa_error *error = NULL;
	double unattributed = 0;

	if (!pesa_profile_totals(golden)->exact || !pesa_profile_totals(golden)->weight)
		return pesa_error_create(PESA_ERROR_ARGUMENT,
					 "the golden profile is not an exact one: make it with "
					 "'pesa record --golden FILE'");
	if (!totals->weight)
		return pesa_error_create(PESA_ERROR_ARGUMENT,
					 "the profile to be measured has no samples");
	to_golden = match_binaries(measured, golden);
	to_measured = match_binaries(golden, measured);
	if (!to_golden || !to_measured)
		error = pesa_error_no_memory();
	for (unsigned int reason = 0; reason < PESA_UNATTRIBUTED_REASONS; reason++)
		unattributed += (double)totals->unattributed[reason] / (double)totals->weight;
	distance->samples = totals->samples;
	distance->level = level_of(measured);
	for (unsigned int level = 0; !error && level < PESA_DISTANCE_LEVELS; level++) {
		struct pesa_distance_figures *figures = &distance->at[level];

		figures->error =
			(differences(golden, measured, to_measured, level, false) +
			 differences(measured, golden, to_golden, level, true) + unattributed) /
			2;
		figures->floor = 0;
		if (totals->samples)
			error = floor_of(golden, totals->samples, level, &figures->floor);
	}
	free(to_golden);
	free(to_measured);
	return error;
}
