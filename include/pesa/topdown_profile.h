/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
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
 */
#ifndef PESA_TOPDOWN_PROFILE_H
#define PESA_TOPDOWN_PROFILE_H

#include "pesa/estimate.h"
#include "pesa/profile.h"
#include "pesa/topdown.h"

struct pesa_topdown;

enum pesa_topdown_by {
	PESA_TOPDOWN_BY_NOTHING,
	PESA_TOPDOWN_BY_THREAD,
	PESA_TOPDOWN_BY_CPU,
	PESA_TOPDOWN_BY_TIME,
};

/* Slices of time: as many as this at most, and at least half of it. */
#define PESA_TOPDOWN_SLICES_MAX 512u

/* NULL: out of memory.  `slices` is for _BY_TIME, 2 to PESA_TOPDOWN_SLICES_MAX. */
struct pesa_topdown *pesa_topdown_create(enum pesa_topdown_by by, unsigned int slices);
void pesa_topdown_free(struct pesa_topdown *topdown);
/* For pesa_profile_options.listener; lives as long as `topdown`. */
const struct pesa_profile_listener *pesa_topdown_listener(const struct pesa_topdown *topdown);
/* Once, when the profile is loaded; before anything below.  False: out of memory. */
bool pesa_topdown_finish(struct pesa_topdown *topdown, const struct pesa_profile *profile);

/* Slots a cycle, and whether the recording told it; otherwise it is the most that retired together
 * in any sample. */
unsigned int pesa_topdown_width(const struct pesa_topdown *topdown, bool *told);
/* Cycles of samples that tell of slots, and of those that do not. */
uint64_t pesa_topdown_cycles(const struct pesa_topdown *topdown, uint64_t *silent);

/* Of the whole profile. */
uint64_t pesa_topdown_slots(const struct pesa_topdown *topdown, enum pesa_topdown_node node);
struct pesa_estimate pesa_topdown_share(const struct pesa_topdown *topdown,
					enum pesa_topdown_node node, double confidence);

/* Instructions with slots, in no order. */
struct pesa_topdown_instruction {
	uint32_t dso; /* index in the profile */
	uint64_t address;
	uint64_t slots[PESA_TOPDOWN_NODES_COUNT]; /* of each node, all below it included */
};
size_t pesa_topdown_instruction_count(const struct pesa_topdown *topdown);
void pesa_topdown_instruction(const struct pesa_topdown *topdown, size_t index,
			      struct pesa_topdown_instruction *instruction);

/* Threads, CPUs or slices; threads and CPUs with most slots first, slices in their order. */
struct pesa_topdown_group {
	uint32_t pid, tid, cpu;
	uint64_t start, end; /* ns since the first sample */
	uint64_t samples, cycles;
	uint64_t slots[PESA_TOPDOWN_NODES_COUNT];
};
size_t pesa_topdown_group_count(const struct pesa_topdown *topdown);
void pesa_topdown_group(const struct pesa_topdown *topdown, size_t index,
			struct pesa_topdown_group *group);
/* Share of a node in the slots of the group itself. */
struct pesa_estimate pesa_topdown_group_share(const struct pesa_topdown *topdown, size_t index,
					      enum pesa_topdown_node node, double confidence);

/* Share of a part of the profile that has `slots` of the slots of `all` cycles. */
struct pesa_estimate pesa_topdown_part(const struct pesa_topdown *topdown, uint64_t slots,
				       uint64_t all, double confidence);

/*
 * What was counted beside the samples, as shares of all slots: of the retire stage (what samples
 * estimate) and of dispatch (TOPDOWN.*).  NAN where nothing was.
 */
struct pesa_topdown_counted {
	double retire[PESA_TOPDOWN_NODES_COUNT], dispatch[PESA_TOPDOWN_NODES_COUNT];
	/* The split of bad speculation: slots issued on wrong paths behind mispredicts (A) and clears (B),
	 * cycles of recovery (C, D), slots a cycle (W), and the share of mispredicts in all of it,
	 * (A + C W) / (A + B + (C + D) W). */
	bool has_split;
	uint64_t issued_mispredicts, issued_clears, recovery_mispredicts, recovery_clears;
	double width, mispredict_share;
};
/* False: the recording carries no counts. */
bool pesa_topdown_counts(const struct pesa_profile *profile, struct pesa_topdown_counted *counted);

#endif
