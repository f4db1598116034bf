/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file
 * Comparing what was measured with what a processor model predicts.
 *
 * A profile says for each instruction how often it retired and how long it held up the program; a
 * processor model (pesa/mca.h) says how long it should have.  The comparison follows the measured
 * control flow through the hot code, executes those paths on the model, and sets both side by side,
 * for each instruction and for each region (innermost loop, or what of a function is in none).
 *
 * Only *core time* is compared: cycles in which the instruction retired, and those in which it was
 * stalled and met no event.  Stalls with an event (a cache miss, ...), flushes and drained cycles
 * are what a scheduling model does not claim to know; they are kept apart.
 *
 * From the differences the comparison infers which entries of the model are wrong: the findings.
 * How, and what can be inferred from such a measurement and what can not, is in
 * Documentation/compare.md.
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

/** Fewest occurrences on paths that a verdict needs. */
#define PESA_COMPARE_OCCURRENCES_MIN 4
/** Smallest share of a region's core time in instructions on paths that its verdict needs. */
#define PESA_COMPARE_COVERED_MIN 0.5

/** What is known of the core beyond its processor model; 0: not known, the model's. */
struct pesa_compare_core {
	unsigned int dispatch_width;  /**< micro-ops a cycle */
	unsigned int retire_width;    /**< instructions a cycle */
	unsigned int reorder_buffer;  /**< instructions */
	unsigned int load_queue;      /**< entries */
	unsigned int store_queue;     /**< entries */
	unsigned int drain_latency;   /**< from its retirement to a load from the cache */
	unsigned int forward_latency; /**< cycles from a store's end to a load of its data */
	unsigned int fetch_width;     /**< instructions a cycle */
	unsigned int taken_branches;  /**< that fetch follows in a cycle */
	unsigned int fetch_buffer;    /**< instructions that fetch is ahead of dispatch */
	unsigned int fetch_bytes;     /**< aligned block that one cycle fetches from */
	unsigned int
		mispredict_penalty; /**< cycles from resolution to dispatch of the right path */
	/** In order: cycles that the first instruction behind a mispredict stalls beside those of the
	 * model; 0: estimated from the profile. */
	unsigned int redirect_stall;
};

/** How to compare. */
struct pesa_compare_options {
	const char *processor;	       /**< of the model; NULL: the first */
	struct pesa_compare_core core; /**< what is known of the core */
	double min_share;	       /**< of all cycles: regions with less are not listed */
	unsigned int paths;	       /**< paths that are executed on the model, at most */
	double confidence;	       /**< of intervals and findings; 0.95 */
	/** Called now and then with the share done (0..1); may be NULL. */
	void (*progress)(void *context, double share);
	void *progress_context; /**< the first argument of progress() */
};

/** The values that serve: every member is set.
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

/** Kinds of cycles, in cycles: of the whole profile, a region or an instruction. */
struct pesa_compare_time {
	double core;	 /**< retiring, and stalled without an event */
	double retiring; /**< of it */
	double event;	 /**< stalled with an event */
	double flushed;	 /**< in that state */
	double drained;	 /**< in that state */
	double unknown;	 /**< samples that tell no state */
};

/** What a difference between measured and predicted cycles comes to. */
enum pesa_compare_verdict {
	PESA_COMPARE_TOO_FEW, /**< samples, or the paths do not come by */
	PESA_COMPARE_AGREES,  /**< the interval of the difference includes zero */
	PESA_COMPARE_SLOWER,  /**< measured takes longer than predicted */
	PESA_COMPARE_FASTER,  /**< measured takes less */
};

/** An instruction, measured and predicted. */
struct pesa_compare_instruction {
	uint32_t dso;				 /**< index in the profile */
	uint64_t address;			 /**< as pesa_instruction.address */
	const struct pesa_instruction *measured; /**< of the profile; NULL: in no sample */
	struct pesa_insn insn;			 /**< decoded */
	const char *scheduling_class;	   /**< of the model, NULL: the model has none for it */
	struct pesa_compare_time time;	   /**< measured, of all its executions */
	struct pesa_estimate executions;   /**< times that it retired */
	struct pesa_estimate core;	   /**< measured cycles of core time an execution */
	double predicted;		   /**< the same, predicted; NaN: on no path */
	double predicted_stack[2];	   /**< of it retiring, stalled */
	struct pesa_estimate difference;   /**< measured - predicted, an execution */
	enum pesa_compare_verdict verdict; /**< of the difference */
};

/** A region: an innermost loop, or what of a function is in none. */
struct pesa_compare_region {
	uint32_t dso;		       /**< index in the profile */
	uint64_t start;		       /**< address of its first byte */
	uint64_t end;		       /**< address behind its last byte */
	bool loop;		       /**< whether it is an innermost loop */
	const char *symbol;	       /**< NULL: unknown */
	struct pesa_compare_time time; /**< measured */
	double covered;	  /**< share of the core time in instructions on predicted paths */
	double predicted; /**< cycles of core time, of what is covered */
	struct pesa_estimate measured;	   /**< the same, measured */
	struct pesa_estimate difference;   /**< measured - predicted */
	enum pesa_compare_verdict verdict; /**< of the difference */
	size_t first;			   /**< of its instructions: internal */
	size_t count;			   /**< how many it has, for pesa_compare_instruction() */
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

/** What of a model a finding says to be another. */
enum pesa_compare_change {
	PESA_COMPARE_LATENCY, /**< cycles to the results of a class */
	PESA_COMPARE_CYCLES,  /**< for which a class occupies a resource */
	PESA_COMPARE_ADVANCE, /**< cycles that a class reads its operands later than at issue */
	PESA_COMPARE_UNITS,   /**< of a resource */
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
	/** Name of a SchedWrite, or of a line `class` of the model: then all that has its numbers; NULL
	 * for units. */
	const char *scheduling_class;
	bool one_write;	  /**< whether it is a SchedWrite */
	const char *from; /**< FILE:LINE,... where LLVM defines it; NULL: not known, or several */
	const char *resource;	       /**< NULL but for cycles and units */
	int model;		       /**< what the model says */
	int measured;		       /**< what explains the measurement best */
	struct pesa_estimate estimate; /**< before it was rounded, with its interval */
	/** Whether executions differ by more than any one number explains (a divider): `measured` is
	 * their mean then, and no proposal; in order only. */
	bool varies;
	/** Cycles of core time an execution that the instructions of the class take: 10 % of their
	 * executions are in instructions of up to the first, half of the second, 90 % of the third. */
	double spread[3];
	double deviations; /**< the effect over its standard error */
	double cycles;	   /**< by which the correction changes the program */
	/** Part of the differences of instructions that it explains where it changes the prediction;
	 * with the other findings in the model. */
	double explained;
	double explained_blocks; /**< the same of basic blocks */
	double executions; /**< of the instructions of the class, or of those that use the resource
			    */
	/** For pesa_mca_model_change(), `pesa record --set`; several are separated by blanks. */
	char change[PESA_COMPARE_CHANGE_SIZE];
	/** It changes some opcodes of the class alone, which `change` names: others contradict it. */
	bool some_opcodes;
	char mnemonics[128]; /**< of the class, those that were executed, most often first */
	/** Where the correction moves most. */
	struct pesa_compare_place example[PESA_COMPARE_EXAMPLES];
	unsigned int examples; /**< how many there are */
	/** Changes that are the same but for the name of the unit: no measurement tells them apart.
	 */
	char equivalent[PESA_COMPARE_TIES][256];
	unsigned int equivalents; /**< how many there are */
	/** Changes that would explain it as well; this measurement does not distinguish them. */
	char tie[PESA_COMPARE_TIES][256];
	unsigned int ties; /**< how many there are */
};

/** How many findings there are.
 * @readers @nothing_owned */
unsigned int pesa_compare_finding_count(const struct pesa_compare *compare);
/** A finding, in the order in which they were found: what explains most comes first.  The
 * index must be below the count.
 * @readers @object_owns */
const struct pesa_compare_finding *pesa_compare_finding(const struct pesa_compare *compare,
							unsigned int index);

/** What the executions of one opcode say of a finding for its class. */
enum pesa_compare_evidence {
	PESA_COMPARE_MOVED,	   /**< they take the longer (or shorter) time that it predicts */
	PESA_COMPARE_CONTRADICTS,  /**< they do not, though it would be seen */
	PESA_COMPARE_HIDDEN,	   /**< it would not be seen beside all other delays */
	PESA_COMPARE_NOT_EXECUTED, /**< there are none in the compared code */
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

/* ---- What is not blamed -------------------------------------------------------------------- */

/** Why a change of the model is not a finding. */
enum pesa_compare_refusal {
	PESA_COMPARE_UNCERTAIN,	   /**< its effect is within the uncertainty of the differences */
	PESA_COMPARE_TOO_SMALL,	   /**< its effect is below 0.4 % of the core time */
	PESA_COMPARE_IN_PART,	   /**< less than half of its effect was measured */
	PESA_COMPARE_NOT_DIRECT,   /**< the instructions that it makes slower do not show it */
	PESA_COMPARE_LEAVES_MUCH,  /**< it leaves most of the differences that it touches */
	PESA_COMPARE_UNLIKELY,	   /**< too large a change for what it explains */
	PESA_COMPARE_NO_CANDIDATE, /**< no change of the model explains anything */
	PESA_COMPARE_REFUSALS,	   /**< how many there are */
};

/** Regions that differ from the (corrected) model in one direction, without a finding for it. */
struct pesa_compare_unexplained {
	double cycles;	      /**< measured less predicted; 0: there are no such regions */
	double share;	      /**< of the core time, in these regions */
	unsigned int regions; /**< how many there are */
	/** The change that explains most of it; empty: there is none. */
	char change[PESA_COMPARE_CHANGE_SIZE];
	enum pesa_compare_refusal refusal; /**< why that is not a finding */
	double explained; /**< for PESA_COMPARE_LEAVES_MUCH: which part it explains */
};
/** What no finding explains, in the direction in which more of it is.  It lives as long as the
 * comparison.
 * @readers @object_owns */
const struct pesa_compare_unexplained *pesa_compare_unexplained(const struct pesa_compare *compare);

/**
 * Instructions that order others, all those of an opcode with the same ordering: fences, CSR
 * accesses, system instructions, atomics with acquire or release, and those that the model lacks.
 * Where the core drains at them paths end there, and nothing is predicted for them.
 */
struct pesa_compare_ordering {
	struct pesa_compare_place example; /**< the one with most cycles */
	double cycles;			   /**< of all of them, in any state */
	double executions;		   /**< of all of them */
	bool modelled;			   /**< the model has a scheduling class for them */
	bool drains;			   /**< the core drains at them, as far as was measured */
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

/** What a kind of redirects costs in flushed cycles; a scheduling model knows mispredictions only. */
struct pesa_compare_redirect {
	enum pesa_compare_redirect_kind kind; /**< of redirects */
	bool unaligned;			      /**< their targets are no multiples of four bytes */
	bool mispredicted; /**< those that the cause of the flush says to be mispredicted */
	double count;	   /**< of these transfers or mispredictions, executed */
	double cycles;	   /**< flushed, of all of them */
	double model;	   /**< cycles of each in the model: its mispredict penalty, or 0 */
};
/** How many rows the table has: those that were executed.
 * @readers @nothing_owned */
unsigned int pesa_compare_redirect_count(const struct pesa_compare *compare);
/** A row; the index must be below the count.  It lives as long as the comparison.
 * @readers @object_owns */
const struct pesa_compare_redirect *pesa_compare_redirect(const struct pesa_compare *compare,
							  unsigned int index);

/* ---- Totals -------------------------------------------------------------------------------- */

/** All of it, and what could not be compared. */
struct pesa_compare_totals {
	struct pesa_compare_time time; /**< of all instructions */
	double cycles;		       /**< with what was not attributed */
	double no_text;		       /**< in code that could not be read */
	double unsupported;	       /**< in instructions that the model does not have */
	double covered;		       /**< core time of instructions on predicted paths */
	double predicted;	       /**< core time of these, in the model */
	double measured;	       /**< the same, measured */
	double corrected;	       /**< predicted with the findings in the model */
	/** Standard deviation of relative differences of instructions that neither sampling nor a
	 * finding explains. */
	double misfit_instruction;
	double misfit_region;	 /**< the same of regions */
	uint64_t paths;		 /**< paths that were executed on the model */
	uint64_t instructions;	 /**< instructions of these */
	unsigned int candidates; /**< changes of the model that were tried */
};
/** The totals: they live as long as the comparison.
 * @readers @object_owns */
const struct pesa_compare_totals *pesa_compare_totals(const struct pesa_compare *compare);

PESA_DECLARATIONS_END

#endif
