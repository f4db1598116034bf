/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds out what the instructions of a trace did. */
#ifndef TOOLS_VCORE_GUEST_OUTCOME_H
#define TOOLS_VCORE_GUEST_OUTCOME_H

#include "tools/vcore/core/hart.h"

/*
 * Resolve the trace to steps of `batch`.  Returns the first word that is not used: the last run
 * waits for the next one, unless `all`.
 */
const uint64_t *outcome_resolve(struct hart *hart, struct batch *batch, bool all);
/* The last run of a trace, which is not empty. */
const uint64_t *outcome_last_run(const struct hart *hart);
/* The instruction can continue at itself without having been started over. */
bool outcome_jumps_to_itself(const struct insn *insn);
/*
 * The run made fewer or more accesses than its steps make.  Returns the number of steps that began:
 * the last one lacks its access.  Excess accesses are not modelled.
 */
size_t outcome_count_begun(const struct run *run, struct step *step, size_t *accesses);
/*
 * The next pc after the last step of a thread that dies: the step faulted, or the signal came after
 * it.
 */
uint64_t outcome_pc_of_death(const struct step *step);
/*
 * Resolve a step that does not simply continue with the next instruction; execution continued at
 * `next`.  `*several` is set if it may take several entries of the reorder buffer.  Returns false if
 * the emulator restarted the instruction, which counts only when it completes.
 */
bool outcome_of_flow(struct hart *hart, struct step *step, uint64_t next, bool *several);

#endif
