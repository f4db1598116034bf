/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The golden reference: every cycle, on the instruction it belongs to. */
#ifndef TOOLS_VCORE_CORE_GOLDEN_H
#define TOOLS_VCORE_CORE_GOLDEN_H

#include "tools/vcore/core/step.h"

struct hart;
struct process;

struct vcore_golden *golden_create(struct process *process, const struct insn *insn);
/* Cycles of any kind. */
void golden_bucket(struct hart *hart, const struct insn *insn, unsigned int state,
		   unsigned int group, uint16_t cause, uint64_t cycles);
/* Each of the steps retired with no cause as one of so many, 0: it did not. */
void golden_groups(struct hart *hart, const struct step *step, const uint8_t *size, size_t steps);
/* The nodes that were found last are those of another region now. */
void golden_forget(struct hart *hart);
void golden_transfer(struct hart *hart, const struct insn *insn, uint64_t target);

#endif
