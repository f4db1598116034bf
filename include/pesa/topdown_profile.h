/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file
 * Top-down of a profile: the slots of sampled cycles, by the rule of pesa/topdown.h.
 *
 * Accumulated while a profile is loaded, as its listener: over the whole profile, for each
 * instruction, and, if wanted, for each thread, CPU, or slice of time.
 *
 * A slot is an instruction's when it retired in it, or when it is the one to blame: the one that
 * the record names, or, where it names none, the last that retired (what was missing stands behind
 * it). Slots whose instruction is not known count in the sums of the profile all the same.
 *
 * Shares are estimates with intervals, see estimate.h.  Those of a part of the profile (a function,
 * a thread) are shares of all slots, and their intervals do not know how the retiring slots of a
 * cycle hang together: they are somewhat wider than need be.
 *
 * Threads: different objects may be used by different threads at the same time, one object by one
 * thread at a time until pesa_topdown_finish(); from then on it is only read, by any of them.
 */
#ifndef PESA_TOPDOWN_PROFILE_H
#define PESA_TOPDOWN_PROFILE_H

#include "pesa/api.h"
#include "pesa/estimate.h"
#include "pesa/profile.h"
#include "pesa/topdown.h"

PESA_DECLARATIONS_BEGIN

/** The slots of a profile, by reason. */
struct pesa_topdown;

/** What groups the slots are added up for, besides the whole. */
enum pesa_topdown_by {
	PESA_TOPDOWN_BY_NOTHING, /**< no groups */
	PESA_TOPDOWN_BY_THREAD,	 /**< threads */
	PESA_TOPDOWN_BY_CPU,	 /**< CPUs */
	PESA_TOPDOWN_BY_TIME,	 /**< slices of time */
};

/** Slices of time: as many as this at most, and at least half of it. */
#define PESA_TOPDOWN_SLICES_MAX 512u

/** No slots yet.  NULL: out of memory.  Owned by the caller.  `slices` is for _BY_TIME, 2 to
 * PESA_TOPDOWN_SLICES_MAX.
 * @any_thread @caller_owns */
struct pesa_topdown *pesa_topdown_create(enum pesa_topdown_by by, unsigned int slices);
/** Free them.  NULL is allowed.
 * @one_thread @takes_object */
void pesa_topdown_free(struct pesa_topdown *topdown);
/** For pesa_profile_options.listener; lives as long as `topdown`.
 * @one_thread @object_owns */
const struct pesa_profile_listener *pesa_topdown_listener(const struct pesa_topdown *topdown);
/** Once, when the profile is loaded; before anything below.
 * @one_thread @caller_owns */
struct pesa_error *pesa_topdown_finish(struct pesa_topdown *topdown,
				       const struct pesa_profile *profile);

/** Slots a cycle, and whether the recording has it; otherwise it is the most that retired together
 * in any sample.
 * @readers @nothing_owned */
unsigned int pesa_topdown_width(const struct pesa_topdown *topdown, bool *recorded);
/** Cycles of samples that tell of slots, and of those that do not.
 * @readers @nothing_owned */
uint64_t pesa_topdown_cycles(const struct pesa_topdown *topdown, uint64_t *silent);

/** Slots of a node in the whole profile, all below it included.
 * @readers @nothing_owned */
uint64_t pesa_topdown_slots(const struct pesa_topdown *topdown, enum pesa_topdown_node node);
/** Share of a node in all slots of the profile.
 * @readers @nothing_owned */
struct pesa_estimate pesa_topdown_share(const struct pesa_topdown *topdown,
					enum pesa_topdown_node node, double confidence);

/** An instruction with slots. */
struct pesa_topdown_instruction {
	uint32_t dso;				  /**< index in the profile */
	uint64_t address;			  /**< as pesa_instruction.address */
	uint64_t slots[PESA_TOPDOWN_NODES_COUNT]; /**< of each node, all below it included */
};
/** How many instructions have slots.
 * @readers @nothing_owned */
size_t pesa_topdown_instruction_count(const struct pesa_topdown *topdown);
/** One of them; in no order.
 * @readers @nothing_owned */
void pesa_topdown_instruction(const struct pesa_topdown *topdown, size_t index,
			      struct pesa_topdown_instruction *instruction);

/** A thread, a CPU or a slice of time. */
struct pesa_topdown_group {
	uint32_t pid;				  /**< process, where it is a thread */
	uint32_t tid;				  /**< thread */
	uint32_t cpu;				  /**< CPU, where it is one */
	uint64_t start;				  /**< ns since the first sample */
	uint64_t end;				  /**< likewise */
	uint64_t samples;			  /**< in the group */
	uint64_t cycles;			  /**< of these */
	uint64_t slots[PESA_TOPDOWN_NODES_COUNT]; /**< of each node, all below it included */
};
/** How many groups there are.
 * @readers @nothing_owned */
size_t pesa_topdown_group_count(const struct pesa_topdown *topdown);
/** A group: threads and CPUs with most slots first, slices in their order.
 * @readers @object_owns */
void pesa_topdown_group(const struct pesa_topdown *topdown, size_t index,
			struct pesa_topdown_group *group);
/** Share of a node in the slots of the group itself.
 * @readers @nothing_owned */
struct pesa_estimate pesa_topdown_group_share(const struct pesa_topdown *topdown, size_t index,
					      enum pesa_topdown_node node, double confidence);

/** Share of a part of the profile that has `slots` of the slots of `all` cycles.
 * @readers @nothing_owned */
struct pesa_estimate pesa_topdown_part(const struct pesa_topdown *topdown, uint64_t slots,
				       uint64_t all, double confidence);

/**
 * What was counted beside the samples, as shares of all slots: of the retire stage (what samples
 * estimate) and of dispatch (TOPDOWN.*).  NAN where nothing was.
 */
struct pesa_topdown_counted {
	double retire[PESA_TOPDOWN_NODES_COUNT];   /**< by node, of the retire stage */
	double dispatch[PESA_TOPDOWN_NODES_COUNT]; /**< by node, of dispatch */
	/** Whether there is the split of bad speculation: slots issued on wrong paths behind mispredicts
	 * (A) and clears (B), cycles of recovery (C, D), slots a cycle (W), and the share of
	 * mispredicts in all of it, (A + C W) / (A + B + (C + D) W). */
	bool has_split;
	uint64_t issued_mispredicts;   /**< A, slots */
	uint64_t issued_clears;	       /**< B, slots */
	uint64_t recovery_mispredicts; /**< C, cycles */
	uint64_t recovery_clears;      /**< D, cycles */
	double width;		       /**< W */
	double mispredict_share;       /**< 0..1 */
};
/** What the recording counted.  False: it carries no counts.
 * @readers @nothing_owned */
bool pesa_topdown_counts(const struct pesa_profile *profile, struct pesa_topdown_counted *counted);

PESA_DECLARATIONS_END

#endif
