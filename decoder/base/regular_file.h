/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opening an untrusted file: its path is from a recording, or in a directory that others can write.
 * Only regular files are opened, because opening a device may have side effects and opening a pipe
 * may block.  There is no race between the check and the opening.
 */
#ifndef DECODER_BASE_REGULAR_FILE_H
#define DECODER_BASE_REGULAR_FILE_H

#include "pesa/error.h"

/* Open for reading; `flags` is 0 or O_NOFOLLOW.  On failure returns -1 and sets errno, to EINVAL if
 * the file is not a regular one. */
int pesa_regular_file_open(const char *path, int flags);
/* Likewise for an ELF file: EFBIG if it has more than 16 GiB, as sparse files may have. */
int pesa_binary_open(const char *path);
/* The error for errno after a failure of these functions. */
struct pesa_error *pesa_regular_file_failed(const char *path);

#endif
