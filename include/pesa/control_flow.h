/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file
 * Flow: how often each block of code and each branch direction was executed, consistently.
 *
 * A profile estimates the executions of every instruction by itself: two instructions of one block,
 * which are always executed equally often, get different numbers.  Here the control flow of the
 * program is recovered from the binary, and the executions of all blocks and the directions of all
 * branches are estimated together, such that in every block what comes in goes out, and that the
 * sum of the squared differences from what was measured, weighted by its variance, is least.  (The
 * problem is the one that LLVM's profile inference solves for counts of source lines; here counts
 * are those of instructions, with known variance, and branch directions are measured too.)
 *
 * Of an exact profile the numbers are its own.  Samples that have only a PC tell nothing about
 * executions or directions: blocks then get numbers in proportion to their cycles.
 *
 * Units: executions, as pesa_instruction.executions.
 *
 * Threads: an object may be read by many threads; it is independent of the profile once it is made.
 */
#ifndef PESA_CONTROL_FLOW_H
#define PESA_CONTROL_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pesa/api.h"
#include "pesa/error.h"
#include "pesa/profile.h"
#include "pesa/symbols.h"

PESA_DECLARATIONS_BEGIN

/** The flow through the code of a profile. */
struct pesa_control_flow;

/** Block that is not in the flow. */
#define PESA_CONTROL_FLOW_NONE UINT32_MAX

/** A block: instructions that are executed one after another, the last of which may transfer
 * control, or is followed by one that others transfer control to. */
struct pesa_control_flow_block {
	uint32_t dso;	       /**< dso index */
	uint64_t start;	       /**< address of its first instruction, as in a profile */
	uint64_t last;	       /**< of its last one */
	uint64_t end;	       /**< behind its last one */
	uint32_t instructions; /**< how many */
	double executions;     /**< estimated */
	double error;	       /**< its standard error; 0: exact, or not computed */
	double measured;       /**< mean over its instructions, before flow was conserved */
	/** Address of what its last instruction calls, in its own dso; 0: it calls nothing, or
	 * through a pointer. */
	uint64_t callee;
	bool calls;	     /**< its last instruction is a call */
	bool entered;	     /**< a call leads here, or nothing in the flow does */
	uint32_t first_edge; /**< index of its first successor; the others follow */
	uint32_t edges;	     /**< how many successors it has */
};

/** A successor of a block: the next block, or one to which its last instruction transfers control.
 * Calls lead to the block behind them. */
struct pesa_control_flow_edge {
	uint32_t from;	   /**< block */
	uint32_t to;	   /**< block */
	bool taken;	   /**< a transfer of control; else the next block */
	bool indirect;	   /**< the target was measured, not read from the code */
	double executions; /**< estimated */
};

/** Estimate the flow.  `symbols` (may be NULL) tell where functions begin that only pointers call.
 * `errors`: compute standard errors too, which takes several times as long.
 * The caller frees it.
 * @any_thread @caller_owns */
struct pesa_error *pesa_control_flow_create(const struct pesa_profile *profile,
					    struct pesa_symbols *symbols, bool errors,
					    struct pesa_control_flow **flow);
/** Free a flow.  NULL is allowed.
 * @one_thread @takes_object */
void pesa_control_flow_free(struct pesa_control_flow *flow);

/** Give the profile the executions of the flow: estimates of executions, and of cycles an execution,
 * are then those, with their intervals (pesa_profile_set_executions()).  `profile` is the one that the
 * flow was made of, with errors.  Does nothing where samples have only a PC, and to an exact profile.
 * @one_thread @nothing_owned */
struct pesa_error *pesa_control_flow_apply(const struct pesa_control_flow *flow,
					   struct pesa_profile *profile);

/** Whether the numbers are in proportion to cycles, because samples have only a PC.
 * @readers @nothing_owned */
bool pesa_control_flow_is_plain(const struct pesa_control_flow *flow);

/** How many blocks there are.
 * @readers @nothing_owned */
uint32_t pesa_control_flow_block_count(const struct pesa_control_flow *flow);
/** A block, sorted by dso and address; the index must be below the count.
 * @readers @object_owns */
const struct pesa_control_flow_block *
pesa_control_flow_block_at(const struct pesa_control_flow *flow, uint32_t index);
/** Address of an instruction of a block; `number` is below the block's number of instructions.
 * @readers @nothing_owned */
uint64_t pesa_control_flow_address(const struct pesa_control_flow *flow, uint32_t block,
				   uint32_t number);
/** An edge; the index must be one of a block's.
 * @readers @object_owns */
const struct pesa_control_flow_edge *pesa_control_flow_edge_at(const struct pesa_control_flow *flow,
							       uint32_t index);
/** The block that holds an address, or PESA_CONTROL_FLOW_NONE.
 * @readers @nothing_owned */
uint32_t pesa_control_flow_find(const struct pesa_control_flow *flow, uint32_t dso,
				uint64_t address);

PESA_DECLARATIONS_END

#endif
