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

#define COMPARE_CELLS 256
#define COMPARE_LISTS 64   /* of cells by the symbols of their addresses, a power of two */
#define COMPARE_KNOWN 1024 /* instructions that are remembered, a power of two */

struct compare_value {
	uint64_t symbol; /* 0: a constant only */
	int64_t number;
};

/* Bytes of memory with known contents. */
struct compare_cell {
	struct compare_value address, content;
	unsigned int size;
	unsigned int writer; /* step that stored it, from 1; 0: contents before the path */
	unsigned int older;  /* number of the one before it in its list, from 1; 0: none */
};

/* What is known of an instruction wherever it is executed; memory.c has the operations. */
struct compare_known {
	uint64_t bits;
	uint16_t opcode;
	uint8_t operation;
	uint8_t size; /* bytes of a plain load or store; 0: another instruction */
	bool valid, trap, load, store;
	struct pesa_register_list registers; /* that it writes */
};

/* All zero before the first path. */
struct compare_memory {
	struct compare_known known[COMPARE_KNOWN]; /* by hash of the instruction */
	struct compare_value reg[32];
	struct compare_cell cell[COMPARE_CELLS]; /* ring: the newest replaces the oldest */
	unsigned int last[COMPARE_LISTS];	 /* by list: number of its newest cell, likewise */
	unsigned int cells, steps;		 /* counts so far */
	unsigned int newest;			 /* step of the newest store, from 1; 0: none */
	unsigned int newest_size;		 /* its bytes; 0: unknown */
};

/* The address and the source of a load. */
struct compare_forward {
	unsigned int distance; /* steps from the store to the load; 0: unknown */
	bool partly;	       /* other bytes of the load are from elsewhere */
	bool after;	       /* it waits until the store has issued, and does not read from it */
	/* Steps from the newest store of all, which the load may read from although the code does not
	 * tell; 0: none. */
	unsigned int newest;
	bool narrow;		      /* that store writes fewer bytes than the load reads */
	struct compare_value address; /* of a plain load */
	bool known;		      /* whether it is one */
};

/* Start a path. */
void compare_memory_begin(struct compare_memory *memory);
/* Process the next instruction, at `address`. */
struct compare_forward compare_memory_step(struct compare_memory *memory,
					   const struct pesa_insn *insn, uint64_t address);

#endif
