/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwinding: call chains from copies of the stack.
 *
 * Where a program keeps no frame pointers, a sample can carry the program's registers and a piece
 * of its stack (PERF_SAMPLE_REGS_USER and _STACK_USER, `record --call-graph dwarf`).  The callers
 * follow from these by the unwinding tables of the binaries, which libdw reads and interprets.  A
 * chain ends where the copy of the stack does, or where a binary has no tables or is not to be had.
 *
 * RISC-V and x86-64, 64 bit, recorded on a machine of this byte order.
 */
#ifndef DECODER_BINARY_UNWIND_H
#define DECODER_BINARY_UNWIND_H

#include "decoder/binary/binaries.h"
#include "pesa/perfdata.h"
#include "pesa/space.h"

struct pesa_unwinder;

/* arch: as pesa_perfdata_arch() tells it, NULL is riscv64.  binaries and spaces must outlive the
 * result.  NULL: out of memory. */
struct pesa_unwinder *pesa_unwinder_create(struct pesa_binaries *binaries,
					   struct pesa_spaces *spaces, const char *arch);
void pesa_unwinder_free(struct pesa_unwinder *unwinder);

/*
 * Complete the call chain of a sample: what it has of the kernel, then the program's part, marked
 * and ordered as the kernel writes them.  layout is that of the sample's process.  Nothing is
 * changed where the sample has no copy of the stack, or its chain has a program's part.  The new
 * chain is valid until the next call.  False: out of memory.
 */
bool pesa_unwinder_complete(struct pesa_unwinder *unwinder, const struct pesa_layout *layout,
			    struct pesa_sample *sample);

#endif
