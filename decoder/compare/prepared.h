/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the predictions of paths on different models have in common.
 *
 * Models differ in what a few instructions cost, and a path of hundreds of steps has some tens of
 * different ones.  So whether a path has been predicted with a model before is asked by the digest of
 * its steps, which is made once, and by those of the costs that it has, not of each step's.
 */
#ifndef DECODER_COMPARE_PREPARED_H
#define DECODER_COMPARE_PREPARED_H

#include "decoder/base/digest.h"
#include "decoder/compare/path.h"

/* Steps with the same opcode, LMUL and SEW cost the same. */
struct compare_cost {
	uint32_t node; /* of one of these steps */
	uint8_t lmul, sew;
	uint32_t next; /* another one of the same opcode; COMPARE_NONE: no more */
};

struct compare_prepared_path {
	struct pesa_digest steps; /* of all but what they cost, and how late they are */
	size_t first_cost, first_missed;
	unsigned int costs, missed;
};

struct compare_prepared {
	struct compare_cost *cost; /* of all steps, each once */
	uint32_t costs;
	uint32_t *cost_of;		    /* by step: index of its cost */
	struct compare_prepared_path *path; /* by path */
	/* Of the paths, one after the other: the costs that each has, and its steps that are loads that
	 * miss, counted from its first one. */
	uint32_t *cost_in, *missed_in;
	unsigned int most; /* of one path: costs and missed steps together */
};

/* Prepare all paths; NULL: out of memory.  Valid as long as the paths are. */
struct compare_prepared *compare_prepare(const struct compare_paths *paths,
					 const struct compare_code *code);
void compare_prepared_free(struct compare_prepared *prepared);

#endif
