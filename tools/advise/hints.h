/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hints for prefetches, in the form that LLVM's option -prefetch-hints-file reads: a sample profile in
 * text form, in which a line calls "__prefetch_t0_0" as often as the prefetch is ahead of the load, in
 * bytes (llvm/lib/Target/X86/X86InsertPrefetch.cpp).  Only loads with a stride and with debug
 * information have a hint.
 */
#ifndef TOOLS_ADVISE_HINTS_H
#define TOOLS_ADVISE_HINTS_H

#include <stdio.h>

#include "pesa/advise.h"
#include "tools/ui/profile_input.h"

/* The caller checks `out` for errors.  *count: hints. */
struct pesa_error *advise_write_hints(const struct profile_input *input,
				      const struct pesa_advice *advice, FILE *out, size_t *count);

#endif
