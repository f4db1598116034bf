/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The lists that an instruction in flight is in: the timing wheel of the cycles in which operands
 * arrive, and the ready ones of each kind, in the order in which they issue.
 */
#ifndef DECODER_MCA_FAST_LISTS_H
#define DECODER_MCA_FAST_LISTS_H

#include "decoder/mca/fast/fast.h"

static inline uint32_t mca_fast_place_of(const struct mca_fast *quick,
					 const struct mca_fast_inflight *flight)
{
	return flight->number & quick->mask;
}

static inline void mca_fast_add_to_wheel(struct mca_fast *quick, struct mca_fast_inflight *flight)
{
	unsigned int slot = flight->time % MCA_WHEEL;

	flight->next = quick->wheel[slot];
	quick->wheel[slot] = mca_fast_place_of(quick, flight);
	quick->in_wheel |= UINT64_C(1) << slot;
}

/* Older ones first, except that each operand that waits for it counts for one place. */
static inline bool mca_fast_goes_before(const struct mca_fast_inflight *a,
					const struct mca_fast_inflight *b)
{
	return a->rank < b->rank || (a->rank == b->rank && a->number < b->number);
}

/* Into the list of its kind, from the end `after` on towards the front. */
static inline void mca_fast_insert(struct mca_fast *quick, struct mca_fast_kind *kind,
				   struct mca_fast_inflight *flight, uint32_t after)
{
	uint32_t place = mca_fast_place_of(quick, flight), before;

	while (after != MCA_FAST_NONE && mca_fast_goes_before(flight, &quick->ring[after]))
		after = quick->ring[after].previous;
	before = after == MCA_FAST_NONE ? kind->first : quick->ring[after].next;
	flight->previous = after;
	flight->next = before;
	if (after == MCA_FAST_NONE)
		kind->first = place;
	else
		quick->ring[after].next = place;
	if (before == MCA_FAST_NONE)
		kind->last = place;
	else
		quick->ring[before].previous = place;
}

static inline void mca_fast_become_ready(struct mca_fast *quick, struct mca_fast_inflight *flight)
{
	unsigned int number = quick->plan[flight->position].kind;

	flight->stage = MCA_READY;
	mca_fast_insert(quick, &quick->kinds[number], flight, quick->kinds[number].last);
	quick->active |= UINT64_C(1) << number;
}

#endif
