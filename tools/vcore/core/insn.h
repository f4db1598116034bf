/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Static instructions: the properties of an instruction of the program that are the same for all of
 * its executions.
 */
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

/* Vector types with different costs: LMUL in bits 2:0, 1 + log2(SEW / 8) in 5:3; 0: unknown. */
#define INSN_VECTOR_TYPES 64u

/*
 * Cache line size of the host.  The fields that an execution reads are in two lines; the pipeline
 * uses the second one most.
 */
#define INSN_LINE 64u

struct insn {
	uint64_t pc;
	uint64_t target;	     /* of a direct control transfer */
	uint64_t counts;	     /* added to the packed counts per execution, see counters.h */
	struct vcore_golden *golden; /* NULL: no golden reference is kept */
	uint8_t length;		     /* bytes */
	uint8_t flags;		     /* INSN_* */
	uint8_t flow;		     /* enum pesa_flow */
	uint8_t class;		     /* enum pesa_core_class */
	uint8_t vector_type;	     /* the vector type that it sets */
	uint8_t shape;		     /* shape when execution continues with the next instruction;
				      * SHAPE_ANY: see turning_shape */
	uint8_t turning_shape;	     /* shape of all other executions */
	uint8_t fetch;		     /* STEP_TWO_LINES or 0 */
	struct cost **vector_cost;   /* by vector type, created on first use; NULL: always `cost` */
	uint64_t bits;
	struct run *runs; /* runs that begin with this instruction */
	_Alignas(INSN_LINE) struct cost cost;
	struct cost *lists;   /* lists that `cost` points to, to be freed with free() */
	struct insn *next;    /* in the hash chain */
	int32_t stack_offset; /* of its use of sp, bytes */
	uint8_t stack_use; /* enum stack_use and flags; found only where call chains are recorded */
};

struct process;

/* The emulator must report the instruction's memory accesses. */
static inline bool insn_accesses(const struct insn *insn)
{
	return insn->flags & (INSN_LOAD | INSN_STORE | INSN_VECTOR);
}

/* The static instruction at `pc`, whose bytes are at `bytes`; NULL: out of memory. */
struct insn *insn_get(struct process *process, uint64_t pc, const void *bytes);
/* The cost of a vector instruction under a vector type. */
const struct cost *insn_vector_cost(struct process *process, const struct insn *insn,
				    unsigned int vector_type);
/* Forget the instructions of a range, because its contents change. */
void insn_forget(struct process *process, uint64_t start, uint64_t end);
/*
 * In the child after a fork: entries of the golden reference for all instructions, in the child's
 * region.
 */
void insn_refork(struct process *process);

/* Length in bytes of an instruction, from its first 16 bits; 2 for an invalid one. */
static inline unsigned int insn_length(uint16_t bits)
{
	unsigned int length = pesa_insn_length(bits);

	return length < 2 || length > 8 ? 2 : length;
}

#endif
