/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwinding: call chains from copies of the stack.
 *
 * For programs without frame pointers, a sample can contain the user registers and a part of the
 * user stack (PERF_SAMPLE_REGS_USER and _STACK_USER, `record --call-graph dwarf`). libdw computes
 * the callers from them, by the unwinding tables of the binaries.  A chain ends where the copy of
 * the stack ends, or at a binary that has no tables or is not available.
 *
 * Supported are 64-bit RISC-V and x86-64, recorded on a machine with the host's byte order.
 */
#ifndef DECODER_BINARY_UNWIND_H
#define DECODER_BINARY_UNWIND_H

#include "decoder/binary/binaries.h"
#include "pesa/event.h"
#include "pesa/space.h"

struct pesa_unwinder;

/* arch: as returned by pesa_perfdata_arch(); NULL is riscv64. binaries and spaces must outlive the
 * result.  Returns NULL if out of memory. */
struct pesa_unwinder *pesa_unwinder_create(struct pesa_binaries *binaries,
					   struct pesa_spaces *spaces, const char *arch);
void pesa_unwinder_free(struct pesa_unwinder *unwinder);

/*
 * Complete the call chain of a sample: the kernel's part of the chain is followed by the unwound
 * user part, with context markers and order as the kernel writes them. layout is that of the
 * sample's process.  The sample is unchanged if it has no copy of the stack, or its chain has a
 * user part already.  The new chain is valid until the next call.
 */
struct pesa_error *pesa_unwinder_complete(struct pesa_unwinder *unwinder,
					  const struct pesa_layout *layout,
					  struct pesa_sample *sample);

#endif
