/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file
 * Comparing measured cycles with those that a processor model predicts.
 *
 * A profile has for each instruction how often it retired and how long it held up the program; a
 * processor model (pesa/mca.h) predicts how long it should have.  The comparison follows the
 * measured control flow through the hot code, executes those paths on the model, and reports
 * measured and predicted cycles of each instruction and of each region (an innermost loop, or the
 * part of a function outside of loops).
 *
 * Only *core time* is compared: cycles in which the instruction retired, and those in which it was
 * stalled without an event.  A scheduling model does not predict stalls with an event (a cache
 * miss, ...), flushes and drained cycles; they are reported separately.
 *
 * From the differences the comparison infers which entries of the model are wrong: the findings.
 * Documentation/compare.md explains how, and what such a measurement cannot show.
 *
 * Threads: different comparisons may be made and used by different threads at the same time.  One
 * is made by one thread, whose profile, symbols and model nobody else may use meanwhile (a model
 * that nobody changes may be shared); once it is made it may be read by many.  What it returns
 * belongs to it.
 */
#ifndef PESA_COMPARE_H
#define PESA_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pesa/api.h"
#include "pesa/error.h"
#include "pesa/estimate.h"
#include "pesa/mca.h"
#include "pesa/profile.h"
#include "pesa/symbols.h"

PESA_DECLARATIONS_BEGIN

/** A comparison: its regions, instructions, findings and totals. */
struct pesa_compare;

/** Minimum number of occurrences on paths for a verdict. */
#define PESA_COMPARE_OCCURRENCES_MIN 4
/** Minimum share of a region's core time in instructions on paths, for a verdict. */
#define PESA_COMPARE_COVERED_MIN 0.5

/** Parameters of the core that its processor model lacks; 0: unknown, use the model's. */
struct pesa_compare_core {
	unsigned int dispatch_width;   /**< micro-ops per cycle */
	unsigned int retire_width;     /**< instructions per cycle */
	unsigned int retired_branches; /**< taken branches that retire in a cycle */
	unsigned int reorder_buffer;   /**< instructions */
	unsigned int load_queue;       /**< entries */
	unsigned int store_queue;      /**< entries */
	/** Stores that go to the cache in a cycle, after they retired; 0: the entry of one is free
	 * when it retires. */
	unsigned int store_ports;
	unsigned int store_latency; /**< cycles that takes if it hits, then its entry is free */
	unsigned int load_latency;  /**< cycles that a hit in the data cache takes at least */
	unsigned int
		drain_latency; /**< cycles from a store's retirement to a load from the cache */
	unsigned int forward_latency; /**< cycles from a store's execution to a load of its data */
	unsigned int fetch_width;     /**< instructions per cycle */
	unsigned int taken_branches;  /**< taken branches that fetch follows per cycle */
	unsigned int fetch_buffer;    /**< instructions between fetch and dispatch */
	unsigned int fetch_bytes;     /**< size of the aligned block that one cycle fetches from */
	unsigned int
		mispredict_penalty; /**< cycles from resolution to dispatch of the right path */
	/** In order: stall cycles of the first instruction after a mispredict, in addition to those
	 * of the model; 0: estimated from the profile. */
	unsigned int redirect_stall;
	/** Physical registers for results of x registers that have not retired; 0: unlimited. */
	unsigned int integer_results;
	unsigned int float_results; /**< likewise of f registers */
};

/** How to compare. */
struct pesa_compare_options {
	const char *processor;	       /**< of the model; NULL: its first */
	struct pesa_compare_core core; /**< known parameters of the core */
	double min_share;	       /**< minimum share of all cycles for a region to be listed */
	unsigned int paths;	       /**< maximum number of paths executed on the model */
	double confidence;	       /**< of intervals and findings; 0.95 for 95 % */
	/** Threads that execute paths; 0: one for each processor that the process may use. */
	unsigned int threads;
	bool no_findings; /**< predict only: do not search for wrong entries of the model */
	/** Called repeatedly with the share done (0..1); may be NULL. */
	void (*progress)(void *context, double share);
	void *progress_context; /**< the first argument of progress() */
};

/** Sets every member to its default.
 * @one_thread @nothing_owned */
void pesa_compare_options_default(struct pesa_compare_options *options);

/**
 * Compare.  `profile`, `symbols` and `model` must outlive the result; the model is not changed.
 * PESA_ERROR_NOT_FOUND: there is nothing to compare, the message says why.
 * @one_thread @caller_owns */
struct pesa_error *pesa_compare_create(const struct pesa_profile *profile,
				       struct pesa_symbols *symbols,
				       const struct pesa_mca_model *model,
				       const struct pesa_compare_options *options,
				       struct pesa_compare **result);
/** Free a comparison, and with it what it returned.  NULL is allowed.
 * @one_thread @takes_object */
void pesa_compare_free(struct pesa_compare *compare);

/** Cycles of the whole profile, a region or an instruction, by state. */
struct pesa_compare_time {
	double core;	 /**< core time: retiring, and stalled without an event */
	double retiring; /**< retiring, included in core */
	double event;	 /**< stalled with an event */
	double flushed;	 /**< flushed */
	double drained;	 /**< drained */
	double unknown;	 /**< from samples without a state */
};

/** Verdict on a difference between measured and predicted cycles. */
enum pesa_compare_verdict {
	PESA_COMPARE_TOO_FEW, /**< too few samples, or too few occurrences on the paths */
	PESA_COMPARE_AGREES,  /**< the interval of the difference includes zero */
	PESA_COMPARE_SLOWER,  /**< more cycles measured than predicted */
	PESA_COMPARE_FASTER,  /**< fewer cycles measured than predicted */
};

/**
 * Whether a load is predicted to wait for a store that the code does not name.  Addresses are not in a
 * profile; that it waits is chosen by the measurement.
 */
enum pesa_compare_waiting {
	PESA_COMPARE_WAITS_AS_CODED, /**< only for stores to what it reads, as far as the code tells */
	PESA_COMPARE_WAITS,	     /**< for the newest store before it */
	/** Its opcode takes longer than in the model, or a load of its basic block waits: both explain the
	 * measurement, so neither is predicted. */
	PESA_COMPARE_MAY_WAIT,
};

/** An instruction, measured and predicted. */
struct pesa_compare_instruction {
	uint32_t dso;				 /**< index in the profile */
	uint64_t address;			 /**< as pesa_instruction.address */
	const struct pesa_instruction *measured; /**< in the profile; NULL: in no sample */
	struct pesa_insn insn;			 /**< the decoded instruction */
	const char *scheduling_class;		 /**< in the model; NULL: none */
	struct pesa_compare_time time;		 /**< measured, of all its executions */
	struct pesa_estimate executions;	 /**< how often it retired */
	struct pesa_estimate core;		 /**< measured core time, cycles per execution */
	double predicted; /**< predicted core time, cycles per execution; NaN: on no path */
	double predicted_stack[2];	   /**< `predicted`, split into retiring and stalled */
	struct pesa_estimate difference;   /**< measured - predicted, cycles per execution */
	enum pesa_compare_verdict verdict; /**< of the difference */
	enum pesa_compare_waiting waiting; /**< of a load; PESA_COMPARE_MAY_WAIT: of any */
};

/** A region: an innermost loop, or the part of a function outside of loops. */
struct pesa_compare_region {
	uint32_t dso;		       /**< index in the profile */
	uint64_t start;		       /**< address of its first byte */
	uint64_t end;		       /**< address after its last byte */
	bool loop;		       /**< whether it is an innermost loop */
	const char *symbol;	       /**< NULL: unknown */
	struct pesa_compare_time time; /**< measured */
	double covered;		       /**< share of its core time in instructions on paths */
	double predicted;	       /**< predicted core time of these instructions, cycles */
	/** Standard deviation of `predicted` that is due to the state in which the code is entered: it has
	 * several steady states; cycles. */
	double unstable;
	struct pesa_estimate measured;	   /**< measured core time of these instructions, cycles */
	struct pesa_estimate difference;   /**< measured - predicted */
	enum pesa_compare_verdict verdict; /**< of the difference */
	size_t first;			   /**< internal */
	size_t count; /**< number of instructions, see pesa_compare_instruction() */
};

/** How many regions are listed.
 * @readers @nothing_owned */
size_t pesa_compare_region_count(const struct pesa_compare *compare);
/** A region, the one with most cycles first; the index must be below the count.
 * @readers @object_owns */
const struct pesa_compare_region *pesa_compare_region(const struct pesa_compare *compare,
						      size_t index);
/** Instruction `index` (below count) of a region, by address.
 * @readers @object_owns */
const struct pesa_compare_instruction *
pesa_compare_instruction(const struct pesa_compare *compare,
			 const struct pesa_compare_region *region, size_t index);

/* ---- Findings ------------------------------------------------------------------------------ */

/** The kind of number in the model that a finding changes. */
enum pesa_compare_change {
	PESA_COMPARE_LATENCY, /**< cycles to the results of a class */
	PESA_COMPARE_CYCLES,  /**< cycles for which a class occupies a resource */
	PESA_COMPARE_ADVANCE, /**< cycles from issue until a class reads its operands */
	PESA_COMPARE_UNITS,   /**< units of a resource */
	PESA_COMPARE_ISSUE,   /**< cycles for which a class holds issue on an in-order core */
	PESA_COMPARE_CHANGES, /**< how many kinds there are */
};
/** "latency", "resource", "advance", "units", "issue"
 * @any_thread @static_result */
const char *pesa_compare_change_name(enum pesa_compare_change kind);

/** Size of the text of a change, with its NUL. */
#define PESA_COMPARE_CHANGE_SIZE 1024
/** Most examples that a finding has. */
#define PESA_COMPARE_EXAMPLES 3
/** Most changes that a finding has as equivalents, and as ties. */
#define PESA_COMPARE_TIES 4

/** An instruction of the profile. */
struct pesa_compare_place {
	uint32_t dso;	  /**< index in the profile */
	uint64_t address; /**< as pesa_instruction.address */
};

/** An entry of the model that explains measured differences, and what it should be. */
struct pesa_compare_finding {
	enum pesa_compare_change kind; /**< of the change */
	/** Name of a SchedWrite; or of a line `class` of the model, and then of all its
	 * SchedWrites; NULL for units. */
	const char *scheduling_class;
	bool one_write;	  /**< whether it is a SchedWrite */
	const char *from; /**< FILE:LINE,... where LLVM defines it; NULL: not known, or several */
	const char *resource;	       /**< of cycles and units, else NULL */
	int model;		       /**< the number in the model */
	int measured;		       /**< the number that explains the measurement best */
	struct pesa_estimate estimate; /**< that number before it was rounded, with its interval */
	/** Whether executions differ by more than one number can explain (a divider).  Then
	 * `measured` is their mean, and not a proposal.  In order only. */
	bool varies;
	/** Quantiles (10 %, 50 %, 90 %) of the core time of the class, over its executions; cycles
	 * per execution, the mean of each instruction. */
	double spread[3];
	double deviations; /**< the measured effect divided by its standard error */
	double cycles;	   /**< change of the program's predicted cycles by the correction */
	/** Part of the differences that it explains, of the instructions whose prediction it
	 * changes; with the other findings in the model. */
	double explained;
	double explained_blocks; /**< the same for basic blocks */
	/** The same for traces: blocks that follow each other nearly always. */
	double explained_traces;
	double executions; /**< of the instructions of the class, or of those that use the resource
			    */
	/** The change, for pesa_mca_model_change() and `pesa record --set`; several are separated
	 * by blanks. */
	char change[PESA_COMPARE_CHANGE_SIZE];
	/** Whether it changes only some opcodes of the class, named in `change`: others contradict
	 * it. */
	bool some_opcodes;
	char mnemonics[128]; /**< of the class, those that were executed, most often first */
	/** Instructions whose predictions the correction changes most. */
	struct pesa_compare_place example[PESA_COMPARE_EXAMPLES];
	unsigned int examples; /**< how many there are */
	/** Changes that differ only in the name of the unit: no measurement distinguishes them. */
	char equivalent[PESA_COMPARE_TIES][256];
	unsigned int equivalents; /**< how many there are */
	/** Changes that would explain it as well; this measurement does not distinguish them. */
	char tie[PESA_COMPARE_TIES][256];
	unsigned int ties; /**< how many there are */
};

/** How many findings there are.
 * @readers @nothing_owned */
unsigned int pesa_compare_finding_count(const struct pesa_compare *compare);
/** A finding, in the order of selection: the one that explains most is first.  The index must be
 * below the count.
 * @readers @object_owns */
const struct pesa_compare_finding *pesa_compare_finding(const struct pesa_compare *compare,
							unsigned int index);

/** Evidence of the executions of one opcode for the finding of its class. */
enum pesa_compare_evidence {
	PESA_COMPARE_MOVED,	   /**< they take the longer (or shorter) time that it predicts */
	PESA_COMPARE_CONTRADICTS,  /**< they do not take that time, although it would be visible */
	PESA_COMPARE_HIDDEN,	   /**< other delays hide it */
	PESA_COMPARE_NOT_EXECUTED, /**< none in the compared code */
	PESA_COMPARE_EVIDENCES,	   /**< how many there are */
};
/** "moved", "contradicts", "hidden", "not executed"
 * @any_thread @static_result */
const char *pesa_compare_evidence_name(enum pesa_compare_evidence evidence);

/** An opcode of the class of a finding. */
struct pesa_compare_opcode {
	const char *name;     /**< LLVM's */
	const char *mnemonic; /**< of its assembly language */
	const char *write;    /**< its SchedWrite; NULL: not known, or not executed */
	const char *from;     /**< FILE:LINE,... where LLVM defines that; NULL: not known */
	enum pesa_compare_evidence evidence; /**< for the finding */
	double executions;		     /**< of all its instructions */
	/** The number that this opcode shows, if all others have that of the finding; not `enough`
	 * unless moved or contradicting. */
	struct pesa_estimate estimate;
};
/** How many opcodes the class of a finding has, executed ones and others; 0 for units.  The index
 * must be below the count of findings.
 * @readers @nothing_owned */
unsigned int pesa_compare_opcode_count(const struct pesa_compare *compare, unsigned int finding);
/** One of them, those with most executions first; both indexes must be below the counts.
 * @readers @object_owns */
const struct pesa_compare_opcode *pesa_compare_opcode(const struct pesa_compare *compare,
						      unsigned int finding, unsigned int index);

/* ---- Differences without a finding --------------------------------------------------------- */

/** Why a change of the model is not a finding. */
enum pesa_compare_refusal {
	PESA_COMPARE_UNCERTAIN,	  /**< its effect is within the uncertainty of the differences */
	PESA_COMPARE_TOO_SMALL,	  /**< its effect is below 0.8 % of the core time */
	PESA_COMPARE_IN_PART,	  /**< less than half of its effect was measured */
	PESA_COMPARE_NOT_DIRECT,  /**< the instructions that it makes slower do not show it */
	PESA_COMPARE_LEAVES_MUCH, /**< it leaves most differences of what it affects */
	PESA_COMPARE_UNLIKELY,	/**< the change is too large for the differences that it explains */
	PESA_COMPARE_AMBIGUOUS, /**< a load that waits for a store explains as much */
	PESA_COMPARE_NO_CANDIDATE, /**< no change of the model explains anything */
	PESA_COMPARE_REFUSALS,	   /**< how many there are */
};

/** Regions that differ from the (corrected) model in one direction, without a finding for it. */
struct pesa_compare_unexplained {
	double cycles;	      /**< measured - predicted; 0: there are no such regions */
	double share;	      /**< share of the core time that is in these regions */
	unsigned int regions; /**< how many there are */
	/** The change that explains most of the difference; empty: none. */
	char change[PESA_COMPARE_CHANGE_SIZE];
	enum pesa_compare_refusal refusal; /**< why that is not a finding */
	double explained; /**< for PESA_COMPARE_LEAVES_MUCH: the part that it explains */
};
/** The differences that no finding explains, in the direction (slower, faster) with more cycles.
 * It lives as long as the comparison.
 * @readers @object_owns */
const struct pesa_compare_unexplained *pesa_compare_unexplained(const struct pesa_compare *compare);

/**
 * A kind of ordering instructions: all those of an opcode with the same ordering.  They are fences,
 * CSR accesses, system instructions, atomics with acquire or release, and instructions that the
 * model lacks.  If the core drains at them, paths end there, and nothing is predicted for them.
 */
struct pesa_compare_ordering {
	struct pesa_compare_place example; /**< the one with most cycles */
	double cycles;			   /**< cycles of all of them, in any state */
	double executions;		   /**< executions of all of them */
	bool modelled;			   /**< the model has a scheduling class for them */
	bool drains; /**< the measurement shows that the core drains at them */
	bool memory; /**< the measurement shows that only loads and stores wait there */
};
/** How many kinds of such instructions were executed.
 * @readers @nothing_owned */
unsigned int pesa_compare_ordering_count(const struct pesa_compare *compare);
/** One of them; the index must be below the count.
 * @readers @nothing_owned */
struct pesa_compare_ordering pesa_compare_ordering(const struct pesa_compare *compare,
						   unsigned int index);

/* ---- Redirects ----------------------------------------------------------------------------- */

/** What redirected the front end. */
enum pesa_compare_redirect_kind {
	PESA_COMPARE_REDIRECT_BRANCH,	 /**< a taken conditional branch */
	PESA_COMPARE_REDIRECT_JUMP,	 /**< a direct jump */
	PESA_COMPARE_REDIRECT_CALL,	 /**< a direct call */
	PESA_COMPARE_REDIRECT_INDIRECT,	 /**< a jump or call through a register */
	PESA_COMPARE_REDIRECT_RETURN,	 /**< a return */
	PESA_COMPARE_REDIRECT_TRAP,	 /**< ecall, ebreak, mret, sret */
	PESA_COMPARE_REDIRECT_NOT_TAKEN, /**< a conditional branch that falls through */
	PESA_COMPARE_REDIRECT_OTHER,	 /**< an instruction that does not transfer control */
	PESA_COMPARE_REDIRECTS,		 /**< how many there are */
};
/** "taken branch", "jump", ...
 * @any_thread @static_result */
const char *pesa_compare_redirect_name(enum pesa_compare_redirect_kind kind);

/** Flushed cycles of a kind of redirects.  A scheduling model has a cost for mispredictions
 * only. */
struct pesa_compare_redirect {
	enum pesa_compare_redirect_kind kind; /**< of redirects */
	bool unaligned;			      /**< their targets are not multiples of four bytes */
	bool mispredicted;		      /**< the cause of the flush is a misprediction */
	double count;  /**< executed transfers or mispredictions of this kind */
	double cycles; /**< flushed cycles of all of them */
	double model;  /**< cycles of each in the model: its mispredict penalty, or 0 */
};
/** How many rows the table has: kinds of redirects that were executed.
 * @readers @nothing_owned */
unsigned int pesa_compare_redirect_count(const struct pesa_compare *compare);
/** A row; the index must be below the count.  It lives as long as the comparison.
 * @readers @object_owns */
const struct pesa_compare_redirect *pesa_compare_redirect(const struct pesa_compare *compare,
							  unsigned int index);

/* ---- Totals -------------------------------------------------------------------------------- */

/** What a profile does not say, and was chosen because the prediction is nearest to the measurement with it. */
struct pesa_compare_chosen {
	const char *directions; /**< of branches: "evenly", "at random" or "in runs" */
	bool store_sets;	/**< loads wait for the newest store of their sets */
	bool units_in_order;	/**< units that are held for long are given in program order */
	unsigned int waiting;	/**< instructions with PESA_COMPARE_WAITS */
	unsigned int perhaps;	/**< instructions with PESA_COMPARE_MAY_WAIT */
};

/** Sums over the profile, and what could not be compared; cycles. */
struct pesa_compare_totals {
	struct pesa_compare_time time; /**< of all instructions */
	double cycles;		       /**< all cycles, unattributed ones included */
	double no_text;		       /**< cycles in code that could not be read */
	double unsupported;	       /**< cycles in instructions that the model does not have */
	double covered;		       /**< core time of instructions on paths */
	double predicted;	       /**< core time of these, predicted */
	double measured;	       /**< core time of these, measured */
	double corrected; /**< core time of these, predicted with the findings in the model */
	/** Standard deviation of relative differences of instructions that neither sampling nor a
	 * finding explains. */
	double misfit_instruction;
	double misfit_region;	 /**< the same for regions */
	uint64_t paths;		 /**< paths executed on the model */
	uint64_t instructions;	 /**< instructions of these paths */
	unsigned int candidates; /**< changes of the model that were tried */
	/** The search was ended before its last steps, because it had executed very many instructions:
	 * much is wrong at once, and findings may be missing. */
	bool ended_early;
	struct pesa_compare_chosen chosen; /**< by the measurement, for all predictions */
};
/** The totals: they live as long as the comparison.
 * @readers @object_owns */
const struct pesa_compare_totals *pesa_compare_totals(const struct pesa_compare *compare);

PESA_DECLARATIONS_END

#endif
