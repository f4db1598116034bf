/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Walk paths: every path through the text that fits a retiring cycle.
 *
 * If all targets and offsets are known there is one path.  If some are unknown, the walk follows
 * every path that the text allows, keeps those with exactly the record's number of transfers, and
 * uses the facts on which all of them agree.  So everything that follows from the text is used: the
 * target of a jump, or a branch that must have been taken because there would be too few transfers
 * otherwise.
 *
 * Two assumptions: a trap (interrupt, exception) with an unknown target is the last transfer of its
 * cycle, because no core retires instructions of a handler in the cycle in which it takes the trap.
 * And a path without a trap is taken for the right one where one with a trap behind its last
 * instruction fits as well, and that is no instruction that traps by itself.
 */
#ifndef DECODER_PROFILE_WALK_PATHS_H
#define DECODER_PROFILE_WALK_PATHS_H

#include "pesa/walk.h"

struct pesa_known_transfer {
	uint8_t offset; /* instructions retired before the transfer; 0: not known */
	bool has_from, has_to;
	bool hidden;	   /* the record is scrubbed: a missing target was removed */
	uint64_t from, to; /* valid if has_from, has_to */
};

struct pesa_walk_paths {
	const struct pesa_text *text;
	struct pesa_details details;
	uint64_t pc, mask; /* mask: bits of an address, by XLEN */
	struct pesa_known_transfer transfer[PESA_DETAILS_CTS_MASK];
};

/* Fill steps, transfers and unattributed of the result, all zero before.  Returns false and leaves
 * the result unchanged if no path fits. */
bool pesa_walk_paths(const struct pesa_walk_paths *paths, struct pesa_walk_result *result);

#endif
