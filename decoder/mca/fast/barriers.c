/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Barriers on the fast path, where memory instructions wait for nothing else: the same rules as
 * engine/memory.c, without groups.
 *
 * A barrier waits for all older memory instructions that have not executed, and counts them; a younger
 * one waits for the youngest barrier before it, which waits for the others.
 */
#include "decoder/mca/fast/fast.h"

/* Mark of memory instructions whose execution is an event: there is no such group in free order. */
#define ORDERED 1

static bool has_executed(const struct mca_fast *fast, const struct mca_fast_inflight *flight)
{
	return flight->stage == MCA_ISSUED && flight->time <= fast->now;
}

static void wait_for(struct mca_fast *fast, struct mca_fast_inflight *flight,
		     const struct mca_fast_inflight *older)
{
	if (!older->group || has_executed(fast, older))
		return;
	flight->waits_issue += older->stage != MCA_ISSUED;
	flight->waits_end++;
}

void mca_fast_order_dispatch(struct mca_fast *fast, struct mca_fast_inflight *flight)
{
	uint32_t barrier = fast->barrier;

	flight->group = ORDERED;
	fast->ordered = flight->number + 1;
	if (fast->plan[flight->position].barrier) {
		for (uint32_t number = fast->head; number != flight->number; number++)
			wait_for(fast, flight, mca_fast_inflight(fast, number));
		flight->older_barrier = barrier;
		fast->barrier = flight->number + 1;
	} else if (barrier > fast->head) {
		wait_for(fast, flight, mca_fast_inflight(fast, barrier - 1));
	}
}

bool mca_fast_order_has_users(const struct mca_fast *fast, const struct mca_fast_inflight *flight)
{
	bool is_barrier = fast->plan[flight->position].barrier;

	return (is_barrier ? fast->ordered : fast->barrier) > flight->number + 1;
}

/* Something that a younger memory instruction waits for has happened. */
static void one_less(struct mca_fast *fast, struct mca_fast_inflight *flight, bool issued)
{
	uint32_t *waits = issued ? &flight->waits_issue : &flight->waits_end;

	if (!--*waits)
		mca_fast_wake(fast, flight);
}

/* Those that wait for it: if it is a barrier, what is younger up to the next one; all younger barriers. */
static void tell(struct mca_fast *fast, const struct mca_fast_inflight *flight, bool issued)
{
	uint32_t number = flight->number;
	struct mca_fast_inflight *younger;

	for (uint32_t i = fast->barrier; i > number + 1; i = younger->older_barrier) {
		younger = mca_fast_inflight(fast, i - 1);
		one_less(fast, younger, issued);
	}
	if (!fast->plan[flight->position].barrier)
		return;
	for (uint32_t i = number + 1; i != fast->tail; i++) {
		younger = mca_fast_inflight(fast, i);
		if (fast->plan[younger->position].barrier)
			return;
		if (younger->group)
			one_less(fast, younger, issued);
	}
}

void mca_fast_order_issued(struct mca_fast *fast, const struct mca_fast_inflight *flight)
{
	tell(fast, flight, true);
}

void mca_fast_order_executed(struct mca_fast *fast, const struct mca_fast_inflight *flight)
{
	tell(fast, flight, false);
}
