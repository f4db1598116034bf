/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Intervals: lookup of the address range that contains an address.
 *
 * A set of half-open ranges [start, end), each with a number chosen by the caller.  Ranges may nest
 * and overlap.  Adding is O(1), a lookup is O(log n) for ranges that do not overlap.  An address in
 * several ranges belongs to the innermost one: the one that starts last and, among those, is the
 * shortest.
 */
#ifndef DECODER_BASE_INTERVALS_H
#define DECODER_BASE_INTERVALS_H

#include <stddef.h>
#include <stdint.h>

#include "pesa/error.h"

struct pesa_interval {
	uint64_t start, end;
	uint64_t furthest; /* largest end up to here, in sorted order */
	size_t value;
};

struct pesa_intervals {
	struct pesa_interval *interval;
	size_t count, room;
};

/* Add a range; empty ones are ignored. */
struct pesa_error *pesa_intervals_add(struct pesa_intervals *set, uint64_t start, uint64_t end,
				      size_t value);
/* Sort: required after the last range was added, before the first lookup. */
void pesa_intervals_sort(struct pesa_intervals *set);
/* Of a sorted set, in which only membership counts: unite ranges that overlap or adjoin, into few. */
void pesa_intervals_merge(struct pesa_intervals *set);
/* The innermost range that contains `address`; NULL: none. */
const struct pesa_interval *pesa_intervals_find(const struct pesa_intervals *set, uint64_t address);
void pesa_intervals_free(struct pesa_intervals *set);

#endif
