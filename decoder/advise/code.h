/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The code that is advised on: the blocks of the control flow with their predecessors, decoded
 * instructions, functions and natural loops.
 *
 * A loop is natural: all its blocks are reached through its head only.  Loops of one head are one.
 */
#ifndef DECODER_ADVISE_CODE_H
#define DECODER_ADVISE_CODE_H

#include "decoder/profile/isas.h"
#include "pesa/control_flow.h"
#include "pesa/riscv.h"
#include "pesa/symbols.h"

#define ADVISE_NONE UINT32_MAX

struct advise_instruction {
	uint64_t address;
	struct pesa_insn insn; /* see advise_insn() */
	bool decoded;	       /* or not decodable: then its length is 0 */
};

struct advise_block {
	uint32_t dso;
	uint32_t first, count; /* instructions */
	double executions;
	uint64_t callee; /* of a direct call; 0: none */
	bool calls;	 /* its last instruction is a call */
	bool entered;	 /* control comes from outside of the function */
	uint32_t first_edge, edges;
	uint32_t first_predecessor, predecessors; /* in advise_code.predecessor */
	const struct pesa_symbol *function;	  /* NULL: unknown */
	uint32_t loop;				  /* innermost; ADVISE_NONE: none */
};

struct advise_edge {
	uint32_t from, to;
	bool taken; /* else it falls through, or comes back from a call */
	double executions;
};

struct advise_loop {
	uint32_t head;
	uint32_t first, count; /* its blocks, in advise_code.member */
	uint32_t parent;       /* the loop around it; ADVISE_NONE: none */
	bool innermost;
	double iterations; /* executions of its head */
	double entries;	   /* of these, from outside */
	uint32_t instructions;
};

struct advise_code {
	const struct pesa_profile *profile; /* NULL: everything is decoded */
	struct profile_isas isas;
	struct advise_instruction *instruction;
	struct advise_block *block; /* sorted by dso and address */
	struct advise_edge *edge;   /* by block */
	uint32_t *predecessor;	    /* blocks */
	struct advise_loop *loop;   /* outer loops before inner ones */
	uint32_t *member;	    /* blocks of loops */
	uint32_t instructions, blocks, edges, loops, members, loop_room, member_room;
};

struct pesa_error *advise_code_create(const struct pesa_profile *profile,
				      struct pesa_symbols *symbols,
				      const struct pesa_control_flow *flow,
				      struct advise_code *code);
void advise_code_free(struct advise_code *code);
/* Find predecessors and loops; of a code whose blocks and edges are there. */
struct pesa_error *advise_code_link(struct advise_code *code);
/* An instruction, decoded; its length is 0 if it cannot be. */
const struct pesa_insn *advise_insn(const struct advise_code *code, uint32_t block,
				    uint32_t instruction);
/* Whether a block is in a loop, or in one within it. */
bool advise_loop_has(const struct advise_code *code, uint32_t loop, uint32_t block);
/* The block that holds an address, or ADVISE_NONE. */
uint32_t advise_find_block(const struct advise_code *code, uint32_t dso, uint64_t address);
/* The instruction at an address, of that block. */
uint32_t advise_find_instruction(const struct advise_code *code, uint32_t block, uint64_t address);

static inline uint32_t advise_last(const struct advise_block *block)
{
	return block->first + block->count - 1;
}

#endif
