/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Store-to-load forwarding: which load of a path reads the data of which store, as far as it
 * follows from the code.
 *
 * A profile has no data addresses.  But two addresses are equal if they were computed in the same
 * way from the same registers: sp + 16 before and after a call, or a0 + 8 * a1 twice.  Along a path
 * each integer register has a value, which is a symbol (a hash of how it was computed) plus a
 * constant.  A stored value is kept under the symbol and constant of its address; a load from that
 * address gets the value.  Stores to addresses with another symbol are assumed not to alias.
 */
#ifndef DECODER_COMPARE_MEMORY_H
#define DECODER_COMPARE_MEMORY_H

#include "pesa/riscv.h"

#define COMPARE_CELLS	256
#define COMPARE_KNOWN	1024 /* instructions that are remembered, a power of two */
#define COMPARE_GRANULE 8    /* bytes, aligned; the newest store to it forwards */

struct compare_value {
	uint64_t symbol; /* 0: a constant only */
	int64_t number;
};

/* Bytes of memory with known contents. */
struct compare_cell {
	struct compare_value address, content;
	unsigned int size;
	unsigned int writer; /* step that stored it, from 1; 0: contents before the path */
};

/* What is known of an instruction wherever it is executed; memory.c has the operations. */
struct compare_known {
	uint64_t bits;
	uint16_t opcode;
	uint8_t operation;
	uint8_t size; /* bytes of a plain load or store; 0: another instruction */
	bool valid, trap;
	struct pesa_register_list registers; /* that it writes */
};

/* All zero before the first path. */
struct compare_memory {
	struct compare_known known[COMPARE_KNOWN]; /* by hash of the instruction */
	struct compare_value reg[32];
	struct compare_cell cell[COMPARE_CELLS]; /* ring: the newest replaces the oldest */
	unsigned int cells, steps;		 /* counts so far */
	unsigned int near;			 /* see compare_memory_begin() */
	unsigned int newest;			 /* step of the newest store, from 1; 0: none */
};

/* The address and the source of a load. */
struct compare_forward {
	unsigned int distance; /* steps from the store to the load; 0: unknown */
	bool partly; /* the store is not the only source: others in flight wrote to the granule */
	/* Steps from stores that the load may read from, or wait for, although the code does not tell:
	 * the newest one to the same granule (0: none), and the newest one of all. */
	unsigned int beside, newest;
	struct compare_value address; /* of a plain load */
	bool known;		      /* whether it is one */
};

/*
 * Start a path.  A load that reads what an older store wrote waits for a newer store to the same
 * granule, if both stores are at most `near` steps apart: then a core that has one entry for a
 * granule has both in flight.  0: a core that tells bytes apart.
 */
void compare_memory_begin(struct compare_memory *memory, unsigned int near);
/* Process the next instruction, at `address`. */
struct compare_forward compare_memory_step(struct compare_memory *memory,
					   const struct pesa_insn *insn, uint64_t address);

#endif
