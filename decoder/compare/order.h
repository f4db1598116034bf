/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Instructions that order others: fences, CSR accesses, system instructions, atomics with ordering,
 * and those that the model does not have.
 *
 * A scheduling model does not say what younger instructions wait for there.  A core may drain: no
 * younger instruction executes before this one has retired.  Or it may not wait at all.  Which is
 * nearer to this core is chosen for each kind of them, by the measurement: the paths are predicted
 * in both ways.  Where a kind drains, a path ends at it, and another one begins behind it on an
 * empty machine.  The instruction itself has no prediction then.
 *
 * What lies between the two ways is uncertain (compare_node.uncertain), for fences may let some
 * instructions pass and others not.
 */
#ifndef DECODER_COMPARE_ORDER_H
#define DECODER_COMPARE_ORDER_H

#include "decoder/compare/code.h"

#define COMPARE_KINDS_MAX 24
#define COMPARE_NO_KIND	  UINT8_MAX

/* A kind: all instructions of an opcode with the same ordering. */
struct compare_kind {
	uint32_t opcode;
	uint32_t ordering; /* acquire and release bits, what a fence orders, or whether it writes */
	uint32_t example;  /* the node with most cycles */
	double cycles;	   /* of all of them, in any state */
	double executions;
	bool modelled; /* the model has a scheduling class for it */
	bool drains;   /* as chosen */
};

struct compare_kinds {
	struct compare_kind kind[COMPARE_KINDS_MAX];
	unsigned int count;
};

/*
 * Find the kinds, and give each node its own.  `supported` (by node) tells which instructions have
 * a class in the model; NULL: all of them.  More kinds than COMPARE_KINDS_MAX do not order.
 */
void compare_kinds_find(struct compare_code *code, const bool *supported,
			struct compare_kinds *kinds);

#endif
