/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Read a whole file, also one whose size is not known beforehand (/proc, /sys).
 */
#ifndef DECODER_BASE_READ_FILE_H
#define DECODER_BASE_READ_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "pesa/error.h"

/* *text is owned by the caller (free) and terminated; *size is without the terminator. */
struct pesa_error *pesa_read_file(const char *path, char **text, size_t *size);

/* More than any table of symbols has, in bytes: those of a kernel have 20 MB, maps of large programs
 * some hundred. */
#define PESA_READ_MOST (512u << 20)

/*
 * Likewise of a file that somebody else may have made (regular_file.h), of PESA_READ_MOST bytes at
 * most.  With `own` the file is refused where it is a link, or belongs neither to root nor to who
 * reads it, as perf refuses maps; what is refused is a PESA_ERROR_UNSUPPORTED.
 */
struct pesa_error *pesa_read_foreign_file(const char *path, bool own, char **text, size_t *size);

#endif
