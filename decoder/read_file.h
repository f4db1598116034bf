/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Read a whole file, also one whose size is not known beforehand (/proc, /sys).
 */
#ifndef DECODER_READ_FILE_H
#define DECODER_READ_FILE_H

#include <stddef.h>

#include "pesa/error.h"

/* *text is owned by the caller (free) and terminated; *size is without the terminator. */
struct pesa_error *pesa_read_file(const char *path, char **text, size_t *size);

#endif
