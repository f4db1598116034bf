/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds pesa's own files: relative to the binary, both in the build directory and installed
 * (../libexec, ../share/pesa), otherwise in the configured installation directory.
 */
#ifndef TOOLS_FILES_PATHS_H
#define TOOLS_FILES_PATHS_H

#include <limits.h>
#include <stdbool.h>

#include "pesa/error.h"

/*
 * A file that the binary loads ("pesa-vcore-1.so"); false: missing, `path` is where it should be.
 */
bool pesa_path_libexec(const char *name, char path[PATH_MAX]);
/* Run such a program in the place of this one.  Returns the reason if that is impossible. */
struct pesa_error *pesa_path_run(const char *name, char *const *argv);
/* A directory of data files ("cores"); result as above. */
bool pesa_path_data(const char *name, char path[PATH_MAX]);
/* A program in PATH, or the name itself if it has a slash. */
bool pesa_path_program(const char *name, char path[PATH_MAX]);
/* As pesa_path_program(); the error says why there is none of this name, and what to do. */
struct pesa_error *pesa_path_find_program(const char *name, char path[PATH_MAX]);

#endif
