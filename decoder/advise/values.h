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
#include "pesa/advise.h"

/* Registers by their use. */
#define ADVISE_RETURN_ADDRESS 1 /* ra */
#define ADVISE_STACK_POINTER  2 /* sp */
#define ADVISE_FRAME_POINTER  8 /* s0 */

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

/* How a load gets its address.  PESA_ADVICE_NO_LOOP: it is the same in all iterations. */
struct advise_address_of {
	enum pesa_advice_address kind;
	int64_t stride; /* bytes; of PESA_ADVICE_INDEXED that of `via`, 0: none */
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
/* The name of an opcode, without the C_ of a compressed one. */
const char *advise_opcode_name(const struct pesa_insn *insn);
/* Whether a called function keeps a register by saving it: s0 to s11, fs0 to fs11. */
bool advise_is_saved(int64_t reg);
/* Whether a function stores a register on its stack for its caller: one of these, or ra. */
static inline bool advise_is_kept_for_caller(int64_t reg)
{
	return reg == ADVISE_RETURN_ADDRESS || advise_is_saved(reg);
}
/* The register with the address of a load or store, and the distance from it.  False: it has none. */
bool advise_base(const struct pesa_insn *insn, uint8_t *reg, int64_t *offset);

#endif
