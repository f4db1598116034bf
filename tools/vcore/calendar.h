/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which pipes are taken in which cycle: a bit for each, in rows of 64 cycles.
 *
 * The window of CALENDAR_ROWS rows moves with dispatch; nothing issues before it, and further ahead
 * than it reaches pipes are not contended.
 */
#ifndef TOOLS_VCORE_CALENDAR_H
#define TOOLS_VCORE_CALENDAR_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tools/vcore/cost.h"

#define CALENDAR_ROWS 256u

struct calendar {
	uint64_t *busy;	 /* rows of a word for each pipe */
	uint64_t row;	 /* the first one of the window */
	uint32_t shift;	 /* log2 of the words of a row */
	uint32_t recent; /* pipes that were taken: the others have their turn */
};

static inline bool calendar_create(struct calendar *calendar, uint32_t pipes)
{
	while (1u << calendar->shift < pipes)
		calendar->shift++;
	calendar->busy = calloc((size_t)CALENDAR_ROWS << calendar->shift, sizeof(uint64_t));
	return calendar->busy != NULL;
}

static inline void calendar_free(struct calendar *calendar)
{
	free(calendar->busy);
}

static inline uint64_t *calendar_row(const struct calendar *calendar, uint64_t row)
{
	return calendar->busy + ((row % CALENDAR_ROWS) << calendar->shift);
}

/* Nothing will be taken before `cycle` from now on. */
static inline void calendar_advance(struct calendar *calendar, uint64_t cycle)
{
	uint64_t row = cycle / 64;

	if (__builtin_expect(row == calendar->row, 1))
		return;
	if (row - calendar->row >= CALENDAR_ROWS) {
		memset(calendar->busy, 0,
		       ((size_t)CALENDAR_ROWS << calendar->shift) * sizeof(uint64_t));
		calendar->row = row;
	}
	for (; calendar->row < row; calendar->row++)
		memset(calendar_row(calendar, calendar->row), 0,
		       sizeof(uint64_t) << calendar->shift);
}

/* The first cycle from `cycle` on in which one of the pipes is free; UINT64_MAX: none in the
 * window.
 */
static inline uint64_t calendar_first(const struct calendar *calendar, uint32_t pipes,
				      uint64_t cycle)
{
	uint64_t row = cycle / 64;
	unsigned int bit = cycle % 64;

	for (; row - calendar->row < CALENDAR_ROWS; row++, bit = 0) {
		const uint64_t *words = calendar_row(calendar, row);
		uint64_t busy = UINT64_MAX;

		for (uint32_t rest = pipes; rest; rest &= rest - 1)
			busy &= words[__builtin_ctz(rest)];
		busy = ~busy >> bit;
		if (busy)
			return row * 64 + bit + (unsigned int)__builtin_ctzll(busy);
	}
	return UINT64_MAX;
}

/* The first of the cycles [cycle, end) in which the pipe is taken; `end`: none. */
static inline uint64_t calendar_next_taken(const struct calendar *calendar, unsigned int pipe,
					   uint64_t cycle, uint64_t end)
{
	while (cycle < end && cycle / 64 - calendar->row < CALENDAR_ROWS) {
		uint64_t word = calendar_row(calendar, cycle / 64)[pipe] >> cycle % 64;

		if (word) {
			cycle += (unsigned int)__builtin_ctzll(word);
			return cycle < end ? cycle : end;
		}
		cycle = (cycle / 64 + 1) * 64;
	}
	return end;
}

/* The first cycle from `cycle` on in which one of the pipes is free for `count` cycles. */
static inline uint64_t calendar_run(const struct calendar *calendar, uint32_t pipes, uint64_t cycle,
				    uint32_t count)
{
	uint64_t best = UINT64_MAX;

	for (uint32_t rest = pipes; rest; rest &= rest - 1) {
		unsigned int pipe = (unsigned int)__builtin_ctz(rest);
		uint64_t start = cycle;

		for (;;) {
			uint64_t taken;

			start = calendar_first(calendar, 1u << pipe, start);
			if (start >= best)
				break;
			taken = calendar_next_taken(calendar, pipe, start, start + count);
			if (taken == start + count) {
				best = start;
				break;
			}
			start = taken + 1;
		}
	}
	return best;
}

static inline void calendar_mark(struct calendar *calendar, unsigned int pipe, uint64_t cycle,
				 uint32_t count)
{
	for (uint64_t end = cycle + count; cycle < end;) {
		unsigned int bit = cycle % 64;
		uint64_t length = end - cycle < 64 - bit ? end - cycle : 64 - bit;
		uint64_t mask = (length == 64 ? UINT64_MAX : (1ull << length) - 1) << bit;

		if (cycle / 64 - calendar->row >= CALENDAR_ROWS)
			return;
		calendar_row(calendar, cycle / 64)[pipe] |= mask;
		cycle += length;
	}
}

/* Take one of the pipes in `cycle`, in which one is free: by turns, as hardware balances them. */
static inline void calendar_take(struct calendar *calendar, uint32_t pipes, uint64_t cycle)
{
	uint64_t *words, bit = 1ull << cycle % 64;
	uint32_t free = 0, chosen;

	if (cycle / 64 - calendar->row >= CALENDAR_ROWS)
		return;
	words = calendar_row(calendar, cycle / 64);
	if (!(pipes & (pipes - 1))) {
		chosen = pipes;
	} else {
		for (uint32_t rest = pipes; rest; rest &= rest - 1)
			if (!(words[__builtin_ctz(rest)] & bit))
				free |= rest & -rest;
		chosen = free & ~calendar->recent;
		if (!chosen) {
			calendar->recent &= ~pipes;
			chosen = free;
		}
		if (!chosen)
			return;
		chosen = 1u << (31 - __builtin_clz(chosen));
	}
	calendar->recent |= chosen;
	words[__builtin_ctz(chosen)] |= bit;
}

static inline uint64_t calendar_find(const struct calendar *calendar, const struct cost_use *use,
				     uint64_t cycle)
{
	uint64_t found;

	if (use->cycles == 1 && !use->all)
		found = calendar_first(calendar, use->pipes, cycle);
	else if (!use->all)
		found = calendar_run(calendar, use->pipes, cycle, use->cycles);
	else
		found = cycle;
	for (uint32_t rest = use->all ? use->pipes : 0; rest;) {
		uint64_t free = calendar_run(calendar, rest & -rest, found, use->cycles);

		/* One that is free later only: ask the others again. */
		rest = free == found ? rest & (rest - 1) : use->pipes;
		found = free;
		if (found == UINT64_MAX)
			break;
	}
	return found == UINT64_MAX ? cycle : found;
}

static inline void calendar_use(struct calendar *calendar, const struct cost_use *use,
				uint64_t cycle)
{
	if (use->cycles == 1 && !use->all) {
		calendar_take(calendar, use->pipes, cycle);
		return;
	}
	for (uint32_t rest = use->pipes; rest; rest &= rest - 1) {
		unsigned int pipe = (unsigned int)__builtin_ctz(rest);

		if (!use->all && calendar_next_taken(calendar, pipe, cycle, cycle + use->cycles) !=
					 cycle + use->cycles)
			continue;
		calendar_mark(calendar, pipe, cycle, use->cycles);
		if (!use->all)
			return;
	}
}

/* Take what an instruction uses, in the first cycle from `cycle` on in which all of it is free. */
static inline uint64_t calendar_issue(struct calendar *calendar, const struct cost *cost,
				      uint64_t cycle)
{
	const struct cost_use *use = cost->use;
	unsigned int agreed = 0;

	if (__builtin_expect(cost->uses == 1 && use->cycles == 1 && !use->all, 1)) {
		uint64_t found = calendar_first(calendar, use->pipes, cycle);

		if (found == UINT64_MAX)
			return cycle;
		calendar_take(calendar, use->pipes, found);
		return found;
	}
	for (unsigned int i = 0; agreed < cost->uses; i = i + 1 == cost->uses ? 0 : i + 1) {
		uint64_t found = calendar_find(calendar, &use[i], cycle);

		agreed = found == cycle ? agreed + 1 : 1;
		cycle = found;
	}
	for (unsigned int i = 0; i < cost->uses; i++)
		calendar_use(calendar, &use[i], cycle);
	return cycle;
}

#endif
