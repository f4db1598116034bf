/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Paths through the hot code, along the measured control flow.
 *
 * A path starts at a basic block and continues as the program did.  At a branch, the successor is
 * chosen so that over all paths the choices are close to the measured shares
 * (enum compare_directions).  A return goes back to the call on the path or, if the path has none, to
 * measured targets of returns.  Two runs make the same paths.
 *
 * A path ends at an instruction that orders others, if its kind drains (order.h); the next one begins
 * behind it, on an empty machine, which needs no warm-up.
 *
 * The first instructions of a path are warm-up: they bring the processor into a typical state, and
 * their predictions are not counted.  Starting points are distributed over the hot code in
 * proportion to its time.  Equal paths are merged into one path with a weight.
 */
#ifndef DECODER_COMPARE_PATH_H
#define DECODER_COMPARE_PATH_H

#include "decoder/base/digest.h"
#include "decoder/compare/order.h"

#define COMPARE_PATH_MISPREDICTED (1u << 0)
#define COMPARE_PATH_TAKEN	  (1u << 1)
#define COMPARE_PATH_PARTLY	  (1u << 2) /* partly forwarded, see memory.h */
#define COMPARE_PATH_BARRIER	  (1u << 3) /* orders memory accesses, see order.h */
#define COMPARE_PATH_MISSED	  (1u << 4) /* a load that misses */
#define COMPARE_PATH_AFTER	  (1u << 6) /* a load that issues after a store, see waits.h */
#define COMPARE_PATH_FLUSHED	  (1u << 5) /* the first behind an instruction that flushes */

struct compare_step {
	uint32_t node;
	uint8_t flags; /* COMPARE_PATH_* */
	uint8_t lmul;  /* enum pesa_mca_lmul; PESA_MCA_LMUL_NONE if unknown */
	uint8_t sew;
	uint8_t forwarded; /* steps from the store that it reads from; 0: unknown */
	uint8_t missed_by; /* of a load that misses: steps from the load that missed first on the
			    * line; 0: itself */
};

struct compare_path {
	uint64_t hash;
	size_t first;		  /* index of its first step */
	unsigned int count, warm; /* number of steps, of which the first `warm` are warm-up */
	unsigned int weight;	  /* number of equal paths */
};

struct compare_prepared;

struct compare_paths {
	struct compare_path *path;
	size_t count, room;
	struct compare_step *step;
	size_t steps, step_room;
	struct compare_prepared *prepared; /* NULL: not yet (prepared.h) */
	struct pesa_digest made_from;	   /* compare_paths_digest(), of prepared ones */
};

/*
 * In which order a branch or an indirect transfer takes its directions.  The profile has how often
 * each was taken, not in which order.
 */
enum compare_directions {
	COMPARE_EVENLY,	   /* as regularly as the shares allow */
	COMPARE_AT_RANDOM, /* each time anew */
	COMPARE_IN_RUNS,   /* the same one several times */
	COMPARE_DIRECTIONS
};

struct compare_path_options {
	unsigned int paths;  /* maximum, before equal paths are merged */
	unsigned int length; /* counted steps of a path */
	unsigned int warm;
	enum compare_directions directions;
	const struct compare_kinds *kinds;
};

/* May be called again, for the same code, with other options; `paths` is empty. */
struct pesa_error *compare_paths_make(struct compare_code *code,
				      const struct compare_path_options *options,
				      struct compare_paths *paths);
void compare_paths_free(struct compare_paths *paths);
/* The digest of all that is chosen for paths: those that were made last for the code are the same, if they
 * have the same one. */
struct pesa_digest compare_paths_digest(const struct compare_code *code,
					const struct compare_path_options *options);

/*
 * Traces: basic blocks that follow each other nearly always on the paths, across calls and returns.
 * `trace` gets, by basic block (compare_node.group, below `blocks`), the number of one block of its
 * trace.
 */
struct pesa_error *compare_paths_join(const struct compare_paths *paths,
				      const struct compare_code *code, uint32_t blocks,
				      uint32_t *trace);

#endif
