/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Changes of LLVM's scheduling models: turns findings into replacements of text in RISCVSched*.td.
 *
 * A definition is changed where it names its SchedWrite: in a multiclass that gets the name as an
 * argument it is the `defm`.  What is changed there is one field (Latency, ReleaseAtCycles,
 * NumMicroOps), for the LMUL and SEW of the SchedWrite alone if a loop defines several.  Where single
 * opcodes differ from their SchedWrite they get an InstRW of their own.
 */
#ifndef TOOLS_COMPARE_TABLEGEN_CHANGE_H
#define TOOLS_COMPARE_TABLEGEN_CHANGE_H

#include "tools/compare/changes.h"
#include "tools/compare/model_text.h"
#include "tools/compare/tablegen.h"

/* A piece of text that replaces another one, or is inserted before it. */
struct tablegen_replacement {
	struct tablegen_span span;
	char *text;
	unsigned int order; /* of those at one place */
};

/* A field of a definition that a replacement gives a value. */
struct tablegen_given {
	const struct tablegen_statement *statement;
	const char *field;
	char *value;
	size_t replacement; /* index */
};

struct tablegen_file {
	char *name; /* without folders */
	char *text;
	struct tablegen tablegen;
	struct tablegen_replacement *replacement;
	size_t replacements;
	struct tablegen_given *given;
	size_t givens;
};

/* Files of one folder, opened as they are needed. */
struct tablegen_files {
	const char *folder;
	struct tablegen_file *file;
	size_t count;
};

/* Add the replacements that change a definition as the finding proposes. `evidence`: a comment of
 * one line. PESA_ERROR_NOT_FOUND, PESA_ERROR_UNSUPPORTED: there is no such definition, or it has a
 * form that cannot be changed; nothing is added then. */
struct pesa_error *tablegen_change(struct tablegen_files *files, const struct compare_edit *edit,
				   const struct model_lines *model, const char *evidence);
void tablegen_files_free(struct tablegen_files *files);

#endif
