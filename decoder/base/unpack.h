/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file that may be compressed, read sequentially: gzip, zstd and xz are recognised by their first
 * bytes, any other file is read as it is.  Memory does not depend on the file's size.
 */
#ifndef DECODER_BASE_UNPACK_H
#define DECODER_BASE_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pesa/error.h"

struct pesa_unpack;

/* "-" is standard input. */
struct pesa_error *pesa_unpack_open(const char *path, struct pesa_unpack **unpack);
/*
 * Read the next bytes, at most `size`; *got is 0 at the end.  Damaged or truncated data ends the
 * output: *got is 0, and pesa_unpack_damage() returns a description.  Errors are those of the
 * system.
 */
struct pesa_error *pesa_unpack_read(struct pesa_unpack *unpack, void *bytes, size_t size,
				    size_t *got);
/* Description of the damage in the compressed data; NULL: none. */
const char *pesa_unpack_damage(const struct pesa_unpack *unpack);
/* Bytes of the file read so far, and its size (0: unknown). */
void pesa_unpack_progress(const struct pesa_unpack *unpack, uint64_t *done, uint64_t *total);
void pesa_unpack_close(struct pesa_unpack *unpack);

#endif
