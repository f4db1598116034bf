/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A command fails if its standard output cannot be written in full (a full disk, a quota), or if a
 * part of what it prints, there or in a file, had no memory.  This is checked once, at the return
 * from main() or exit(), so that no command can forget it.
 */
#ifndef TOOLS_UI_STANDARD_OUTPUT_H
#define TOOLS_UI_STANDARD_OUTPUT_H

/*
 * From now on, if the program exits with status 0 but not all of its standard output was written,
 * print a line that starts with `name` ("pesa report", kept by reference) and exit with status 1.
 * A command that fails for another reason has already printed a message.
 */
void standard_output_watch(const char *name);

/*
 * A part of a line or of a JSON document had no memory and is left out.  The writers of both call
 * this and go on: at exit the program prints a line, and its status is not 0.
 */
void standard_output_lacks_part(void);

#endif
