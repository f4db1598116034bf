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
 * The name that a pattern stands for; the caller's.  A variable that is not set, is empty, or whose
 * value is not a part of a file name (it has a slash, or is "." or "..") is an error.
 */
struct pesa_error *output_name(const char *pattern, char **name);

#endif
