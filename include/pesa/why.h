/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file
 * Why: what each stalled instruction waited for, and what would be won without that.
 *
 * A cycle stack says how long an instruction held up the program, not what it waited for.  Here the
 * measured paths through the program are executed on a processor model (pesa/compare.h), which
 * knows when each instruction was dispatched, had its operands and its unit, and was done.  From
 * that follows for every stall the *producer*: the instruction whose result, unit or ordering it
 * waited for.  A producer may have waited itself; the chain is followed to its *root*: a load that
 * missed, a busy unit, a store, a fence, or the latencies of the chain itself.
 *
 * How long each instruction stalled is always what was measured; the model only divides it among
 * causes.  Cycles that the model does not explain are PESA_WHY_UNKNOWN.
 *
 * What would be won (struct pesa_why_gain) is an estimate: the same paths are executed once more with
 * one thing changed at one place.  Documentation/why.md says how often it is right.
 *
 * Threads: an object belongs to one thread at a time.  What it returns belongs to it.
 */
#ifndef PESA_WHY_H
#define PESA_WHY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pesa/api.h"
#include "pesa/compare.h"
#include "pesa/error.h"
#include "pesa/estimate.h"

PESA_DECLARATIONS_BEGIN

/** The waits of a profile. */
struct pesa_why;

/** What a stalled instruction waited for, at the root. */
enum pesa_why_kind {
	PESA_WHY_MISS,	  /**< data that was not in the L1 cache or its TLB */
	PESA_WHY_CHAIN,	  /**< results: the latencies of a chain of instructions */
	PESA_WHY_LATENCY, /**< nothing: its own latency, from the moment it entered the core */
	PESA_WHY_UNIT,	  /**< a busy unit */
	PESA_WHY_STORE,	  /**< the data of an older store that is not in the cache yet */
	PESA_WHY_FENCE,	  /**< an instruction that orders others */
	PESA_WHY_UNKNOWN, /**< the model predicts no wait there */
	PESA_WHY_KINDS,	  /**< how many there are */
};
/** "miss", "chain", "latency", "unit", "store", "fence", "unknown"
 * @any_thread @static_result */
const char *pesa_why_kind_name(enum pesa_why_kind kind);

/** A part of a wait. */
struct pesa_why_cause {
	enum pesa_why_kind kind; /**< at the root */
	double share;		 /**< of the instruction's stalled cycles, 0..1 */
	double cycles;		 /**< of one execution of the stalled instruction */
	/** The instruction that it waited for; the stalled instruction itself where it waited for no
	 * other one (its own miss, its own latency). */
	struct pesa_compare_place producer;
	const char *reg;      /**< the register that it waited for; NULL: none */
	const char *resource; /**< PESA_WHY_UNIT: the busy resource of the model; else NULL */
	/** Where the chain ends: the load that missed, the instruction that found its unit busy,
	 * the longest latency of a recurrence, ... */
	struct pesa_compare_place root;
	unsigned int steps; /**< instructions from the stalled one back to the root; 0: itself */
	/** Whether the chain comes back to an instruction of its own: a recurrence of a loop. */
	bool recurrence;
	unsigned int length; /**< instructions of the recurrence */
	double round;	     /**< cycles of one round of the recurrence */
};

/** How often an instruction met misses: shares of its executions; negative: not recorded. */
struct pesa_why_misses {
	double l1d;  /**< the L1 data cache */
	double l2;   /**< the second level of cache */
	double llc;  /**< the last level of cache */
	double dtlb; /**< the L1 data TLB */
};

/** What an instruction waited for. */
struct pesa_why_wait {
	struct pesa_compare_place place; /**< the stalled instruction */
	double cycles;			 /**< measured stalled cycles, of all executions */
	double executions;		 /**< as measured */
	double each;			 /**< measured stalled cycles of one execution */
	/** Stalled cycles of one execution on the model; NaN: it is on no path. */
	double predicted;
	const struct pesa_why_cause *cause; /**< most cycles first; shares add up to 1 */
	unsigned int causes;		    /**< how many */
};

/** Find the waits of a comparison, which must outlive the result.
 * @one_thread @caller_owns */
struct pesa_error *pesa_why_create(struct pesa_compare *compare, struct pesa_why **why);
/** Free it, and with it what it returned.  NULL is allowed.
 * @one_thread @takes_object */
void pesa_why_free(struct pesa_why *why);

/** How many instructions stalled.
 * @one_thread @nothing_owned */
size_t pesa_why_count(const struct pesa_why *why);
/** A stalled instruction, the one with most stalled cycles first.
 * @one_thread @object_owns */
const struct pesa_why_wait *pesa_why_wait(const struct pesa_why *why, size_t index);
/** The wait of the instruction at an address; NULL: it never stalled.
 * @one_thread @object_owns */
const struct pesa_why_wait *pesa_why_find(const struct pesa_why *why, uint32_t dso,
					  uint64_t address);
/** How often the instruction at an address met misses.
 * @one_thread @nothing_owned */
struct pesa_why_misses pesa_why_misses(const struct pesa_why *why,
				       const struct pesa_compare_place *place);

/* ---- What would be won ---------------------------------------------------------------------- */

/** What is changed at a place. */
enum pesa_why_change {
	PESA_WHY_HIT,	    /**< its loads hit the L1 cache */
	PESA_WHY_PREDICT,   /**< the branch is always predicted */
	PESA_WHY_LATENCY_1, /**< its results are there after one cycle, unless it misses */
	PESA_WHY_FREE_UNIT, /**< it occupies no unit, so it waits for none */
	PESA_WHY_CHANGES,   /**< how many there are */
};
/** "hit", "predict", "latency", "unit"
 * @any_thread @static_result */
const char *pesa_why_change_name(enum pesa_why_change change);

/** A change of one place, and what it would save. */
struct pesa_why_gain {
	enum pesa_why_change change;	 /**< what is changed */
	struct pesa_compare_place place; /**< where */
	/** Measured cycles that are waits for this, at the place and at what follows from it. */
	double waits;
	/** Cycles that the program would save; what else becomes longer is subtracted.  Never more
	 * than was measured of the cycles that become shorter.  The interval may end at `waits`, or
	 * at the cycles for which the instruction occupies its unit. */
	struct pesa_estimate saved;
	double exposed; /**< cycles by which other instructions become longer; subtracted already */
};

/**
 * Estimate what changes at the hottest places would save: at most `count` gains, those whose waits are
 * longest, sorted by what they save.  `wanted`: bit mask of 1 << enum pesa_why_change.  May be called
 * once.
 * @one_thread @nothing_owned */
struct pesa_error *pesa_why_estimate_gains(struct pesa_why *why, uint32_t wanted,
					   unsigned int count);
/** How many were estimated.
 * @one_thread @nothing_owned */
unsigned int pesa_why_gain_count(const struct pesa_why *why);
/** A gain, the largest first; the index must be below the count.
 * @one_thread @object_owns */
const struct pesa_why_gain *pesa_why_gain(const struct pesa_why *why, unsigned int index);

/* ---- What other code would win -------------------------------------------------------------- */

/** What a compiler would have done otherwise with an instruction. */
enum pesa_why_edit {
	PESA_WHY_REMOVED,   /**< it is not there */
	PESA_WHY_NOT_TAKEN, /**< the branch falls through to where it went, and is taken where it fell
			       through */
	PESA_WHY_KEPT,	    /**< a store to the stack: the value stays in a register */
	PESA_WHY_REUSED,    /**< a load of it: the value is in that register */
};

/** An instruction that would be another one. */
struct pesa_why_edited {
	struct pesa_compare_place place; /**< where it is */
	enum pesa_why_edit edit;	 /**< what becomes of it */
	/** PESA_WHY_REMOVED: of so many executions one remains; 0: none.  PESA_WHY_KEPT, _REUSED: number
	 * of the register, the same one for the stores and loads of a value. */
	unsigned int number;
};

/** Estimate what such changes, made together, would save.  Without `enough`: the model has none of these
 * instructions on its paths.
 * @one_thread @nothing_owned */
struct pesa_error *pesa_why_estimate_edits(struct pesa_why *why,
					   const struct pesa_why_edited *edited, size_t count,
					   struct pesa_estimate *saved);

PESA_DECLARATIONS_END

#endif
