/* SPDX-License-Identifier: GPL-2.0-or-later */
/** @file
 * RISC-V instructions: decode, describe, print.
 *
 * An instruction set (struct pesa_isa) is a register width and a set of extensions.  Decoding turns
 * bytes into a struct pesa_insn: an opcode id (the identity of the instruction in LLVM's records, so
 * that scheduling models can be keyed by it), its length and its operands in LLVM's operand order
 * (outputs first, then inputs).  What holds for every instance of an opcode (mnemonic, properties,
 * implicit registers) is in its static description, struct pesa_opcode.
 *
 * Instructions are decoded as by LLVM's disassembler with the same extensions: where encodings of
 * extensions overlap, its order of decoder tables decides.
 *
 * Threads: every function here may be called by any thread at any time; tables are constant, and so is
 * an instruction set once it is made: threads may share it.  One takes about 2 MB and a few
 * milliseconds to make, so make it once.  The tables (decoder/riscv/tables*) are generated from
 * LLVM's TableGen records by tools/gen; see Documentation/instruction-tables.md.
 */
#ifndef PESA_RISCV_H
#define PESA_RISCV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pesa/api.h"
#include "pesa/error.h"

PESA_DECLARATIONS_BEGIN

/* ---- Registers: one number space for all files --------------------------------------------- */

/** A register of any file. */
enum pesa_register {
	PESA_REGISTER_X0 = 0,	   /**< x0..x31 */
	PESA_REGISTER_F0 = 32,	   /**< f0..f31 */
	PESA_REGISTER_V0 = 64,	   /**< v0..v31 */
	PESA_REGISTER_FFLAGS = 96, /**< floating-point flags */
	PESA_REGISTER_FRM,	   /**< rounding mode */
	PESA_REGISTER_VL,	   /**< vector length */
	PESA_REGISTER_VTYPE,	   /**< vector type */
	PESA_REGISTER_VXRM,	   /**< fixed-point rounding mode */
	PESA_REGISTER_VXSAT,	   /**< fixed-point saturation */
	PESA_REGISTER_VLENB,	   /**< bytes of a vector register */
	PESA_REGISTER_SSP,	   /**< shadow stack pointer (Zicfiss) */
	PESA_REGISTER_T0,	   /**< matrix tiles t0..t15 (XSfmm) */
	PESA_REGISTER_COUNT = 128, /**< numbers are below this */
	PESA_REGISTER_NONE = 255,  /**< no register */
};

/* ---- Instruction sets ---------------------------------------------------------------------- */

/** A register width and a set of extensions. */
struct pesa_isa;

/**
 * Make an instruction set from an ISA string as in RISC-V ELF attributes and -march
 * ("rv64gc_zba_zbb", "rv64i2p1_m2p0_...", vendor extensions included), from a profile ("rva23u64",
 * "rva23u64_zvkng"), or from "rv32"/"rv64" alone: every ratified extension that does not conflict
 * with another (not E, Zfinx and relatives, Zcmp, Zcmt, Zce, Zclsd and vendor extensions).
 * Versions are read and ignored.  Unknown extensions, and those that LLVM 22 calls experimental,
 * are an error that names them; the caller may fall back to "rv32" or "rv64".  The caller frees it
 * with pesa_isa_free() (NULL is allowed).
 * @any_thread @caller_owns */
struct pesa_error *pesa_isa_create(const char *string, struct pesa_isa **isa);
/** Check a string for pesa_isa_create(): the same errors, without making the instruction set.
 * @any_thread @caller_owns */
struct pesa_error *pesa_isa_check(const char *string);
/** Free an instruction set.  NULL is allowed.
 * @one_thread @takes_object */
void pesa_isa_free(struct pesa_isa *isa);
/** Bits of a register: 32 or 64.
 * @any_thread @nothing_owned */
unsigned int pesa_isa_xlen(const struct pesa_isa *isa);

/* ---- Opcodes ------------------------------------------------------------------------------- */

/* Properties of an opcode, from LLVM's flags. */
#define PESA_OPCODE_LOAD	 (1u << 0)  /**< reads memory */
#define PESA_OPCODE_STORE	 (1u << 1)  /**< writes memory */
#define PESA_OPCODE_BRANCH	 (1u << 2)  /**< any jump or conditional branch (not a call) */
#define PESA_OPCODE_CONDITIONAL	 (1u << 3)  /**< may fall through */
#define PESA_OPCODE_INDIRECT	 (1u << 4)  /**< target in a register */
#define PESA_OPCODE_CALL	 (1u << 5)  /**< a jump-and-link opcode: see pesa_insn_flow() */
#define PESA_OPCODE_RETURN	 (1u << 6)  /**< returns from a call or a trap */
#define PESA_OPCODE_TERMINATOR	 (1u << 7)  /**< ends a basic block */
#define PESA_OPCODE_BARRIER	 (1u << 8)  /**< control never falls through */
#define PESA_OPCODE_SIDE_EFFECTS (1u << 9)  /**< has effects that are not in its operands */
#define PESA_OPCODE_ATOMIC	 (1u << 10) /**< an atomic memory operation */
#define PESA_OPCODE_FENCE	 (1u << 11) /**< orders memory or instruction fetch */
#define PESA_OPCODE_SYSTEM	 (1u << 12) /**< ecall, ebreak, mret, sret, wfi, ... */
#define PESA_OPCODE_CSR		 (1u << 13) /**< reads or writes a control and status register */
#define PESA_OPCODE_VECTOR	 (1u << 14) /**< a vector instruction */
#define PESA_OPCODE_COMPRESSED	 (1u << 15) /**< has 16 bits */
#define PESA_OPCODE_TRAP	 (1u << 16) /**< always traps */
#define PESA_OPCODE_FLOAT	 (1u << 17) /**< reads or writes floating-point registers */

/** What holds for every instance of an opcode. */
struct pesa_opcode {
	/* Not pointers: a table of these has no addresses that the dynamic loader has to fill in. */
	char name[24];	     /**< LLVM record name, e.g. "C_ADDI" */
	char mnemonic[24];   /**< as printed without aliases, e.g. "c.addi" */
	uint32_t properties; /**< PESA_OPCODE_* */
	uint8_t length;	     /**< bytes: 2, 4 or 6 */
};

/** Number of opcodes; ids are 0..count-1.  Ids are stable only within one build of the library.
 * @any_thread @nothing_owned */
unsigned int pesa_opcode_count(void);
/** Description of an opcode; id must be below the count.
 * @any_thread @static_result */
const struct pesa_opcode *pesa_opcode_get(unsigned int id);
/** The id of the opcode with this LLVM record name, or -1.
 * @any_thread @nothing_owned */
int pesa_opcode_find(const char *name);

/* ---- Decoded instructions ------------------------------------------------------------------ */

/** What an operand is. */
enum pesa_operand_kind {
	PESA_OPERAND_REGISTER,	/**< value: enum pesa_register, first one of a group or pair;
				   PESA_REGISTER_NONE for a vector mask that is not there */
	PESA_OPERAND_IMMEDIATE, /**< value: the number, sign-extended and scaled by its semantics */
	PESA_OPERAND_TARGET,	/**< value: byte offset from this instruction's address */
};

/** Most operands of an instruction. */
#define PESA_OPERANDS_MAX 8

/** An operand of a decoded instruction. */
struct pesa_operand {
	uint8_t kind;	   /**< enum pesa_operand_kind */
	bool output;	   /**< written; else read */
	uint8_t registers; /**< in a pair or in the group that the opcode fixes (vl8r.v: 8); 1
				   otherwise, also for groups whose size is in vtype or in a field */
	int64_t value;	   /**< by kind */
};

/**
 * A decoded instruction.  Operands are in the order of LLVM's machine instruction: outputs, then
 * inputs.  An operand that is both (the a0 of c.add a0, a1; vd of a multiply-add) appears twice, once as
 * output and once as input; a register that the opcode fixes (sp of c.lwsp) is an operand where LLVM has
 * it as one, and implicit otherwise.  Elements of operand[] after the last operand are undefined.
 */
struct pesa_insn {
	uint16_t opcode;				/**< id */
	uint8_t length;					/**< bytes */
	uint8_t operands;				/**< how many */
	uint64_t bits;					/**< the encoding, little-endian */
	struct pesa_operand operand[PESA_OPERANDS_MAX]; /**< outputs, then inputs */
};

/** Length in bytes of the instruction that starts with the given 16 bits (2, 4, 6, 8), 0 if reserved.
 * @any_thread @nothing_owned */
unsigned int pesa_insn_length(uint16_t first);

/**
 * Decode the instruction at `bytes` (`size` bytes are readable).  Returns its length in bytes, 0 if
 * it is no instruction of this instruction set or is cut off; *insn is then unspecified.
 * @any_thread @nothing_owned */
unsigned int pesa_insn_decode(const struct pesa_isa *isa, const void *bytes, size_t size,
			      struct pesa_insn *insn);

#define PESA_PRINT_NO_ALIASES (1u << 0) /**< llvm-mc -M no-aliases */
#define PESA_PRINT_NUMERIC    (1u << 1) /**< llvm-mc -M numeric */
#define PESA_PRINT_ADDRESSES  (1u << 2) /**< branch targets as absolute addresses from `pc` */
/** Print as llvm-mc --disassemble does: mnemonic, a tab, operands, in `buffer` (always terminated when
 * size > 0).  `flags` are PESA_PRINT_*.  Returns the length that the whole text has.
 * @any_thread @nothing_owned */
size_t pesa_insn_print(const struct pesa_isa *isa, const struct pesa_insn *insn, uint64_t pc,
		       unsigned int flags, char *buffer, size_t size);

/** Most registers of an instruction. */
#define PESA_REGISTERS_MAX 40
/** Registers, each once. */
struct pesa_register_list {
	unsigned int count;		       /**< how many */
	uint8_t registers[PESA_REGISTERS_MAX]; /**< enum pesa_register */
};
/**
 * Registers written and read: implicit ones (vl and vtype of vector instructions, frm where LLVM says
 * so) and all members of pairs and fixed groups included, x0 left out.  The s registers of Zcmp's
 * register lists are not among them.
 * @any_thread @nothing_owned */
void pesa_insn_registers(const struct pesa_insn *insn, struct pesa_register_list *defs,
			 struct pesa_register_list *uses);

/** What an instruction does to control flow, by the ABI's link-register rules for jal and jalr. */
enum pesa_flow {
	PESA_FLOW_NEXT,		 /**< none */
	PESA_FLOW_BRANCH,	 /**< conditional, direct */
	PESA_FLOW_JUMP,		 /**< unconditional, direct */
	PESA_FLOW_INDIRECT,	 /**< jump through a register */
	PESA_FLOW_CALL,		 /**< direct call (links to ra or t0) */
	PESA_FLOW_INDIRECT_CALL, /**< call through a register */
	PESA_FLOW_RETURN,	 /**< jalr through ra or t0, not linking; cm.popret */
	PESA_FLOW_COROUTINE,	 /**< jalr that both pops and pushes the return stack */
	PESA_FLOW_TRAP,		 /**< ecall, ebreak, mret, sret, unimp: leaves the program or the
				   privilege level */
};
/** What it does to control flow.
 * @any_thread @nothing_owned */
enum pesa_flow pesa_insn_flow(const struct pesa_insn *insn);

/**
 * Target address of a direct branch, jump or call at `pc`, modulo 2^64: for RV32 the caller keeps the low
 * 32 bits.  Returns false, and leaves *target alone, if there is no direct target.
 * @any_thread @nothing_owned */
bool pesa_insn_target(const struct pesa_insn *insn, uint64_t pc, uint64_t *target);

PESA_DECLARATIONS_END

#endif
