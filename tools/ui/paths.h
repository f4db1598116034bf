/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where pesa's own files are: next to the binary, in the build directory as well as installed
 * (../libexec, ../share/pesa), else where it was configured to be installed.
 */
#ifndef TOOLS_UI_PATHS_H
#define TOOLS_UI_PATHS_H

#include <limits.h>
#include <stdbool.h>

/* A file that the binary loads ("pesa-vcore-1.so"); false: there is none, `path` is where it should
 * be. */
bool pesa_path_libexec(const char *name, char path[PATH_MAX]);
/* A directory of data files ("cores"), likewise. */
bool pesa_path_data(const char *name, char path[PATH_MAX]);
/* A program on PATH (or as given when it has a slash). */
bool pesa_path_program(const char *name, char path[PATH_MAX]);

#endif
