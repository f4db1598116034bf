/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The executable mappings of the guest, which are announced to the recorder as side band; see
 * space.c.
 */
#ifndef TOOLS_VCORE_GUEST_SPACE_H
#define TOOLS_VCORE_GUEST_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/vcore/core/guest_state.h"

struct hart;
struct process;

/* Return whether the mapping that holds `pc` was announced. */
bool space_is_announced(struct process *process, uint64_t pc);
/* Announce the mapping that holds `pc`, once.  process->lock is held. */
void space_announce(struct process *process, uint64_t pc);
/*
 * Return whether the descriptor is of a jitdump file.  Readers find the file by its mapping, which
 * is never executed.
 */
bool space_is_dump(int fd);
/* A range is unmapped or replaced: finish the counts of its code and forget its instructions. */
void space_drop(struct process *process, struct hart *hart, uint64_t start, uint64_t end);
/* Return whether the code has no file and has not been announced.  process->lock is held. */
bool space_is_new_code(struct process *process, uint64_t pc, const void *bytes, size_t size);
/*
 * Announce code without a file, and finish the counts of older code at its address.  process->lock
 * is held.
 */
void space_announce_code(struct process *process, struct hart *hart, uint64_t pc, const void *bytes,
			 size_t size);
/* Announce the name of the process; `exec`: of a program that begins. */
void space_name(struct process *process, const char *name, bool exec);

#endif
