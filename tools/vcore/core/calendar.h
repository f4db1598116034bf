/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which pipes are taken in which cycle: a mask of pipes for each cycle.
 *
 * Where there is a choice of pipes, they take turns (rotation.h).
 *
 * The window of CALENDAR_CYCLES moves with dispatch; nothing issues before it, and further ahead
 * than it reaches pipes are not contended.
 */
#ifndef TOOLS_VCORE_CORE_CALENDAR_H
#define TOOLS_VCORE_CORE_CALENDAR_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tools/vcore/core/cost.h"
#include "tools/vcore/core/rotation.h"

#define CALENDAR_CYCLES 8192u
/* The ring of cycles is larger than the window, so that what the window has left behind can be
 * cleared a piece at a time. */
#define CALENDAR_RING  (2 * CALENDAR_CYCLES)
#define CALENDAR_PIECE 1024u

struct calendar {
	uint64_t start;	  /* first cycle of the window */
	uint64_t cleared; /* the ring was cleared up to it, whole pieces */
	uint64_t clear;	  /* when the window begins here: again */
	struct rotations rotations;
	uint32_t busy[CALENDAR_RING]; /* by cycle: pipes */
};

static inline bool calendar_create(struct calendar *calendar, const struct cost_model *model)
{
	return rotations_create(&calendar->rotations, model);
}

static inline void calendar_free(struct calendar *calendar)
{
	rotations_free(&calendar->rotations);
}

static inline uint32_t *calendar_at(struct calendar *calendar, uint64_t cycle)
{
	return &calendar->busy[cycle % CALENDAR_RING];
}

/* The window begins further on: clear what it has left behind. */
static inline void calendar_clear(struct calendar *calendar)
{
	uint64_t end = calendar->start / CALENDAR_PIECE * CALENDAR_PIECE;

	if (end - calendar->cleared >= CALENDAR_RING) {
		memset(calendar->busy, 0, sizeof(calendar->busy));
		calendar->cleared = end;
	}
	for (; calendar->cleared < end; calendar->cleared += CALENDAR_PIECE)
		memset(calendar_at(calendar, calendar->cleared), 0,
		       CALENDAR_PIECE * sizeof(*calendar->busy));
	calendar->clear = calendar->cleared + CALENDAR_CYCLES / 2;
}

/* Nothing will be taken before `cycle` from now on. */
static inline void calendar_advance(struct calendar *calendar, uint64_t cycle)
{
	calendar->start = cycle;
	if (__builtin_expect(cycle >= calendar->clear, 0))
		calendar_clear(calendar);
}

/* The first cycle from `cycle` on in which one of the pipes is free; UINT64_MAX: none in the
 * window.
 */
static inline uint64_t calendar_first(struct calendar *calendar, uint32_t pipes, uint64_t cycle)
{
	uint64_t end = calendar->start + CALENDAR_CYCLES;

	for (; cycle < end; cycle++)
		if ((*calendar_at(calendar, cycle) & pipes) != pipes)
			return cycle;
	return UINT64_MAX;
}

/*
 * Which of the pipes can be taken for `count` cycles.  Older instructions that issue later have
 * their cycles already; where they are few they do not keep a long one out, which would have begun
 * before them: it has other cycles in their place.
 */
static inline uint32_t calendar_fitting(struct calendar *calendar, uint32_t pipes, uint64_t cycle,
					uint32_t count)
{
	uint32_t fitting = 0, length = count;

	if (cycle + length > calendar->start + CALENDAR_CYCLES)
		length = (uint32_t)(calendar->start + CALENDAR_CYCLES - cycle);
	for (pipes &= ~*calendar_at(calendar, cycle); pipes; pipes &= pipes - 1) {
		uint32_t pipe = pipes & -pipes, taken = 0;

		for (uint32_t i = 1; i < length; i++)
			taken += (*calendar_at(calendar, cycle + i) & pipe) != 0;
		fitting |= taken <= count / 4 ? pipe : 0;
	}
	return fitting;
}

/* The first cycle from `cycle` on in which one of the pipes can be taken for `count` cycles. */
static inline uint64_t calendar_run(struct calendar *calendar, uint32_t pipes, uint64_t cycle,
				    uint32_t count)
{
	for (;; cycle++) {
		cycle = calendar_first(calendar, pipes, cycle);
		if (cycle == UINT64_MAX || calendar_fitting(calendar, pipes, cycle, count))
			return cycle;
	}
}

/* Take the next `count` free cycles. */
static inline void calendar_mark(struct calendar *calendar, uint32_t pipe, uint64_t cycle,
				 uint32_t count)
{
	for (; count && cycle - calendar->start < CALENDAR_CYCLES; cycle++) {
		uint32_t *busy = calendar_at(calendar, cycle);

		count -= !(*busy & pipe);
		*busy |= pipe;
	}
}

/* One of the pipes that are `free`: whose turn it is. */
static inline uint32_t calendar_choose(struct calendar *calendar, const struct cost_use *use,
				       uint32_t free)
{
	struct rotations *rotations = &calendar->rotations;

	return rotation_take(&rotations->place[use->choice], free);
}

/* Take one of the pipes in `cycle`, in which one is free. */
static inline void calendar_take(struct calendar *calendar, const struct cost_use *use,
				 uint64_t cycle)
{
	uint32_t *busy = calendar_at(calendar, cycle), pipe = use->pipes & ~*busy;

	if (!pipe || cycle - calendar->start >= CALENDAR_CYCLES)
		return;
	*busy |= calendar_choose(calendar, use, pipe);
}

static inline uint64_t calendar_find(struct calendar *calendar, const struct cost_use *use,
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
	uint32_t free;

	if (cycle - calendar->start >= CALENDAR_CYCLES)
		return;
	if (!use->all) {
		free = calendar_fitting(calendar, use->pipes, cycle, use->cycles);
		if (free)
			calendar_mark(calendar, calendar_choose(calendar, use, free), cycle,
				      use->cycles);
		return;
	}
	for (free = use->pipes; free; free &= free - 1) {
		calendar_mark(calendar, free & -free, cycle, use->cycles);
		rotation_take(&calendar->rotations.place[COST_CHOICE_OF_PIPE(__builtin_ctz(free))],
			      free & -free);
	}
}

/* Take what an instruction uses, in the first cycle from `cycle` on in which all of it is free. */
static __attribute__((noinline)) uint64_t
calendar_issue_several(struct calendar *calendar, const struct cost *cost, uint64_t cycle)
{
	const struct cost_use *use = cost->all_uses;
	unsigned int agreed = 0;

	for (unsigned int i = 0; agreed < cost->uses; i = i + 1 == cost->uses ? 0 : i + 1) {
		uint64_t found = calendar_find(calendar, &use[i], cycle);

		agreed = found == cycle ? agreed + 1 : 1;
		cycle = found;
	}
	for (unsigned int i = 0; i < cost->uses; i++)
		calendar_use(calendar, &use[i], cycle);
	return cycle;
}

/* Likewise of an instruction that uses one pipe for a cycle, as most do. */
static inline __attribute__((always_inline)) uint64_t
calendar_issue_one(struct calendar *calendar, const struct cost_use *use, uint64_t cycle)
{
	uint64_t end = calendar->start + CALENDAR_CYCLES, at = cycle;

	for (; __builtin_expect(at < end, 1); at++) {
		uint32_t *busy = calendar_at(calendar, at), free = use->pipes & ~*busy;

		if (free) {
			*busy |= calendar_choose(calendar, use, free);
			return at;
		}
	}
	return cycle;
}

#endif
