/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Divides translated blocks into runs.  step.h defines struct run. */
#ifndef TOOLS_VCORE_GUEST_RUN_H
#define TOOLS_VCORE_GUEST_RUN_H

#include "tools/vcore/core/step.h"

struct process;

/* Return whether `next` can follow `insn` in the same run. */
bool run_continues(const struct insn *insn, const struct insn *next);
/*
 * Get or create the run of these instructions, at most RUN_INSNS; process->lock is held.  NULL: out
 * of memory.
 */
struct run *run_get(struct process *process, struct insn *const *insn, size_t insns);

#endif
