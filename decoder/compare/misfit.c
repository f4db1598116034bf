/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Deviation between measured and predicted for a correct model: see misfit.h. */
#include <math.h>
#include <stdlib.h>

#include "decoder/compare/misfit.h"

/* For a normal distribution: standard deviation over median of absolute values. */
#define DEVIATIONS_IN_MEDIAN 1.4826

/*
 * The misfit of regions of other programs (tests/accuracy/trials.py), and the number of regions
 * that it counts for.
 */
#define BORROWED	 0.03
#define BORROWED_REGIONS 4.0

static int by_size(const void *left, const void *right)
{
	const struct compare_difference *a = left, *b = right;

	return a->relative < b->relative ? -1 : a->relative > b->relative;
}

/* The weighted median of the sizes, with `square` subtracted from their squares. */
static double weighted_median(const struct compare_difference *difference, size_t count)
{
	double total = 0, sum = 0;

	for (size_t i = 0; i < count; i++)
		total += difference[i].weight;
	for (size_t i = 0; i < count; i++) {
		sum += difference[i].weight;
		if (2 * sum >= total)
			return difference[i].relative;
	}
	return 0;
}

double compare_misfit(struct compare_difference *difference, size_t count)
{
	double low = 0, high = 0;

	if (!count)
		return 0;
	qsort(difference, count, sizeof(*difference), by_size);
	high = DEVIATIONS_IN_MEDIAN * weighted_median(difference, count);
	/* Solve for the misfit with which half of the weight is within the median of its own
	 * deviation, including each sampling variance. */
	for (int i = 0; i < 30; i++) {
		double middle = (low + high) / 2, inside = 0, total = 0;

		for (size_t k = 0; k < count; k++) {
			double deviation = sqrt(middle * middle + difference[k].variance) /
					   DEVIATIONS_IN_MEDIAN;

			total += difference[k].weight;
			if (difference[k].relative <= deviation)
				inside += difference[k].weight;
		}
		if (2 * inside >= total)
			high = middle;
		else
			low = middle;
	}
	return high;
}

/* Effective number of equally weighted regions. */
static double number_of(const struct compare_difference *difference, size_t count)
{
	double sum = 0, squares = 0;

	for (size_t i = 0; i < count; i++) {
		sum += difference[i].weight;
		squares += difference[i].weight * difference[i].weight;
	}
	return squares > 0 ? sum * sum / squares : 0;
}

double compare_misfit_borrowed(struct compare_difference *difference, size_t count)
{
	double own = compare_misfit(difference, count), number = number_of(difference, count);

	return sqrt((number * own * own + BORROWED_REGIONS * BORROWED * BORROWED) /
		    (number + BORROWED_REGIONS));
}

double compare_huber_loss(double deviations, double limit)
{
	double size = fabs(deviations);

	return size > limit ? limit * (2 * size - limit) : size * size;
}
