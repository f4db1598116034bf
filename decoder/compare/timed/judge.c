// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The difference of each block and loop, from those of its executions.
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

	if (a->of != b->of)
		return a->of < b->of ? -1 : 1;
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
		result->blocks += part * execution[i].spans;
	}
	result->measured /= middle;
	result->predicted /= middle;
	result->around /= middle;
	result->blocks /= middle;
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

/* What is known of a span or a loop, but its differences. */
static struct pesa_timed_difference begin(const struct pesa_timed_compare *timed, bool loops,
					  uint32_t number)
{
	struct pesa_timed_difference result;

	if (loops) {
		const struct timed_loop *loop = &timed->loop[number];

		return (struct pesa_timed_difference){
			.dso = loop->dso,
			.start = loop->start,
			.last = loop->last,
			.block = SIZE_MAX,
			.program = loop->program,
			.loop = true,
			.memory = loop->memory,
		};
	}
	result = (struct pesa_timed_difference){
		.dso = timed->stacks.span[number].dso,
		.start = timed->stacks.span[number].start,
		.last = timed->stacks.span[number].last,
		.block = block_of(timed, &timed->stacks.span[number]),
		.loop = timed->stacks.span[number].loop,
		.memory = timed->stacks.span[number].memory,
	};
	result.program = pesa_timed_blocks_at(timed->blocks, result.block)->executions;
	return result;
}

/* Fill a difference from executions that are sorted by it.  Returns its variance between samples. */
static double describe(struct timed_execution *execution, size_t count,
		       struct pesa_timed_difference *result)
{
	double all = weight_of(execution, count), variance;

	result->executions = count;
	find_middle(execution, count, all, result);
	qsort(execution, count, sizeof(*execution), by_stack);
	variance = variance_of(execution, count, all, result);
	result->difference.value = result->measured - result->predicted;
	result->cycles = result->difference.value * result->program;
	return variance;
}

static struct pesa_error *find_misfit(const struct timed_results *results, const double *variance,
				      double *misfit)
{
	struct compare_difference *difference = calloc(results->count + 1, sizeof(*difference));
	size_t count = 0;

	if (!difference)
		return pesa_error_no_memory();
	for (size_t i = 0; i < results->count; i++) {
		const struct pesa_timed_difference *one = &results->difference[i];

		if (!(one->predicted > 0))
			continue;
		difference[count++] = (struct compare_difference){
			.relative = fabs(one->difference.value) / one->predicted,
			.variance = variance[i] / (one->predicted * one->predicted),
			.weight = one->predicted * one->program,
		};
	}
	*misfit = compare_misfit_borrowed(difference, count);
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

static bool is_saturated(const struct pesa_timed_compare *timed, size_t number)
{
	const struct pesa_timed_block *block;

	if (number == SIZE_MAX)
		return false;
	block = pesa_timed_blocks_at(timed->blocks, number);
	return (double)block->saturated > SATURATED_MOST * (double)block->seen;
}

static void judge(const struct pesa_timed_compare *timed, struct pesa_timed_difference *one,
		  double variance, double misfit, double deviations)
{
	double half;

	misfit = fmin(misfit, COMPARE_MISFIT_MOST) * one->predicted;
	half = deviations * sqrt(variance + misfit * misfit);
	one->difference.low = one->difference.value - half;
	one->difference.high = one->difference.value + half;
	one->difference.enough = one->executions >= PESA_TIMED_EXECUTIONS_MIN &&
				 one->samples >= PESA_ESTIMATE_SAMPLES_MIN &&
				 !is_saturated(timed, one->block);
	one->verdict = verdict_of(one);
}

/* Those with a verdict before the others. */
static int most_cycles_first(const void *left, const void *right)
{
	const struct pesa_timed_difference *a = left, *b = right;
	double x = fabs(a->cycles), y = fabs(b->cycles);

	if (a->difference.enough != b->difference.enough)
		return a->difference.enough ? -1 : 1;
	if (x != y)
		return x > y ? -1 : 1;
	if (a->dso != b->dso)
		return a->dso < b->dso ? -1 : 1;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->last < b->last ? -1 : a->last > b->last;
}

/* Judge the spans or the loops, of which there are at most `most`. */
static struct pesa_error *judge_all(struct pesa_timed_compare *timed, struct timed_results *results,
				    size_t most, double confidence, double *misfit)
{
	bool loops = results == &timed->of_loops;
	double *variance = calloc(most + 1, sizeof(*variance));
	double deviations = pesa_estimate_deviations(confidence);
	struct pesa_error *error;

	results->difference = calloc(most + 1, sizeof(*results->difference));
	if (!variance || !results->difference) {
		free(variance);
		return pesa_error_no_memory();
	}
	if (results->executions)
		qsort(results->execution, results->executions, sizeof(*results->execution),
		      by_difference);
	for (size_t i = 0, end; i < results->executions; i = end) {
		struct timed_execution *first = &results->execution[i];

		for (end = i; end < results->executions &&
			      results->execution[end].of == results->execution[i].of;)
			end++;
		/* A loop of one block is that block. */
		if (loops && !timed->loop[first->of].several)
			continue;
		results->difference[results->count] = begin(timed, loops, first->of);
		variance[results->count] =
			describe(first, end - i, &results->difference[results->count]);
		results->count++;
	}
	error = find_misfit(results, variance, misfit);
	for (size_t i = 0; i < results->count && !error; i++)
		judge(timed, &results->difference[i], variance[i], *misfit, deviations);
	free(variance);
	if (!error && results->count)
		qsort(results->difference, results->count, sizeof(*results->difference),
		      most_cycles_first);
	return error;
}

struct pesa_error *timed_judge(struct pesa_timed_compare *timed, double confidence)
{
	struct pesa_error *error = judge_all(timed, &timed->of_blocks, timed_spans(timed),
					     confidence, &timed->totals.misfit);

	return error ? error
		     : judge_all(timed, &timed->of_loops, timed->loops, confidence,
				 &timed->totals.misfit_loops);
}
