/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the windows of a sampled recording on the virtual core tell of the whole: cycles per
 * instruction, with a confidence interval.  tools/vcore/windows/windows.h explains windows.
 */
#ifndef DECODER_CORE_WINDOW_SUMS_H
#define DECODER_CORE_WINDOW_SUMS_H

#include <math.h>
#include <stdint.h>

/* Sums over windows, of cycles and instructions times the weight of the window. */
struct window_sums {
	uint64_t windows;
	uint64_t cycles, instructions;
	/* of the squares and the product of these */
	double cycles_squared, both, instructions_squared;
};

static inline void window_sums_add(struct window_sums *sums, const struct window_sums *more)
{
	sums->windows += more->windows;
	sums->cycles += more->cycles;
	sums->instructions += more->instructions;
	sums->cycles_squared += more->cycles_squared;
	sums->both += more->both;
	sums->instructions_squared += more->instructions_squared;
}

/* NAN: there was no window. */
static inline double window_sums_cpi(const struct window_sums *sums)
{
	return sums->instructions ? (double)sums->cycles / (double)sums->instructions : NAN;
}

/*
 * Half the 95 % confidence interval of that, as the linearized variance of a ratio gives it.  It
 * takes windows for drawn independently; they are drawn one of each stratum, whose error is smaller
 * or as large.  NAN: fewer than two windows.
 */
static inline double window_sums_interval(const struct window_sums *sums)
{
	double cpi = window_sums_cpi(sums), n = (double)sums->windows, variance;

	if (sums->windows < 2)
		return NAN;
	variance = sums->cycles_squared - 2 * cpi * sums->both +
		   cpi * cpi * sums->instructions_squared;
	variance = variance > 0 ? variance * n / (n - 1) : 0;
	return 1.96 * sqrt(variance) / (double)sums->instructions;
}

#endif
