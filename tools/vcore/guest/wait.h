/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * System calls of the guest that wait for an event: from another thread, another program or the
 * clock.
 *
 * A thread can lose the turn in these calls.  In all other calls it keeps the turn, however long
 * the host takes.  The arguments of a call and the state of its file decide what it waits for, not
 * the time that it takes.
 */
#ifndef TOOLS_VCORE_GUEST_WAIT_H
#define TOOLS_VCORE_GUEST_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/vcore/core/guest_state.h"

struct process;

/* What a system call waits for; `argument` has at least four elements. */
struct guest_wait guest_wait_of(const struct process *process, int64_t number,
				const uint64_t *argument);
/* Return whether the event that the sleeping call waits for has not occurred yet. */
bool guest_wait_lasts(const struct guest_wait *wait);

#endif
