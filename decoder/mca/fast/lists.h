/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lists of in-flight instructions: the timing wheel, by the cycle in which operands arrive, and the
 * ready list of each kind, in issue order.
 */
#ifndef DECODER_MCA_FAST_LISTS_H
#define DECODER_MCA_FAST_LISTS_H

#include "decoder/mca/fast/fast.h"

static inline uint32_t mca_fast_place_of(const struct mca_fast *fast,
					 const struct mca_fast_inflight *flight)
{
	return flight->number & fast->mask;
}

static inline void mca_fast_add_to_wheel(struct mca_fast *fast, struct mca_fast_inflight *flight)
{
	unsigned int slot = flight->time % MCA_WHEEL;

	flight->next = fast->wheel[slot];
	fast->wheel[slot] = mca_fast_place_of(fast, flight);
	fast->in_wheel |= UINT64_C(1) << slot;
}

/* Older instructions first; each operand that waits for one counts like one instruction of age. */
static inline bool mca_fast_goes_before(const struct mca_fast_inflight *a,
					const struct mca_fast_inflight *b)
{
	return a->rank < b->rank || (a->rank == b->rank && a->number < b->number);
}

/* Insert into the list of its kind, searching from `after` towards the front. */
static inline void mca_fast_insert(struct mca_fast *fast, struct mca_fast_kind *kind,
				   struct mca_fast_inflight *flight, uint32_t after)
{
	uint32_t place = mca_fast_place_of(fast, flight), before;

	while (after != MCA_FAST_NONE && mca_fast_goes_before(flight, &fast->ring[after]))
		after = fast->ring[after].previous;
	before = after == MCA_FAST_NONE ? kind->first : fast->ring[after].next;
	flight->previous = after;
	flight->next = before;
	if (after == MCA_FAST_NONE)
		kind->first = place;
	else
		fast->ring[after].next = place;
	if (before == MCA_FAST_NONE)
		kind->last = place;
	else
		fast->ring[before].previous = place;
}

static inline void mca_fast_become_ready(struct mca_fast *fast, struct mca_fast_inflight *flight)
{
	unsigned int number = fast->plan[flight->position].kind;

	flight->stage = MCA_READY;
	mca_fast_insert(fast, &fast->kinds[number], flight, fast->kinds[number].last);
	fast->active |= UINT64_C(1) << number;
}

#endif
