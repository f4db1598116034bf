/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Microloops: a RISC-V program of loops of which it is known what holds them up.
 *
 * Each loop repeats a few instructions that wait for each other, the holders, and some that take a
 * cycle at most.  What an iteration takes beyond one cycle for each of the latter is the holders', on
 * every processor.  Loops differ in what they wait for and in their lengths, so that a distance
 * between a holder and its samples can be told from one that is a whole loop longer.
 *
 * The program is made in memory, by pesa's own assembler, as an ELF file without libraries: nothing
 * but pesa is needed on the machine.
 */
#ifndef TOOLS_CALIBRATE_LOOPS_H
#define TOOLS_CALIBRATE_LOOPS_H

#include <stddef.h>
#include <stdint.h>

#include "pesa/error.h"

struct microloop {
	const char *name;	      /* symbol */
	const char *held_by;	      /* NULL: by nothing in particular */
	unsigned int holder, holders; /* instructions, from the beginning of the loop */
	unsigned int length;	      /* of an iteration, instructions */
	uint64_t start;		      /* address of the first one */
	uint64_t iterations;
};

struct microloops {
	struct microloop *loop;
	size_t count;
	uint8_t *file; /* the ELF file */
	size_t size;
};

/* `cycles`: how long to run, about. */
struct pesa_error *microloops_create(uint64_t cycles, struct microloops *loops);
void microloops_free(struct microloops *loops);

#endif
