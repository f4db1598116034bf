/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Read a whole file, including files of unknown size (/proc, /sys). */
#ifndef DECODER_BASE_READ_FILE_H
#define DECODER_BASE_READ_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "pesa/error.h"

/* The caller frees *text, which is terminated; *size excludes the terminator. */
struct pesa_error *pesa_read_file(const char *path, char **text, size_t *size);

/* Limit in bytes, above the size of any symbol table: those of a kernel have 20 MB, maps of large
 * programs some hundred. */
#define PESA_READ_MOST (512u << 20)

/*
 * Likewise for a file that another user may have written (regular_file.h), of at most
 * PESA_READ_MOST bytes.  With `own` the file is refused if it is a link, or is owned neither by
 * root nor by the caller, as perf refuses maps; the error is then PESA_ERROR_UNSUPPORTED.
 */
struct pesa_error *pesa_read_foreign_file(const char *path, bool own, char **text, size_t *size);

#endif
