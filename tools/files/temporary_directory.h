/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Temporary directories that are removed when the process ends for any reason.
 *
 * A process cannot clean up after every signal, so a second process does it: it creates the
 * directory, holds one end of a socket pair, and removes the directory when the other end, in the
 * first process, is closed, which the kernel does after SIGKILL too.  The second process has no
 * terminal and ignores all signals but SIGKILL.
 */
#ifndef TOOLS_FILES_TEMPORARY_DIRECTORY_H
#define TOOLS_FILES_TEMPORARY_DIRECTORY_H

#include "pesa/error.h"

/*
 * Create a directory of mode 0700 below $TMPDIR (/tmp) whose name begins with `name`.  It is
 * removed at exit; its path is valid until then.  Only for programs that are single-threaded at
 * this point.
 */
struct pesa_error *temporary_directory_create(const char *name, const char **path);

#endif
