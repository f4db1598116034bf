/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Alignment of two sequences: pairs of equal elements, in order.
 *
 * The result has the maximum number of pairs (the longest common subsequence), by Myers' algorithm
 * "An O(ND) difference algorithm and its variations" (1986) in linear space.  The time is the
 * length times the number of differences, which for two long sequences with little in common would
 * be quadratic.  Beyond a number of differences the path that has come furthest is followed; the
 * number of pairs may then be less than the maximum.
 */
#ifndef DECODER_BASE_SEQUENCE_H
#define DECODER_BASE_SEQUENCE_H

#include <stddef.h>
#include <stdint.h>

#include "pesa/error.h"

#define PESA_SEQUENCE_NONE SIZE_MAX

/* partner[i]: index in `right` of the partner of element i of `left`; PESA_SEQUENCE_NONE: none.
 * Partners are in ascending order.  Elements are equal if their numbers are. */
struct pesa_error *pesa_sequence_align(const uint32_t *left, size_t left_count,
				       const uint32_t *right, size_t right_count, size_t *partner);

#endif
