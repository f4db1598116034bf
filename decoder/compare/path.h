/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Paths: paths through the hot code, along the measured control flow.
 *
 * A path begins at a straight piece of code and goes on as the program did: at a branch, however
 * often paths have come by, its successors were chosen as near to their measured shares as whole
 * numbers allow; a return goes back to the path's own call, or, where that is not on the path, to
 * where returns were measured to go.  Nothing is random.
 *
 * The first instructions of a path only bring the processor into the state that it has in the midst
 * of the program; what is predicted for them does not count.  Paths begin all over the hot code, as
 * often as it takes time.  Equal paths are one path, with a weight.
 */
#ifndef DECODER_COMPARE_PATH_H
#define DECODER_COMPARE_PATH_H

#include "decoder/compare/code.h"

#define COMPARE_PATH_MISPREDICTED (1u << 0)
#define COMPARE_PATH_TAKEN	  (1u << 1)
#define COMPARE_PATH_PARTLY	  (1u << 2) /* forwarded, see memory.h */

struct compare_step {
	uint32_t node;
	uint8_t flags; /* COMPARE_PATH_* */
	uint8_t lmul;  /* enum pesa_mca_lmul; PESA_MCA_LMUL_NONE also where it is not known */
	uint8_t sew;
	uint8_t forwarded; /* so many steps before stands the store that it reads from; 0: unknown
			    */
};

struct compare_path {
	uint64_t hash;
	size_t first;		  /* step */
	unsigned int count, warm; /* steps, and how many at first do not count */
	unsigned int weight;	  /* how many equal ones there were */
};

struct compare_paths {
	struct compare_path *path;
	size_t count, room;
	struct compare_step *step;
	size_t steps, step_room;
};

struct compare_path_options {
	unsigned int paths;  /* at most, before equal ones are taken together */
	unsigned int length; /* steps that count */
	unsigned int warm;
	unsigned int in_flight; /* instructions at a time, at most */
};

struct pesa_error *compare_paths_make(struct compare_code *code,
				      const struct compare_path_options *options,
				      struct compare_paths *paths);
void compare_paths_free(struct compare_paths *paths);

#endif
