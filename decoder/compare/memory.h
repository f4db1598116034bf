/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which load of a path reads what which store wrote, as far as the code tells.
 *
 * Addresses are not in a profile.  But two of them are the same number if they were computed in the
 * same way from the same registers: sp + 16 before and after a call, or a0 + 8 * a1 twice.  Along a
 * path each integer register has a value, which is a symbol (the way in which it was computed, as a
 * hash) and a number that was added to it.  What is stored is remembered by the symbol, and what
 * was added, of its address; a load of it has the same value.  Stores to addresses with another
 * symbol are taken to go elsewhere.
 */
#ifndef DECODER_COMPARE_MEMORY_H
#define DECODER_COMPARE_MEMORY_H

#include "pesa/riscv.h"

#define COMPARE_CELLS	256
#define COMPARE_GRANULE 8 /* bytes, aligned, of which the newest store forwards */

struct compare_value {
	uint64_t symbol; /* 0: none, the number alone */
	int64_t number;
};

/* Bytes of memory whose content is known. */
struct compare_cell {
	struct compare_value address, content;
	unsigned int size;
	unsigned int writer; /* the step that stored it, counted from 1; 0: it was there before */
};

struct compare_memory {
	struct compare_value reg[32];
	struct compare_cell cell[COMPARE_CELLS]; /* the newest in place of the oldest */
	unsigned int cells, steps;		 /* so far */
	unsigned int in_flight;
};

/* What a load reads from. */
struct compare_forward {
	unsigned int distance; /* so many steps before it stands the store; 0: none is known */
	bool partly; /* that store alone does not do: others on their way wrote to the same granule
		      */
};

/* A path begins; `in_flight` instructions at most are under way at a time. */
void compare_memory_begin(struct compare_memory *memory, unsigned int in_flight);
/* The next instruction, at `address`. */
struct compare_forward compare_memory_step(struct compare_memory *memory,
					   const struct pesa_insn *insn, uint64_t address);

#endif
