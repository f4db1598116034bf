/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The life of a hart, and its trace: what the emulator told of it, in words of 64 bits.
 */
#ifndef TOOLS_VCORE_GUEST_TRACE_H
#define TOOLS_VCORE_GUEST_TRACE_H

#include "tools/vcore/core/hart.h"

struct hart *hart_create(struct process *process, unsigned int index);
void hart_free(struct hart *hart);
/* Hand the trace to the pipeline.  The last instruction waits for the next one, unless `all`. */
void hart_consume(struct hart *hart, bool all);
/* Bring the accounts up to date inside of the emulator, which may have locks: no turn is given up.
 */
void hart_settle(struct hart *hart);
/* The trace is full: likewise, or to the relay. */
void hart_advance(struct hart *hart);
static inline void hart_append(struct hart *hart, uint64_t word)
{
	*hart->cursor++ = word;
	if (hart->cursor == hart->end)
		hart_advance(hart);
}
/* The thread ends. */
void hart_end(struct hart *hart);
/* Likewise, with the process, in the middle of it: the last instruction, if it did not do what it
 * should, is what it died of.  No turns are taken. */
void hart_die(struct hart *hart);
/* After fork, in the child: the calling thread's hart begins anew, the others are gone. */
void hart_refork(struct hart *hart);

#endif
