/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which pipes are taken in which cycle: a bit for each, in rows of 64 cycles.
 *
 * Where there is a choice of pipes, it goes round from the last to the first, and a pipe that was
 * taken out of turn is left out of the next round, as in llvm-mca.
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

struct choice {
	uint32_t pipes, next, removed; /* all; whose turn it is; left out of the next round */
};

struct calendar {
	uint64_t *busy; /* rows of a word for each pipe */
	uint64_t row;	/* the first one of the window */
	uint32_t shift; /* log2 of the words of a row */
	struct choice choice[COST_CHOICES_MAX];
	uint32_t choices_of[COST_PIPES_MAX]; /* by pipe: choices that it is part of */
};

static inline bool calendar_create(struct calendar *calendar, const struct cost_model *model)
{
	while (1u << calendar->shift < cost_model_pipes(model))
		calendar->shift++;
	for (uint32_t i = 0; i < cost_model_choices(model); i++) {
		uint32_t pipes = cost_model_choice(model, i);

		calendar->choice[i] = (struct choice){pipes, pipes, 0};
		for (uint32_t rest = pipes; rest; rest &= rest - 1)
			calendar->choices_of[__builtin_ctz(rest)] |= 1u << i;
	}
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

/* How many of `count` cycles from `cycle` on the pipe is taken. */
static inline uint32_t calendar_taken(const struct calendar *calendar, unsigned int pipe,
				      uint64_t cycle, uint32_t count)
{
	uint32_t taken = 0;

	for (uint64_t end = cycle + count; cycle < end;) {
		unsigned int bit = cycle % 64;
		uint64_t length = end - cycle < 64 - bit ? end - cycle : 64 - bit;
		uint64_t mask = (length == 64 ? UINT64_MAX : (1ull << length) - 1) << bit;

		if (cycle / 64 - calendar->row >= CALENDAR_ROWS)
			break;
		taken += (uint32_t)__builtin_popcountll(calendar_row(calendar, cycle / 64)[pipe] &
							mask);
		cycle += length;
	}
	return taken;
}

/*
 * Whether a pipe can be taken for `count` cycles.  Older instructions that issue later have their
 * cycles already; where they are few they do not keep a long one out, which would have begun before
 * them: it has other cycles in their place.
 */
static inline bool calendar_fits(const struct calendar *calendar, unsigned int pipe, uint64_t cycle,
				 uint32_t count)
{
	return !calendar_taken(calendar, pipe, cycle, 1) &&
	       calendar_taken(calendar, pipe, cycle, count) <= count / 4;
}

/* The first cycle from `cycle` on in which one of the pipes can be taken for `count` cycles. */
static inline uint64_t calendar_run(const struct calendar *calendar, uint32_t pipes, uint64_t cycle,
				    uint32_t count)
{
	for (;;) {
		cycle = calendar_first(calendar, pipes, cycle);
		if (cycle == UINT64_MAX)
			return cycle;
		for (uint32_t rest = pipes; rest; rest &= rest - 1)
			if (calendar_fits(calendar, (unsigned int)__builtin_ctz(rest), cycle,
					  count))
				return cycle;
		cycle++;
	}
}

/* Take the next `count` free cycles. */
static inline void calendar_mark(struct calendar *calendar, unsigned int pipe, uint64_t cycle,
				 uint32_t count)
{
	while (count && cycle / 64 - calendar->row < CALENDAR_ROWS) {
		uint64_t *word = &calendar_row(calendar, cycle / 64)[pipe];
		uint64_t free = ~*word >> cycle % 64 << cycle % 64;
		uint32_t there = (uint32_t)__builtin_popcountll(free);

		if (there <= count) {
			*word |= free;
			count -= there;
		} else {
			for (; count; count--, free &= free - 1)
				*word |= free & -free;
		}
		cycle = (cycle / 64 + 1) * 64;
	}
}

/* One of the pipes that are `free`, by turns. */
static inline uint32_t choose(struct choice *choice, uint32_t free)
{
	uint32_t candidates = free & choice->next, chosen;

	if (!candidates) {
		choice->next = choice->pipes ^ choice->removed;
		choice->removed = 0;
		candidates = free & choice->next;
	}
	if (!candidates) {
		choice->next = choice->pipes;
		candidates = free;
	}
	chosen = 1u << (31 - __builtin_clz(candidates));
	choice->next &= chosen | (chosen - 1);
	return chosen;
}

/* A pipe was taken: its turn is over in all choices that it is part of. */
static inline void calendar_turn(struct calendar *calendar, unsigned int pipe)
{
	uint32_t chosen = 1u << pipe;

	for (uint32_t rest = calendar->choices_of[pipe]; rest; rest &= rest - 1) {
		struct choice *choice = &calendar->choice[__builtin_ctz(rest)];

		if (chosen > choice->next) {
			choice->removed |= chosen;
			continue;
		}
		choice->next &= ~chosen;
		if (!choice->next) {
			choice->next = choice->pipes ^ choice->removed;
			choice->removed = 0;
		}
	}
}

/* Take one of the pipes in `cycle`, in which one is free. */
static inline void calendar_take(struct calendar *calendar, const struct cost_use *use,
				 uint64_t cycle)
{
	uint64_t *words, bit = 1ull << cycle % 64;
	uint32_t free = 0;
	unsigned int pipe = (unsigned int)__builtin_ctz(use->pipes);

	if (cycle / 64 - calendar->row >= CALENDAR_ROWS)
		return;
	words = calendar_row(calendar, cycle / 64);
	if (use->choice < COST_CHOICES_MAX) {
		for (uint32_t rest = use->pipes; rest; rest &= rest - 1)
			if (!(words[__builtin_ctz(rest)] & bit))
				free |= rest & -rest;
		if (!free)
			return;
		pipe = (unsigned int)__builtin_ctz(choose(&calendar->choice[use->choice], free));
	}
	words[pipe] |= bit;
	calendar_turn(calendar, pipe);
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
		calendar_take(calendar, use, cycle);
		return;
	}
	uint32_t free = 0;

	for (uint32_t rest = use->pipes; rest; rest &= rest - 1)
		if (use->all ||
		    calendar_fits(calendar, (unsigned int)__builtin_ctz(rest), cycle, use->cycles))
			free |= rest & -rest;
	if (!use->all && free && use->choice < COST_CHOICES_MAX)
		free = choose(&calendar->choice[use->choice], free);
	for (; free; free &= free - 1) {
		calendar_mark(calendar, (unsigned int)__builtin_ctz(free), cycle, use->cycles);
		calendar_turn(calendar, (unsigned int)__builtin_ctz(free));
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
		calendar_take(calendar, use, found);
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
