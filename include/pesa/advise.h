/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file
 * Advice: what a compiler, or the one who calls it, could do otherwise, with the cycles at stake.
 *
 * A remark names an instruction, what is wrong there in numbers, and what would be saved if it were
 * not so: loads that could be prefetched, calls that could be inlined, branches that are laid out or
 * predicted badly, loops that could be unrolled, values that go through the stack.  It is made of the
 * profile's cycles, the executions of its control flow (pesa/control_flow.h), data flow over loops, and,
 * where there is a processor model, of paths that are executed on it once more as the code would be
 * then (pesa/why.h).
 *
 * Documentation/pgo.md says how each kind was tried.
 *
 * Threads: an object may be read by many threads; what it returns belongs to it.
 */
#ifndef PESA_ADVISE_H
#define PESA_ADVISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pesa/api.h"
#include "pesa/compare.h"
#include "pesa/control_flow.h"
#include "pesa/error.h"
#include "pesa/estimate.h"
#include "pesa/profile.h"
#include "pesa/symbols.h"
#include "pesa/why.h"

PESA_DECLARATIONS_BEGIN

/** Remarks on a profile. */
struct pesa_advice;

/** What a remark is about. */
enum pesa_advice_kind {
	PESA_ADVICE_PREFETCH, /**< a load that misses the cache */
	PESA_ADVICE_INLINE,   /**< a call whose own cost shows */
	PESA_ADVICE_LAYOUT,   /**< a branch that mostly jumps to where it could fall through */
	PESA_ADVICE_PREDICT,  /**< a branch that is mispredicted */
	PESA_ADVICE_UNROLL,   /**< a loop whose counting and branch show */
	PESA_ADVICE_SPILL,    /**< values of a function that go through the stack */
	PESA_ADVICE_KINDS,    /**< how many there are */
};
/** "prefetch", "inline", "layout", "predict", "unroll", "spill"
 * @any_thread @static_result */
const char *pesa_advice_kind_name(enum pesa_advice_kind kind);

/** How a load gets its address in its loop. */
enum pesa_advice_address {
	PESA_ADVICE_STRIDE,   /**< it moves by the same distance each iteration */
	PESA_ADVICE_REGULAR,  /**< likewise, by a distance that is not in the code */
	PESA_ADVICE_CHASED,   /**< from what the iteration before loaded: no prefetch knows it */
	PESA_ADVICE_INDEXED,  /**< from another load of the loop */
	PESA_ADVICE_COMPUTED, /**< from registers, in another way */
	PESA_ADVICE_NO_LOOP,  /**< it is in no loop of its function, or the same in all of them */
	PESA_ADVICE_UNKNOWN,  /**< by what is not understood, or not the same way each time */
	PESA_ADVICE_ADDRESSES /**< how many there are */
};
/** "stride", "regular", "chased", "indexed", "computed", "no loop", "unknown"
 * @any_thread @static_result */
const char *pesa_advice_address_name(enum pesa_advice_address address);

/** A remark.  Members that its kind does not have are 0. */
struct pesa_advice_remark {
	enum pesa_advice_kind kind; /**< what it is about */
	struct pesa_compare_place
		place; /**< the load, call or branch; the one with most of a spill */
	/** Cycles that the program would take fewer, if the model was asked (`modelled`); else all
	 * cycles that were measured at what it is about, of which some may be saved. */
	struct pesa_estimate saved;
	bool modelled; /**< see `saved` */
	/** Measured: exposed on misses, flushed by mispredictions, or of the instructions that would
	 * not be there. */
	double cycles;
	double executions; /**< of the instruction */
	/** Of these: how many missed the L1 cache (negative: not known), jumped, or were mispredicted. */
	double share;
	struct {
		uint64_t head;		   /**< address of its head; 0: no loop */
		double entries;		   /**< how often it was entered */
		double iterations;	   /**< of one entry */
		double cycles;		   /**< of one iteration */
		unsigned int instructions; /**< in its code */
	} loop;				   /**< prefetch, unroll: the loop; predict: that it ends */
	enum pesa_advice_address address;  /**< of a load */
	int64_t stride;	       /**< bytes; of PESA_ADVICE_INDEXED that of `other`; 0: none known */
	unsigned int distance; /**< of a prefetch: iterations ahead; 0: no prefetch can help */
	/** The load with the address or index; the function that is called; where a branch mostly goes
	 * (0: it is indirect); a store of a spill; 0: none. */
	uint64_t other;
	unsigned int instructions; /**< inline: executed by one call; spill: loads and stores */
	unsigned int factor;	   /**< unroll: copies of the loop's body that were tried */
	double callers; /**< inline: share of the function's calls that come from there */
};

/** What is looked for. */
struct pesa_advice_options {
	uint32_t kinds;	   /**< bits 1 << enum pesa_advice_kind */
	double least;	   /**< share of all cycles: smaller remarks are left out */
	double confidence; /**< of intervals: 0.95 for 95 % */
};
/** Sets every member to its default: all kinds, 0.5 % of all cycles, 95 %.
 * @one_thread @nothing_owned */
void pesa_advice_options_default(struct pesa_advice_options *options);

/** Find remarks.  `flow` and `symbols` are the profile's; `why` (NULL: there is no processor model)
 * too, with no gains estimated yet.  All of them must outlive the result.  PESA_ERROR_ARGUMENT: samples
 * have only a PC, which is no ground for advice.
 * @one_thread @caller_owns */
struct pesa_error *pesa_advice_create(const struct pesa_profile *profile,
				      struct pesa_symbols *symbols,
				      const struct pesa_control_flow *flow, struct pesa_why *why,
				      const struct pesa_advice_options *options,
				      struct pesa_advice **advice);
/** Free it, and with it what it returned.  NULL is allowed.
 * @one_thread @takes_object */
void pesa_advice_free(struct pesa_advice *advice);
/** How many remarks there are.
 * @readers @nothing_owned */
size_t pesa_advice_count(const struct pesa_advice *advice);
/** A remark, the one with most cycles at stake first; the index must be below the count.
 * @readers @object_owns */
const struct pesa_advice_remark *pesa_advice_remark(const struct pesa_advice *advice, size_t index);

PESA_DECLARATIONS_END

#endif
