/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The golden reference: an exact profile.  Every cycle is counted for the instruction that it
 * belongs to, with its state and cause.
 */
#ifndef TOOLS_VCORE_CORE_GOLDEN_H
#define TOOLS_VCORE_CORE_GOLDEN_H

#include "tools/vcore/core/step.h"

struct hart;
struct process;

struct vcore_golden *golden_create(struct process *process, const struct insn *insn);
/* Count cycles of any state and cause. */
void golden_bucket(struct hart *hart, const struct insn *insn, unsigned int state,
		   unsigned int group, uint16_t cause, uint64_t cycles);
/*
 * Count retired instructions without a cause: `size[i]` is the number of instructions that retired
 * in the cycle of step i; 0: do not count it.
 */
void golden_groups(struct hart *hart, const struct step *step, const uint8_t *size, size_t steps);
/* Clear the cache of nodes, which are in another region after a fork. */
void golden_forget(struct hart *hart);
void golden_transfer(struct hart *hart, const struct insn *insn, uint64_t target);

#endif
