/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kinds of instructions, as the pipeline tells them apart.
 *
 * What is special about an instruction are flags.  Its shape says what the pipeline may take for
 * granted of an execution of it: the pass of the pipeline is compiled for each shape, and with the
 * shape a constant the questions below cost nothing where it answers them.
 */
#ifndef TOOLS_VCORE_CORE_SHAPE_H
#define TOOLS_VCORE_CORE_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

#define INSN_LOAD	      (1u << 0)
#define INSN_STORE	      (1u << 1)
#define INSN_SERIALISE_BEFORE (1u << 2) /* dispatches into an empty reorder buffer */
#define INSN_FLUSH_AFTER      (1u << 3) /* what was fetched after it is fetched again */
#define INSN_BARRIER	      (1u << 4) /* memory accesses do not pass it */
#define INSN_VECTOR	      (1u << 5)
#define INSN_TRAP	      (1u << 6) /* ecall, ebreak, illegal: execution may go on elsewhere */
#define INSN_VECTOR_TYPE      (1u << 7) /* sets the vector type */

/*
 * Simple ones use one pipe for a cycle, read two registers at most, write an integer register at
 * most, and, out of order, need no source at another time than at issue.
 */
enum shape {
	SHAPE_ANY,
	SHAPE_PLAIN,  /* COST_PLAIN, and nothing but its accesses and flow is special */
	SHAPE_ALU,    /* simple; it writes a register, goes on to the next one, has no access */
	SHAPE_LOAD,   /* likewise, but that it loads */
	SHAPE_STORE,  /* likewise, but that it stores, and writes no register */
	SHAPE_BRANCH, /* simple, without access; it may go on anywhere */
};
#define SHAPE_SIMPLE SHAPE_ALU /* it, and what follows it */

static inline __attribute__((always_inline)) bool shape_is_plain(enum shape shape)
{
	return shape != SHAPE_ANY;
}

static inline __attribute__((always_inline)) bool shape_is_simple(enum shape shape)
{
	return shape >= SHAPE_SIMPLE;
}

/* It goes on to the next instruction, as it should. */
static inline __attribute__((always_inline)) bool shape_is_straight(enum shape shape)
{
	return shape_is_simple(shape) && shape != SHAPE_BRANCH;
}

/* `flags`: of the instruction, INSN_*. */
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
