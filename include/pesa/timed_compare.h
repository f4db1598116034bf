/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file
 * Comparing timed branches with a processor model.
 *
 * Hardware with Ssctr alone tells neither which instruction waited nor in which state; but the cycles
 * from one taken transfer of control to the next (pesa/timed_blocks.h) are what a processor model
 * predicts, too.  A branch stack is the sequence of blocks that ran: it is executed on the model as it
 * was recorded, after a warm-up along the transfers that most often led there, and each block gets the
 * cycles between the retirements of the two transfers around it.  So both numbers are of the same
 * execution, with the same code before it.
 *
 * The differences of a block's executions have a distribution.  Cache misses, mispredicted branches
 * inside of a block and interrupts make some of them large, so the difference of the block is the mean of
 * the middle half of them.  A block is said to be slower only where 95 % of its executions are, and faster
 * where 75 % are; and only if the blocks right before and behind it in the stacks do not make up for it.
 * Misses of a block that misses in nearly every execution are not told apart from a wrong model.
 *
 * Loops of several blocks are compared by pass as well: all that ran from one arrival at the loop's head
 * by a jump backwards to the next one.  Out of order a pass is more certain than its blocks, between
 * which cycles may move.
 *
 * No entry of the model is named as wrong: which instruction of a block waited is not known.
 *
 * Stacks are taken while a profile is loaded, as its listener: at most PESA_TIMED_STACKS_MOST of them,
 * evenly spread.
 *
 * Threads: different objects may be used by different threads at the same time, one object by one
 * thread at a time until pesa_timed_compare_predict() has returned; from then on it is only read, by any
 * of them.
 */
#ifndef PESA_TIMED_COMPARE_H
#define PESA_TIMED_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pesa/api.h"
#include "pesa/compare.h"
#include "pesa/error.h"
#include "pesa/profile.h"
#include "pesa/timed_blocks.h"

PESA_DECLARATIONS_BEGIN

/** A comparison of timed branches. */
struct pesa_timed_compare;

/** Most branch stacks that are executed on the model. */
#define PESA_TIMED_STACKS_MOST 4096u
/** Fewest executions of a block that were compared, for a verdict. */
#define PESA_TIMED_EXECUTIONS_MIN 20u

/** Quantiles of the differences: 5, 25, 50, 75 and 95 %. */
#define PESA_TIMED_QUANTILES 5

/** What is said of a block. */
enum pesa_timed_verdict {
	PESA_TIMED_TOO_FEW, /**< too few executions or samples */
	PESA_TIMED_AGREES,  /**< the interval of the difference includes zero */
	PESA_TIMED_MOVED,   /**< it does not, but the blocks beside it make up for it */
	PESA_TIMED_VARIES,  /**< it does not, but too many executions take what is predicted */
	PESA_TIMED_SLOWER,  /**< more cycles measured than predicted */
	PESA_TIMED_FASTER,  /**< fewer cycles measured than predicted */
};

/** A block or the passes through a loop, measured and predicted; cycles of an execution (a pass). */
struct pesa_timed_difference {
	uint32_t dso;	/**< dso index */
	uint64_t start; /**< address of the first instruction, as pesa_instruction.address */
	uint64_t last; /**< of the last one; of a loop: of the last one that goes back to `start` */
	size_t block;  /**< index for pesa_timed_blocks_at(); of a loop SIZE_MAX */
	double blocks; /**< how many ran in a pass, on average; of a block 1 */
	double program;	     /**< executions in the program, estimated */
	uint64_t executions; /**< that were compared */
	uint64_t samples;    /**< in whose stacks they are */
	bool loop;	     /**< it is one, or a block that is mostly followed by itself */
	bool memory;	     /**< it has loads or stores: misses are measured, and not predicted */
	/** Measured cycles: the mean over the middle half of the executions, by how much these differ. */
	double measured;
	double predicted; /**< likewise, of the same executions */
	/** measured - predicted; the interval has the variation between samples and the misfit. */
	struct pesa_estimate difference;
	/** The difference together with those of the blocks that ran right before and behind it; of a
	 * loop the difference alone. */
	double around;
	double quantile[PESA_TIMED_QUANTILES]; /**< of the differences of the executions */
	double cycles;			 /**< difference times `program`: cycles of the program */
	enum pesa_timed_verdict verdict; /**< of the difference */
};

/** Sums over the stacks that were executed; cycles are measured ones. */
struct pesa_timed_compare_totals {
	uint64_t samples;      /**< whose stacks were executed on the model */
	uint64_t instructions; /**< that were executed on the model */
	double cycles;	       /**< of all entries of the stacks */
	double compared;       /**< of executions that have a prediction */
	double no_text;	       /**< of code that cannot be read, and between broken entries */
	double ordering; /**< of blocks with fences, CSR accesses, system instructions, and the like */
	double unsupported;  /**< of blocks with instructions that the model does not have */
	double mispredicted; /**< of blocks behind a transfer that is marked as mispredicted */
	double saturated;    /**< of executions with the largest count that an entry can have */
	double warming;	     /**< of blocks before which too little is known to have run */
	/** Standard deviation of relative differences of blocks, beyond the variation between samples. */
	double misfit;
	double misfit_loops; /**< the same of loops */
};

/** Nothing yet.  `details`: stacks of samples that also have the details of a cycle are taken, too.  NULL:
 * out of memory.  Owned by the caller.
 * @any_thread @caller_owns */
struct pesa_timed_compare *pesa_timed_compare_create(bool details);
/** Free it.  NULL is allowed.
 * @one_thread @takes_object */
void pesa_timed_compare_free(struct pesa_timed_compare *timed);
/** For pesa_profile_options.listener; lives as long as `timed`.
 * @one_thread @object_owns */
const struct pesa_profile_listener *
pesa_timed_compare_listener(const struct pesa_timed_compare *timed);
/** How many samples had a stack with cycle counts, once the profile is loaded.
 * @one_thread @nothing_owned */
uint64_t pesa_timed_compare_samples(const struct pesa_timed_compare *timed);
/** Once, when the profile is loaded; before anything below.  The profile must outlive `timed`.  Of the
 * options are used: processor, core and confidence.
 * @one_thread @caller_owns */
struct pesa_error *pesa_timed_compare_predict(struct pesa_timed_compare *timed,
					      const struct pesa_profile *profile,
					      const struct pesa_mca_model *model,
					      const struct pesa_compare_options *options);

/** The blocks of all stacks, of which `block` is an index.
 * @readers @object_owns */
const struct pesa_timed_blocks *pesa_timed_compare_blocks(const struct pesa_timed_compare *timed);
/** How many blocks have a prediction.
 * @readers @nothing_owned */
size_t pesa_timed_compare_count(const struct pesa_timed_compare *timed);
/** A block: those with enough executions first, and of these the one with most cycles of difference; the
 * index must be below the count.
 * @readers @object_owns */
const struct pesa_timed_difference *pesa_timed_compare_at(const struct pesa_timed_compare *timed,
							  size_t index);
/** How many loops of several blocks have a prediction.
 * @readers @nothing_owned */
size_t pesa_timed_compare_loop_count(const struct pesa_timed_compare *timed);
/** Passes through a loop, in the same order; the index must be below the count.
 * @readers @object_owns */
const struct pesa_timed_difference *
pesa_timed_compare_loop_at(const struct pesa_timed_compare *timed, size_t index);
/** The sums.
 * @readers @object_owns */
const struct pesa_timed_compare_totals *
pesa_timed_compare_totals(const struct pesa_timed_compare *timed);
/** "too few", "agrees", "moved", "varies", "slower", "faster"
 * @any_thread @static_result */
const char *pesa_timed_verdict_name(enum pesa_timed_verdict verdict);

PESA_DECLARATIONS_END

#endif
