/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file
 * RISC-V assembly to instructions: one line at a time, without a process.
 *
 * The other direction of pesa/riscv.h, made from the same tables: mnemonics, operand formats,
 * aliases, fields and what LLVM shortens when there are compressed instructions.  A line is either
 * understood in full, and then becomes what LLVM 22's assembler makes of it with the same
 * extensions, or it is refused.  A refused line need not be wrong: this assembler lacks
 * expressions, relocations, pseudo-instructions of many instructions and octal numbers.  To find
 * out, the caller gives the line to a complete assembler.
 *
 * Directives, labels, comments and the layout of branches are the caller's; see
 * tools/mca/assemble.c.
 *
 * Nothing is allocated, and there is no state.
 *
 * Threads: every function here may be called by any thread at any time; an instruction set (struct
 * pesa_isa) may be shared.
 */
#ifndef PESA_ASSEMBLE_H
#define PESA_ASSEMBLE_H

#include "pesa/api.h"
#include "pesa/riscv.h"

PESA_DECLARATIONS_BEGIN

/** Most instructions that one line becomes. */
#define PESA_ASSEMBLY_MAX 2

/** What an instruction has of the symbol that its line names. */
enum pesa_symbol_use {
	PESA_SYMBOL_NONE,
	PESA_SYMBOL_TARGET,    /**< insn[0] goes there: pesa_assembly_set_target() */
	PESA_SYMBOL_CALL,      /**< auipc and jalr, for a linker to fill in */
	PESA_SYMBOL_ADDRESS,   /**< nothing: a linker fills it in, wherever the symbol is */
	PESA_SYMBOL_DISTANCE,  /**< the same, if the symbol is in another section or file */
	PESA_SYMBOL_ITS_LOWER, /**< the same, the symbol being the place of a DISTANCE */
};

/** What a line became. */
struct pesa_assembly {
	unsigned int count; /**< instructions: 1, or 2 where a pseudo-instruction needs as many */
	struct pesa_insn insn[PESA_ASSEMBLY_MAX]; /**< the instructions */
	enum pesa_symbol_use use;		  /**< what the symbol is for */
	const char *symbol;			  /**< a piece of the line; NULL if there is none */
	size_t symbol_length;			  /**< characters */
	bool grows;		/**< whether the target may be too far away for insn[0] */
	struct pesa_insn grown; /**< if so: the instruction that replaces it */
};

/**
 * Assemble a line of `length` characters: a mnemonic and its operands, with neither label nor
 * comment.  False: not understood; *assembly is then unspecified.
 * @any_thread @nothing_owned */
bool pesa_assemble(const struct pesa_isa *isa, const char *line, size_t length,
		   struct pesa_assembly *assembly);

/**
 * Let a branch or jump that has a target go to `displacement` bytes from its own address.  False:
 * it cannot go there; *insn is then unspecified.
 * @any_thread @nothing_owned */
bool pesa_assembly_set_target(const struct pesa_isa *isa, struct pesa_insn *insn,
			      int64_t displacement);

/** Whether a name of `length` characters is a register's, so that no label can be meant by it.
 * @any_thread @nothing_owned */
bool pesa_is_register_name(const char *name, size_t length);

PESA_DECLARATIONS_END

#endif
