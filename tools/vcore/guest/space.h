/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The mappings of the guest. */
#ifndef TOOLS_VCORE_GUEST_SPACE_H
#define TOOLS_VCORE_GUEST_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/vcore/core/guest_state.h"

struct hart;
struct process;

/* Was the mapping that holds `pc` announced? */
bool space_knows(struct process *process, uint64_t pc);
/* Announce the mapping that holds `pc` unless that was done.  process->lock is held. */
void space_need(struct process *process, uint64_t pc);
/* Whether a descriptor is of a file in which a compiler tells of its code: readers need to know where
 * it is, and the mapping that tells them is never executed. */
bool space_is_dump(int fd);
/* A range goes away: if there was code in it, its counts are final, and what comes there later is
 * something else. */
void space_drop(struct process *process, struct hart *hart, uint64_t start, uint64_t end);
/* Whether code that is about to run is to be told: no file holds it, and it is new. */
bool space_lacks(struct process *process, uint64_t pc, const void *bytes, size_t size);
/* Tell it; what was counted for other code in its place is final.  Both with process->lock held. */
void space_tell(struct process *process, struct hart *hart, uint64_t pc, const void *bytes,
		size_t size);
/* Announce the name of the process, `exec`: as that of a program that begins. */
void space_name(struct process *process, const char *name, bool exec);

#endif
