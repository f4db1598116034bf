/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Static instructions: what an instruction of the program is, whenever it is executed. */
#ifndef TOOLS_VCORE_CORE_INSN_H
#define TOOLS_VCORE_CORE_INSN_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/vcore/channel.h"
#include "tools/vcore/core/cost.h"
#include "tools/vcore/core/counters.h"
#include "tools/vcore/core/shape.h"
#include "pesa/riscv.h"

#define INSN_BITS_SRET 0x10200073u

/* Vector types that cost differently: LMUL in bits 2:0, 1 + log2(SEW / 8) in 5:3; 0: not known. */
#define INSN_VECTOR_TYPES 64u

/* A line of the host's caches: what executions read of an instruction lies in two of them, of which
 * the pipeline needs the second one most. */
#define INSN_LINE 64u

struct insn {
	uint64_t pc;
	uint64_t target;	     /* of a direct transfer */
	uint64_t counts;	     /* what an execution adds to the counters, see counters.h */
	struct vcore_golden *golden; /* NULL when no golden reference is kept */
	uint8_t length;		     /* bytes */
	uint8_t flags;		     /* INSN_* */
	uint8_t flow;		     /* enum pesa_flow */
	uint8_t class;		     /* enum pesa_core_class */
	uint8_t vector_type;	     /* that it sets */
	uint8_t shape;		     /* of an execution that goes on; SHAPE_ANY: see the other */
	uint8_t turning_shape;	     /* of any other execution */
	uint8_t fetch;		     /* STEP_TWO_LINES or nothing */
	struct cost **vector_cost; /* by vector type, made when first needed; NULL: always `cost` */
	uint64_t bits;
	struct run *runs; /* that begin with it */
	_Alignas(INSN_LINE) struct cost cost;
	struct cost *lists; /* where those of `cost` are, to be freed with free() */
	struct insn *next;  /* in the hash table */
};

struct process;

/* The emulator has to tell of its accesses. */
static inline bool insn_accesses(const struct insn *insn)
{
	return insn->flags & (INSN_LOAD | INSN_STORE | INSN_VECTOR);
}

/* The static instruction at `pc`, whose bytes are at `bytes`; NULL: out of memory. */
struct insn *insn_get(struct process *process, uint64_t pc, const void *bytes);
/* What a vector instruction costs under a vector type. */
const struct cost *insn_vector_cost(struct process *process, const struct insn *insn,
				    unsigned int vector_type);
/* Forget the instructions of a range: what is executed there later is something else. */
void insn_forget(struct process *process, uint64_t start, uint64_t end);
/* After fork: entries of the golden reference for all instructions, in the child's own region. */
void insn_refork(struct process *process);

/* Bytes of an instruction, by its first two; of what is none, 2. */
static inline unsigned int insn_length(uint16_t bits)
{
	unsigned int length = pesa_insn_length(bits);

	return length < 2 || length > 8 ? 2 : length;
}

#endif
