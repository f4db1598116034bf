/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A command fails if its standard output cannot be written in full (a full disk, a quota).  This is
 * checked once, at the return from main() or exit(), so that no command can forget it.
 */
#ifndef TOOLS_UI_STANDARD_OUTPUT_H
#define TOOLS_UI_STANDARD_OUTPUT_H

/*
 * From now on, if the program exits with status 0 but not all of its standard output was written,
 * print a line that starts with `name` ("pesa report", kept by reference) and exit with status 1.
 * A command that fails for another reason has already printed a message.
 */
void standard_output_watch(const char *name);

#endif
