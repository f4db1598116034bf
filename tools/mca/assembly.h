/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program in assembly source: a list of statements (instructions) in order, and the labels, symbols
 * and sections that affect them.  directives.c reads the directives; assemble.c reads everything else
 * and assigns offsets to the instructions.
 *
 * Names refer to the text of the source, which must live longer than the program.
 */
#ifndef TOOLS_MCA_ASSEMBLY_H
#define TOOLS_MCA_ASSEMBLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pesa/assemble.h"
#include "pesa/error.h"
#include "tools/mca/ahead.h"
#include "tools/mca/reader.h"

/* A name: part of the source, not terminated by 0. */
struct mca_name {
	const char *text;
	size_t length;
};

/* As struct pesa_assembly, but for its instructions, which are in a list of the program. */
struct mca_statement {
	unsigned int first, count; /* instructions; if it grows, the next one replaces the first */
	enum pesa_symbol_use use;
	bool grows;
	struct mca_name symbol;
	uint64_t offset;     /* in the code section, in bytes */
	unsigned int target; /* index of the statement that a branch goes to (PESA_SYMBOL_TARGET) */
	struct mca_name comment;
};

/* A label in the code section.  LLVM also creates labels without a name. */
struct mca_label {
	struct mca_name name;	/* text NULL: unnamed */
	unsigned int statement; /* index of the statement that follows the label */
};

struct mca_names {
	struct mca_name *name;
	size_t count;
};

struct mca_program {
	struct pesa_isa *isa;	 /* owned */
	struct mca_ahead *ahead; /* while lines are read; may be NULL */
	struct mca_statement *statements;
	unsigned int statement_count;
	struct pesa_insn *insns; /* of the statements, in order */
	unsigned int insn_count;
	struct mca_label *labels; /* of the code section, in order */
	size_t label_count;
	struct mca_names defined;  /* all labels, also those of data */
	struct mca_names global;   /* symbols that a linker may replace */
	struct mca_names needed;   /* symbols that must be labels in the code section */
	struct mca_names sections; /* names with attributes, as written in the source */
	struct mca_name section;   /* name of the code section */
	bool in_code, in_zeros;	   /* current section: code, or only zeros (.bss); neither: data */
	bool in_frame;		   /* between .cfi_startproc and .cfi_endproc */
	bool position_independent;
};

/* Make room for one more element in an array of `count` elements of `size` bytes. */
struct pesa_error *mca_array_grow(void **list, size_t count, size_t size);
struct pesa_error *mca_names_add(struct mca_names *names, struct mca_name name);
/* Add a label at the next statement. */
struct pesa_error *mca_label_add(struct mca_program *program, struct mca_name name);

/*
 * Read a directive; `text` begins with its dot.  *supported: the directive is known, and it either does
 * not affect the instructions or its effect is implemented.
 */
struct pesa_error *mca_directive(struct mca_program *program, const char *text, size_t length,
				 bool *supported);

#endif
