/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs, as the emulator translates them. */
#ifndef TOOLS_VCORE_GUEST_RUN_H
#define TOOLS_VCORE_GUEST_RUN_H

#include "tools/vcore/core/step.h"

struct process;

/* Whether `next` belongs to the run that ends with `insn` so far. */
bool run_goes_on(const struct insn *insn, const struct insn *next);
/* The run of these instructions, RUN_INSNS at most; process->lock is held.  NULL: out of memory. */
struct run *run_get(struct process *process, struct insn *const *insn, size_t insns);

#endif
