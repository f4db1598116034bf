/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The generated instruction tables (tables_*.c, by tools/gen/instructions.py) and their types.
 *
 * An opcode has fixed bits (mask, match), a condition (required extensions), a decoder table (LLVM
 * tries its tables in a fixed order; the number is the position in that order) and a list of
 * operands.  An operand has a type and the position of its bits: one segment in place and, if the
 * bits are scattered, further segments in riscv_segments.
 */
#ifndef PESA_RISCV_TABLES_H
#define PESA_RISCV_TABLES_H

#include "pesa/riscv.h"

struct riscv_feature {
	const char *name;
	uint8_t major, minor;
	const char *implies; /* names, separated by spaces */
};

struct riscv_profile {
	const char *name; /* "rva23u64" */
	unsigned int xlen;
	const char *implies;
};

/* How the value of an operand is computed from its bits. */
enum riscv_method {
	METHOD_REGISTER,      /* `width` is a register class, which maps bits to a register */
	METHOD_UNSIGNED,      /* invalid below `minimum` */
	METHOD_SIGNED,	      /* `width` bits after shifting left by `shift`; not 0 if `minimum` */
	METHOD_TARGET,	      /* likewise, relative to the instruction */
	METHOD_PLUS_ONE,      /* the bits plus 1; invalid if that is below `minimum` */
	METHOD_SHIFT_AMOUNT,  /* below xlen; not 0 if `minimum` */
	METHOD_C_LUI,	      /* 6 bits sign-extended to 20; not 0 */
	METHOD_ROUNDING_MODE, /* 0..4 and 7 */
	METHOD_ROUND_TO_ZERO, /* rounding mode 1 only */
	METHOD_STORE_LIST,    /* index into 0, 1, 2, 4, 8, 16, 15, 31 (Xqcisls and friends) */
	METHOD_REGISTER_LIST, /* Zcmp: at least `minimum`; RVE has s0 and s1 only */
	METHOD_CONSTANT,      /* no bits: the value is `minimum` */
};

/* How an operand is printed. */
enum riscv_print {
	PRINT_PLAIN,
	PRINT_MEMORY,		    /* "(reg)" */
	PRINT_REGISTER_OFFSET,	    /* "offset(base)": this operand and the next */
	PRINT_MASK,		    /* ", v0.t" or nothing */
	PRINT_ROUNDING_MODE,	    /* ", rtz"; nothing for dyn unless aliases are off */
	PRINT_ROUNDING_MODE_LEGACY, /* ", rtz"; nothing for rne */
	PRINT_FENCE,
	PRINT_CSR,
	PRINT_VTYPE,
	PRINT_FLOAT,
	PRINT_REGISTER_LIST,
	PRINT_STACK,
	PRINT_STACK_NEGATIVE,
};

#define RISCV_REGISTER_INVALID 254
#define RISCV_CLASS_NONE       31 /* the class of immediates */

struct riscv_register_class {
	const char *name;
	uint8_t registers;  /* number of registers of a member */
	bool limited;	    /* RVE excludes x16..x31 */
	uint8_t member[32]; /* by field bits; RISCV_REGISTER_INVALID: not allowed */
};

struct riscv_operand_type {
	const char *name; /* of LLVM's record */
	uint8_t method;	  /* enum riscv_method */
	uint8_t print;	  /* enum riscv_print */
	uint8_t width;
	uint8_t shift;
	uint8_t minimum;
};

struct riscv_segment {
	uint8_t place; /* lowest bit in the encoding */
	uint8_t width;
	uint8_t low; /* lowest bit in the value */
};

/* Which bits of an operand are allowed, in addition to the minimum. */
enum riscv_valid {
	VALID_ANY,
	VALID_SHIFT_AMOUNT,
	VALID_ROUNDING_MODE,
	VALID_ROUND_TO_ZERO,
	VALID_SPECIAL, /* determined by the method */
	VALID_COUNT,
};

/*
 * An operand of an opcode, 16 bytes.  Its bits are a first segment, (encoding >> place & mask) <<
 * low, and `more` further ones.  The value of a register is the member of its class.  Other values
 * are the bits shifted left and then arithmetically right, or computed by the type's method for
 * VALID_SPECIAL.
 */
struct riscv_operand {
	uint8_t kind; /* enum pesa_operand_kind; laid out as in struct pesa_operand up to `valid` */
	bool output;
	uint8_t registers;
	uint8_t valid; /* enum riscv_valid */
	uint32_t mask;
	uint8_t place, low;
	uint8_t up, down;
	uint8_t more;
	uint8_t first;		/* index of the first further segment */
	uint8_t register_class; /* index into riscv_register_classes, or RISCV_CLASS_NONE */
	uint8_t type;		/* index into riscv_operand_types */
};

/*
 * Most opcodes have at most one operand with more than one segment: its index, and up to three
 * further segments.  Unused segments have an empty mask.
 */
struct riscv_scatter {
	uint8_t operand;
	struct {
		uint8_t place, low;
		uint16_t mask;
	} part[3];
};

#define RISCV_NO_SCATTER 255

struct riscv_register_list {
	uint8_t count;
	uint8_t registers[20];
};

/* Vector registers that must not overlap the destination. */
#define RISCV_APART_FIRST  (1u << 0) /* the first source operand */
#define RISCV_APART_SECOND (1u << 1)
#define RISCV_APART_MASK   (1u << 2)

struct riscv_opcode {
	struct pesa_opcode public;
	/* What decoding needs is in one cache line. */
	uint64_t match __attribute__((aligned(64)));
	uint64_t mask;
	uint8_t table;
	uint8_t condition;
	uint16_t first; /* index of the first operand in riscv_operands */
	uint8_t operands;
	uint8_t outputs;
	uint16_t format;
	uint8_t defs, uses; /* indices into riscv_register_lists */
	uint8_t scatter;    /* index into riscv_scatters, or RISCV_NO_SCATTER */
	bool checked;	    /* an immediate has bits that are not allowed */
	uint8_t constraint; /* RISCV_APART_*: operands that must not overlap the destination */
} __attribute__((aligned(64)));

/* A condition on an operand. */
enum riscv_match_kind {
	MATCH_END,
	MATCH_NUMBER,	      /* the operand (register or immediate) has this value */
	MATCH_SAME,	      /* it equals another operand */
	MATCH_CLASS,	      /* its register is in this class */
	MATCH_TYPE,	      /* its value is valid for this operand type */
	MATCH_WIDENING_VTYPE, /* it is a vtype with a widening factor (XSfmm) */
};

struct riscv_match {
	uint8_t kind;
	uint8_t operand;
	int32_t value;
};

#define RISCV_MATCHES_MAX 4

/* An alternative form in which an opcode is printed, for some operands. */
struct riscv_alias {
	uint16_t opcode;
	uint8_t condition;
	const char *mnemonic;
	const char *format; /* as in riscv_formats; "%wN" for a vtype with widening factor */
	struct riscv_match matches[RISCV_MATCHES_MAX];
};

enum riscv_source_kind {
	SOURCE_COPY, /* operand `value` of the replaced instruction */
	SOURCE_REGISTER,
	SOURCE_NUMBER,
};

struct riscv_source {
	uint8_t kind;
	int32_t value;
};

/* An instruction and an equivalent one, for some operands: compressed and uncompressed forms. */
struct riscv_substitution {
	uint16_t opcode, other;
	uint8_t condition;
	struct riscv_match matches[RISCV_MATCHES_MAX];
	struct riscv_source sources[PESA_OPERANDS_MAX]; /* operands of the equivalent one */
};

/* A mnemonic that is an alias of another one. */
struct riscv_mnemonic_alias {
	const char *name;
	uint8_t condition;
	const char *other;
};

/* Kinds of rows in riscv_mnemonics: the table that a row refers to; the rest is the index. */
#define MNEMONIC_OPCODE	   0x0000 /* riscv_opcodes */
#define MNEMONIC_ALIAS	   0x4000 /* riscv_aliases */
#define MNEMONIC_INPUT	   0x8000 /* riscv_input_aliases */
#define MNEMONIC_KIND_MASK 0xc000

struct riscv_csr {
	uint16_t number;
	uint8_t condition;
	const char *name;
};

#pragma GCC visibility push(hidden)
extern const struct riscv_feature riscv_features[]; /* sorted by name */
extern const unsigned int riscv_feature_count;
extern const struct riscv_profile riscv_profiles[];
extern const unsigned int riscv_profile_count;
/* Conditions: clauses separated by spaces, all must hold; alternatives by '|'; '!' negates. */
extern const char *const riscv_conditions[];
extern const unsigned int riscv_condition_count;
extern const struct riscv_register_class riscv_register_classes[];
extern const unsigned int riscv_register_class_count;
extern const struct riscv_operand_type riscv_operand_types[];
extern const struct riscv_segment riscv_segments[];
extern const struct riscv_scatter riscv_scatters[];
extern const struct riscv_operand riscv_operands[];
extern const struct riscv_register_list riscv_register_lists[];
/* Operand text: "%N" stands for operand N. */
extern const char *const riscv_formats[];
extern const struct riscv_opcode riscv_opcodes[]; /* sorted by name */
extern const unsigned int riscv_opcode_count;
/* All are sorted by opcode; the first matching one of an opcode is used. */
extern const struct riscv_alias riscv_aliases[];
extern const unsigned int riscv_alias_count;
extern const struct riscv_substitution riscv_expansions[]; /* of compressed instructions */
extern const unsigned int riscv_expansion_count;
extern const struct riscv_substitution riscv_compressions[]; /* done by an assembler */
extern const unsigned int riscv_compression_count;
/* Accepted forms of an opcode that are never printed. */
extern const struct riscv_alias riscv_input_aliases[];
extern const struct riscv_mnemonic_alias riscv_mnemonic_aliases[];
extern const unsigned int riscv_mnemonic_alias_count;
extern const uint16_t riscv_mnemonics[]; /* sorted by mnemonic */
extern const unsigned int riscv_mnemonic_count;
extern const struct riscv_csr riscv_csrs[]; /* sorted by number, preferred names first */
extern const unsigned int riscv_csr_count;
#pragma GCC visibility pop

#endif
