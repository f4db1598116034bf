/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Addresses of loads in a loop, by data flow over its instructions.
 *
 * The value of a register somewhere in the loop is expressed by the values that registers have at the
 * head of the same iteration: a sum of some of them with factors, and a constant; or something else
 * that depends on them, or on what was loaded.  A register that comes back to the head as itself plus
 * a constant moves by that constant each iteration, and so do sums of such registers.
 */
#ifndef DECODER_ADVISE_VALUES_H
#define DECODER_ADVISE_VALUES_H

#include "decoder/advise/code.h"

#define ADVISE_TERMS 3 /* registers in a sum; more are something else */

enum advise_form {
	ADVISE_SUM,	/* constant + factors times registers at the head */
	ADVISE_OTHER,	/* depends on registers at the head, or on a load, in another way */
	ADVISE_UNKNOWN, /* by a call, by different ways to there, by what is not understood */
	ADVISE_NOTHING, /* while values are found: what it is at a place that is being evaluated */
};

struct advise_value {
	enum advise_form form;
	int64_t constant;
	struct {
		uint8_t reg;
		int64_t factor;
	} term[ADVISE_TERMS];
	unsigned int terms;
	uint64_t depends[2];	   /* bits of registers at the head, of all forms */
	uint32_t load, load_block; /* an instruction that loads a part of it; ADVISE_NONE: none */
};

/* How a load gets its address, in a loop. */
enum advise_address {
	ADVISE_STRIDE,	 /* it moves by the same distance each iteration */
	ADVISE_REGULAR,	 /* likewise, by a distance that is not in the code */
	ADVISE_SAME,	 /* it stays the same */
	ADVISE_CHASED,	 /* from what it loaded itself, an iteration before */
	ADVISE_INDEXED,	 /* from another load, `via` */
	ADVISE_COMPUTED, /* computed from registers that do not come from memory */
	ADVISE_NOT_KNOWN,
};

struct advise_address_of {
	enum advise_address kind;
	int64_t stride; /* bytes; of ADVISE_INDEXED that of `via`, 0: none */
	uint32_t via;	/* instruction; ADVISE_NONE: none */
	uint32_t loop;	/* that it is about; ADVISE_NONE: no loop */
};

/* The value of a register before an instruction of a block in a loop; `instruction` behind its last
 * one: at the end of the block. */
struct advise_value advise_value_before(const struct advise_code *code, uint32_t loop,
					uint32_t block, uint32_t instruction, uint8_t reg);
/* The value with which a register comes back to the head of a loop. */
struct advise_value advise_value_next(const struct advise_code *code, uint32_t loop, uint8_t reg);
/* How a load gets its address: in the innermost loop in which that changes. */
struct advise_address_of advise_address_of(const struct advise_code *code, uint32_t block,
					   uint32_t instruction);
/* The register with the address of a load or store, and the distance from it.  False: it has none. */
bool advise_base(const struct pesa_insn *insn, uint8_t *reg, int64_t *offset);

#endif
