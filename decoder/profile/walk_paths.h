/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Walk paths: every way through the text that fits a retiring cycle.
 *
 * With all targets and offsets known there is one way.  Where some are not, the walk follows every
 * way that the text allows, keeps those that make exactly the record's number of transfers, and
 * trusts what they all agree on.  So nothing is guessed, and whatever follows from the text is
 * used: a jump's target, a branch that must have been taken because otherwise too few transfers
 * would have happened.
 *
 * One assumption: a trap (interrupt, exception) whose target is not known comes last in its cycle,
 * because no core retires instructions of a handler in the cycle in which it takes the trap.
 */
#ifndef DECODER_PROFILE_WALK_PATHS_H
#define DECODER_PROFILE_WALK_PATHS_H

#include "pesa/walk.h"

struct pesa_known_transfer {
	uint8_t offset; /* instructions that had retired; 0: not known */
	bool has_from, has_to;
	bool hidden;	   /* a missing target was removed, not absent */
	uint64_t from, to; /* valid as the flags say */
};

struct pesa_walk_paths {
	const struct pesa_text *text;
	struct pesa_details details;
	uint64_t pc, mask; /* mask: of an address, by XLEN */
	struct pesa_known_transfer transfer[PESA_DETAILS_CTS_MASK];
};

/* Fill steps, transfers and unattributed of the result (all zero before).  False, with the result
 * as it was: no way fits. */
bool pesa_walk_paths(const struct pesa_walk_paths *paths, struct pesa_walk_result *result);

#endif
