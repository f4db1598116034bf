/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The reservation table: for each cycle, a mask of the pipes that are taken.
 *
 * round_robin.h chooses between several free pipes.  The table covers a window of
 * RESERVATION_CYCLES that moves with dispatch: nothing issues before the window, and beyond its end
 * pipes are not contended.
 */
#ifndef TOOLS_VCORE_CORE_RESERVATION_TABLE_H
#define TOOLS_VCORE_CORE_RESERVATION_TABLE_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tools/vcore/core/cost.h"
#include "tools/vcore/core/round_robin.h"

#define RESERVATION_CYCLES 8192u
/* The ring is larger than the window, so that cycles after the window can be cleared in pieces. */
#define RESERVATION_RING  (2 * RESERVATION_CYCLES)
#define RESERVATION_PIECE 1024u

struct reservation_table {
	uint64_t start;	  /* first cycle of the window */
	uint64_t cleared; /* the ring is cleared up to this cycle, in whole pieces */
	uint64_t clear;	  /* clear again when the window begins here */
	struct round_robins round_robins;
	uint32_t busy[RESERVATION_RING]; /* pipes, by cycle */
};

static inline struct pesa_error *reservation_create(struct reservation_table *reservations,
						    const struct cost_model *model)
{
	return round_robins_create(&reservations->round_robins, model);
}

static inline void reservation_free(struct reservation_table *reservations)
{
	round_robins_free(&reservations->round_robins);
}

static inline uint32_t *reservation_at(struct reservation_table *reservations, uint64_t cycle)
{
	return &reservations->busy[cycle % RESERVATION_RING];
}

/* Clear the cycles that the window has left. */
static inline void reservation_clear(struct reservation_table *reservations)
{
	uint64_t end = reservations->start / RESERVATION_PIECE * RESERVATION_PIECE;

	if (end - reservations->cleared >= RESERVATION_RING) {
		memset(reservations->busy, 0, sizeof(reservations->busy));
		reservations->cleared = end;
	}
	for (; reservations->cleared < end; reservations->cleared += RESERVATION_PIECE)
		memset(reservation_at(reservations, reservations->cleared), 0,
		       RESERVATION_PIECE * sizeof(*reservations->busy));
	reservations->clear = reservations->cleared + RESERVATION_CYCLES / 2;
}

/* From now on nothing is taken before `cycle`. */
static inline void reservation_advance(struct reservation_table *reservations, uint64_t cycle)
{
	reservations->start = cycle;
	if (__builtin_expect(cycle >= reservations->clear, 0))
		reservation_clear(reservations);
}

/* The first cycle from `cycle` on in which one of the pipes is free; UINT64_MAX: none in the
 * window.
 */
static inline uint64_t reservation_first(struct reservation_table *reservations, uint32_t pipes,
					 uint64_t cycle)
{
	uint64_t end = reservations->start + RESERVATION_CYCLES;

	for (; cycle < end; cycle++)
		if ((*reservation_at(reservations, cycle) & pipes) != pipes)
			return cycle;
	return UINT64_MAX;
}

/*
 * Return which of the pipes can be taken for `count` cycles.  Older instructions that issue later
 * may have taken some of these cycles.  A few such cycles do not delay a long use that begins
 * before them: it takes as many cycles after its end instead.
 */
static inline uint32_t reservation_fitting(struct reservation_table *reservations, uint32_t pipes,
					   uint64_t cycle, uint32_t count)
{
	uint32_t fitting = 0, length = count;

	if (cycle + length > reservations->start + RESERVATION_CYCLES)
		length = (uint32_t)(reservations->start + RESERVATION_CYCLES - cycle);
	for (pipes &= ~*reservation_at(reservations, cycle); pipes; pipes &= pipes - 1) {
		uint32_t pipe = pipes & -pipes, taken = 0;

		for (uint32_t i = 1; i < length; i++)
			taken += (*reservation_at(reservations, cycle + i) & pipe) != 0;
		fitting |= taken <= count / 4 ? pipe : 0;
	}
	return fitting;
}

/* The first cycle from `cycle` on in which one of the pipes can be taken for `count` cycles. */
static inline uint64_t reservation_run(struct reservation_table *reservations, uint32_t pipes,
				       uint64_t cycle, uint32_t count)
{
	for (;; cycle++) {
		cycle = reservation_first(reservations, pipes, cycle);
		if (cycle == UINT64_MAX || reservation_fitting(reservations, pipes, cycle, count))
			return cycle;
	}
}

/* Take the next `count` free cycles. */
static inline void reservation_mark(struct reservation_table *reservations, uint32_t pipe,
				    uint64_t cycle, uint32_t count)
{
	for (; count && cycle - reservations->start < RESERVATION_CYCLES; cycle++) {
		uint32_t *busy = reservation_at(reservations, cycle);

		count -= !(*busy & pipe);
		*busy |= pipe;
	}
}

/* Choose one of the `free` pipes, round robin. */
static inline uint32_t reservation_choose(struct reservation_table *reservations,
					  const struct cost_use *use, uint32_t free)
{
	struct round_robins *round_robins = &reservations->round_robins;

	return round_robin_take(&round_robins->place[use->choice], free);
}

/* Take one of the pipes in `cycle`, in which one is free. */
static inline void reservation_take(struct reservation_table *reservations,
				    const struct cost_use *use, uint64_t cycle)
{
	uint32_t *busy = reservation_at(reservations, cycle), pipe = use->pipes & ~*busy;

	if (!pipe || cycle - reservations->start >= RESERVATION_CYCLES)
		return;
	*busy |= reservation_choose(reservations, use, pipe);
}

static inline uint64_t reservation_find(struct reservation_table *reservations,
					const struct cost_use *use, uint64_t cycle)
{
	uint64_t found;

	if (use->cycles == 1 && !use->all)
		found = reservation_first(reservations, use->pipes, cycle);
	else if (!use->all)
		found = reservation_run(reservations, use->pipes, cycle, use->cycles);
	else
		found = cycle;
	for (uint32_t rest = use->all ? use->pipes : 0; rest;) {
		uint64_t free = reservation_run(reservations, rest & -rest, found, use->cycles);

		/* The pipe is free only later: search the others again. */
		rest = free == found ? rest & (rest - 1) : use->pipes;
		found = free;
		if (found == UINT64_MAX)
			break;
	}
	return found == UINT64_MAX ? cycle : found;
}

static inline void reservation_use(struct reservation_table *reservations,
				   const struct cost_use *use, uint64_t cycle)
{
	if (use->cycles == 1 && !use->all) {
		reservation_take(reservations, use, cycle);
		return;
	}
	uint32_t free;

	if (cycle - reservations->start >= RESERVATION_CYCLES)
		return;
	if (!use->all) {
		free = reservation_fitting(reservations, use->pipes, cycle, use->cycles);
		if (free)
			reservation_mark(reservations, reservation_choose(reservations, use, free),
					 cycle, use->cycles);
		return;
	}
	for (free = use->pipes; free; free &= free - 1) {
		reservation_mark(reservations, free & -free, cycle, use->cycles);
		round_robin_take(
			&reservations->round_robins.place[COST_CHOICE_OF_PIPE(__builtin_ctz(free))],
			free & -free);
	}
}

/* Take all uses of an instruction in the first cycle from `cycle` on in which all are free. */
static __attribute__((noinline)) uint64_t
reservation_issue_several(struct reservation_table *reservations, const struct cost *cost,
			  uint64_t cycle)
{
	const struct cost_use *use = cost->all_uses;
	unsigned int agreed = 0;

	for (unsigned int i = 0; agreed < cost->uses; i = i + 1 == cost->uses ? 0 : i + 1) {
		uint64_t found = reservation_find(reservations, &use[i], cycle);

		agreed = found == cycle ? agreed + 1 : 1;
		cycle = found;
	}
	for (unsigned int i = 0; i < cost->uses; i++)
		reservation_use(reservations, &use[i], cycle);
	return cycle;
}

/* Like above, for an instruction that uses one pipe for one cycle, as most do. */
static inline __attribute__((always_inline)) uint64_t
reservation_issue_one(struct reservation_table *reservations, const struct cost_use *use,
		      uint64_t cycle)
{
	uint64_t end = reservations->start + RESERVATION_CYCLES, at = cycle;

	for (; __builtin_expect(at < end, 1); at++) {
		uint32_t *busy = reservation_at(reservations, at), free = use->pipes & ~*busy;

		if (free) {
			*busy |= reservation_choose(reservations, use, free);
			return at;
		}
	}
	return cycle;
}

#endif
