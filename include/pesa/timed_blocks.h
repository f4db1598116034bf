/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file
 * Timed blocks: cycles of straight-line code from branch stacks whose entries have cycle counts.
 *
 * Hardware with Ssctr keeps, for each transfer of control, the cycles since the one before; LBRs of x86
 * do so too.  What ran between two entries of a stack is a block: from where the older one went to the
 * address of the newer one, in so many cycles from retirement to retirement.  The oldest entry of a
 * stack has no one before it, so its count is of no known block.  Blocks may overlap: one may begin
 * within another.
 *
 * A sample stands for its period of cycles.  Its stack shows what ran before it, so the period is shared
 * among the blocks of the stack, in proportion to their cycles; and each execution in the stack stands
 * for as many as its cycles fit into its share.  Samples of slow and of fast parts of a program thus
 * weigh what they stand for.
 *
 * perf's entries have 0 both for no cycles and for a count that is not known.  A stack in which some
 * count is not 0 is of hardware that counts, and a 0 in it means that two transfers retired in one
 * cycle.  perf's counts end at 65535 (PESA_BRANCH_CYCLES_MOST), which stands for all larger ones.
 *
 * Blocks are found while a profile is loaded, as its listener.
 *
 * Threads: different objects may be used by different threads at the same time, one object by one
 * thread at a time until pesa_timed_blocks_finish(); from then on it is only read, by any of them.
 */
#ifndef PESA_TIMED_BLOCKS_H
#define PESA_TIMED_BLOCKS_H

#include <stddef.h>
#include <stdint.h>

#include "pesa/api.h"
#include "pesa/error.h"
#include "pesa/profile.h"

PESA_DECLARATIONS_BEGIN

/** The timed blocks of a profile. */
struct pesa_timed_blocks;

/** Bytes of the longest block: no code goes on for longer without a transfer of control. */
#define PESA_TIMED_BLOCK_MOST 65536u

/** Straight-line code that ran between two transfers of control. */
struct pesa_timed_block {
	uint32_t dso;	       /**< dso index */
	uint64_t start;	       /**< address of its first instruction, as pesa_instruction.address */
	uint64_t last;	       /**< of its last one, which transferred control or was interrupted */
	uint64_t seen;	       /**< how often it is in the stacks */
	uint64_t saturated;    /**< of them, those with the largest count that an entry can have */
	uint64_t mispredicted; /**< of them, those whose last transfer is marked as mispredicted */
	double cycles;	       /**< of the program, estimated */
	double executions;     /**< of the program, estimated */
};

/** How often a block took so many cycles. */
struct pesa_timed_count {
	uint32_t cycles;   /**< from the transfer before the block to the one that ends it */
	uint64_t seen;	   /**< how often that is in the stacks */
	double executions; /**< of the program, estimated */
};

/** Transfers of control from the end of a block. */
struct pesa_timed_transfer {
	uint32_t dso;	     /**< dso index */
	uint64_t from;	     /**< address, pesa_timed_block.last of some block */
	uint32_t target_dso; /**< dso index of where it went */
	uint64_t target;     /**< address there */
	double executions;   /**< of the program, estimated */
};

/** Sums over the profile. */
struct pesa_timed_totals {
	uint64_t samples; /**< samples whose branch stack has cycle counts */
	uint64_t untimed; /**< samples whose branch stack has none, or a single entry */
	uint64_t seen;	  /**< blocks in the stacks, each as often as it is there */
	double cycles;	  /**< the sum of the periods of `samples` */
	double broken;	  /**< of them, between entries that no straight-line code joins */
};

/** No blocks yet.  NULL: out of memory.  Owned by the caller.
 * @any_thread @caller_owns */
struct pesa_timed_blocks *pesa_timed_blocks_create(void);
/** Free them.  NULL is allowed.
 * @one_thread @takes_object */
void pesa_timed_blocks_free(struct pesa_timed_blocks *blocks);
/** For pesa_profile_options.listener; lives as long as `blocks`.
 * @one_thread @object_owns */
const struct pesa_profile_listener *
pesa_timed_blocks_listener(const struct pesa_timed_blocks *blocks);
/** Once, when the profile is loaded; before anything below.
 * @one_thread @caller_owns */
struct pesa_error *pesa_timed_blocks_finish(struct pesa_timed_blocks *blocks,
					    const struct pesa_profile *profile);

/** Sums over the profile.
 * @readers @object_owns */
const struct pesa_timed_totals *pesa_timed_blocks_totals(const struct pesa_timed_blocks *blocks);
/** How many blocks there are.
 * @readers @nothing_owned */
size_t pesa_timed_blocks_count(const struct pesa_timed_blocks *blocks);
/** A block, sorted by dso, start and last; the index must be below the count.
 * @readers @object_owns */
const struct pesa_timed_block *pesa_timed_blocks_at(const struct pesa_timed_blocks *blocks,
						    size_t index);
/** Index of the first block of a dso that begins at an address or behind it; the count if there is none.
 * @readers @nothing_owned */
size_t pesa_timed_blocks_from(const struct pesa_timed_blocks *blocks, uint32_t dso,
			      uint64_t address);
/** The distribution of a block's cycles, sorted by them, and how many numbers it has.
 * @readers @object_owns */
const struct pesa_timed_count *
pesa_timed_blocks_distribution(const struct pesa_timed_blocks *blocks, size_t index, size_t *count);
/** The cycles that a share (0..1) of a block's executions took at most: 0.5 is the median.
 * @readers @nothing_owned */
uint32_t pesa_timed_blocks_quantile(const struct pesa_timed_blocks *blocks, size_t index,
				    double share);

/** How many different transfers there are.
 * @readers @nothing_owned */
size_t pesa_timed_blocks_transfer_count(const struct pesa_timed_blocks *blocks);
/** One of them, in no order; the index must be below the count.
 * @readers @object_owns */
const struct pesa_timed_transfer *pesa_timed_blocks_transfer(const struct pesa_timed_blocks *blocks,
							     size_t index);

/** Give a profile of plain samples the executions, directions and transfers of the blocks in place of
 * what is known of a PC alone: an instruction is executed with each block that holds it, and has an
 * equal share of the block's cycles; marked transfers are mispredicted.  What pesa/control_flow.h makes of the profile then is measured
 * (pesa_profile_totals.paths).  Pointers to instructions are invalid afterwards.
 * @one_thread @nothing_owned */
struct pesa_error *pesa_timed_blocks_apply(const struct pesa_timed_blocks *blocks,
					   struct pesa_profile *profile);

PESA_DECLARATIONS_END

#endif
