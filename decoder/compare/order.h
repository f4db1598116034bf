/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Instructions that order others: fences, CSR accesses, system instructions, atomics with ordering,
 * and those that the model does not have.
 *
 * A scheduling model does not say what younger instructions wait for there.  A core may drain: no
 * younger instruction executes before this one has retired.  It may order memory accesses only, as
 * fences and atomics ask: arithmetic passes.  Or it may not wait at all.  Which is nearest to this
 * core is chosen for each kind of them, by the measurement: the paths are predicted in all ways.
 * Where a kind drains, a path ends at it, and another one begins behind it on an empty machine.  The
 * instruction itself has no prediction then.
 *
 * The predictions differ, and the core may do something between them (compare_node.uncertain).
 */
#ifndef DECODER_COMPARE_ORDER_H
#define DECODER_COMPARE_ORDER_H

#include "decoder/compare/code.h"

#define COMPARE_KINDS_MAX 24
#define COMPARE_NO_KIND	  UINT8_MAX

/* What waits at an instruction that orders others. */
enum compare_wait {
	COMPARE_WAIT_NOTHING,
	COMPARE_WAIT_MEMORY, /* younger loads and stores wait for older ones and for it */
	COMPARE_WAIT_ALL,    /* the core drains */
	COMPARE_WAITS,
};

/* A kind: all instructions of an opcode with the same ordering. */
struct compare_kind {
	uint32_t opcode;
	uint32_t ordering; /* acquire and release bits, what a fence orders, or whether it writes */
	uint32_t example;  /* the node with most cycles */
	double cycles;	   /* of all of them, in any state */
	double flushed;	   /* cycles after them */
	double executions;
	bool modelled; /* the model has a scheduling class for it */
	bool memory;   /* a fence or an atomic instruction: it may order memory accesses only */
	enum compare_wait wait; /* as chosen */
};

struct compare_kinds {
	struct compare_kind kind[COMPARE_KINDS_MAX];
	unsigned int count;
};

/* Whether a flush follows the instructions of a kind.  Then nothing younger is in flight: it drains. */
static inline bool compare_kind_flushes(const struct compare_kind *kind)
{
	return kind->flushed > kind->executions;
}

/* CSRRS and CSRRC with x0 or 0 as source do not write (unprivileged specification, Zicsr). */
bool compare_writes_csr(const struct pesa_insn *insn);

/*
 * Find the kinds, and give each node its own.  `supported` (by node) tells which instructions have
 * a class in the model; NULL: all of them.  More kinds than COMPARE_KINDS_MAX do not order.
 */
void compare_kinds_find(struct compare_code *code, const bool *supported,
			struct compare_kinds *kinds);

#endif
