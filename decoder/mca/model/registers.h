/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The engine's registers, and its table of opcodes.
 *
 * A register is a name that an instruction can write or read as a whole: x10, its 32-bit view, f10
 * as single or double, v8, the group v8m2.  A larger register contains smaller ones: a write to it
 * defines them too, and a read of it depends on the last write of each.  LLVM makes the same
 * distinctions, which determine the dependencies.
 *
 * Opcodes are those of LLVM's records (decoder/mca/generated/opcodes.def, generated), keyed by
 * record name.
 */
#ifndef PESA_MCA_REGISTERS_H
#define PESA_MCA_REGISTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum mca_register {
	MCA_REGISTER_NONE = 0,
	MCA_REGISTER_X = 1,	   /* x0..x31 */
	MCA_REGISTER_X_WORD = 33,  /* their 32-bit views (Zfinx) */
	MCA_REGISTER_X_HALF = 65,  /* their 16-bit views (Zhinx) */
	MCA_REGISTER_X_PAIR = 97,  /* x0x1, x2x3, ... */
	MCA_REGISTER_F_QUAD = 113, /* f0..f31, 128 bits */
	MCA_REGISTER_F_DOUBLE = 145,
	MCA_REGISTER_F_SINGLE = 177,
	MCA_REGISTER_F_HALF = 209,
	MCA_REGISTER_V = 241,  /* v0..v31 */
	MCA_REGISTER_V2 = 273, /* groups of two: v0m2, v2m2, ... */
	MCA_REGISTER_V4 = 289,
	MCA_REGISTER_V8 = 297,
	MCA_REGISTER_T = 301,	    /* matrix tiles */
	MCA_REGISTER_SPECIAL = 317, /* fflags, frm, vl, vtype, vxrm, vxsat, vlenb, ssp */
	MCA_REGISTER_MEMORY = 325,  /* data of a store for a load, see forward.c */
	MCA_REGISTER_TURN = 581,    /* whose turn it is at a unit: 64, by bit of the unit's mask */
	MCA_REGISTER_COUNT = 645,
};

/* A larger register and the next smaller ones that it consists of. */
#define MCA_SUBREGISTERS_MAX 16
struct mca_register_parts {
	uint8_t count;
	uint16_t
		part[MCA_SUBREGISTERS_MAX]; /* all contained registers, not only the next smaller */
};

/* All registers contained in a register. */
void mca_register_parts(unsigned int id, struct mca_register_parts *parts);
/* Whether it is an x register, or an f register, or a part or a pair of such. */
static inline bool mca_register_is_integer(unsigned int id)
{
	return id >= MCA_REGISTER_X && id < MCA_REGISTER_F_QUAD;
}

static inline bool mca_register_is_float(unsigned int id)
{
	return id >= MCA_REGISTER_F_QUAD && id < MCA_REGISTER_V;
}

/* Whether a register is constant (x0, vlenb), so that it carries no dependency. */
bool mca_register_is_constant(unsigned int id);
/* The printed name of a register ("a0", "fa0", "v8"); static storage. */
const char *mca_register_name(unsigned int id);
/* The register for an operand letter of opcodes.def and a register of include/pesa/riscv.h. */
unsigned int mca_register_from(char letter, unsigned int riscv_register);
/* The register for a name as in opcodes.def ("X2", "VL"); NONE if it is unknown. */
unsigned int mca_register_find(const char *name, size_t length);

/* Strings are stored in the table: pointers would need relocation at every start. */
#define MCA_OPCODE_NAME 24 /* names are padded with zeros; a multiple of 8 */

struct mca_opcode {
	char name[MCA_OPCODE_NAME];
	char flags[4];	 /* letters: L load, S store, U side effects, C call, R return */
	char outputs[4]; /* one letter per operand */
	char inputs[8];
	char implicit_outputs[68]; /* names, separated by spaces */
	char implicit_inputs[68];
	uint8_t scheduling; /* index into mca_scheduling_classes */
};

#define MCA_LMULS	       7
#define MCA_SEWS	       5 /* any, 8, 16, 32, 64 */
#define MCA_SCHEDULING_CLASSES (1 + MCA_LMULS * MCA_SEWS)

/* LLVM's scheduling classes of an opcode: a letter by mca_vector_place(). */
extern const char mca_scheduling_classes[][MCA_SCHEDULING_CLASSES + 1];

extern const struct mca_opcode mca_opcodes[]; /* sorted by name */
extern const unsigned int mca_opcode_count;
/* The index of an opcode, or -1. */
int mca_opcode_find(const char *name, size_t length);
/* Likewise, fastest if the opcode is a few places after `start`. */
int mca_opcode_find_near(const char *name, unsigned int start);

#endif
