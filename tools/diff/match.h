/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What of one profile is what of another: functions by their names, instructions of the same
 * function by their text.
 *
 * Functions are the same when their names are, of binaries of the same file name first; of several
 * with one name (static ones) the first is the first.  Then, of what is left, those whose name is
 * the only one of its kind on either side, in whatever binary.
 *
 * Instructions of a function are aligned, see decoder/base/sequence.h.  Texts are compared without what
 * changes when code moves: how far targets are, addresses that auipc and the instruction
 * behind it make, offsets from gp.  What then has no partner is aligned by its mnemonic, between
 * those that have.  Where both sides are the same build, the same address is the same instruction.
 */
#ifndef TOOLS_DIFF_MATCH_H
#define TOOLS_DIFF_MATCH_H

#include "tools/ui/listing.h"
#include "tools/ui/profile_groups.h"
#include "tools/ui/profile_input.h"

#define DIFF_NONE SIZE_MAX

/* Functions: partner[i] is the index in `right` of the i-th group of `left`, DIFF_NONE: there is
 * none.  Groups are those of GROUP_BY_DSO | GROUP_BY_SYMBOL.  False: out of memory. */
bool diff_match_functions(const struct profile_input *left_input, const struct profile_groups *left,
			  const struct profile_input *right_input,
			  const struct profile_groups *right, size_t *partner);

/* A function's instructions, and where they are. */
struct diff_code {
	const struct profile_input *input;
	uint32_t dso;
	struct listing listing;
};

/* Instructions of the same function.  False: out of memory. */
bool diff_match_instructions(const struct diff_code *left, const struct diff_code *right,
			     size_t *partner);

/* Whether both dsos are the same build. */
bool diff_same_build(const struct pesa_dso *left, const struct pesa_dso *right);

#endif
