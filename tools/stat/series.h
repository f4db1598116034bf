/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The mean of the counts of several runs (-r), and its standard error. */
#ifndef TOOLS_STAT_SERIES_H
#define TOOLS_STAT_SERIES_H

#include <math.h>
#include <stdint.h>

/* Running mean and variance (Welford). */
struct series {
	uint64_t count;
	double mean, squares;
};

static inline void series_add(struct series *series, double value)
{
	double off = value - series->mean;

	series->count++;
	series->mean += off / (double)series->count;
	series->squares += off * (value - series->mean);
}

/* The relative standard error of the mean; NAN: of one run there is none. */
static inline double series_spread(const struct series *series)
{
	double count = (double)series->count;

	if (series->count < 2)
		return NAN;
	return series->mean > 0 ? sqrt(series->squares / (count - 1) / count) / series->mean : 0;
}

#endif
