/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Checks the output files of a command before anything is written.
 *
 * An output must not be the same file as another output or an input, because writing it would
 * destroy that file; two inputs may be the same file.  It must be possible to create all outputs,
 * so that a command does not fail after it wrote or renamed the first one.
 */
#ifndef TOOLS_UI_OUTPUT_FILES_H
#define TOOLS_UI_OUTPUT_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "pesa/error.h"

struct output_file {
	const char *path; /* "-": standard output or input; NULL: none */
	const char *what; /* description, "the samples" */
	bool read;	  /* an input */
};

/*
 * Returns an error if two files are the same, by name or by a link; they need not exist yet.
 * Devices may be the same, because writing to them destroys nothing; pipes may not, because the
 * outputs would mix.
 * Returns PESA_ERROR_SYSTEM if an output is not writable and cannot be created.  Nothing is created
 * or changed.
 */
struct pesa_error *output_files_check(const struct output_file files[], size_t count);

#endif
