/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Branches and blocks of one binary, as binary optimisers want them: every transfer of control that
 * was taken, from the instruction to its target, and the blocks that were executed in between.
 */
#ifndef DECODER_PGO_BRANCHES_H
#define DECODER_PGO_BRANCHES_H

#include "pesa/pgo.h"

/* A taken transfer. */
struct pgo_branch {
	uint64_t from, to; /* addresses; `to` is in the same binary, or 0: elsewhere */
	double count, mispredicted;
};

struct pgo_branches {
	const struct pesa_profile *profile;
	struct pesa_symbols *symbols;
	const struct pesa_control_flow *flow;
	uint32_t dso, begin, end;  /* blocks of the binary */
	struct pgo_branch *branch; /* by `from` and `to` */
	size_t count, room;
};

/* Calls are branches; returns are, where they were measured to go.  Adds to the summary. */
struct pesa_error *pgo_branches_create(const struct pesa_profile *profile,
				       struct pesa_symbols *symbols,
				       const struct pesa_control_flow *flow, uint32_t dso,
				       struct pgo_branches *branches,
				       struct pesa_pgo_summary *summary);
void pgo_branches_free(struct pgo_branches *branches);

/* The executions with which control fell through from a block to the next; 0 behind a call, from which
 * a return comes back. */
double pgo_fell_through(const struct pgo_branches *branches, uint32_t number);

#endif
