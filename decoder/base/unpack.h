/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file that may be compressed, read from its beginning to its end: gzip, zstd and xz are told by
 * their first bytes, anything else is taken as it is.  Memory does not depend on the file's size.
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
 * The next bytes, at most `size`; *got 0 at the end.  Data that is damaged or cut off ends what can
 * be read: *got is 0, and pesa_unpack_damage() says so.  Errors are those of the system.
 */
struct pesa_error *pesa_unpack_read(struct pesa_unpack *unpack, void *bytes, size_t size,
				    size_t *got);
/* What was wrong with the compressed data; NULL: nothing. */
const char *pesa_unpack_damage(const struct pesa_unpack *unpack);
/* Bytes of the file that were read, and that there are (0: not known). */
void pesa_unpack_progress(const struct pesa_unpack *unpack, uint64_t *done, uint64_t *total);
void pesa_unpack_close(struct pesa_unpack *unpack);

#endif
