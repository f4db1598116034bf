/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Directories that are gone with all that is in them when the process is, whatever ended it.
 *
 * A process cannot clean up after every signal.  So another one does: it makes the directory, holds
 * one end of a socket whose other end is the user's process, and removes the directory when that
 * end is closed, which the kernel does for SIGKILL too.  It belongs to no terminal, and no signal
 * but SIGKILL of its own ends it.
 */
#ifndef TOOLS_UI_TEMPORARY_DIRECTORY_H
#define TOOLS_UI_TEMPORARY_DIRECTORY_H

#include "pesa/error.h"

/*
 * Make a directory of mode 0700 below $TMPDIR (/tmp) whose name begins with `name`.  Its path is
 * kept until the process exits, and then the directory has been removed.  For programs with one
 * thread (as yet).
 */
struct pesa_error *temporary_directory_create(const char *name, const char **path);

#endif
