/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file
 * De-skid: the cycles of instructions from samples that name an instruction some way behind.
 *
 * An interrupt that counts a cycle is taken later: at the next retirement, some instructions behind
 * the one that waited, or where the front end has got to, which may be a whole reorder buffer
 * further.  How far is unknown, and differs with what is in flight.  Three things are known: the
 * code, so that what comes into a block goes out of it; a processor model, which predicts for a path
 * through the code who gets each cycle and what is in flight then; and the samples.
 *
 * First the executions of blocks are estimated from the samples, with flow conserved
 * (control_flow.h).  Paths along this flow are executed on the model.  Each of their cycles has
 * an instruction to blame, and a place for each way in which an interrupt may be taken.  Samples
 * then are a mixture: of the cycles of instructions, known up to what the model does not know
 * (misses, mispredicted branches), and of the ways, of which nothing is assumed.  Both are estimated
 * together (expectation maximisation).  A sample in code that no path has reached stays where it is.
 *
 * The result is an estimate that depends on the model.  Its intervals include how far the model and
 * the samples disagree, but they cannot know what both have wrong; Documentation/plain-samples.md
 * has how often they hold.
 *
 * Threads: different objects may be made and used by different threads at the same time.
 */
#ifndef PESA_DESKID_H
#define PESA_DESKID_H

#include "pesa/compare.h"

PESA_DECLARATIONS_BEGIN

/** Cycles by instruction, estimated. */
struct pesa_deskid;

#define PESA_DESKID_BEHIND_MAX 32u /**< instructions of a way */
#define PESA_DESKID_CYCLES_MAX 16u /**< cycles of a way */
/** Most ways in which interrupts are taken. */
#define PESA_DESKID_WAYS_MAX (2 * (PESA_DESKID_BEHIND_MAX + 1) + 2 * (PESA_DESKID_CYCLES_MAX + 1))

struct pesa_deskid_way;

/** How to estimate; all zero but the processor is valid. */
struct pesa_deskid_options {
	const char *processor;	       /**< of the model; NULL: its first */
	struct pesa_compare_core core; /**< known parameters of the core */
	unsigned int paths;	       /**< how many are executed on the model; 0: 400 */
	/** The model is a stand-in for a processor that is not known: executions are not corrected by
	 * what it predicts. */
	bool generic;
	/** The ways in which interrupts are taken, as a calibration has them; NULL: they are learned from
	 * the samples.  Must outlive the estimate. */
	const struct pesa_deskid_way *ways;
	unsigned int way_count; /**< how many, at most PESA_DESKID_WAYS_MAX */
	/** The program has loops, of single blocks without loads, whose cycles the model knows: the ways
	 * are learned from them first. */
	bool learn_ways;
};

/** Where interrupts are taken, for a part of the cycles. */
enum pesa_deskid_stage {
	PESA_DESKID_BEHIND, /**< so many instructions behind the oldest one that has not retired */
	PESA_DESKID_OLDEST, /**< at the oldest one so many cycles later */
	PESA_DESKID_FRONT,  /**< at the next one to be dispatched so many cycles later */
	/** So many instructions behind the oldest one, but not beyond a mispredicted branch. */
	PESA_DESKID_QUEUE,
};

/** A way in which interrupts are taken. */
struct pesa_deskid_way {
	enum pesa_deskid_stage stage; /**< where */
	unsigned int number;	      /**< instructions or cycles */
	double share;		      /**< of the samples; all add up to 1 */
};

/** An instruction. */
struct pesa_deskid_instruction {
	uint32_t dso;	  /**< index in the profile */
	uint64_t address; /**< as pesa_instruction.address */
	double measured;  /**< cycles by the PC of the samples */
	double cycles;	  /**< estimated */
	double error;	  /**< standard error of the estimate */
	double by_flow;	  /**< cycles that flow and model alone give, without the samples' places */
	double executions; /**< estimated, of its block */
	/** Cycles of an execution in which the model has it retire; NaN: it is on no path. */
	double retiring;
	/** Cycles of an execution in which the model has it stall, without misses; NaN likewise. */
	double stalled;
	unsigned int latency; /**< in the model, cycles; 0: none, or it is on no path */
	/** The unit that it occupies longest, of those for more than a cycle; NULL: none.  Owned by the
	 * model. */
	const char *unit;
};

/**
 * Estimate.  `profile` has samples with only a PC; `symbols` may be NULL.  All must outlive the
 * result; the model is not changed.  PESA_ERROR_ARGUMENT: the samples have more than a PC.
 * @one_thread @caller_owns */
struct pesa_error *pesa_deskid_create(const struct pesa_profile *profile,
				      struct pesa_symbols *symbols,
				      const struct pesa_mca_model *model,
				      const struct pesa_deskid_options *options,
				      struct pesa_deskid **deskid);
/** Free an estimate.  NULL is allowed.
 * @one_thread @takes_object */
void pesa_deskid_free(struct pesa_deskid *deskid);
/** How many instructions there are.
 * @readers @nothing_owned */
size_t pesa_deskid_count(const struct pesa_deskid *deskid);
/** An instruction, sorted by dso and address; the index must be below the count.
 * @readers @object_owns */
const struct pesa_deskid_instruction *pesa_deskid_at(const struct pesa_deskid *deskid,
						     size_t index);
/** The instruction at an address; NULL: there is none.
 * @readers @object_owns */
const struct pesa_deskid_instruction *pesa_deskid_find(const struct pesa_deskid *deskid,
						       uint32_t dso, uint64_t address);
/** The ways in which interrupts were taken, as learned; *count is how many.
 * @readers @object_owns */
const struct pesa_deskid_way *pesa_deskid_ways(const struct pesa_deskid *deskid,
					       unsigned int *count);
/** What a profile is given. */
enum pesa_deskid_step {
	PESA_DESKID_BY_FLOW, /**< pesa_deskid_instruction.by_flow */
	PESA_DESKID_ALL,     /**< pesa_deskid_instruction.cycles */
};
/** Give the profile the estimated cycles (pesa_profile_set_cycles()).  `profile` is the one that they
 * were made of, which has no other user then.
 * @one_thread @nothing_owned */
struct pesa_error *pesa_deskid_apply(const struct pesa_deskid *deskid, enum pesa_deskid_step step,
				     struct pesa_profile *profile);

PESA_DECLARATIONS_END

#endif
