/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The life of a hart, and its trace: the executed runs and accesses as 64-bit words. */
#ifndef TOOLS_VCORE_GUEST_TRACE_H
#define TOOLS_VCORE_GUEST_TRACE_H

#include "tools/vcore/core/hart.h"

struct pesa_error *hart_create(struct process *process, unsigned int index, struct hart **hart);
void hart_free(struct hart *hart);
/*
 * Run the trace through the pipeline.  The last instruction waits for the next one, unless `all`.
 */
void hart_consume(struct hart *hart, bool all);
/*
 * Bring the accounts up to date from a callback in which the emulator may hold locks: do not yield.
 */
void hart_settle(struct hart *hart);
/* The trace is full: like hart_consume(), or hand it to the relay. */
void hart_advance(struct hart *hart);
static inline void hart_append(struct hart *hart, uint64_t word)
{
	*hart->cursor++ = word;
	if (hart->cursor == hart->end)
		hart_advance(hart);
}
/* The thread ends. */
void hart_end(struct hart *hart);
/*
 * The thread ends with the process, by a signal.  If the last instruction is incomplete, it raised
 * the signal.  Does not take the turn.
 */
void hart_die(struct hart *hart);
/* In the child after a fork: restart the calling thread's hart; the others are gone. */
void hart_refork(struct hart *hart);

#endif
