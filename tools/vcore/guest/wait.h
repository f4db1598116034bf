/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * System calls of the guest that wait for something which its other threads, other programs or the
 * clock have to bring.
 *
 * Whoever has the turn keeps it in any other call, however long the host takes for it; in these it
 * may lose it.  What a call waits for is told by its arguments and by the state of its file, not by
 * the time that it takes.
 */
#ifndef TOOLS_VCORE_GUEST_WAIT_H
#define TOOLS_VCORE_GUEST_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/vcore/core/guest_state.h"

struct process;

/* What a system call waits for, with at least four arguments. */
struct guest_wait guest_wait_of(const struct process *process, int64_t number,
				const uint64_t *argument);
/* What such a call, which sleeps, waits for is not there yet. */
bool guest_wait_lasts(const struct guest_wait *wait);

#endif
