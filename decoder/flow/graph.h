/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The control-flow graph of the code that a profile touches.
 *
 * From each instruction in the profile the code is followed along all successors that the binary
 * names, sampled or not, so that a function is there as a whole.  Calls are not followed: what they
 * call is in the graph if it was sampled.  Indirect jumps lead where they were measured to go.
 *
 * A block ends at a transfer, also at a call: control may not come back from it.
 */
#ifndef DECODER_FLOW_GRAPH_H
#define DECODER_FLOW_GRAPH_H

#include "pesa/control_flow.h"
#include "pesa/riscv.h"

#define FLOW_NONE PESA_CONTROL_FLOW_NONE

struct flow_instruction {
	uint64_t dso, address;
	const struct pesa_instruction *measured; /* NULL: no samples */
	uint64_t target;			 /* of a direct transfer */
	uint8_t length, flow;			 /* bytes; enum pesa_flow */
	bool has_target;
	bool leader; /* begins a block */
	bool called; /* the target of a call */
};

/* What was measured of a block; the block itself is in pesa/control_flow.h. */
struct flow_measured {
	uint32_t first;	 /* instruction */
	uint32_t callee; /* block that its direct call leads to; FLOW_NONE: none */
	bool left;	 /* to outside of the graph: returns, unknown targets */
	/* It may be the target of a jump of its function through a register whose targets are not
	 * known: nothing falls through to it. */
	bool jumped_to;
};

struct flow_graph {
	struct flow_instruction *instruction;  /* sorted by dso and address */
	struct pesa_control_flow_block *block; /* likewise */
	struct flow_measured *measured;	       /* by block */
	struct pesa_control_flow_edge *edge;   /* by block */
	uint32_t instructions, blocks, edges;
};

/* `symbols` may be NULL. */
struct pesa_error *flow_graph_create(const struct pesa_profile *profile,
				     struct pesa_symbols *symbols, struct flow_graph *graph);
void flow_graph_free(struct flow_graph *graph);
/* The instruction at an address, or FLOW_NONE. */
uint32_t flow_graph_find(const struct flow_graph *graph, uint32_t dso, uint64_t address);
/* The block of the instruction at an address, or FLOW_NONE. */
uint32_t flow_graph_find_block(const struct flow_graph *graph, uint32_t dso, uint64_t address);
/* The last instruction of a block. */
const struct flow_instruction *flow_graph_last(const struct flow_graph *graph, uint32_t block);
/* Whether an instruction calls a function. */
bool flow_is_call(uint8_t flow);
/* The block of an instruction. */
uint32_t flow_graph_block(const struct flow_graph *graph, uint32_t instruction);

#endif
