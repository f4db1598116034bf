/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * De-skid: data shared by its parts.
 *
 * 	flow.c       executions of blocks from samples whose PC skids
 * 	walk.c       paths along the flow
 * 	run.c        paths executed on the model: cycles, and what was in flight in each
 * 	estimate.c   cycles of instructions, and the ways of interrupts, from the samples
 * 	ways.c       the ways alone, from loops whose cycles are known
 * 	deskid.c     runs these steps; the result
 *
 * Amounts are in samples: cycles divided by the period.
 */
#ifndef DECODER_DESKID_INSIDE_H
#define DECODER_DESKID_INSIDE_H

#include "decoder/compare/order.h"
#include "decoder/compare/predict.h"
#include "decoder/flow/inside.h"
#include "pesa/deskid.h"

#define DESKID_NONE	 UINT32_MAX
#define DESKID_WAY_LEAST 0.002 /* share; ways with less are dropped */

/*
 * What cycles are given for.  Each instruction has a source of each kind, and each simulated cycle
 * belongs to sources: those of the core to the instructions that retire or stall in it; those of an
 * event to the load that missed, or to the branch that was mispredicted, whose direction is part of
 * the kind because the front end waits there.
 */
enum deskid_kind { DESKID_CORE, DESKID_EVENT, DESKID_TAKEN, DESKID_KINDS };

static inline uint32_t deskid_source(uint32_t node, enum deskid_kind kind)
{
	return DESKID_KINDS * node + kind;
}

/* Whether what follows an instruction is fetched again after it has executed, unless the core knows
 * better: not so for a branch that it predicts. */
static inline bool deskid_flushes_always(const struct pesa_insn *insn)
{
	return insn->length && (compare_writes_csr(insn) ||
				pesa_opcode_get(insn->opcode)->properties & PESA_OPCODE_SYSTEM);
}

static inline bool deskid_may_flush(const struct pesa_insn *insn)
{
	return deskid_flushes_always(insn) ||
	       pesa_opcode_get(insn->opcode)->properties &
		       (PESA_OPCODE_CONDITIONAL | PESA_OPCODE_INDIRECT);
}

/* Nodes are the instructions of the graph. */
struct deskid_code {
	struct pesa_control_flow *flow;
	struct flow_graph *graph;
	struct pesa_insn *insn; /* by node; length 0: not decoded */
	const void **function;	/* by block: its symbol, NULL: none */
	double *unknown;	/* by block: executions that come from unknown places */
	double *samples;	/* by node */
	double period;		/* cycles */
};

/* A part of a simulated cycle. */
struct deskid_blame {
	uint32_t source, node;
	float weight; /* of the cycle */
	float share;  /* of its source */
};

/* A simulated cycle; steps are those of all paths. */
struct deskid_cycle {
	uint32_t oldest; /* that has not retired */
	uint32_t next;	 /* to be dispatched */
	uint32_t limit;	 /* behind the first mispredicted branch in flight; DESKID_NONE: none */
	uint32_t blame, blames;
};

/* Consecutive cycles all of whose landings are known. */
struct deskid_piece {
	size_t first, end;
};

struct deskid_paths {
	uint32_t *node; /* by step */
	size_t steps, step_room;
	struct deskid_cycle *cycle;
	size_t cycles, cycle_room;
	struct deskid_blame *blame;
	size_t blames, blame_room;
	struct deskid_piece *piece;
	size_t pieces, piece_room;
	double *occurrences; /* by node */
	double *retiring;    /* by node: cycles of the core in which it retired */
	double *weight;	     /* by source: cycles */
	double *events;	     /* by source: how many there were */
};

/* One path while it is made and run. */
struct deskid_path {
	struct pesa_mca_instruction *instruction;
	uint32_t *node;
	unsigned int count, room, warm;
};

struct pesa_deskid {
	struct pesa_deskid_options options;
	struct deskid_code code;
	struct deskid_paths paths;
	struct compare_predictor predictor;
	struct pesa_mca_model *model;
	bool out_of_order;
	uint64_t random;
	double *cycles;	    /* by source */
	double *other;	    /* by node: what is no cycle of a path */
	double *blamed;	    /* by node: cycles of all sources that it is to blame for */
	double *predicted;  /* by node: what flow and model alone give */
	double *executions; /* by block */
	double *rate, *due; /* by source: events an execution, and what of the next is due */
	double depth;	    /* mean of the instructions behind the oldest one */
	struct pesa_deskid_way way[PESA_DESKID_WAYS_MAX];
	unsigned int ways;
	struct pesa_deskid_way learned[PESA_DESKID_WAYS_MAX]; /* from the loops of pesa calibrate */
	bool is_calibrated;
	double calibrated[PESA_DESKID_WAYS_MAX]; /* by way: its share in the calibration */
	struct pesa_deskid_instruction *result;	 /* by node */
};

/* A number from 0 to 1, the same ones in each run. */
static inline double deskid_draw(struct pesa_deskid *deskid)
{
	deskid->random =
		deskid->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (double)(deskid->random >> 11) / (double)(UINT64_C(1) << 53);
}

struct pesa_error *deskid_flow(const struct pesa_profile *profile, struct pesa_symbols *symbols,
			       double width, struct deskid_code *code);

struct deskid_walker;
struct pesa_error *deskid_walker_create(struct pesa_deskid *deskid, struct deskid_walker **walker);
void deskid_walker_free(struct deskid_walker *walker);
/* Make a path that reaches a block after its warm-up. */
void deskid_walk(struct deskid_walker *walker, uint32_t block, struct deskid_path *path);

/* Execute a path; of its cycles only those of events are kept, or only the others. */
struct pesa_error *deskid_run(struct pesa_deskid *deskid, const struct deskid_path *path,
			      bool events);
void deskid_paths_clear(struct pesa_deskid *deskid);

/* The node where a simulated cycle's interrupt is taken. */
static inline uint32_t deskid_landing(const struct deskid_paths *paths, size_t cycle,
				      const struct pesa_deskid_way *way)
{
	const struct deskid_cycle *at = &paths->cycle[cycle];
	uint32_t step = at->oldest + way->number;

	if (way->stage == PESA_DESKID_QUEUE && step > at->limit)
		step = at->limit;
	else if (way->stage == PESA_DESKID_OLDEST)
		step = at[way->number].oldest;
	else if (way->stage == PESA_DESKID_FRONT)
		step = at[way->number].next;
	return paths->node[step];
}

/* The shares of the ways, from the paths of loops. */
struct pesa_error *deskid_learn_ways(struct pesa_deskid *deskid);
void deskid_drop_ways(struct pesa_deskid *deskid);
/* By expectation maximisation; fills cycles, other, blamed, predicted, rate, depth and way. */
struct pesa_error *deskid_estimate(struct pesa_deskid *deskid);

#endif
