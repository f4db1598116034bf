/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opening a file that somebody else may have made: its path comes from a recording, or is where
 * anybody can write.  Nothing but a regular file is opened, since to open a device may do something
 * and to open a pipe may wait, and what was looked at is what is opened.
 */
#ifndef DECODER_BASE_REGULAR_FILE_H
#define DECODER_BASE_REGULAR_FILE_H

#include "pesa/error.h"

/* Open it for reading; `flags` is 0 or O_NOFOLLOW.  -1: errno, which is EINVAL where it is no
 * regular file. */
int pesa_regular_file_open(const char *path, int flags);
/* Likewise an ELF file: EFBIG where it has more than 16 GiB, as files with holes do. */
int pesa_binary_open(const char *path);
/* The error for that errno. */
struct pesa_error *pesa_regular_file_failed(const char *path);

#endif
