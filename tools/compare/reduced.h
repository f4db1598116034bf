/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reduced tests: for each change a loop of one instruction that takes as long as the measured number
 * says, as a test of llvm-mca.
 */
#ifndef TOOLS_COMPARE_REDUCED_H
#define TOOLS_COMPARE_REDUCED_H

#include <stdio.h>

#include "tools/compare/changes.h"

/* Write the test to `out`: how to run it, a code region for each change that such a loop shows, and
 * the cycles that llvm-mca is to print.  *written: how many regions there are. */
struct pesa_error *compare_write_reduced(const struct comparison *comparison,
					 const struct compare_edits *edits, FILE *out,
					 unsigned int *written);

#endif
