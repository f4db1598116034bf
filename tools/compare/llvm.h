/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Findings for those who edit LLVM: pesa compare --format td and --format exegesis. */
#ifndef TOOLS_COMPARE_LLVM_H
#define TOOLS_COMPARE_LLVM_H

#include <stdio.h>

#include "tools/compare/comparison.h"

/*
 * Write what to change in LLVM's scheduling models.  Without wanted->llvm: a list of the definitions
 * with the old and new numbers, as comments of a reduced test of llvm-mca.  With it, the folder of a
 * checkout of LLVM: a unified diff of its files, and of that test as a new one.
 *
 * What cannot be changed in the files is said to standard error, one line each; *left is how many
 * findings that are, *count how many there are.
 */
struct pesa_error *compare_write_tablegen(const struct comparison *comparison, FILE *out,
					  size_t *count, size_t *left);

/* Write the numbers that opcodes show, as benchmarks that llvm-exegesis --mode=analysis reads.  *count:
 * how many. */
struct pesa_error *compare_write_exegesis(const struct comparison *comparison, FILE *out,
					  size_t *count);

#endif
