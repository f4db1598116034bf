/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kinds of instructions that the pipeline distinguishes.
 *
 * Flags mark the special properties of an instruction.  The shape of an execution says which of
 * them cannot occur.  The pipeline is compiled once per shape, so that the compiler removes the
 * tests whose result the shape determines.
 */
#ifndef TOOLS_VCORE_CORE_SHAPE_H
#define TOOLS_VCORE_CORE_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

#define INSN_LOAD	      (1u << 0)
#define INSN_STORE	      (1u << 1)
#define INSN_SERIALISE_BEFORE (1u << 2) /* dispatches into an empty reorder buffer */
#define INSN_FLUSH_AFTER      (1u << 3) /* younger instructions are fetched again */
#define INSN_BARRIER	      (1u << 4) /* memory accesses do not pass it */
#define INSN_VECTOR	      (1u << 5)
#define INSN_TRAP	      (1u << 6) /* ecall, ebreak, illegal: may continue elsewhere */
#define INSN_VECTOR_TYPE      (1u << 7) /* sets the vector type */

/*
 * A simple instruction uses one pipe for one cycle, reads at most two registers and writes at most
 * one integer register.  Out of order, it needs all sources at issue.
 */
enum shape {
	SHAPE_ANY,
	SHAPE_PLAIN,  /* COST_PLAIN; no flags other than those for accesses and control flow */
	SHAPE_ALU,    /* simple; writes a register, has no access, execution continues with the
		       * next instruction */
	SHAPE_LOAD,   /* like SHAPE_ALU, but loads */
	SHAPE_STORE,  /* like SHAPE_ALU, but stores and writes no register */
	SHAPE_BRANCH, /* simple, without access; execution may continue anywhere */
};
#define SHAPE_SIMPLE SHAPE_ALU /* this shape and those after it are simple */

static inline __attribute__((always_inline)) bool shape_is_plain(enum shape shape)
{
	return shape != SHAPE_ANY;
}

static inline __attribute__((always_inline)) bool shape_is_simple(enum shape shape)
{
	return shape >= SHAPE_SIMPLE;
}

/* Execution continues with the next instruction, without misprediction. */
static inline __attribute__((always_inline)) bool shape_is_straight(enum shape shape)
{
	return shape_is_simple(shape) && shape != SHAPE_BRANCH;
}

/* `flags`: INSN_* of the instruction. */
static inline __attribute__((always_inline)) bool shape_is_load(enum shape shape,
								unsigned int flags)
{
	return shape_is_simple(shape) ? shape == SHAPE_LOAD : (flags & INSN_LOAD) != 0;
}

static inline __attribute__((always_inline)) bool shape_is_store(enum shape shape,
								 unsigned int flags)
{
	return shape_is_simple(shape) ? shape == SHAPE_STORE : (flags & INSN_STORE) != 0;
}

#endif
