/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Call chains of sampled instructions.
 *
 * The call stack of a hart (tools/vcore/stack/call_stack.h) follows the accounts: when an instruction
 * is sampled, the steps before it are executed on the stack, which then is that of the instruction.
 * A sample may be of an instruction of the batch before, so the newest steps wait between batches.
 */
#ifndef TOOLS_VCORE_CORE_CALL_CHAIN_H
#define TOOLS_VCORE_CORE_CALL_CHAIN_H

#include <stddef.h>
#include <stdint.h>

#include "decoder/core/retirement.h"

struct batch;
struct call_chain;
struct process;

/* Innermost frames of a chain that are recorded; frames beyond them are counted as cut off. */
#define CALL_CHAIN_MAX 2048u

/* NULL: out of memory. */
struct call_chain *call_chain_create(struct process *process);
void call_chain_free(struct call_chain *chain);

/* Begin and end a batch, which is accounted in between. */
void call_chain_begin(struct call_chain *chain, const struct batch *batch);
void call_chain_end(struct call_chain *chain);

/*
 * Execute the steps of the batch before number `step`; negative: a step before the batch, of which
 * there are RETIREMENT_GROUP_MAX at least.  Never goes back.
 */
void call_chain_advance(struct call_chain *chain, ptrdiff_t step);

/*
 * The chain as perf has it: the context (user), `pc`, return addresses, innermost first.  `chain` has
 * room for CALL_CHAIN_MAX + 2.  Returns the number of entries; *cut: whether there were more.
 */
size_t call_chain_copy(const struct call_chain *chain, uint64_t pc, uint64_t *entry, bool *cut);

/* A signal handler is set. */
void call_chain_add_handler(struct process *process, uint64_t address);

#endif
