// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The difference of each block, from those of its executions.
 *
 * It is the interquartile mean: the mean of the middle half of the executions, by weight.  Unlike the
 * median it is no whole number where retirement in groups makes one execution a cycle shorter and the
 * next one a cycle longer; unlike the mean it does not move with less than a quarter of the executions,
 * however long they are.  Executions in one stack are not independent: the standard error is that of a
 * sum over stacks, to which each execution adds its difference, moved to the nearer quartile where it is
 * outside of them.
 *
 * Which of two blocks has a cycle may depend on where the groups of retirement begin, which the model
 * need not tell.  So what a block differs by is also looked at together with the blocks that ran right
 * before and behind it, execution by execution.
 */
#include <math.h>
#include <stdlib.h>

#include "decoder/compare/misfit.h"
#include "decoder/compare/timed/inside.h"
#include "pesa/estimate.h"

#define SATURATED_MOST 0.1 /* share of a block's executions, for a verdict */
#define AROUND_LEAST   0.5 /* share of the difference that is left beside its neighbours, likewise */

static const double shares[PESA_TIMED_QUANTILES] = {0.05, 0.25, 0.5, 0.75, 0.95};
enum { LOWEST, LOW, MIDDLE, HIGH, HIGHEST };

static double difference_of(const struct timed_execution *execution)
{
	return (double)execution->measured - (double)execution->predicted;
}

static int by_difference(const void *left, const void *right)
{
	const struct timed_execution *a = left, *b = right;
	double x = difference_of(a), y = difference_of(b);

	if (a->span != b->span)
		return a->span < b->span ? -1 : 1;
	if (x != y)
		return x < y ? -1 : 1;
	return a->stack < b->stack ? -1 : a->stack > b->stack;
}

static int by_stack(const void *left, const void *right)
{
	const struct timed_execution *a = left, *b = right;

	return a->stack < b->stack ? -1 : a->stack > b->stack;
}

static double weight_of(const struct timed_execution *execution, size_t count)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += execution[i].weight;
	return sum;
}

/* Quantiles of the differences, and the means of the middle half.  The executions are sorted by their
 * difference. */
static void find_middle(const struct timed_execution *execution, size_t count, double all,
			struct pesa_timed_difference *result)
{
	double passed = 0, middle = 0;
	unsigned int quantile = 0;

	for (size_t i = 0; i < count; i++) {
		double end = passed + execution[i].weight;
		double part = fmin(end, shares[HIGH] * all) - fmax(passed, shares[LOW] * all);

		for (; quantile < PESA_TIMED_QUANTILES &&
		       (end >= shares[quantile] * all || i + 1 == count);
		     quantile++)
			result->quantile[quantile] = difference_of(&execution[i]);
		passed = end;
		if (part <= 0)
			continue;
		middle += part;
		result->measured += part * (double)execution[i].measured;
		result->predicted += part * (double)execution[i].predicted;
		result->around += part * (double)execution[i].around;
	}
	result->measured /= middle;
	result->predicted /= middle;
	result->around /= middle;
}

/* Variance of the difference between samples.  The executions are sorted by stack. */
static double variance_of(const struct timed_execution *execution, size_t count, double all,
			  struct pesa_timed_difference *result)
{
	double low = result->quantile[LOW], high = result->quantile[HIGH], mean = 0, squares = 0;

	for (size_t i = 0; i < count; i++)
		mean += execution[i].weight / all *
			fmin(fmax(difference_of(&execution[i]), low), high);
	for (size_t i = 0; i < count;) {
		uint32_t stack = execution[i].stack;
		double sum = 0;

		for (; i < count && execution[i].stack == stack; i++)
			sum += execution[i].weight *
			       (fmin(fmax(difference_of(&execution[i]), low), high) - mean);
		squares += sum * sum;
		result->samples++;
	}
	/* Half of the weight is in the middle. */
	return squares / (all * all / 4);
}

/* The block of a span, and how often it was executed in the program. */
static size_t block_of(const struct pesa_timed_compare *timed, const struct timed_span *span)
{
	size_t at = pesa_timed_blocks_from(timed->blocks, span->dso, span->start);

	while (pesa_timed_blocks_at(timed->blocks, at)->last != span->last)
		at++;
	return at;
}

static void describe(struct pesa_timed_compare *timed, struct timed_execution *execution,
		     size_t count, double *variance)
{
	const struct timed_span *span = &timed->stacks.span[execution->span];
	struct pesa_timed_difference *result = &timed->difference[timed->differences++];
	double all = weight_of(execution, count);

	*result = (struct pesa_timed_difference){
		.block = block_of(timed, span),
		.executions = count,
		.loop = span->loop,
		.memory = span->memory,
	};
	find_middle(execution, count, all, result);
	qsort(execution, count, sizeof(*execution), by_stack);
	*variance = variance_of(execution, count, all, result);
	result->difference.value = result->measured - result->predicted;
	result->cycles = result->difference.value *
			 pesa_timed_blocks_at(timed->blocks, result->block)->executions;
}

static struct pesa_error *find_misfit(struct pesa_timed_compare *timed, const double *variance)
{
	struct compare_difference *difference = calloc(timed->differences + 1, sizeof(*difference));
	size_t count = 0;

	if (!difference)
		return pesa_error_no_memory();
	for (size_t i = 0; i < timed->differences; i++) {
		const struct pesa_timed_difference *one = &timed->difference[i];

		if (!(one->predicted > 0))
			continue;
		difference[count++] = (struct compare_difference){
			.relative = fabs(one->difference.value) / one->predicted,
			.variance = variance[i] / (one->predicted * one->predicted),
			.weight = one->predicted *
				  pesa_timed_blocks_at(timed->blocks, one->block)->executions,
		};
	}
	timed->totals.misfit = compare_misfit_borrowed(difference, count);
	free(difference);
	return NULL;
}

static enum pesa_timed_verdict verdict_of(const struct pesa_timed_difference *one)
{
	if (!one->difference.enough)
		return PESA_TIMED_TOO_FEW;
	if (one->difference.low <= 0 && one->difference.high >= 0)
		return PESA_TIMED_AGREES;
	if (one->around / one->difference.value < AROUND_LEAST)
		return PESA_TIMED_MOVED;
	if (one->difference.low > 0)
		return one->quantile[LOWEST] > 0 ? PESA_TIMED_SLOWER : PESA_TIMED_VARIES;
	return one->quantile[HIGH] < 0 ? PESA_TIMED_FASTER : PESA_TIMED_VARIES;
}

static void judge(struct pesa_timed_compare *timed, struct pesa_timed_difference *one,
		  double variance, double deviations)
{
	const struct pesa_timed_block *block = pesa_timed_blocks_at(timed->blocks, one->block);
	double misfit = fmin(timed->totals.misfit, COMPARE_MISFIT_MOST) * one->predicted;
	double half = deviations * sqrt(variance + misfit * misfit);

	one->difference.low = one->difference.value - half;
	one->difference.high = one->difference.value + half;
	one->difference.enough = one->executions >= PESA_TIMED_EXECUTIONS_MIN &&
				 one->samples >= PESA_ESTIMATE_SAMPLES_MIN &&
				 (double)block->saturated <= SATURATED_MOST * (double)block->seen;
	one->verdict = verdict_of(one);
}

static int most_cycles_first(const void *left, const void *right)
{
	const struct pesa_timed_difference *a = left, *b = right;
	double x = fabs(a->cycles), y = fabs(b->cycles);

	if (x != y)
		return x > y ? -1 : 1;
	return a->block < b->block ? -1 : a->block > b->block;
}

struct pesa_error *timed_judge(struct pesa_timed_compare *timed, double confidence)
{
	double *variance = calloc(timed_spans(timed) + (size_t)1, sizeof(*variance));
	double deviations = pesa_estimate_deviations(confidence);
	struct pesa_error *error;

	timed->difference = calloc(timed_spans(timed) + (size_t)1, sizeof(*timed->difference));
	if (!variance || !timed->difference) {
		free(variance);
		return pesa_error_no_memory();
	}
	if (timed->executions)
		qsort(timed->execution, timed->executions, sizeof(*timed->execution),
		      by_difference);
	for (size_t i = 0, end; i < timed->executions; i = end) {
		for (end = i; end < timed->executions &&
			      timed->execution[end].span == timed->execution[i].span;)
			end++;
		describe(timed, timed->execution + i, end - i, &variance[timed->differences]);
	}
	error = find_misfit(timed, variance);
	for (size_t i = 0; i < timed->differences && !error; i++)
		judge(timed, &timed->difference[i], variance[i], deviations);
	free(variance);
	if (!error && timed->differences)
		qsort(timed->difference, timed->differences, sizeof(*timed->difference),
		      most_cycles_first);
	return error;
}
