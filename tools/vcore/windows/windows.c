// SPDX-License-Identifier: GPL-2.0-or-later
/* Strata, windows, and the clock: see windows.h. */
#include <string.h>

#include "decoder/core/retirement.h"
#include "tools/vcore/windows/windows.h"

#define FIRST_WEIGHT 4u
#define WEIGHT_MAX   (1u << 24)
/* The mean of a window's cycles follows the newest window by one part in so many. */
#define MEAN_PARTS 8u

/* The weight of the next stratum. */
static uint64_t choose_weight(struct windows *windows)
{
	uint64_t wanted = windows->most;

	if (windows->mean)
		wanted = windows->period * WINDOWS_UNIT / WINDOWS_PER_PERIOD / windows->mean;
	if (wanted > windows->most)
		wanted = windows->most;
	if (windows->most < WEIGHT_MAX)
		windows->most *= 2;
	return wanted ? wanted : 1;
}

/* Draw the window of the next stratum; returns the number of words before it. */
static uint64_t draw(struct windows *windows)
{
	uint64_t before = windows->behind, place;

	windows->weight = choose_weight(windows);
	place = retirement_random_below(&windows->random, windows->weight);
	windows->behind = windows->weight - 1 - place;
	return (before + place) * WINDOW_WORDS;
}

/* Begin the phase, or the one behind it if it has no words. */
static void enter(struct windows *windows, enum windows_phase phase, uint64_t words)
{
	windows->phase = phase;
	windows->left = words;
	if (!words)
		windows_next(windows);
}

void windows_begin(struct windows *windows, uint64_t period, uint64_t first, uint64_t seed)
{
	uint64_t clock = windows->clock;

	memset(windows, 0, sizeof(*windows));
	windows->on = true;
	windows->period = period;
	windows->random = seed;
	windows->most = FIRST_WEIGHT;
	windows->clock = clock;
	windows->next_sample = clock + first;
	enter(windows, WINDOWS_WARM, draw(windows));
}

void windows_next(struct windows *windows)
{
	uint64_t words;

	switch (windows->phase) {
	case WINDOWS_CONTENTS:
		enter(windows, WINDOWS_WARM, WARM_WORDS);
		break;
	case WINDOWS_WARM:
		windows->phase = WINDOWS_MEASURED;
		windows->left = WINDOW_WORDS;
		break;
	case WINDOWS_MEASURED:
		words = draw(windows);
		if (words > SETTLE_WORDS + WARM_WORDS) {
			windows->phase = WINDOWS_SETTLE;
			windows->left = SETTLE_WORDS;
			windows->gap = words - SETTLE_WORDS - WARM_WORDS;
		} else {
			enter(windows, WINDOWS_WARM, words);
		}
		break;
	case WINDOWS_SETTLE:
		enter(windows, WINDOWS_CONTENTS, windows->gap);
		break;
	}
}

void windows_open(struct windows *windows, uint64_t cycle)
{
	windows->begin = cycle;
	/* The sample before this window may have been taken behind the time of this one. */
	if (windows->next_sample < windows->clock)
		windows->next_sample = windows->clock;
}

void windows_close(struct windows *windows, uint64_t cycles, uint64_t instructions)
{
	struct window_sums *sums = &windows->sums;
	double weighted = (double)(windows->weight * cycles);
	double executed = (double)(windows->weight * instructions);

	windows->clock += windows->weight * cycles;
	sums->windows++;
	sums->cycles += windows->weight * cycles;
	sums->instructions += windows->weight * instructions;
	sums->cycles_squared += weighted * weighted;
	sums->both += weighted * executed;
	sums->instructions_squared += executed * executed;
	cycles *= WINDOWS_UNIT;
	if (windows->mean)
		windows->mean += cycles / MEAN_PARTS - windows->mean / MEAN_PARTS;
	else
		windows->mean = cycles;
}

uint64_t windows_cycles_of(const struct windows *windows, uint64_t words)
{
	return words * windows->mean / (WINDOW_WORDS * WINDOWS_UNIT);
}
