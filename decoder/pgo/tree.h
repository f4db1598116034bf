/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Executions of source lines, as compilers want them: a tree of functions.
 *
 * The roots are functions of the binary; below them is what was inlined into them, by the place of
 * the call.  Places are lines relative to the first line of their function, with a discriminator.
 * The executions of a place are the most that one of its instructions has: several instructions of
 * a line are executed together.  Where a compiler copied a loop's body (unrolling, vectorisation),
 * its discriminators say into how many copies, and each counts as that many.
 *
 * That no sample saw a function does not say that it is never executed, but LLVM optimises for size
 * what a profile has no executions of.  So where less than one of its executed instructions is
 * expected among the samples, its lines have half of what one sample stands for, at least.  What is
 * inlined into a function that was sampled keeps its zeros.
 *
 * Where a binary has pseudo probes (decoder/binary/pseudo_probe.h) LLVM wants places to be these: an
 * offset is the number of a probe, the executions of its copies are added up, and a function has the
 * checksum of its control flow.
 */
#ifndef DECODER_PGO_TREE_H
#define DECODER_PGO_TREE_H

#include "decoder/base/distinct.h"
#include "pesa/pgo.h"

#define PGO_NONE DISTINCT_NONE

/* Whether a binary is the wanted one or another build of it, which has the same path; of PESA_PGO_ANY_DSO:
 * whether it is a file. */
bool pgo_is_wanted(const struct pesa_profile *profile, uint32_t wanted, uint32_t dso);

/* A place in a function. */
struct pgo_place {
	uint32_t offset; /* line, from that of the function; modulo 2^16 */
	/* LLVM's base discriminator; all of GCC's, which reads none: gcc.c makes one of several. */
	uint32_t discriminator;
};

/* A function, or one that was inlined.  The key ends before `executions`. */
struct pgo_function {
	uint32_t parent;	/* function; PGO_NONE: a root */
	uint32_t name;		/* in texts */
	struct pgo_place place; /* of the call in the parent; 0 of a root */
	double entered;	     /* of a root: executions of its first block that come from outside */
	double instructions; /* executions of its instructions, and of what is inlined into it */
	double total;	     /* sum of its lines and of what is inlined into it */
	uint64_t checksum;   /* of a tree of probes */
};

/* A line.  The key ends before `executions`. */
struct pgo_line {
	uint32_t function;
	struct pgo_place place;
	double executions;
};

/* A call that a line makes.  The key ends before `executions`. */
struct pgo_call {
	uint32_t function;
	struct pgo_place place;
	uint32_t name; /* of what is called, in texts */
	double executions;
};

struct pgo_tree {
	struct distinct_bytes texts;
	struct distinct_records functions, lines, calls;
	/* Numbers in the order of writing: functions by parent, place and name; lines and calls by
	 * function and place. */
	uint32_t *function, *line, *call;
	bool probed; /* places are pseudo probes */
};

/* `gcc`: for GCC, not LLVM.  Adds to the summary. */
struct pesa_error *pgo_tree_create(const struct pesa_profile *profile, struct pesa_symbols *symbols,
				   const struct pesa_control_flow *flow, uint32_t dso, bool gcc,
				   struct pgo_tree *tree, struct pesa_pgo_summary *summary);
void pgo_tree_free(struct pgo_tree *tree);

static inline const struct pgo_function *pgo_function_at(const struct pgo_tree *tree,
							 uint32_t number)
{
	return distinct_records_at(&tree->functions, number);
}

static inline const struct pgo_line *pgo_line_at(const struct pgo_tree *tree, uint32_t number)
{
	return distinct_records_at(&tree->lines, number);
}

static inline const struct pgo_call *pgo_call_at(const struct pgo_tree *tree, uint32_t number)
{
	return distinct_records_at(&tree->calls, number);
}

/* The functions inlined into one (PGO_NONE: the roots), its lines, or its calls: positions
 * begin <= i < end in the tree's arrays. */
struct pgo_range {
	uint32_t begin, end;
};
struct pgo_range pgo_children(const struct pgo_tree *tree, uint32_t function);
struct pgo_range pgo_lines(const struct pgo_tree *tree, uint32_t function);
struct pgo_range pgo_calls(const struct pgo_tree *tree, uint32_t function,
			   const struct pgo_place *place);

#endif
