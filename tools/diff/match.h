/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Matches two profiles: functions by name, instructions of a function by text.
 *
 * Functions match if they have the same name, first those in binaries with the same file name;
 * functions with the same name (static ones) match in order.  Of the rest, names that are unique on
 * both sides match, in any binary.  Functions without a symbol, whose names are addresses, match by
 * name in the same build only; in others by their code, and if that has changed by their place between
 * functions that match, if most of the code is alike.
 *
 * Instructions of a function are aligned, see decoder/base/sequence.h.  Text is compared without
 * what changes when code moves: distances of targets, addresses made by auipc and the next
 * instruction, offsets from gp.  Unmatched instructions are aligned by mnemonic between matched
 * ones.  If both sides are the same build, instructions match by address.
 */
#ifndef TOOLS_DIFF_MATCH_H
#define TOOLS_DIFF_MATCH_H

#include "decoder/base/digest.h"
#include "tools/ui/listing.h"
#include "tools/groups/groups.h"
#include "tools/ui/profile_input.h"

#define DIFF_NONE SIZE_MAX

/*
 * Match functions: partner[i] is the index in `right` of the i-th group of `left`, or DIFF_NONE.
 * Groups are those of GROUP_BY_DSO | GROUP_BY_SYMBOL.
 */
struct pesa_error *diff_match_functions(const struct profile_input *left_input,
					const struct profile_groups *left,
					const struct profile_input *right_input,
					const struct profile_groups *right, size_t *partner);

/* The instructions of a function in a dso of a profile. */
struct diff_code {
	const struct profile_input *input;
	uint32_t dso;
	struct listing listing;
};

/* A digest of the code that does not change when code moves, whatever the names of functions. */
struct pesa_error *diff_code_digest(const struct diff_code *code, struct pesa_digest *digest);

/* Makes the listing of a group of a side (0: left, 1: right), which the caller frees. */
typedef struct pesa_error *diff_list(void *context, unsigned int side,
				     const struct profile_group *group, struct diff_code *code);

/* Match what diff_match_functions() has left where one of both has no symbol, by code. */
struct pesa_error *diff_match_code(const struct profile_groups *left,
				   const struct profile_groups *right, diff_list *list,
				   void *context, size_t *partner);
/* Match what that has left, by place. */
struct pesa_error *diff_match_places(const struct profile_groups *left,
				     const struct profile_groups *right, diff_list *list,
				     void *context, size_t *partner);

/* Whether the function of a group has no symbol; that of any group. */
bool diff_is_unnamed(const struct profile_group *group);
bool diff_any_unnamed(const struct profile_groups *groups);

/* Match the instructions of two versions of a function; partner: as above. */
struct pesa_error *diff_match_instructions(const struct diff_code *left,
					   const struct diff_code *right, size_t *partner);

/* Whether both dsos are the same build. */
bool diff_same_build(const struct pesa_dso *left, const struct pesa_dso *right);

#endif
