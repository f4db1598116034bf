/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Assembly source as statements: instructions in order, and labels, symbols and sections as far as
 * they have an influence on the instructions.  directives.c reads directives, assemble.c
 * the rest, and lays the instructions out.
 */
#ifndef TOOLS_MCA_ASSEMBLY_H
#define TOOLS_MCA_ASSEMBLY_H

#include "pesa/assemble.h"
#include "tools/mca/reader.h"

/* A name, a piece of the source. */
struct mca_name {
	const char *text;
	size_t length;
};

struct mca_statement {
	struct pesa_assembly assembly;
	uint64_t offset;
	unsigned int target; /* the statement that it goes to, if the symbol is its target */
	struct mca_name comment;
};

/* A label of the code, or a place at which LLVM has one that nobody named. */
struct mca_label {
	struct mca_name name; /* NULL: without a name */
	unsigned int statement;
};

struct mca_names {
	struct mca_name *name;
	size_t count;
};

struct mca_program {
	struct pesa_isa *isa; /* owned */
	struct mca_statement *statements;
	unsigned int statement_count;
	struct mca_label *labels; /* of code, in order */
	size_t label_count;
	struct mca_names defined;  /* all labels, of data too */
	struct mca_names global;   /* may be replaced by a linker */
	struct mca_names needed;   /* must be labels of code */
	struct mca_names sections; /* with their attributes, as they were given */
	struct mca_name section;   /* of the code */
	bool in_code, in_zeros;	   /* the section: code, or zeros only; neither: data */
	bool in_frame, position_independent;
	bool out_of_memory;
};

/* Room for one element more in a list of `count` of that size; false: out of memory. */
bool mca_program_grow(struct mca_program *program, void **list, size_t count, size_t size);
bool mca_names_add(struct mca_program *program, struct mca_names *names, struct mca_name name);
bool mca_label_add(struct mca_program *program, struct mca_name name);

/*
 * A directive, the dot included.  False: it is not one that is known to have no influence on the
 * instructions, or an influence that is followed; or memory ran out.
 */
bool mca_directive(struct mca_program *program, const char *text, size_t length);

#endif
