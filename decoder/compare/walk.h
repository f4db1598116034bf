/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Walks: paths through the hot code, along the measured control flow.
 *
 * A walk begins at a straight piece of code and goes on as the program did: at a branch, however
 * often walks have come by, its successors were chosen as near to their measured shares as whole
 * numbers allow; a return goes back to the walk's own call, or, where that is not on the walk, to
 * where returns were measured to go.  Nothing is random.
 *
 * The first instructions of a walk only bring the processor into the state that it has in the midst
 * of the program; what is predicted for them does not count.  Walks begin all over the hot code, as
 * often as it takes time.  Equal walks are one walk, with a weight.
 */
#ifndef DECODER_COMPARE_WALK_H
#define DECODER_COMPARE_WALK_H

#include "decoder/compare/code.h"

#define COMPARE_WALK_MISPREDICTED (1u << 0)
#define COMPARE_WALK_TAKEN	  (1u << 1)
#define COMPARE_WALK_PARTLY	  (1u << 2) /* forwarded, see memory.h */

struct compare_step {
	uint32_t node;
	uint8_t flags; /* COMPARE_WALK_* */
	uint8_t lmul;  /* enum pesa_mca_lmul; PESA_MCA_LMUL_NONE also where it is not known */
	uint8_t sew;
	uint8_t forwarded; /* so many steps before stands the store that it reads from; 0: unknown
			    */
};

struct compare_walk {
	uint64_t hash;
	size_t first;		  /* step */
	unsigned int count, warm; /* steps, and how many at first do not count */
	unsigned int weight;	  /* how many equal ones there were */
};

struct compare_walks {
	struct compare_walk *walk;
	size_t count, room;
	struct compare_step *step;
	size_t steps, step_room;
};

struct compare_walk_options {
	unsigned int walks;  /* at most, before equal ones are taken together */
	unsigned int length; /* steps that count */
	unsigned int warm;
	unsigned int in_flight; /* instructions at a time, at most */
};

struct pesa_error *compare_walks_make(struct compare_code *code,
				      const struct compare_walk_options *options,
				      struct compare_walks *walks);
void compare_walks_free(struct compare_walks *walks);

#endif
