/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of output files that tell who wrote them, so that the ranks of a job which run the same
 * command line have a file each:
 *
 *   %p		process number of this pesa
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
