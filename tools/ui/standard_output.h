/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Standard output that could not be written in full (a full disk, a quota) is a failure of the
 * command, whatever it printed there: a result, a list, its help.  It is looked at once, when the
 * program ends by return from main() or by exit(), so that no command can forget it.
 */
#ifndef TOOLS_UI_STANDARD_OUTPUT_H
#define TOOLS_UI_STANDARD_OUTPUT_H

/*
 * From now on, when the program ends with status 0 and not all of its standard output could be
 * written, say so in one line with `name` in front ("pesa report", which must last) and end with
 * status 1.  A command that fails by itself has said why.
 */
void standard_output_watch(const char *name);

#endif
