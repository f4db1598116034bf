/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writing a profile for compilers or binary optimisers: what the formats share. */
#ifndef DECODER_PGO_WRITE_H
#define DECODER_PGO_WRITE_H

#include <math.h>

#include "decoder/pgo/branches.h"
#include "decoder/pgo/tree.h"

/* A format writes lines of functions, or branches of a binary; the other function is NULL.  Write
 * errors are checked once, at the end. */
typedef struct pesa_error *pgo_tree_writer(const struct pgo_tree *tree,
					   struct pesa_pgo_summary *summary, FILE *out);
typedef struct pesa_error *pgo_branch_writer(const struct pgo_branches *branches,
					     struct pesa_pgo_summary *summary, FILE *out);

pgo_tree_writer pgo_write_llvm_text, pgo_write_llvm_binary, pgo_write_gcc;
pgo_branch_writer pgo_write_bolt, pgo_write_bolt_basic, pgo_write_preaggregated, pgo_write_autofdo,
	pgo_write_branch_stack;

/* Counts in files are whole numbers. */
static inline uint64_t pgo_count(double executions)
{
	return executions > 0 ? (uint64_t)llround(executions) : 0;
}

#endif
