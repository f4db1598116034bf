/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The options of a subcommand, for shells that complete them: `pesa COMMAND --list-opts`.
 *
 * tools/gen/completion makes the completions of bash, zsh and fish of these lists.
 */
#ifndef TOOLS_COMPLETION_OPTIONS_H
#define TOOLS_COMPLETION_OPTIONS_H

#include <argp.h>
#include <stdio.h>

/*
 * Print a line for each option of a parser and of its children, hidden ones left out, with four
 * fields separated by tabs: "--NAME" or nothing; "-L" or nothing; the name of the argument, in
 * brackets if it is optional, or nothing; the description.
 */
void completion_list_options(const struct argp *argp, FILE *out);

#endif
