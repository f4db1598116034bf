/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A definition in LLVM's files: its place, which of the SchedWrites of a loop it defines, and
 * what its fields are now.
 */
#ifndef TOOLS_COMPARE_TABLEGEN_SITE_H
#define TOOLS_COMPARE_TABLEGEN_SITE_H

#include <stdio.h>

#include "tools/compare/tablegen_change.h"

#define TABLEGEN_PARTS_MAX	64 /* arguments of a definition, elements of a list */
#define TABLEGEN_NAME_SIZE	128
#define TABLEGEN_CONDITION_SIZE 512

struct tablegen_site {
	struct tablegen_file *file;
	const struct tablegen_statement *statement;
	/* Values of the variables of loops around it; empty: it defines one SchedWrite. */
	char condition[TABLEGEN_CONDITION_SIZE];
	unsigned int conditions;
};

/* Whether a statement matches. */
typedef bool tablegen_wanted(const struct tablegen *tablegen,
			     const struct tablegen_statement *statement, const char *name);

static inline int tablegen_length(struct tablegen_span span)
{
	return (int)(span.end - span.start);
}

/* An error that names the place of the definition. */
struct pesa_error *tablegen_unsupported(const struct tablegen_site *site, const char *what);

/* Find a statement at one of the places "FILE:LINE,FILE:LINE": the innermost matching one; in other
 * versions of LLVM, the nearest matching one. */
struct pesa_error *tablegen_find_statement(struct tablegen_files *files, const char *from,
					   const char *name, tablegen_wanted *is_wanted,
					   struct tablegen_site *site);
/* Whether a statement defines the costs of a SchedWrite: it names it, and is not its
 * declaration. */
bool tablegen_defines(const struct tablegen *tablegen, const struct tablegen_statement *statement,
		      const char *write);
/* Whether a statement defines a record of this name: `def NAME`. */
bool tablegen_is_called(const struct tablegen *tablegen, const struct tablegen_statement *statement,
			const char *name);
/* The values of the loops' variables for which a statement defines a SchedWrite. */
struct pesa_error *tablegen_find_condition(struct tablegen_site *site, const char *write);

/* The first argument list of a statement, between < and >; false: it has none. */
bool tablegen_find_arguments(const struct tablegen *tablegen,
			     const struct tablegen_statement *statement,
			     struct tablegen_span *arguments);
/* The list of resources, or members, of a definition, between its brackets; false: it has none. */
bool tablegen_find_resources(const struct tablegen_site *site, struct tablegen_span *resources);
/* The innermost scope that gives a field a value; TABLEGEN_NONE: there is none. */
size_t tablegen_scope_of_field(const struct tablegen_site *site, const char *field,
			       struct tablegen_span *value);
/* The present value of a field of a definition, as text; false: the default of its class. */
bool tablegen_value_of_field(const struct tablegen_site *site, const char *field,
			     struct tablegen_span *value);

/* Number of blanks before an offset; 0 if other text precedes it in its line. */
int tablegen_indentation(const struct tablegen *tablegen, size_t at, const char **blanks);
/* Write a comment in lines of at most 80 columns, each indented like the following line. */
void tablegen_write_comment(FILE *out, const char *evidence, const char *blanks, int indent);
/* Put a comment before a statement or scope that begins at an offset. */
struct pesa_error *tablegen_add_comment(const struct tablegen_site *site, size_t at,
					const char *evidence);

/* Changes of resources and SchedReads (tablegen_resource.c); as tablegen_change(). */
struct pesa_error *tablegen_change_units(struct tablegen_files *files,
					 const struct compare_edit *edit,
					 const struct model_lines *model, const char *evidence);
struct pesa_error *tablegen_change_advances(struct tablegen_files *files,
					    const struct compare_edit *edit,
					    const struct model_lines *model, const char *evidence);

#endif
