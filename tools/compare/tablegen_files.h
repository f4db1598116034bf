/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files of LLVM's source: opened by name, and the differences that changes make. */
#ifndef TOOLS_COMPARE_TABLEGEN_FILES_H
#define TOOLS_COMPARE_TABLEGEN_FILES_H

#include <stdio.h>

#include "tools/compare/tablegen_change.h"

/* Get a file by its name, which may come from a hostile model: it has no folders.  It belongs to
 * `files`. */
struct pesa_error *tablegen_files_get(struct tablegen_files *files, const char *name, size_t length,
				      struct tablegen_file **file);
/* Add a replacement, whose text is copied. */
struct pesa_error *tablegen_replace(struct tablegen_file *file, struct tablegen_span span,
				    const char *text);
/* Note that the last replacement sets a field of a definition. */
struct pesa_error *tablegen_give(struct tablegen_file *file,
				 const struct tablegen_statement *statement, const char *field,
				 const char *value);
/* The value that an earlier change gives a field; NULL: none does. */
struct tablegen_given *tablegen_find_given(const struct tablegen_file *file,
					   const struct tablegen_statement *statement,
					   const char *field);
/* Replace that value. */
struct pesa_error *tablegen_give_again(struct tablegen_file *file, struct tablegen_given *given,
				       const char *value);
/* Write the changes of all files as a unified diff; `prefix` precedes their names. */
struct pesa_error *tablegen_write_diff(struct tablegen_files *files, const char *prefix, FILE *out);

#endif
