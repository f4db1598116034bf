/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files that a command writes: none of them may be another one, or one that it reads, under
 * whatever names; the one would destroy the other.  What is only read may be the same.  And all of
 * them can be created, or the first one would be written, or an earlier one of its name be gone, in
 * vain.
 */
#ifndef TOOLS_UI_OUTPUT_FILES_H
#define TOOLS_UI_OUTPUT_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "pesa/error.h"

struct output_file {
	const char *path; /* "-": standard output or input; NULL: there is none */
	const char *what; /* "the samples" */
	bool read;	  /* and not written */
};

/*
 * An error where two of the files are the same, by name or because one links to the other; they
 * need not be there yet.  Devices, where nothing is lost, may be the same; in a pipe both would be
 * mixed.  And one
 * (PESA_ERROR_SYSTEM) where a file that is to be written is not writable and cannot be created.
 * Nothing is created or changed.
 */
struct pesa_error *output_files_check(const struct output_file files[], size_t count);

#endif
