/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Patterns for the names of output files.  The ranks of a parallel job run the same command line;
 * with a pattern each of them writes its own file:
 *
 *   %p		process id of this pesa
 *   %h		name of the host, up to the first dot
 *   %q{NAME}	the environment variable NAME, e.g. a rank
 *   %%		a percent sign
 */
#ifndef TOOLS_UI_OUTPUT_NAME_H
#define TOOLS_UI_OUTPUT_NAME_H

#include "pesa/error.h"

/*
 * Expand a pattern; the caller frees the name.  It is an error if a variable is not set or empty,
 * or if its value is not a file name component (it has a slash, or is "." or "..").
 */
struct pesa_error *output_name(const char *pattern, char **name);

#endif
