/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Alignment of two sequences: which elements of one are which of the other, in order.
 *
 * As many pairs of equal elements as can be had (the longest common subsequence), by Myers'
 * algorithm "An O(ND) difference algorithm and its variations" (1986) in linear space: time goes
 * with the length times the number of differences.  Where two long sequences have little in common
 * that would be the square of their length: from some number of differences on the way that has
 * come furthest is followed, and the pairs are many but perhaps not as many as can be.
 */
#ifndef DECODER_BASE_SEQUENCE_H
#define DECODER_BASE_SEQUENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PESA_SEQUENCE_NONE SIZE_MAX

/* partner[i]: which element of `right` the i-th of `left` is; PESA_SEQUENCE_NONE: none.  Partners
 * ascend.  Elements are equal when their numbers are.  False: out of memory. */
bool pesa_sequence_align(const uint32_t *left, size_t left_count, const uint32_t *right,
			 size_t right_count, size_t *partner);

#endif
